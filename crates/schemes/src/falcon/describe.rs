//! Description of Falcon: title, costs, gauges.

use super::FalconParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<FalconParams>("falcon", build).described("falcon", falcon())
}

/// Falcon.
fn falcon() -> Description {
    Description {
        title: "Falcon",
        summary: "Swift with a window for the fabric's delay and one for the receiver's buffer; takes another path when rounds stay congested (PLB).",
        source: "Google, Open Compute Project, 2024",
        bibtex: include_str!("sources.bib"),
        // It alone moves the window, and paces below a packet.
        unread: unread::OWN_RATE,
        hosts: "Falcon",
        costs: vec![format!("{SIZE} B on each packet and ACK; an ACK per packet")],
        flows: vec![
            Gauge::count("fcwnd_packets", "Window for the fabric"),
            Gauge::count("ncwnd_packets", "Window for the receiver's network card"),
            Gauge::new("target_s", Unit::Seconds, "Target of the fabric's delay, without hops"),
            Gauge::count("moves", "Paths that PLB has left"),
        ],
        ..Description::default()
    }
}
