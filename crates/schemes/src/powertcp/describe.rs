//! Description of PowerTCP: title, costs, gauges.

use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::hpcc::header::SIZE;

/// PowerTCP.
pub fn powertcp() -> Description {
    Description {
        title: "PowerTCP",
        summary: "Ports write their load into packets (INT); senders follow the path's power: rate × (queue + BDP).",
        source: "Addanki, Michel, Schmid, NSDI 2022",
        hosts: "PowerTCP",
        routers: "PowerTCP",
        costs: vec![format!("{SIZE} B on each packet"), "existing port counters; nothing per flow".to_owned()],
        flows: vec![
            Gauge::new(
                "power",
                Unit::Ratio,
                "Power of the path, relative to a full link with an empty \
                queue",
            )
            .symbol("Γ"),
        ],
        look: Some(Look::new(Hue::Green, Dash::DashDot)),
        ..Description::default()
    }
}
