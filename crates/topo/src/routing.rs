//! Shortest-path routing with all equal-cost next hops, in a table of routers × routers.
//!
//! A host with one link, to a router, has nothing to decide and is reached through that router
//! alone, so it is *folded* onto it: 13,350 hosts on 440 routers need a table of 440², not of
//! 13,790². A host with a few links to routers is *homed*: it has a column, for routers have to
//! choose between its homes, and no row: its own way out follows from its routers' distances. Every
//! other node (routers, a host linked to a host or to very many routers) is an *anchor* and has a
//! row and a column. Hosts never forward.
//!
//! A column is worked out when it is first asked for. Set-up then costs as much as the network is
//! large, and each destination that is used as much again, in place of all pairs of routers.

use std::sync::OnceLock;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::{Ecmp, Step, walk};
use serde::{Deserialize, Serialize};

use crate::columns::{Column, Sets};
use crate::graph::{LinkInfo, Topology};
use crate::homed::{Home, Homes, MAX_HOMES};
use crate::shortest::{Search, UNUSABLE};
use crate::twins::Twins;

/// What makes a path short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Every link costs the same.
    #[default]
    Hops,
    /// A link costs its weight.
    Weight,
    /// A link costs its propagation delay.
    Delay,
}

impl Metric {
    /// The cost of a link, above zero. Weights count in millionths, so that equal sums are exactly
    /// equal.
    pub fn cost(self, link: &LinkInfo) -> u64 {
        match self {
            Metric::Hops => 1,
            Metric::Weight => ((link.weight * 1e6).round() as u64).max(1),
            Metric::Delay => link.delay.0.max(1),
        }
    }
}

/// Where a node stands in the table.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The column of the node, or of the router that it is folded onto. An anchor's row has the
    /// same number.
    column: u32,
    /// The row: that of the router for a folded host, [`HOMED`] for a homed one.
    row: u32,
    /// For a folded host, the router's port that leads to it, in a slice of one; for an anchor, not
    /// used.
    down: [u16; 1],
    folded: bool,
    /// For a folded host, whether its link is usable.
    up: bool,
}

/// The next ports from every node to every other.
///
/// They are worked out by destination, when somebody first asks for a way to it: a network is
/// mostly used towards those of its routers that have hosts.
#[derive(Debug, Clone)]
pub struct Routes {
    places: Vec<Place>,
    /// How to get to each node that has a column: anchors, then homed hosts.
    columns: Vec<OnceLock<Column>>,
    anchors: usize,
    /// The nodes that have a column, by column.
    spots: Vec<u32>,
    homes: Homes,
    search: Search,
    twins: Twins,
}

/// A folded host's only port.
const UPLINK: &[u16] = &[0];

/// In place of a row: the node is a homed host.
const HOMED: u32 = u32::MAX;

impl Routes {
    /// Routes over all links.
    pub fn compute(topology: &Topology, metric: Metric) -> Routes {
        Routes::compute_over(topology, metric, |_| true)
    }

    /// Routes over the links for which `usable` holds: after a fault, those that are up.
    pub fn compute_over(topology: &Topology, metric: Metric, usable: impl Fn(usize) -> bool) -> Routes {
        let costs: Vec<u64> = topology
            .links()
            .iter()
            .enumerate()
            .map(|(i, link)| if usable(i) { metric.cost(link) } else { UNUSABLE })
            .collect();
        let Placed { places, anchors: anchor_nodes, homed } = place_nodes(topology, &costs);
        let homes = Homes::new(topology, &homed, |n| places[n].column, &costs);
        let spots: Vec<u32> = anchor_nodes.iter().chain(&homed).map(|&n| n as u32).collect();
        let row = |n: usize| (!places[n].folded && places[n].row != HOMED).then_some(places[n].row);
        let search = Search::new(topology, &anchor_nodes, row, &costs);
        let columns = spots.iter().map(|_| OnceLock::new()).collect();
        let twins = Twins::of(&search);
        Routes { places, columns, anchors: anchor_nodes.len(), spots, homes, search, twins }
    }

    /// How to get to the node that has column `to`.
    #[inline(always)]
    fn column(&self, to: u32) -> &Column {
        match self.columns[to as usize].get() {
            Some(known) => known,
            None => self.new_column(to as usize),
        }
    }

    #[cold]
    fn new_column(&self, to: usize) -> &Column {
        self.columns[to].get_or_init(|| self.work_out(to))
    }

