//! Description of datagrams at a constant rate: title, costs, gauges.

use super::{DELAY, UdpParams, build};
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<UdpParams>("udp", build).described("udp", udp())
}

/// UDP.
fn udp() -> Description {
    Description {
        title: "UDP",
        summary: "Datagrams at a constant rate: unresponsive traffic.",
        source: "RFC 768",
        bibtex: include_str!("sources.bib"),
        hosts: "UDP",
        reads: &["rate", "late_after"],
        flows: vec![Gauge::new(DELAY, Unit::Seconds, "One-way delay of the last datagram")],
        ..Description::default()
    }
}
