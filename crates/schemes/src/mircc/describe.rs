//! What MIRCC says of itself.

use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::icn::header::{data_headers, interest_size};
use crate::icn::params::Steering;

/// MIRCC.
pub fn mircc() -> Description {
    let (data, interest) = (data_headers(Steering::Shortcut), interest_size(Steering::Shortcut));
    Description {
        title: "MIRCC",
        summary: "Links compute a rate for each of two classes and stamp it on Data; consumers ask at these rates over all paths.",
        source: "Mahdian, Arianfar, Gibson, Oran, ICN 2016",
        hosts: "an NDN stack with MIRCC",
        routers: "MIRCC",
        reads: &["rate", "object", "replicas"],
        costs: vec![
            format!(
                "{data} B of headers on each Data and an Interest of {interest} B for it, by the paper's short-cut; more where a filter or a value steers"
            ),
            "two rates and an Interest shaper per port".to_owned(),
            "a table of pending Interests (`pit` segments) and a content store (`store`) per router".to_owned(),
        ],
        ports: vec![
            Gauge::new("rate_bps", Unit::Bps, "Rate that the link stamps for primary traffic").symbol("R_p"),
            Gauge::new("secondary_rate_bps", Unit::Bps, "Rate that the link stamps for secondary traffic")
                .symbol("R_s"),
            Gauge::count("interests", "Interests that wait in the shaper"),
        ],
        flows: vec![
            Gauge::new("primary_rate_bps", Unit::Bps, "Rate at which the consumer asks, primary class"),
            Gauge::new("secondary_rate_bps", Unit::Bps, "Rate at which the consumer asks, secondary class"),
            Gauge::count("paths", "Paths that the consumer uses"),
            Gauge::count("strayed", "Data that came over another path than was asked for"),
            Gauge::count("data_sent", "Data that the producer has sent"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::Solid)),
        ..Description::default()
    }
}
