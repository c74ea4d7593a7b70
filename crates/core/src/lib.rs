//! The clock-free core of Midpath: it reaches no clock, no socket, no global, and no randomness but the stream it is given.
//!
//! Two drivers own what is here: the simulator in virtual time, and the node daemon on real packets.
pub mod spec;
pub mod units;
