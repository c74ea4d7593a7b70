//! Description of MPTCP: title, costs, gauges.

use super::header::{ACK_SIZE, SIZE};
use super::sender::SUBFLOW_GAUGES;
use super::{MptcpParams, build};
use crate::Catalogue;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<MptcpParams>("mptcp", build).described("mptcp", mptcp())
}

/// MPTCP.
fn mptcp() -> Description {
    let subflow = |(window, given): &(&'static str, &'static str)| {
        [
            Gauge::new(window, Unit::Bytes, "Congestion window of one subflow"),
            Gauge::new(given, Unit::Bytes, "Data assigned to one subflow"),
        ]
    };
    let mut flows = vec![
        Gauge::count("subflows", "Open subflows"),
        Gauge::count("reinjected", "Segments reinjected on another subflow"),
        Gauge::count("blocked_by", "Subflow (from 1) whose missing segment blocks the receive buffer; 0: none"),
        Gauge::new("held_bytes", Unit::Bytes, "Out-of-order data in the receive buffer"),
    ];
    flows.extend(SUBFLOW_GAUGES.iter().flat_map(subflow));
    Description {
        title: "MPTCP",
        summary: "One stream over several TCP subflows, with coupled windows, between hosts with several addresses.",
        source: "RFC 8684, RFC 6356; OLIA: Khalili et al., 2012",
        bibtex: include_str!("sources.bib"),
        hosts: "MPTCP",
        costs: vec![
            format!("{SIZE} B of option on data, {ACK_SIZE} B on ACKs"),
            "a receive buffer for reordered data; several addresses per host".to_owned(),
        ],
        flows,
        look: Some(Look::new(Hue::Blue, Dash::Dot)),
        ..Description::default()
    }
}
