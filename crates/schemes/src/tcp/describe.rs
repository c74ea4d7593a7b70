//! Description of each TCP: title, costs, gauges.

use super::{CubicParams, DctcpParams, FixedWindowParams, NewRenoParams, PragueParams};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};
use crate::transport::build;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with_params::<NewRenoParams>("newreno", build)
        .described("newreno", newreno())
        .with_params::<CubicParams>("cubic", build)
        .described("cubic", cubic())
        .with_params::<DctcpParams>("dctcp", build)
        .described("dctcp", dctcp())
        .with_params::<PragueParams>("prague", build)
        .described("prague", prague())
        .with_params::<FixedWindowParams>("fixed-window", build)
        .described("fixed-window", fixed_window())
}

/// NewReno.
fn newreno() -> Description {
    Description {
        title: "NewReno",
        summary: "Adds a segment to the window per RTT and halves it on loss: the TCP of textbooks.",
        source: "RFC 5681, RFC 6582",
        bibtex: include_str!("sources.bib"),
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
        bibtex: include_str!("sources.bib"),
        look: Some(Look::new(Hue::Orange, Dash::Solid)),
        ..plain()
    }
}

/// DCTCP.
fn dctcp() -> Description {
    Description {
        title: "DCTCP",
        summary: "Reduces the window by the share of marked packets, for switches that mark early.",
        source: "RFC 8257",
        bibtex: include_str!("sources.bib"),
        hosts: "TCP with DCTCP",
        routers: "marking queues",
        needs_marks: true,
        look: Some(Look::new(Hue::Green, Dash::Solid)),
        aqm: Some("its own step"),
        ..Description::default()
    }
}

/// Prague.
fn prague() -> Description {
    Description {
        title: "Prague",
        summary: "Reduces the window by the share of marked packets of ECT(1), for the Internet's L4S queues.",
        source: "RFC 9331",
        bibtex: include_str!("sources.bib"),
        // It paces, always.
        unread: &["pacing", "pacing_slow_start", "pacing_avoidance"],
        hosts: "TCP Prague",
        routers: "marking queues of L4S",
        needs_marks: true,
        aqm: Some("its own DualPI2"),
        ports: vec![
            Gauge::new("base_probability", Unit::Ratio, "DualPI2: base probability of both queues' marks and drops")
                .symbol("p'"),
        ],
        flows: vec![Gauge::new("alpha", Unit::Ratio, "Estimated share of marked packets").symbol("α")],
        look: Some(Look::new(Hue::Purple, Dash::DashDot)),
        ..Description::default()
    }
}

/// A window that never moves.
fn fixed_window() -> Description {
    Description {
        title: "fixed window",
        summary: "A TCP with a constant window, for tests and reference.",
        // Of windows that change.
        unread: &["initial_window", "growth", "abc_limit", "hystart"],
        hosts: "TCP with a fixed window",
        ..Description::default()
    }
}

/// What TCPs have in common that every host has.
fn plain() -> Description {
    Description { hosts: "unmodified TCP", ..Description::default() }
}
