//! XCP's header, queue and port, one interval at a time. Networks are tried in
//! `crates/sim/tests/scenarios/xcp.rs`; the sender's decisions stand beside it.

mod port;
mod queue;
mod wire;
