//! Description of NDN with a window: title, costs, gauges.

use super::scheme::HEADERS;
use super::{NdnParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<NdnParams>("ndn", build).described("ndn", ndn())
}

/// NDN.
fn ndn() -> Description {
    Description {
        title: "NDN",
        summary: "Name-based forwarders over plain queues, and consumers with an Interest window: NDN as \
            deployed today.",
        source: "NDN packet specification; ndn-tools",
        bibtex: include_str!("sources.bib"),
        hosts: "an NDN stack",
        routers: "NDN",
        reads: &["object", "replicas"],
        costs: vec![
            format!("{HEADERS} B of headers on each Data, and an Interest (`interest`) for it"),
            "a table of pending Interests (`pit` segments) and a content store (`store`) per router".to_owned(),
        ],
        flows: vec![Gauge::count("data_sent", "Data sent by the producer")],
        look: Some(Look::new(Hue::Orange, Dash::DashDot)),
        ..Description::default()
    }
}
