//! What DCQCN says of itself.

use crate::describe::{Description, Gauge, Unit};

/// DCQCN.
pub fn dcqcn() -> Description {
    Description {
        title: "DCQCN",
        summary: "Cuts its rate when it hears of marks, and takes it back in halves, by a timer and a byte counter.",
        source: "Zhu, Eran, Firestone et al., SIGCOMM 2015",
        hosts: "DCQCN",
        routers: "queues that mark",
        needs_marks: true,
        aqm: Some("RED, its own"),
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "The rate that it sends at, of payload").symbol("R_C"),
            Gauge::new("target_bps", Unit::Bps, "The rate that it goes back to").symbol("R_T"),
            Gauge::new("alpha", Unit::Ratio, "How often it was notified of late").symbol("α"),
        ],
        ..Description::default()
    }
}
