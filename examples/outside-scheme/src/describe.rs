//! What the schemes say of themselves, so that tables and reports treat them like those that ship with Midpath.

use midpath_core::packet::shim_size;
use midpath_schemes::Description;
use midpath_schemes::describe::{Dash, Gauge, Hue, Look, State, Tone, Unit};

/// What gauge's ports are in, by the numbers of their gauge `state`.
const PORT: &[State] = &[State::new("Empty", Tone::Calm), State::new("Queueing", Tone::Busy)];
/// What gauge's senders are in, by the numbers of their gauge `phase`.
const SENDER: &[State] = &[State::new("Growing", Tone::Calm), State::new("Shrinking", Tone::Busy)];

/// Gauge.
pub fn gauge() -> Description {
    Description {
        title: "Gauge",
        summary: "Ports write the longest queueing delay into packets; senders hold it at a target.",
        hosts: "Gauge",
        routers: "Gauge",
        costs: vec![format!("{} B on each packet", shim_size(8)), "nothing per flow in routers".to_owned()],
        ports: vec![
            Gauge::state("state", "Whether the last packet of the scheme had to wait", PORT),
            Gauge::new("found_s", Unit::Seconds, "Queueing delay that the last packet found"),
        ],
        flows: vec![
            Gauge::state("phase", "What the sender does with its window", SENDER),
            Gauge::new("told_s", Unit::Seconds, "Queueing delay that the last ACK told of"),
        ],
        look: Some(Look::new(Hue::Green, Dash::DashDot)),
        ..Description::default()
    }
}

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
