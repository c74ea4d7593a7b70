//! TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows how fast the round-trip time changes.
//!
//! Implemented and omitted parts: `docs/schemes/timely.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (algorithm 1), `controller.rs` (callbacks).

mod controller;
mod describe;
mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::TimelyParams;
