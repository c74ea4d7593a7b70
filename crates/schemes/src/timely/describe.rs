//! What TIMELY says of itself.

use crate::describe::{Description, Gauge, Unit};

/// TIMELY.
pub fn timely() -> Description {
    Description {
        title: "TIMELY",
        summary: "Lowers its rate as round trips grow, and raises it as they shrink.",
        source: "Mittal, Lam, Dukkipati et al., SIGCOMM 2015",
        hosts: "TIMELY",
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "The rate that it sends at, of payload"),
            Gauge::new("gradient", Unit::Ratio, "By how much of the shortest one the round trip grows in one"),
        ],
        ..Description::default()
    }
}
