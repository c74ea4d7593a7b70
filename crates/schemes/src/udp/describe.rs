//! What datagrams at a constant rate say of themselves.

use crate::describe::Description;

/// UDP.
pub fn udp() -> Description {
    Description {
        title: "UDP",
        summary: "Datagrams at a constant rate: traffic that does not listen to the network.",
        source: "RFC 768",
        hosts: "UDP",
        reads: &["rate"],
        ..Description::default()
    }
}
