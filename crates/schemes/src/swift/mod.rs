//! Swift (Kumar et al., SIGCOMM 2020): a window that keeps the round-trip time at a target.
//!
//! What is implemented, and what is left out stands in `docs/schemes/swift.md`, the table from the paper to
//! file in `README.md`. Files: `params.rs` (parameters), `equations.rs` (algorithm 1 and the target),
//! `controller.rs` (what the sender calls).

mod controller;
mod describe;
mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::swift as describe;
pub use params::{SwiftParams, UNREAD};
