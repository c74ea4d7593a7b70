//! Description of Swift: title, costs, gauges.

use super::SwiftParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<SwiftParams>("swift", build).described("swift", swift())
}

/// Swift.
fn swift() -> Description {
    Description {
        title: "Swift",
        summary: "Keeps the RTT at a target, with a window below one packet where needed.",
        source: "Kumar, Dukkipati, Jang et al., SIGCOMM 2020",
        bibtex: include_str!("sources.bib"),
        // It alone moves the window, and paces below a packet.
        unread: unread::OWN_WINDOW,
        hosts: "Swift",
        costs: vec![format!("with `endpoint_target` {SIZE} B on data and ACKs")],
        flows: vec![
            Gauge::new("target_s", Unit::Seconds, "Target RTT, or of the fabric's part"),
            Gauge::count("fcwnd_packets", "Window for the fabric"),
            Gauge::count("ecwnd_packets", "Window for the hosts"),
            Gauge::new("endpoint_delay_s", Unit::Seconds, "Smoothed delay at the hosts"),
        ],
        ..Description::default()
    }
}
