//! Description of FCP: title, costs, gauges.

use super::header::{WIRE, WIRE_TREE};
use super::{FcpParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::unread;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_texts::<FcpParams>("fcp", build).described("fcp", fcp())
}

/// FCP.
fn fcp() -> Description {
    Description {
        title: "FCP",
        summary: "Links have prices, hosts have budgets; a flow's rate is its budget over its path's price.",
        source: "Han, Grandl, Akella, Seshan, technical report CMU-CS-12-125, 2012",
        bibtex: include_str!("sources.bib"),
        // The price tells the rate, and comes back at once.
        unread: unread::OWN_RATE_BY_ACKS,
        hosts: "FCP",
        routers: "FCP",
        reads: &["weight", "budget"],
        costs: vec![
            format!("{WIRE} B on each packet, {WIRE_TREE} B in multicast trees"),
            "a price per port, updated by every paid packet, and its history of a few RTTs".to_owned(),
            "budgets are enforced at the edge: a record of each flow there".to_owned(),
        ],
        ports: vec![
            Gauge::new("price", Unit::DollarsPerByte, "Price of the link, equation (2)").symbol("p"),
            Gauge::new("priority_price", Unit::DollarsPerByte, "Price of the priority queue, with `metro`"),
            Gauge::new("stability_price", Unit::DollarsPerByte, "Price for flows of class `stability`"),
        ],
        flows: vec![
            Gauge::new(
                "budget",
                Unit::DollarsPerS,
                "Budget that the flow spends, as announced to the \
                network",
            )
            .symbol("w"),
            Gauge::new("target", Unit::DollarsPerS, "Budget that the host's policy assigns").symbol("x"),
            Gauge::new("price", Unit::DollarsPerByte, "Price of the flow's path, as last reported").symbol("p"),
        ],
        look: Some(Look::new(Hue::Amber, Dash::Solid)),
        ..Description::default()
    }
}
