//! Description of DCQCN: title, costs, gauges.

use super::DcqcnParams;
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<DcqcnParams>("dcqcn", build).described("dcqcn", dcqcn())
}

/// DCQCN.
fn dcqcn() -> Description {
    Description {
        title: "DCQCN",
        summary: "Cuts its rate on CNPs, and recovers by halving the gap, on a timer and a byte counter.",
        source: "Zhu, Eran, Firestone et al., SIGCOMM 2015",
        bibtex: include_str!("sources.bib"),
        // It has a rate and paces at it.
        unread: unread::OWN_WINDOW,
        hosts: "DCQCN",
        routers: "marking queues",
        needs_marks: true,
        aqm: Some("its own RED"),
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "Current rate, of payload").symbol("R_C"),
            Gauge::new("target_bps", Unit::Bps, "Target rate, of payload").symbol("R_T"),
            Gauge::new("alpha", Unit::Ratio, "Moving average of notified intervals").symbol("α"),
        ],
        ..Description::default()
    }
}
