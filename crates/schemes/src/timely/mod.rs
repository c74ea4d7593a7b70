//! TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows how fast the round-trip time changes.
//!
//! What is implemented, and what is left out stands in `docs/schemes/timely.md`, the table from the paper to
//! file in `README.md`. Files: `params.rs` (parameters), `equations.rs` (algorithm 1), `controller.rs` (what
//! the sender calls).

mod controller;
mod describe;
mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::timely as describe;
pub use params::{TimelyParams, UNREAD};
