//! XCP's header, queue and port, one interval at a time. Networks are tried in
//! `crates/sim/tests/scenarios/xcp.rs`.

mod port;
mod queue;
mod wire;
