//! What XCP says of itself.

use super::header::SIZE;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// XCP.
pub fn xcp() -> Description {
    Description {
        title: "XCP",
        summary: "Packets ask for a change of their flow's window; every port writes into them what it can allow.",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        hosts: "XCP",
        routers: "XCP",
        reads: &["rate"],
        costs: vec![
            format!("{SIZE} B on each packet"),
            "two controllers per port, computed once per mean round trip, and a few operations per packet; nothing per flow"
                .to_owned(),
        ],
        ports: vec![
            Gauge::new("aggregate_feedback_bps", Unit::Bps, "By how much all traffic together is to change").symbol("φ"),
            Gauge::new("shuffled_bps", Unit::Bps, "What is taken from some flows and given to others, for fairness").symbol("h"),
            Gauge::new("persistent_queue_bytes", Unit::Bytes, "The queue that does not drain within a round trip")
                .symbol("Q"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::Dot)),
        ..Description::default()
    }
}
