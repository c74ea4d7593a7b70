//! Description of datagrams at a constant rate: title, costs, gauges.

use crate::describe::Description;

/// UDP.
pub fn udp() -> Description {
    Description {
        title: "UDP",
        summary: "Datagrams at a constant rate: unresponsive traffic.",
        source: "RFC 768",
        hosts: "UDP",
        reads: &["rate"],
        ..Description::default()
    }
}
