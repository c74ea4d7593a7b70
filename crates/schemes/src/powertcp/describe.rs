//! What PowerTCP says of itself.

use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::hpcc::header::SIZE;

/// PowerTCP.
pub fn powertcp() -> Description {
    Description {
        title: "PowerTCP",
        summary: "Ports write how busy they are into packets; senders follow the power, rate times queue, of the path.",
        source: "Addanki, Michel, Schmid, NSDI 2022",
        hosts: "PowerTCP",
        routers: "PowerTCP",
        costs: vec![format!("{SIZE} B on each packet"), "counters that a port has anyway; nothing per flow".to_owned()],
        flows: vec![
            Gauge::new("power", Unit::Ratio, "Power of the path over that of a full link without a queue").symbol("Γ"),
        ],
        look: Some(Look::new(Hue::Green, Dash::DashDot)),
        ..Description::default()
    }
}
