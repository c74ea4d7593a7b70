//! Description of RPM: title, costs, gauges.

use super::{RpmParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_texts::<RpmParams>("rpm", build).described("rpm", rpm())
}

/// RPM.
fn rpm() -> Description {
    Description {
        title: "RPM",
        summary: "Switches signal congestion by setting ECE on ACKs that are already on their way back.",
        source: "Baganal-Krishna, Tran, Kundel, Rizk",
        bibtex: include_str!("sources.bib"),
        hosts: "",
        routers: "RPM",
        ecn: Some("ECE on ACKs"),
        aqm: Some("its own CoDel, 1 ms"),
        costs: vec![
            "`size` registers per switch, shared by its ports; guarded ones also keep an owner and a time".to_owned(),
            "no header bytes and no extra packets".to_owned(),
        ],
        ports: vec![
            Gauge::count("rpm_marked", "Packets marked CE"),
            Gauge::count("rpm_signals", "Packets selected by the AQM and counted in a register"),
            Gauge::count(
                "rpm_collisions",
                "Packets selected by the AQM and marked CE, as another flow owned their register",
            ),
            Gauge::count("rpm_told", "ACKs marked ECE"),
        ],
        look: Some(Look::new(Hue::Purple, Dash::Dot)),
        ..Description::default()
    }
}
