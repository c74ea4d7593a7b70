//! Schemes that need marks over queues that do not mark: their flows notice congestion only by loss.

use std::collections::BTreeSet;

use midpath_topo::Hop;

use super::ports::port_row;
use super::warnings::{Warning, port_name};
use super::{FlowRows, PortRow};
use crate::setup::Setup;

/// What the run warns of, by scheme.
pub fn unmarked(setup: &Setup, rows: &FlowRows<'_>, ports: &[PortRow]) -> Vec<Warning> {
    setup.needing_marks().filter_map(|scheme| of_scheme(setup, rows, ports, scheme)).collect()
}

/// Said if no packet of the scheme's flows was marked, and no port of their paths can mark, or full queues there
/// dropped packets.
fn of_scheme(setup: &Setup, rows: &FlowRows<'_>, ports: &[PortRow], scheme: &str) -> Option<Warning> {
    let own = rows.iter().enumerate().filter(|(i, row)| row.report.sent > 0 && setup.scheme_of(*i) == scheme);
    if own.clone().any(|(_, row)| row.fate.marked > 0) {
        return None;
    }
    let flows: Vec<usize> = own.clone().map(|(i, _)| i).collect();
    if flows.is_empty() {
        return None;
    }
    let there = |i: usize| setup.ways(i).map(|(there, _)| there).unwrap_or_default();
    let full = |hop: &Hop| port_row(ports, (hop.node, hop.port)).is_some_and(|row| row.counters.drops_queue > 0);
    let lossy = own.filter(|(_, row)| row.fate.dropped > 0).flat_map(|(i, _)| there(i));
    let lossy: BTreeSet<(usize, u16)> = lossy.filter(full).map(|hop| (hop.node, hop.port)).collect();
    // To ask a port is to build it: each once.
    let mut asked = BTreeSet::new();
    let mut can_mark = |hop: &Hop| asked.insert((hop.node, hop.port)) && setup.can_mark(hop.node, hop.port.into());
    if lossy.is_empty() && flows.iter().any(|i| there(*i).iter().any(&mut can_mark)) {
        return None;
    }
    let message = format!(
        "no queue marked a packet of its flows ({}), and it needs marks: routers run \"{}\" by default if \
            `scheme = \"{scheme}\"` and `[queue]` names no AQM",
        flows.len(),
        setup.description(scheme)?.aqm?
    );
    Some(Warning::new(scheme, message, lossy.into_iter().map(|(n, p)| port_name(setup, n, p.into())).collect()))
}
