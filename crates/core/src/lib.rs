//! The clock-free core of Midpath: no clock, no sockets, no globals, and randomness only from the stream it is given.
//!
//! Two drivers use it: the simulator in virtual time, and the node daemon on real packets. Read downward: [`units`],
//! [`packet`], [`limit`] and [`queue_spec`] are plain values; [`roles`] are the three parts of a scheme; [`queue`]
//! composes ports; [`node::Node`] holds all of them. None of these does I/O; [`files`] is what set-up reads files
//! through.

pub mod cache;
pub mod fifo;
pub mod files;
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
pub mod table;
pub mod units;
pub mod wire;
