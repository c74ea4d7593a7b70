//! Description of RCP: title, costs, gauges.

use super::RcpParams;
use super::header::SIZE;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<RcpParams>("rcp", build).described("rcp", rcp())
}

/// RCP.
fn rcp() -> Description {
    Description {
        title: "RCP",
        summary: "Every port offers one rate to all flows; senders pace at the least rate of their path.",
        source: "Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005",
        bibtex: include_str!("sources.bib"),
        // The network tells the rate, and no window limits it.
        unread: unread::OWN_RATE,
        hosts: "RCP",
        routers: "RCP",
        reads: &["rate"],
        costs: vec![
            format!("{SIZE} B on each packet"),
            "one rate per port, computed once per `interval`; nothing per flow".to_owned(),
        ],
        ports: vec![
            Gauge::new("rate_bps", Unit::Bps, "Rate that the port offers to each flow, equation (1)").symbol("R"),
        ],
        look: Some(Look::new(Hue::Amber, Dash::Dot)),
        ..Description::default()
    }
}
