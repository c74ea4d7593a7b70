//! HPCC's header, port and algorithm, each for itself. Networks are tried in
//! `crates/sim/tests/scenarios/hpcc.rs`.

mod equations;
mod port;
pub(crate) mod vectors;
mod wire;
