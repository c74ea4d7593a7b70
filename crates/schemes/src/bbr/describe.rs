//! Description of BBR: title, costs, gauges.

use super::BbrParams;
use super::phases::Phase;
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::{build, unread};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<BbrParams>("bbr", build).described("bbr", bbr())
}

/// BBR, version 3.
fn bbr() -> Description {
    Description {
        title: "BBRv3",
        summary: "Estimates the path's bandwidth and minimum RTT, and paces at that bandwidth.",
        source: "draft-ietf-ccwg-bbr",
        bibtex: include_str!("sources.bib"),
        // It decides on these things itself.
        unread: unread::OWN_WINDOW,
        hosts: "TCP with BBR",
        flows: vec![
            Gauge::state("phase", "State of the state machine", &Phase::STATES),
            Gauge::new("bw_bps", Unit::Bps, "Bandwidth estimate behind the pacing rate, of payload").symbol("bw"),
            Gauge::new("min_rtt_s", Unit::Seconds, "Minimum RTT estimate").symbol("min_rtt"),
            Gauge::new("inflight_longterm_bytes", Unit::Bytes, "Largest inflight without excessive loss; 0: unknown")
                .symbol("inflight_longterm"),
        ],
        look: Some(Look::new(Hue::Orange, Dash::Dot)),
        ..Description::default()
    }
}
