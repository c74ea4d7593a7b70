//! Description of TIMELY: title, costs, gauges.

use super::TimelyParams;
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<TimelyParams>("timely", build).described("timely", timely())
}

/// TIMELY.
fn timely() -> Description {
    Description {
        title: "TIMELY",
        summary: "Lowers its rate while the RTT grows, and raises it while the RTT shrinks.",
        source: "Mittal, Lam, Dukkipati et al., SIGCOMM 2015",
        bibtex: include_str!("sources.bib"),
        // It has a rate and paces at it.
        unread: unread::OWN_WINDOW,
        hosts: "TIMELY",
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "Sending rate, of payload"),
            Gauge::new("gradient", Unit::Ratio, "RTT gradient, normalised by the minimum RTT"),
        ],
        ..Description::default()
    }
}
