//! Description of Swift: title, costs, gauges.

use crate::describe::{Description, Gauge, Unit};

/// Swift.
pub fn swift() -> Description {
    Description {
        title: "Swift",
        summary: "Keeps the RTT at a target, with a window below one packet where needed.",
        source: "Kumar, Dukkipati, Jang et al., SIGCOMM 2020",
        hosts: "Swift",
        flows: vec![Gauge::new("target_s", Unit::Seconds, "Target RTT")],
        ..Description::default()
    }
}
