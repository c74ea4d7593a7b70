//! Bolt (Arslan et al., NSDI 2023): a congested port notifies senders directly instead of through the receiver
//! (SRC); ports also offer their spare rate (SM), and the rate of flows that are about to end (PRU).
//!
//! Implemented and omitted parts: `docs/schemes/bolt.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `header.rs` (headers), `switch.rs` (a port's processing of a packet), `port.rs`
//! (the port), `equations.rs` (the sender's reaction to ACKs and notices),
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

pub(crate) use describe::schemes;
pub use params::BoltParams;
