//! Bolt (Arslan et al., NSDI 2023): a port that congestion builds up at tells senders itself, without the way
//! over the receiver (SRC); it hands out the rate that its link has left (SM), and that which flows are about
//! to leave (PRU).
//!
//! What is implemented, and what is left out stands in `docs/schemes/bolt.md`, the table from the authors' code to
//! file in `README.md`. Files: `params.rs` (parameters), `header.rs` (what packets carry), `switch.rs` (what a port does
//! with a packet), `port.rs` (the port), `equations.rs` (what a sender makes of ACKs and notices),
//! `endpoint.rs` (the sender).

mod describe;
pub(crate) mod endpoint;
pub(crate) mod equations;
pub(crate) mod header;
mod params;
pub(crate) mod port;
pub(crate) mod switch;
#[cfg(test)]
mod tests;

pub(crate) use describe::bolt as describe;
pub use params::{BoltParams, UNREAD};
