//! What INRPP says of itself.

use super::header::{SIZE, SIZE_ON_DATA};
use crate::describe::{Along, Dash, Description, Gauge, Hue, Look, State, Tone, Unit};

/// The states of an interface (Fig. 3), by their numbers: those of [`State`](super::state::State).
pub(super) const STATES: &[State] = &[
    State::new("Push", Tone::Calm),
    State::new("Store-and-Detour", Tone::Busy),
    State::new("Backpressure", Tone::Alarm),
    State::new("Disable-Backpressure", Tone::Relief),
];

/// INRPP.
pub fn inrpp() -> Description {
    Description {
        title: "INRPP",
        summary: "Routers store what exceeds a link, send part of it around, and push back hop by hop when storage fills.",
        source: "Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on Networking, 2021",
        hosts: "INRPP",
        routers: "INRPP",
        store: Some("cache"),
        costs: vec![
            format!("{SIZE} B of option on each packet, {SIZE_ON_DATA} B on data with `notify = \"data\"`"),
            "a probe of each detour every `probe_interval`".to_owned(),
            "a cache at each port (`cache`), and `nonces` stored nonces".to_owned(),
            "a MAC on what routers tell each other, unless `auth` is off".to_owned(),
        ],
        ports: ports(),
        flows: vec![Gauge::count("closed_loop", "1 while the sender sends a packet for each ACK, 0 in open loop")],
        look: Some(Look::new(Hue::Purple, Dash::Solid)),
        ..Description::default()
    }
}

fn ports() -> Vec<Gauge> {
    vec![
        Gauge::state("state", "State of the interface (Fig. 3)", STATES),
        Gauge::new("cache_bytes", Unit::Bytes, "Bytes in the custody cache").along(Along::Store),
        Gauge::new("cache_high_bytes", Unit::Bytes, "Above it the port asks the next hop upstream to slow down")
            .symbol("S_high")
            .along(Along::High),
        Gauge::new("cache_low_bytes", Unit::Bytes, "Below it the port lets the next hop upstream go")
            .symbol("S_low")
            .along(Along::Low),
        Gauge::count("closed_loop", "1 while a flow here is slowed down by the next hop").along(Along::Slowed),
        Gauge::new("room_bytes", Unit::Bytes, "Bytes that the cache has room for"),
        Gauge::new("promised_bytes", Unit::Bytes, "Bytes promised to flows that start, and not seen yet"),
        Gauge::new("detour_rate", Unit::Bps, "Rate that detours take, all together"),
        Gauge::count("detoured", "Packets sent on detours"),
        Gauge::count("backpressures", "Times that the port has gone into Backpressure"),
        Gauge::count("cache_refused", "Packets that found the cache full and were dropped"),
        Gauge::count("nonces", "Nonces that the port stores"),
        Gauge::count("forged", "Messages refused because their MAC was wrong"),
        Gauge::count("replayed", "Messages refused because they had been heard before"),
        Gauge::count("unheard", "Flows that the port has sent for long in backpressure without one ACK of theirs"),
        Gauge::count("carried", "Plain TCP's flows that are carried through the domain, at its border"),
        Gauge::count("windows_lowered", "ACKs of such flows whose window was lowered"),
    ]
}

/// The attacker.
pub fn attack() -> Description {
    Description {
        title: "INRPP attacker",
        summary: "A host that sends what only INRPP's routers may: for single flows beside honest ones.",
        source: "Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on Networking, 2021, §V-C",
        hosts: "an attack on INRPP",
        ..Description::default()
    }
}
