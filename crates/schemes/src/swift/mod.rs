//! Swift (Kumar et al., SIGCOMM 2020): windows that keep the fabric's delay, and the hosts', at a target.
//!
//! Implemented and omitted parts: `docs/schemes/swift.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (algorithm 1 and the target),
//! `header.rs` (what ACKs say of the receiver's host), `controller.rs` (callbacks).

mod controller;
mod describe;
pub(crate) mod equations;
mod header;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::SwiftParams;
