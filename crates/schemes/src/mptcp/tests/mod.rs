//! What MPTCP must do: between two hosts with links of their own, number by number; networks are in
//! `crates/sim/tests/scenarios/mptcp.rs`.

mod connection;
mod coupling;
mod forwarder;
mod harness;
mod header;
mod hostile;
mod joins;
mod keys;
mod stream;
