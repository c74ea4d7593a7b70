//! Description of DCQCN: title, costs, gauges.

use crate::describe::{Description, Gauge, Unit};

/// DCQCN.
pub fn dcqcn() -> Description {
    Description {
        title: "DCQCN",
        summary: "Cuts its rate on CNPs, and recovers by halving the gap, on a timer and a byte counter.",
        source: "Zhu, Eran, Firestone et al., SIGCOMM 2015",
        hosts: "DCQCN",
        routers: "marking queues",
        needs_marks: true,
        aqm: Some("its own RED"),
        flows: vec![
            Gauge::new("rate_bps", Unit::Bps, "Current rate, of payload").symbol("R_C"),
            Gauge::new("target_bps", Unit::Bps, "Target rate, of payload").symbol("R_T"),
            Gauge::new("alpha", Unit::Ratio, "Moving average of notified intervals").symbol("α"),
        ],
        ..Description::default()
    }
}
