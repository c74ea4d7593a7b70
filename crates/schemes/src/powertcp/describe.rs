//! Description of PowerTCP: title, costs, gauges.

use super::PowerTcpParams;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::hpcc::header::SIZE;
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<PowerTcpParams>("powertcp", build).described("powertcp", powertcp())
}

/// PowerTCP.
fn powertcp() -> Description {
    Description {
        title: "PowerTCP",
        summary: "Ports write their load into packets (INT); senders follow the path's power: rate × (queue + BDP).",
        source: "Addanki, Michel, Schmid, NSDI 2022",
        bibtex: include_str!("sources.bib"),
        // cwnd is algorithm 1's, the rate is cwnd/τ.
        unread: unread::TOLD_WINDOW,
        hosts: "PowerTCP",
        routers: "PowerTCP",
        costs: vec![format!("{SIZE} B on each packet"), "existing port counters; nothing per flow".to_owned()],
        flows: vec![
            Gauge::new(
                "power",
                Unit::Ratio,
                "Power of the path, relative to a full link with an empty \
                queue",
            )
            .symbol("Γ"),
        ],
        look: Some(Look::new(Hue::Green, Dash::DashDot)),
        ..Description::default()
    }
}
