//! Description of BFC: title, costs, gauges.

use super::BfcParams;
use super::header::SIZE;
use super::port::FRAME;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<BfcParams>("bfc", build).described("bfc", bfc())
}

/// BFC.
fn bfc() -> Description {
    Description {
        title: "BFC",
        summary: "A queue for each flow at each port, and each hop pauses the queues before it; senders have no congestion control.",
        source: "Goyal et al., NSDI 2022",
        bibtex: include_str!("sources.bib"),
        unread: unread::GIVEN_WINDOW,
        hosts: "BFC",
        routers: "BFC",
        costs: vec![
            format!(
                "{SIZE} B on each packet; a frame of {FRAME} B to a neighbour whenever what it is to pause changes"
            ),
            "32 queues per port; a table entry per flow with packets there, a counter per neighbour's queue".to_owned(),
        ],
        ports: vec![
            Gauge::count("paused_queues", "Queues that the neighbour has paused"),
            Gauge::count("active_queues", "Queues that have packets and may send them"),
            Gauge::count("queued_flows", "Flows that have a queue"),
            Gauge::count("pauses", "Frames sent that pause a queue"),
        ],
        look: Some(Look::new(Hue::Blue, Dash::DashDot)),
        ..Description::default()
    }
}
