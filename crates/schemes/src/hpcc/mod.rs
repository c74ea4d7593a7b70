//! HPCC, high precision congestion control (Li et al., SIGCOMM 2019): ports write how busy they are
//! into packets, and the sender sets its window from the busiest. With `int = "ack"` they write it
//! into the ACKs that come back, as FNCC does (Xu et al., 2024): what RPM does with one bit.
//!
//! What is implemented and what is left out stands in `docs/schemes/hpcc.md`, from which equation in
//! `README.md`.
//! Files: `params.rs` (parameters), [`header`] (what packets carry), [`port`] (what a port knows of
//! itself), `equations.rs` (algorithm 1), [`endpoint`] (the sender's window; all else of the ends
//! is TCP's), `telemetry.rs` (what it keeps of readings).

mod describe;
pub mod endpoint;
pub(crate) mod equations;
pub mod header;
mod params;
pub mod port;
pub(crate) mod telemetry;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use describe::hpcc as describe;
pub(crate) use params::Int;
pub use params::{HpccParams, UNREAD};
