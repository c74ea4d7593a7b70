//! Description of INRPP: title, costs, gauges.

use super::attack::{self, AttackParams};
use super::header::{SIZE, SIZE_ON_DATA};
use super::{Params, build};
use crate::Catalogue;
use crate::describe::{Along, Dash, Description, Gauge, Hue, Look, State, Tone, Unit};

/// The states of an interface (Fig. 3), by their numbers: those of [`State`](super::state::State).
pub(super) const STATES: &[State] = &[
    State::new("Push", Tone::Calm),
    State::new("Store-and-Detour", Tone::Busy),
    State::new("Backpressure", Tone::Alarm),
    State::new("Disable-Backpressure", Tone::Relief),
];

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with_texts::<Params>("inrpp", build)
        .described("inrpp", inrpp())
        .with_params::<AttackParams>("inrpp-attack", attack::build)
        .described("inrpp-attack", attacker())
}

/// INRPP.
fn inrpp() -> Description {
    Description {
        title: "INRPP",
        summary: "Routers store excess traffic, detour part of it, and apply hop-by-hop backpressure when caches fill.",
        source: "Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on Networking, 2021",
        bibtex: include_str!("sources.bib"),
        hosts: "INRPP",
        routers: "INRPP",
        store: Some("cache"),
        costs: vec![
            format!("{SIZE} B of option on each packet, {SIZE_ON_DATA} B on data with `notify = \"data\"`"),
            "a probe of each detour every `probe_interval`".to_owned(),
            "a cache at each port (`cache`), and `nonces` stored nonces".to_owned(),
            "a MAC on messages between routers, unless `auth` is off".to_owned(),
        ],
        ports: ports(),
        flows: vec![Gauge::count("closed_loop", "1 in closed loop (one packet per ACK), 0 in open loop")],
        look: Some(Look::new(Hue::Purple, Dash::Solid)),
        ..Description::default()
    }
}

fn ports() -> Vec<Gauge> {
    vec![
        Gauge::state("state", "State of the interface (Fig. 3)", STATES),
        Gauge::new("cache_bytes", Unit::Bytes, "Bytes in the custody cache").along(Along::Store),
        Gauge::new("cache_high_bytes", Unit::Bytes, "Above it the port slows down its upstream neighbour")
            .symbol("S_high")
            .along(Along::High),
        Gauge::new("cache_low_bytes", Unit::Bytes, "Below it the port releases its upstream neighbour")
            .symbol("S_low")
            .along(Along::Low),
        Gauge::count("closed_loop", "1 while the next hop slows down a flow here").along(Along::Slowed),
        Gauge::new("room_bytes", Unit::Bytes, "Bytes that the cache has room for"),
        Gauge::new("promised_bytes", Unit::Bytes, "Bytes reserved for starting flows, not yet received"),
        Gauge::new("detour_rate", Unit::Bps, "Total rate of all detours"),
        Gauge::count("detoured", "Packets sent on detours"),
        Gauge::count("backpressures", "Transitions into Backpressure"),
        Gauge::count("cache_refused", "Packets dropped because the cache was full"),
        Gauge::count("nonces", "Stored nonces"),
        Gauge::count("forged", "Messages rejected for a wrong MAC"),
        Gauge::count("replayed", "Messages rejected as replays"),
        Gauge::count("unheard", "Flows in long backpressure of which no ACK was seen"),
        Gauge::count("carried", "Plain TCP flows carried through the domain, counted at its border"),
        Gauge::count("windows_lowered", "ACKs of these flows with a lowered window"),
    ]
}

/// The attacker.
fn attacker() -> Description {
    Description {
        title: "INRPP attacker",
        summary: "A host that forges router messages of INRPP: for single flows among honest ones.",
        source: "Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on Networking, 2021, §V-C",
        bibtex: include_str!("sources.bib"),
        hosts: "an attack on INRPP",
        ..Description::default()
    }
}
