//! What the scheme says of itself, so that tables and reports treat it like those that ship with
//! Midpath.

use midpath_core::packet::shim_size;
use midpath_schemes::Description;
use midpath_schemes::describe::{Dash, Gauge, Hue, Look, State, Tone, Unit};

/// What aimd's ports are in, by the numbers of their gauge `state`.
const PORT: &[State] = &[State::new("Empty", Tone::Calm), State::new("Queueing", Tone::Busy)];
/// What aimd's senders are in, by the numbers of their gauge `phase`.
const SENDER: &[State] = &[State::new("Growing", Tone::Calm), State::new("Shrinking", Tone::Busy)];

/// What the scheme is, needs and shows.
pub fn own() -> Description {
    Description {
        title: "Aimd",
        summary: "Ports write the longest queueing delay into packets; senders add to their window below a target, and multiply it above.",
        hosts: "aimd",
        routers: "aimd",
        costs: vec![format!("{} B on each packet", shim_size(8)), "nothing per flow in routers".to_owned()],
        ports: vec![
            Gauge::state("state", "Whether the last packet of the scheme had to wait", PORT),
            Gauge::new("found_s", Unit::Seconds, "Queueing delay that the last packet found"),
        ],
        flows: vec![
            Gauge::state("phase", "What the sender does with its window", SENDER),
            Gauge::new("reading_s", Unit::Seconds, "Queueing delay that the last ACK told of"),
        ],
        look: Some(Look::new(Hue::Green, Dash::DashDot)),
        ..Description::default()
    }
}
