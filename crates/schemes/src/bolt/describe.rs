//! What Bolt says of itself.

use super::header::SIZE;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// Bolt.
pub fn bolt() -> Description {
    Description {
        title: "Bolt",
        summary: "A congested port tells senders itself; others hand out what their link has left, and soon will have.",
        source: "Arslan, Li, Kumar, Dukkipati, NSDI 2023",
        hosts: "Bolt",
        routers: "Bolt",
        costs: vec![
            format!("{SIZE} B on each packet; a packet to the sender for each that finds a port congested"),
            "two counters and a time per port; nothing per flow".to_owned(),
        ],
        ports: vec![
            Gauge::new("supply_bytes", Unit::Bytes, "What the link could have sent beyond what came"),
            Gauge::count("promised_packets", "Packets whose ACKs will bring none after them"),
            Gauge::count("notices", "Packets that it has sent to senders"),
        ],
        look: Some(Look::new(Hue::Sky, Dash::DashDot)),
        ..Description::default()
    }
}
