//! Description of HPCC: title, costs, gauges.

use super::header::SIZE;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// HPCC.
pub fn hpcc() -> Description {
    Description {
        title: "HPCC",
        summary: "Ports write their load into packets (INT); senders set their windows by the most loaded port.",
        source: "Li et al., SIGCOMM 2019; with `int = \"ack\"` FNCC, Xu et al., 2024",
        hosts: "HPCC",
        routers: "HPCC",
        costs: vec![
            format!("{SIZE} B on each packet, with `int = \"ack\"` on ACKs alone"),
            "existing port counters; nothing per flow".to_owned(),
        ],
        flows: vec![Gauge::new("load", Unit::Ratio, "Utilisation of the most loaded port on the path").symbol("U")],
        look: Some(Look::new(Hue::Green, Dash::Dot)),
        ..Description::default()
    }
}
