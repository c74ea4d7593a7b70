//! Description of NDP: title, costs, gauges.

use super::{NdpParams, build};
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::uec::header::SIZE;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<NdpParams>("ndp", build).described("ndp", ndp())
}

/// NDP.
fn ndp() -> Description {
    Description {
        title: "NDP",
        summary: "A first window at the host's rate, each packet over its own path; routers trim, receivers pull one packet for each that comes.",
        source: "Handley et al., SIGCOMM 2017",
        bibtex: include_str!("sources.bib"),
        hosts: "NDP",
        costs: vec![
            format!("{SIZE} B of headers on each packet"),
            format!("an ACK or NACK of {SIZE} B for each packet, and a pull where one had to wait"),
        ],
        flows: vec![
            Gauge::count("pulls", "Pulls that were not used"),
            Gauge::new("again_bytes", Unit::Bytes, "Bytes that wait to be sent again"),
        ],
        ..Description::default()
    }
}
