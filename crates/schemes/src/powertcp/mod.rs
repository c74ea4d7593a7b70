//! PowerTCP (Addanki et al., NSDI 2022): ports write how busy they are into packets, as HPCC's, and the
//! sender sets its window from the path's power: what arrives at the busiest port times what waits there
//! and is on its way.
//!
//! What is implemented, and what is left out stands in `docs/schemes/powertcp.md`, the table from the paper to
//! file in `README.md`. Files: `params.rs` (parameters), `equations.rs` (algorithm 1), `endpoint.rs` (the sender's window). The
//! header and the ports are HPCC's.

mod describe;
mod endpoint;
pub(crate) mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::powertcp as describe;
pub use params::{PowerTcpParams, UNREAD};
