//! The clock-free core of Midpath: it reaches no clock, no socket, no global, and no randomness but
//! the stream it is given.
//!
//! Two drivers own what is here: the simulator in virtual time, and the node daemon on real
//! packets. Read downward: [`units`], [`packet`], [`limit`] and [`queue_spec`] are plain values;
//! [`roles`] are the three things a scheme is made of; [`queue`] has ports made of parts; and
//! [`node::Node`] holds all of them.

pub mod cache;
pub mod fifo;
pub mod limit;
pub mod names;
pub mod node;
pub mod packet;
pub mod pfc;
pub mod queue;
pub mod queue_spec;
pub mod ranges;
pub mod rng;
pub mod roles;
pub mod spec;
pub mod stats;
pub mod suggest;
pub mod units;
pub mod wire;
