//! RPM in P4_16 (`p4/`), as p4c compiles it for bmv2 (`compiled/`), and an interpreter that runs the
//! compiled programs packet by packet, so that tests need neither p4c nor bmv2.
//!
//! | file | what |
//! |---|---|
//! | `json.rs` | bmv2's JSON, format 2.x, as it stands in the file |
//! | `load.rs` | the same with names resolved |
//! | `expression.rs` | expressions |
//! | `machine.rs` | a packet's way: parser, ingress, egress, deparser |
//! | `crc.rs` | the hashes |
//!
//! The interpreter refuses unknown constructs when it loads a program; nothing is silently ignored. It runs one
//! packet at a time, so its registers are never read between another packet's read and write.

mod crc;
mod expression;
mod json;
mod load;
mod machine;

pub use crc::{crc16, crc32};
pub use load::Error;
pub use machine::{Arrival, Departure, Machine};

/// `rpm_events.p4`: RPM with the time, the queue and the parameters in a header, for tests.
pub const EVENTS: &str = include_str!("../compiled/rpm_events.json");

/// `rpm_switch.p4`: RPM in a switch of v1model.
pub const SWITCH: &str = include_str!("../compiled/rpm_switch.json");
