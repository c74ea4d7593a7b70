//! Backpressure flow control (Goyal et al., NSDI 2022): flows have queues of their own at each port, and a port whose
//! queue holds more than a hop's round trip of it pauses, at the neighbour before it, the queue that its packets came from.
//!
//! Implemented and omitted parts: `docs/schemes/bfc.md`. Map from the paper's parts to files: `README.md`.
//! Files: `params.rs` (parameters), `header.rs` (a packet's queue, pause frames), `table.rs` (which queue a flow has),
//! `pauses.rs` (what a node pauses at its neighbours), `port.rs` (the port), `endpoint.rs` (the sender's window).

mod describe;
pub(crate) mod endpoint;
pub(crate) mod header;
mod params;
pub(crate) mod pauses;
pub(crate) mod port;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::BfcParams;
