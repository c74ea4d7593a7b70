//! Description of XCP: title, costs, gauges.

use super::XcpParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::build;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<XcpParams>("xcp", build).described("xcp", xcp())
}

/// XCP.
fn xcp() -> Description {
    Description {
        title: "XCP",
        summary: "Packets request a change of their flow's window; each port lowers it to what it can allow.",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        bibtex: include_str!("sources.bib"),
        // The network says how the window grows.
        unread: &["growth", "abc_limit", "hystart"],
        hosts: "XCP",
        routers: "XCP",
        reads: &["rate"],
        costs: vec![
            format!("{SIZE} B on each packet"),
            "two controllers per port, computed once per mean round trip, and a few operations per packet; nothing per flow"
                .to_owned(),
        ],
        ports: vec![
            Gauge::new("aggregate_feedback_bps", Unit::Bps, "Aggregate feedback").symbol("φ"),
            Gauge::new("shuffled_bps", Unit::Bps, "Shuffled traffic: moved between flows for fairness").symbol("h"),
            Gauge::new("persistent_queue_bytes", Unit::Bytes, "Persistent queue: its minimum over a round trip")
                .symbol("Q"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::Dot)),
        ..Description::default()
    }
}
