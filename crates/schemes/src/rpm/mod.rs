//! RPM, reverse path congestion marking (Baganal-Krishna, Tran, Kundel, Rizk: Accelerating End-host
//! Congestion Response using P4 Programmable Switches).
//!
//! An AQM selects a packet. Instead of a CE mark, which reaches the sender via the receiver, the switch sets ECE on
//! an ACK that is already on its way back to the sender. The ends are unmodified TCPs.
//!
//! Implemented and omitted parts: `docs/schemes/rpm.md`. Map from sections and equations to files: `README.md`.
//! Files: `algorithm1.rs` (the paper's lines), `params.rs` (parameters), [`registers`] (the registers, also for
//! asymmetric routes), `signal.rs` (processing of selected packets and ACKs), `network.rs` (the switch).

mod algorithm1;
mod describe;
mod network;
pub mod params;
pub mod registers;
pub mod signal;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use network::build;
pub use params::RpmParams;