    fn work_out(&self, to: usize) -> Column {
        match to.checked_sub(self.anchors) {
            None => self.to_anchor(to),
            Some(host) => self.to_homed(host),
        }
    }

    fn to_anchor(&self, to: usize) -> Column {
        let known = |&twin: &u32| Some((twin as usize, self.columns[twin as usize].get()?));
        match self.twins.with(to).iter().find_map(known) {
            Some((twin, column)) => self.as_to_twin(to, twin, column),
            None => self.by_search(to),
        }
    }

    fn by_search(&self, to: usize) -> Column {
        let distance = self.search.distances_to(to);
        let (mut column, mut ports) = (Sets::default(), Vec::new());
        for from in 0..self.anchors {
            self.search.next_ports(from, to, &distance, &mut ports);
            column.push(&ports);
        }
        column.finish(if self.homes.is_empty() { Vec::new() } else { distance })
    }

    /// How to get to `to`, given how to get to its `twin`. The network stays the same where the two
    /// change places, which the nodes notice that have links to them.
    fn as_to_twin(&self, to: usize, twin: usize, known: &Column) -> Column {
        let mut others: Vec<usize> = self.search.neighbours(to).chain([to, twin]).collect();
        others.sort_unstable();
        others.dedup();
        let (mut column, mut ports, mut done) = (Sets::default(), Vec::new(), 0);
        for other in others {
            column.push_as(known, done..other as u32);
            self.search.next_ports_as_to_twin(other, (to, twin), |row| known.ports(row as u32), &mut ports);
            column.push(&ports);
            done = other as u32 + 1;
        }
        column.push_as(known, done..self.anchors as u32);
        let mut distance = known.distance.to_vec();
        if !distance.is_empty() {
            distance.swap(to, twin);
        }
        column.finish(distance)
    }

    /// Routers choose between the homes of the host.
    fn to_homed(&self, host: usize) -> Column {
        let homes: Vec<(&Home, &Column)> = self.homes.of(host).iter().map(|h| (h, self.column(h.router))).collect();
        let (mut column, mut ports) = (Sets::default(), Vec::new());
        for from in 0..self.anchors {
            let by = |(home, router): &(&Home, &Column)| home.beyond(router.distance[from]);
            let best = homes.iter().filter_map(by).min();
            ports.clear();
            for (home, router) in homes.iter().filter(|h| by(h) == best) {
                match home.router as usize == from {
                    true => ports.push(home.down),
                    false => ports.extend_from_slice(router.ports(from as u32)),
                }
            }
            ports.sort_unstable();
            ports.dedup();
            column.push(&ports);
        }
        column.finish(Vec::new())
    }

    /// How far a router is from the node that has column `to`; `None` if it does not reach it.
    fn distance(&self, router: u32, to: u32) -> Option<u64> {
        match (to as usize).checked_sub(self.anchors) {
            None => Some(self.column(to).distance[router as usize]).filter(|d| *d != UNUSABLE),
            Some(host) => {
                let by = |home: &Home| home.beyond(self.column(home.router).distance[router as usize]);
                self.homes.of(host).iter().filter_map(by).min()
            }
        }
    }

    /// The ports of `node` that lie on shortest paths to `dst`, in rising order; empty if `dst` is
    /// unreachable or is `node`.
    #[inline]
    pub fn next_ports(&self, node: usize, dst: usize) -> &[u16] {
        // Packets may name nodes that are not there.
        let (Some(here), Some(there)) = (self.places.get(node), self.places.get(dst)) else { return &[] };
        if node == dst || !here.up || !there.up {
            return &[];
        }
        if here.folded {
            // Its router is its only way; but not to where its router cannot go.
            let onward = here.row == there.column || !self.column(there.column).ports(here.row).is_empty();
            return if onward { UPLINK } else { &[] };
        }
        if here.row == HOMED {
            let host = here.column as usize - self.anchors;
            return self.homes.way_out(host, |router| self.distance(router, there.column));
        }
        if here.row == there.column {
            return &there.down;
        }
        self.column(there.column).ports(here.row)
    }

    /// The nodes that routes are kept of: all but hosts with a single link to a router.
    pub fn spots(&self) -> &[u32] {
        &self.spots
    }

    /// The position of a node in [`Routes::spots`]; of a host with a single link, that of its
    /// router.
    pub fn spot(&self, node: usize) -> usize {
        self.places[node].column as usize
    }

