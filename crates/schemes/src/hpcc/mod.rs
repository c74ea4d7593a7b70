//! HPCC, high precision congestion control (Li et al., SIGCOMM 2019): ports write their load into packets (INT), and
//! the sender sets its window by the most loaded one. With `int = "ack"` they write it into returning ACKs, as FNCC
//! does (Xu et al., 2024), comparable to RPM's one bit.
//!
//! Implemented and omitted parts: `docs/schemes/hpcc.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), [`header`], [`port`] (INT), `equations.rs` (algorithm 1), [`endpoint`] (the
//! sender's window; the rest is TCP), `telemetry.rs` (stored INT records).

mod describe;
pub mod endpoint;
pub(crate) mod equations;
pub mod header;
mod params;
pub mod port;
pub(crate) mod telemetry;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use describe::schemes;
pub use params::HpccParams;
pub(crate) use params::Int;
