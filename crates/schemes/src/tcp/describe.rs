//! What each TCP says of itself.

use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// NewReno.
pub fn newreno() -> Description {
    Description {
        title: "NewReno",
        summary: "Adds a segment to the window per round trip and halves it at a loss: the TCP that theory describes.",
        source: "RFC 5681, RFC 6582",
        look: Some(Look::new(Hue::Blue, Dash::Solid)),
        ..plain()
    }
}

/// CUBIC.
pub fn cubic() -> Description {
    Description {
        title: "CUBIC",
        summary: "Grows the window by a cubic of the time since the last loss: what most servers run.",
        source: "RFC 9438",
        look: Some(Look::new(Hue::Orange, Dash::Solid)),
        ..plain()
    }
}

/// DCTCP.
pub fn dctcp() -> Description {
    Description {
        title: "DCTCP",
        summary: "Reduces the window by the share of marked packets, for switches that mark early.",
        source: "RFC 8257",
        hosts: "TCP with DCTCP",
        routers: "queues that mark",
        needs_marks: true,
        look: Some(Look::new(Hue::Green, Dash::Solid)),
        aqm: Some("step, its own"),
        ..Description::default()
    }
}

/// Prague.
pub fn prague() -> Description {
    Description {
        title: "Prague",
        summary: "Reduces the window by the share of marked packets of ECT(1), for the Internet's L4S queues.",
        source: "RFC 9331",
        hosts: "TCP Prague",
        routers: "queues that mark, as L4S has them",
        needs_marks: true,
        aqm: Some("DualPI2, its own"),
        ports: vec![
            Gauge::new("base_probability", Unit::Ratio, "DualPI2: what both queues' marks and drops follow from")
                .symbol("p'"),
        ],
        flows: vec![Gauge::new("alpha", Unit::Ratio, "The estimated share of marked packets").symbol("α")],
        look: Some(Look::new(Hue::Purple, Dash::DashDot)),
        ..Description::default()
    }
}

/// A window that never moves.
pub fn fixed_window() -> Description {
    Description {
        title: "fixed window",
        summary: "A TCP whose window never moves: for tests, and for what a window is worth.",
        hosts: "TCP with a fixed window",
        ..Description::default()
    }
}

/// What TCPs have in common that every host has.
fn plain() -> Description {
    Description { hosts: "the TCP that they have", ..Description::default() }
}
