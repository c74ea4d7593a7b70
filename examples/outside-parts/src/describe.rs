//! What the parts say of themselves, so that tables and reports treat them like those that ship
//! with Midpath.

use midpath_schemes::Description;
use midpath_schemes::describe::{Gauge, Unit};

/// BLUE.
pub fn blue() -> Description {
    Description {
        title: "BLUE",
        summary: "An AQM with one probability, which grows with long queues and falls when the link is idle.",
        source: "Feng, Shin, Kandlur, Saha, IEEE/ACM Transactions on Networking, 2002",
        routers: "BLUE",
        ports: vec![Gauge::new("mark_probability", Unit::Ratio, "Share of packets that BLUE chooses")],
        ..Description::default()
    }
}

/// ECE on the way back.
pub fn reverse_ece() -> Description {
    Description {
        title: "reverse ECE",
        summary: "A signal that sets ECE on as many ACKs as packets were chosen.",
        routers: "reverse ECE",
        ecn: Some("ECE on ACKs"),
        ..Description::default()
    }
}
