//! Bolt's laws by hand and beside the authors' functions, its port, its headers. Networks are tried in
//! `crates/sim/tests/scenarios/bolt.rs`.

mod equations;
mod port;
mod switch;
mod vectors;
mod wire;
