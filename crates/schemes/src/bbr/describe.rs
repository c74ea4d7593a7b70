//! What BBR says of itself.

use super::phases::Phase;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// BBR, version 3.
pub fn bbr() -> Description {
    Description {
        title: "BBRv3",
        summary: "Measures what the path delivers and how long it is without queues, and sends at that rate.",
        source: "draft-ietf-ccwg-bbr",
        hosts: "TCP with BBR",
        flows: vec![
            Gauge::state("phase", "Where the state machine stands", &Phase::STATES),
            Gauge::new("bw_bps", Unit::Bps, "The bandwidth that it sends by, of payload").symbol("bw"),
            Gauge::new("min_rtt_s", Unit::Seconds, "The round trip that it takes for one without queues")
                .symbol("min_rtt"),
            Gauge::new("inflight_longterm_bytes", Unit::Bytes, "The most in flight that lost little; 0: nothing known")
                .symbol("inflight_longterm"),
        ],
        look: Some(Look::new(Hue::Orange, Dash::Dot)),
        ..Description::default()
    }
}
