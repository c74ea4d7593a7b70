//! What HPCC says of itself.

use super::header::SIZE;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// HPCC.
pub fn hpcc() -> Description {
    Description {
        title: "HPCC",
        summary: "Ports write how busy they are into packets; senders set their windows from the busiest.",
        source: "Li et al., SIGCOMM 2019; with `int = \"ack\"` FNCC, Xu et al., 2024",
        hosts: "HPCC",
        routers: "HPCC",
        costs: vec![
            format!("{SIZE} B on each packet, with `int = \"ack\"` on ACKs alone"),
            "counters that a port has anyway; nothing per flow".to_owned(),
        ],
        flows: vec![Gauge::new("load", Unit::Ratio, "How busy the busiest port of the path is").symbol("U")],
        look: Some(Look::new(Hue::Green, Dash::Dot)),
        ..Description::default()
    }
}
