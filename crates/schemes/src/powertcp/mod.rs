//! PowerTCP (Addanki et al., NSDI 2022): ports write INT into packets as in HPCC, and the sender sets its window
//! from the path's power: arrival rate times (queue + BDP) at the most loaded port.
//!
//! Implemented and omitted parts: `docs/schemes/powertcp.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (algorithm 1), `endpoint.rs` (the sender's window). The header
//! and the ports are HPCC's.

mod describe;
mod endpoint;
pub(crate) mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::PowerTcpParams;
