//! RCP's header and port, one interval at a time. Networks are tried in
//! `crates/sim/tests/scenarios/rcp.rs`.

mod port;
mod wire;
