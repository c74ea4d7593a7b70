//! Description of UET: title, costs, gauges.

use super::header::SIZE;
use super::{UecParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<UecParams>("uec", build).described("uec", uec())
}

/// UET.
fn uec() -> Description {
    Description {
        title: "UEC",
        summary: "Ultra Ethernet's transport: a path for each packet, windows by delay and marks (NSCC), receivers' credits (RCCC).",
        source: "Ultra Ethernet Consortium, 2025; HTSIM",
        bibtex: include_str!("sources.bib"),
        hosts: "UET",
        costs: vec![
            format!("{SIZE} B of headers on each packet"),
            format!(
                "an ACK of {SIZE} B for 16 kB, for each mark, and for each packet that asks; with credits a pull for 16 kB"
            ),
        ],
        flows: vec![
            Gauge::new("in_flight_bytes", Unit::Bytes, "Bytes in flight, headers included"),
            Gauge::new("queue_delay_s", Unit::Seconds, "NSCC's average queue delay"),
            Gauge::new("base_rtt_s", Unit::Seconds, "Round trip without queues, as far as NSCC knows"),
            Gauge::new("credit_bytes", Unit::Bytes, "RCCC's credit at the sender"),
        ],
        look: Some(Look::new(Hue::Amber, Dash::DashDot)),
        ..Description::default()
    }
}
