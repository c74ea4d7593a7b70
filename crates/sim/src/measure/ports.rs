use midpath_core::packet::{NodeId, PortId};
use midpath_core::stats::PortCounters;
use midpath_core::units::Time;

use super::Capacity;
use super::columns::{Columns, Values, table};
use crate::engine::Engine;
use crate::output::Table;
use crate::setup::Setup;

/// What one port did.
#[derive(Debug, Clone)]
pub struct PortRow {
    /// Node, port number there, and node on the other end, as numbers in the topology.
    pub place: (u32, u16, u32),
    /// Its counters.
    pub counters: PortCounters,
    /// Lost in transmission when the link went down.
    pub cut: u64,
    /// Corrupted on the wire that leaves this port.
    pub corrupted: u64,
    /// Bits sent over what could have been sent.
    pub utilisation: f64,
    /// What was counted in this time: the run, and where a port was still busy then, for
    /// connections were being closed, until it was not.
    pub span: Time,
}

impl PortRow {
    /// Every port's row, node by node. `span` is the length of the run.
    pub fn collect(setup: &Setup, engine: &mut Engine, span: Time) -> Vec<PortRow> {
        let topology = &setup.topology;
        let mut rows = Vec::with_capacity(2 * topology.links().len());
        for n in 0..topology.nodes().len() {
            for (p, at) in topology.ports(n).iter().enumerate() {
                let (id, port) = (NodeId(n as u32), PortId(p as u16));
                let back = topology.port_of_link(at.peer as usize, at.link as usize).unwrap_or(0);
                let node = engine.node_mut(id);
                let span = setup.scenario.stop.unwrap_or_else(|| span.max(node.free_at(port)));
                let sent = node.transmitted(port, span).bits as f64;
                rows.push(PortRow {
                    place: (n as u32, p as u16, at.peer),
                    counters: node.measured(port, span),
                    utilisation: Capacity::of(setup, at.link as usize, n).used(sent, Time::ZERO, span),
                    span,
                    cut: engine.cut(id, port),
                    corrupted: engine.corrupted(NodeId(at.peer), PortId(back)),
                });
            }
        }
        rows
    }

    fn link<'a>(&self, setup: &'a Setup) -> &'a midpath_topo::LinkInfo {
        let port = setup.topology.ports(self.place.0 as usize)[usize::from(self.place.1)];
        &setup.topology.links()[port.link as usize]
    }
}

/// The row of a port, by node and number.
pub(super) fn port_row(ports: &[PortRow], (node, port): (usize, u16)) -> Option<&PortRow> {
    let place = ports.binary_search_by_key(&(node as u32, port), |row| (row.place.0, row.place.1));
    place.ok().map(|place| &ports[place])
}

/// The table `ports`.
pub fn port_table(setup: &Setup, rows: &[PortRow]) -> Table {
    table(port_columns(), rows.iter().map(|row| PortAt { setup, row }))
}

/// A port of the table.
#[derive(Clone, Copy)]
pub(super) struct PortAt<'a> {
    setup: &'a Setup,
    row: &'a PortRow,
}

impl<'a> PortAt<'a> {
    fn name(self, node: u32) -> &'a str {
        &self.setup.topology.nodes()[node as usize].name
    }
    fn link(self) -> &'a midpath_topo::LinkInfo {
        self.row.link(self.setup)
    }
    fn quantile(self, q: f64) -> f64 {
        self.row.counters.delay.quantile(q).unwrap_or(f64::NAN)
    }
}

/// In this order.
pub(super) fn port_columns<'a>() -> Columns<'a, PortAt<'a>> {
    use Values::{F64, Text, U32, U64};
    vec![
        ("node", "", Text(|at| at.name(at.row.place.0))),
        ("port", "", U32(|at| u32::from(at.row.place.1))),
        ("peer", "node, port number, neighbour", Text(|at| at.name(at.row.place.2))),
        ("rate_bps", "", U64(|at| at.link().rate_from(at.row.place.0 as usize).0)),
        ("delay_s", "the link as in the scenario, without faults", F64(|at| at.link().delay.as_secs_f64())),
        ("packets", "", U64(|at| at.row.counters.packets)),
        ("bytes", "transmissions started", U64(|at| at.row.counters.bytes)),
        (
            "utilisation",
            "bits sent over capacity (integral of the rate, zero while down)",
            F64(|at| at.row.utilisation),
        ),
        ("drops_queue", "drops for lack of room", U64(|at| at.row.counters.drops_queue)),
        ("drops_aqm", "drops by the AQM", U64(|at| at.row.counters.drops_aqm)),
        (
            "drops_fault",
            "losses on the wire when the link failed, or in a restart",
            U64(|at| at.row.counters.drops_fault + at.row.cut),
        ),
        ("drops_policy", "drops by a scheme's policy, or above the link's MTU", U64(|at| at.row.counters.drops_policy)),
        ("corrupted", "packets corrupted on this link", U64(|at| at.row.corrupted)),
        ("marks", "packets marked CE here", U64(|at| at.row.counters.marks)),
        ("trims", "packets whose payload was cut off here (queue `trim`)", U64(|at| at.row.counters.trims)),
        ("queue_mean_bytes", "", F64(|at| at.row.counters.waited as f64 / (at.row.span.0 as f64).max(1.0))),
        (
            "queue_max_bytes",
            "time average and maximum of the queue without the packet in transmission",
            U64(|at| at.row.counters.max_bytes),
        ),
        (
            "delay_mean_s",
            "mean time from routing to transmission; exact",
            F64(|at| at.row.counters.delay.mean().unwrap_or(f64::NAN)),
        ),
        ("delay_p50_s", "", F64(|at| at.quantile(0.5))),
        ("delay_p95_s", "", F64(|at| at.quantile(0.95))),
        ("delay_p99_s", "its quantiles, within 6 %", F64(|at| at.quantile(0.99))),
        ("delay_max_s", "maximum; exact", F64(|at| at.row.counters.delay.max().as_secs_f64())),
    ]
}
