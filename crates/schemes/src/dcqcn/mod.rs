//! DCQCN (Zhu et al., SIGCOMM 2015): a rate that notifications of marks cut, and that recovers by a timer and
//! a byte counter.
//!
//! What is implemented, and what is left out stands in `docs/schemes/dcqcn.md`, the table from the paper to
//! file in `README.md`. Files: `params.rs` (parameters), `equations.rs` (the reaction point), `controller.rs`
//! (what the sender calls).

mod controller;
mod describe;
mod equations;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::dcqcn as describe;
pub use params::{DcqcnParams, UNREAD};
