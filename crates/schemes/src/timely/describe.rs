//! Description of TIMELY: title, costs, gauges.

use crate::describe::{Description, Gauge, Unit};

/// TIMELY.
pub fn timely() -> Description {
    Description {
        title: "TIMELY",
        summary: "Lowers its rate while the RTT grows, and raises it while the RTT shrinks.",
        source: "Mittal, Lam, Dukkipati et al., SIGCOMM 2015",
        hosts: "TIMELY",
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "Sending rate, of payload"),
            Gauge::new("gradient", Unit::Ratio, "RTT gradient, normalised by the minimum RTT"),
        ],
        ..Description::default()
    }
}
