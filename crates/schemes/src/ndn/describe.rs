//! Description of NDN with a window: title, costs, gauges.

use super::scheme::HEADERS;
use crate::describe::{Dash, Description, Gauge, Hue, Look};

/// NDN.
pub fn ndn() -> Description {
    Description {
        title: "NDN",
        summary: "Name-based forwarders over plain queues, and consumers with an Interest window: NDN as \
            deployed today.",
        source: "NDN packet specification; ndn-tools",
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