    /// The path that per-flow ECMP gives the conversation `key`, by the choices that nodes take
    /// too. `None` if unreachable.
    pub fn flow_path(&self, topology: &Topology, src: usize, dst: usize, key: u32) -> Option<Vec<Hop>> {
        let to = NodeId(dst as u32);
        let ports = |node: NodeId| self.next_ports(node.0 as usize, dst);
        follow(topology, (src, dst), |node| Ecmp::Flow.expected(ports(node), key, to, node))
    }

    /// Bytes that it occupies, with the columns that have been worked out.
    pub fn memory(&self) -> usize {
        let columns = self.columns.iter().filter_map(OnceLock::get).map(Column::memory).sum::<usize>();
        self.fixed_memory() + columns
    }

    /// Bytes that it occupies when all columns have been worked out and each row is as wide as may
    /// be. Sets of ports don't count.
    pub fn most_memory(&self) -> usize {
        let distances = if self.homes.is_empty() { 0 } else { self.anchors * size_of::<u64>() };
        let column = self.anchors * size_of::<u32>() + distances;
        self.fixed_memory() + self.columns.len() * column
    }

    fn fixed_memory(&self) -> usize {
        self.columns.len() * (size_of::<OnceLock<Column>>() + size_of::<u32>())
            + self.places.len() * size_of::<Place>()
            + self.homes.memory()
            + self.search.memory()
            + self.twins.memory()
    }
}

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The node that sends.
    pub node: usize,
    /// Its port.
    pub port: u16,
    /// The link behind that port.
    pub link: usize,
}

/// The hops from one node to another along the ports that `pick` chooses. `None` where it has no
/// answer, and where it leads in a circle.
pub fn follow(
    topology: &Topology,
    (src, dst): (usize, usize),
    pick: impl FnMut(NodeId) -> Option<PortId>,
) -> Option<Vec<Hop>> {
    let at = |node: NodeId, port: PortId| topology.ports(node.0 as usize)[usize::from(port.0)];
    let (ends, most) = ((NodeId(src as u32), NodeId(dst as u32)), topology.nodes().len());
    let steps = walk(ends, most, pick, |node, port| Some(NodeId(at(node, port).peer)))?;
    let hop = |s: &Step| Hop { node: s.node.0 as usize, port: s.port.0, link: at(s.node, s.port).link as usize };
    Some(steps.iter().map(hop).collect())
}

/// The router that a host with a single link hangs on, with the link.
pub(crate) fn fold(topology: &Topology, n: usize) -> Option<(usize, usize)> {
    match topology.ports(n) {
        [only] if topology.is_host(n) && !topology.is_host(only.peer as usize) => {
            Some((only.peer as usize, only.link as usize))
        }
        _ => None,
    }
}

/// Whether a host has a few links, all of them to routers.
fn is_homed(topology: &Topology, n: usize) -> bool {
    let ports = topology.ports(n);
    let homes = (2..=MAX_HOMES).contains(&ports.len());
    homes && topology.is_host(n) && ports.iter().all(|p| !topology.is_host(p.peer as usize))
}

/// Where all nodes stand.
struct Placed {
    places: Vec<Place>,
    anchors: Vec<usize>,
    homed: Vec<usize>,
}

fn place_nodes(topology: &Topology, costs: &[u64]) -> Placed {
    let count = topology.nodes().len();
    let (homed, others): (Vec<usize>, Vec<usize>) =
        (0..count).filter(|&n| fold(topology, n).is_none()).partition(|&n| is_homed(topology, n));
    let mut places = vec![Place { column: 0, row: 0, down: [0], folded: false, up: true }; count];
    for (row, &n) in others.iter().enumerate() {
        (places[n].row, places[n].column) = (row as u32, row as u32);
    }
    for (i, &n) in homed.iter().enumerate() {
        (places[n].row, places[n].column) = (HOMED, (others.len() + i) as u32);
    }
    for n in 0..count {
        if let Some((router, link)) = fold(topology, n) {
            let down = [topology.port_of_link(router, link).unwrap_or(0)];
            let Place { row, column, .. } = places[router];
            places[n] = Place { column, row, down, folded: true, up: costs[link] != UNUSABLE };
        }
    }
    Placed { places, anchors: others, homed }
}

#[cfg(test)]
#[path = "routing_tests.rs"]
pub(crate) mod tests;
