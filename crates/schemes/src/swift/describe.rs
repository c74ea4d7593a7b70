//! What Swift says of itself.

use crate::describe::{Description, Gauge, Unit};

/// Swift.
pub fn swift() -> Description {
    Description {
        title: "Swift",
        summary: "Keeps the round-trip time at a target, with less than a packet in flight where that takes it.",
        source: "Kumar, Dukkipati, Jang et al., SIGCOMM 2020",
        hosts: "Swift",
        flows: vec![Gauge::new("target_s", Unit::Seconds, "The round-trip time that it aims at")],
        ..Description::default()
    }
}
