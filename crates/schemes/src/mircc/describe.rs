//! Description of MIRCC: title, costs, gauges.

use super::{MirccParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::icn::header::{data_headers, interest_size};
use crate::icn::params::Steering;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_texts::<MirccParams>("mircc", build).described("mircc", mircc())
}

/// MIRCC.
fn mircc() -> Description {
    let (data, interest) = (data_headers(Steering::Shortcut), interest_size(Steering::Shortcut));
    Description {
        title: "MIRCC",
        summary: "Links stamp a rate for each of two classes on Data; consumers send Interests at these rates \
            over all paths.",
        source: "Mahdian, Arianfar, Gibson, Oran, ICN 2016",
        bibtex: include_str!("sources.bib"),
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
            Gauge::new("rate_bps", Unit::Bps, "Stamped rate, primary class").symbol("R_p"),
            Gauge::new("secondary_rate_bps", Unit::Bps, "Stamped rate, secondary class").symbol("R_s"),
            Gauge::count("interests", "Interests queued in the shaper"),
        ],
        flows: vec![
            Gauge::new("primary_rate_bps", Unit::Bps, "Interest rate of the consumer, primary class"),
            Gauge::new("secondary_rate_bps", Unit::Bps, "Interest rate of the consumer, secondary class"),
            Gauge::count("paths", "Active paths"),
            Gauge::count("strayed", "Data received over another path than requested"),
            Gauge::count("data_sent", "Data sent by the producer"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::Solid)),
        ..Description::default()
    }
}
