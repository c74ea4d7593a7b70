//! Description of HPCC: title, costs, gauges.

use super::HpccParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<HpccParams>("hpcc", build).described("hpcc", hpcc())
}

/// HPCC.
fn hpcc() -> Description {
    Description {
        title: "HPCC",
        summary: "Ports write their load into packets (INT); senders set their windows by the most loaded port.",
        source: "Li et al., SIGCOMM 2019; with `int = \"ack\"` FNCC, Xu et al., 2024",
        bibtex: include_str!("sources.bib"),
        // W is algorithm 1's, R is W/T.
        unread: unread::TOLD_WINDOW,
        hosts: "HPCC",
        routers: "HPCC",
        costs: vec![
            format!("{SIZE} B on each packet, with `int = \"ack\"` on ACKs alone"),
            "existing port counters; nothing per flow".to_owned(),
        ],
        flows: vec![Gauge::new("load", Unit::Ratio, "Utilisation of the most loaded port on the path").symbol("U")],
        look: Some(Look::new(Hue::Green, Dash::Dot)),
        ..Description::default()
    }
}
