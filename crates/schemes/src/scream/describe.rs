//! Description of SCReAM: title, costs, gauges.

use super::{ScreamParams, build};
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<ScreamParams>("scream", build).described("scream", scream())
}

/// SCReAMv2.
fn scream() -> Description {
    Description {
        title: "SCReAM",
        summary: "Calls: a window that follows losses, marks and queue delay sets an encoder's rate.",
        source: "Johansson, Westerlund, Kühlewind, draft-ietf-ccwg-rfc8298bis-screamv2-01, 2026",
        bibtex: include_str!("sources.bib"),
        hosts: "SCReAM",
        reads: &["rate", "late_after"],
        costs: vec![
            "12 B of RTP on each data unit".to_owned(),
            "a report of up to 112 B with each frame, every 16 data units and every 40 ms".to_owned(),
        ],
        flows: vec![
            Gauge::new("qdelay_s", Unit::Seconds, "Queue delay of the newest data unit reported").symbol("qdelay"),
            Gauge::new("qdelay_target_s", Unit::Seconds, "Target of the queue delay").symbol("qdelay_target"),
            Gauge::new("l4s_alpha", Unit::Ratio, "Average share of marked data units").symbol("l4s_alpha"),
            Gauge::count("waiting_units", "Data units that wait at the sender"),
            Gauge::count("discarded_units", "Data units discarded at the sender, too old"),
            Gauge::new("frame_delay_s", Unit::Seconds, "From a frame's encoding to its last data unit's arrival"),
        ],
        ..Description::default()
    }
}
