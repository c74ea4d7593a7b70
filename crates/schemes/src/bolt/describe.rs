//! Description of Bolt: title, costs, gauges.

use super::BoltParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<BoltParams>("bolt", build).described("bolt", bolt())
}

/// Bolt.
fn bolt() -> Description {
    Description {
        title: "Bolt",
        summary: "Congested ports notify senders directly; other ports offer capacity that is spare or soon will be.",
        source: "Arslan, Li, Kumar, Dukkipati, NSDI 2023",
        bibtex: include_str!("sources.bib"),
        // It alone moves the window, and paces at the host's link.
        unread: unread::OWN_RATE,
        hosts: "Bolt",
        routers: "Bolt",
        costs: vec![
            format!(
                "{SIZE} B on each packet; a notification to the sender for each packet that meets a \
                congested port"
            ),
            "two counters and a time per port; nothing per flow".to_owned(),
        ],
        ports: vec![
            Gauge::new("supply_bytes", Unit::Bytes, "Supply tokens: spare capacity of the link"),
            Gauge::count("promised_packets", "PRU tokens: packets whose ACKs release no further packet"),
            Gauge::count("notices", "Notifications sent to senders"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::DashDot)),
        ..Description::default()
    }
}
