//! What RPM says of itself.

use crate::describe::{Dash, Description, Gauge, Hue, Look};

/// RPM.
pub fn rpm() -> Description {
    Description {
        title: "RPM",
        summary: "Switches tell senders of congestion by ECE on the ACKs that are on their way back already.",
        source: "Baganal-Krishna, Tran, Kundel, Rizk",
        hosts: "",
        routers: "RPM",
        ecn: Some("ECE on ACKs"),
        aqm: Some("CoDel of 1 ms, its own"),
        costs: vec![
            "`size` registers per switch, shared by its ports; guarded ones also keep an owner and a time".to_owned(),
            "no bytes on packets and no packets of its own".to_owned(),
        ],
        ports: vec![
            Gauge::count("rpm_marked", "Packets that got CE"),
            Gauge::count("rpm_signals", "Packets that the AQM chose and a register counted"),
            Gauge::count(
                "rpm_collisions",
                "Packets that the AQM chose and that got CE, because their register is another flow's",
            ),
            Gauge::count("rpm_told", "ACKs that got ECE"),
        ],
        look: Some(Look::new(Hue::Purple, Dash::Dot)),
        ..Description::default()
    }
}
