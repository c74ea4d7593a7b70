//! DCQCN (Zhu et al., SIGCOMM 2015): a rate that congestion notifications cut, and that recovers by a timer and a
//! byte counter.
//!
//! Implemented and omitted parts: `docs/schemes/dcqcn.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (the reaction point), `controller.rs` (callbacks).

mod controller;
mod describe;
mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::DcqcnParams;
