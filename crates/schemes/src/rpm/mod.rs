//! RPM, reverse path congestion marking (Baganal-Krishna, Tran, Kundel, Rizk: Accelerating End-host
//! Congestion Response using P4 Programmable Switches).
//!
//! An AQM chooses a packet. In place of a CE mark, which reaches the sender by way of the receiver,
//! the switch sets ECE on an ACK that is on its way back to the sender already. The ends are
//! unmodified TCPs.
//!
//! What is implemented and what is left out stands in `docs/schemes/rpm.md`, from which section in
//! `README.md`.
//! Files: `algorithm1.rs` (the paper's lines), `params.rs` (parameters), [`registers`] (the registers
//! and what they need in a network where routes are not known to be symmetric), `signal.rs` (what
//! becomes of chosen packets and of ACKs), `network.rs` (what a switch runs).

mod algorithm1;
mod describe;
mod network;
mod params;
pub mod registers;
mod signal;
#[cfg(test)]
mod tests;

pub(crate) use describe::rpm as describe;
pub use network::build;
pub use params::RpmParams;
