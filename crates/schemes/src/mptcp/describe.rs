//! What MPTCP says of itself.

use super::header::{ACK_SIZE, SIZE};
use super::sender::SUBFLOW_GAUGES;
use crate::describe::{Dash, Description, Gauge, Hue, Look, Unit};

/// MPTCP.
pub fn mptcp() -> Description {
    let subflow = |(window, given): &(&'static str, &'static str)| {
        [
            Gauge::new(window, Unit::Bytes, "Congestion window of one subflow"),
            Gauge::new(given, Unit::Bytes, "Data that one subflow has been given"),
        ]
    };
    let mut flows = vec![
        Gauge::count("subflows", "Subflows that are open"),
        Gauge::count("reinjected", "Segments sent again on another subflow"),
        Gauge::count(
            "blocked_by",
            "The subflow, from 1, whose missing segment fills the receiver's buffer; 0 if none does",
        ),
        Gauge::new("held_bytes", Unit::Bytes, "Data that wait at the receiver for others before them"),
    ];
    flows.extend(SUBFLOW_GAUGES.iter().flat_map(subflow));
    Description {
        title: "MPTCP",
        summary: "One stream over several TCP subflows, with coupled windows, between hosts with several addresses.",
        source: "RFC 8684, RFC 6356; OLIA: Khalili et al., 2012",
        hosts: "MPTCP",
        costs: vec![
            format!("{SIZE} B of option on data, {ACK_SIZE} B on ACKs"),
            "a receive buffer for what overtakes; several addresses per host".to_owned(),
        ],
        flows,
        look: Some(Look::new(Hue::Blue, Dash::Dot)),
        ..Description::default()
    }
}
