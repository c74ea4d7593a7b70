use midpath_core::packet::{NodeId, PortId};
use midpath_core::stats::PortCounters;
use midpath_core::units::Time;

use super::Capacity;
use crate::engine::Engine;
use crate::output::{Column, Table};
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
                let sent = node.begun(port, span).bits as f64;
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
    let name = |n: u32| setup.topology.nodes()[n as usize].name.as_str();
    let u64s = |f: &dyn Fn(&PortRow) -> u64| Column::U64(rows.iter().map(f).collect());
    let f64s = |f: &dyn Fn(&PortRow) -> f64| Column::F64(rows.iter().map(f).collect());
    let quantile = |q: f64| f64s(&|r| r.counters.delay.quantile(q).unwrap_or(f64::NAN));
    Table::default()
        .with("node", Column::texts(rows.iter().map(|r| name(r.place.0))))
        .with("port", Column::U32(rows.iter().map(|r| u32::from(r.place.1)).collect()))
        .with("peer", Column::texts(rows.iter().map(|r| name(r.place.2))))
        .with("rate_bps", u64s(&|r| r.link(setup).rate_from(r.place.0 as usize).0))
        .with("delay_s", f64s(&|r| r.link(setup).delay.as_secs_f64()))
        .with("packets", u64s(&|r| r.counters.packets))
        .with("bytes", u64s(&|r| r.counters.bytes))
        .with("utilisation", f64s(&|r| r.utilisation))
        .with("drops_queue", u64s(&|r| r.counters.drops_queue))
        .with("drops_aqm", u64s(&|r| r.counters.drops_aqm))
        .with("drops_fault", u64s(&|r| r.counters.drops_fault + r.cut))
        .with("drops_policy", u64s(&|r| r.counters.drops_policy))
        .with("corrupted", u64s(&|r| r.corrupted))
        .with("marks", u64s(&|r| r.counters.marks))
        .with("queue_mean_bytes", f64s(&|r| r.counters.waited as f64 / (r.span.0 as f64).max(1.0)))
        .with("queue_max_bytes", u64s(&|r| r.counters.max_bytes))
        .with("delay_mean_s", f64s(&|r| r.counters.delay.mean().unwrap_or(f64::NAN)))
        .with("delay_p50_s", quantile(0.5))
        .with("delay_p95_s", quantile(0.95))
        .with("delay_p99_s", quantile(0.99))
        .with("delay_max_s", f64s(&|r| r.counters.delay.max().as_secs_f64()))
}
