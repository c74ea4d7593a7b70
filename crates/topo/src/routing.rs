//! Shortest-path routing with all equal-cost next hops, in a table of routers × routers.
//!
//! A host with one link, to a router, has nothing to decide and is reached through that router alone, so it is *folded*
//! onto it: 13,350 hosts on 440 routers need a table of 440², not of 13,790². A host with a few links to routers is *homed*: it has a
//! column, for routers have to choose between its homes, and no row: its own way out follows from its routers' distances. Every other node
//! (routers, a host linked to a host or to very many routers) is an *anchor* and has a row and a column. Hosts never forward.

use std::collections::HashMap;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::{ShortestPath, Step, walk};
use serde::{Deserialize, Serialize};

use crate::graph::{LinkInfo, Topology};
use crate::homed::{Homes, MAX_HOMES};
use crate::shortest::{Search, UNUSABLE};

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
    /// The cost of a link, above zero. Weights count in millionths, so that equal sums are exactly equal.
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
    /// The column of the node, or of the router that it is folded onto. An anchor's row has the same number.
    column: u32,
    /// The row: that of the router for a folded host, [`HOMED`] for a homed one.
    row: u32,
    /// For a folded host, the router's port that leads to it, in a slice of one; for an anchor, not used.
    down: [u16; 1],
    folded: bool,
    /// For a folded host, whether its link is usable.
    up: bool,
}

/// The next ports from every node to every other.
#[derive(Debug, Clone)]
pub struct Routes {
    places: Vec<Place>,
    /// `groups[table[row * width + column]]` are the ports of an anchor on shortest paths to a node.
    table: Vec<u32>,
    anchors: usize,
    /// Anchors and homed hosts.
    width: usize,
    /// The nodes that have a column, by column.
    spots: Vec<u32>,
    homes: Homes,
    /// Offset and length in `ports` of each distinct set of ports. Set 0 is empty.
    groups: Vec<(u32, u16)>,
    ports: Vec<u16>,
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
        let anchors = anchor_nodes.len();
        let width = anchors + homed.len();
        let homes = Homes::new(topology, &homed, anchors, |n| places[n].column, &costs);
        let table = vec![0; anchors * width];
        let spots = anchor_nodes.iter().chain(&homed).map(|&n| n as u32).collect();
        let mut routes = Routes { places, table, anchors, width, spots, homes, groups: vec![(0, 0)], ports: vec![] };
        let row = |n: usize| {
            let place = &routes.places[n];
            (!place.folded && place.row != HOMED).then_some(place.row)
        };
        let mut search = Search::new(topology, &anchor_nodes, row, &costs);
        routes.fill(&mut search);
        routes
    }

    fn fill(&mut self, search: &mut Search) {
        let mut known = HashMap::from([(Vec::new(), 0)]);
        let mut ports = Vec::new();
        for to in 0..self.anchors {
            search.distances_to(to);
            for from in 0..self.anchors {
                search.next_ports(from, to, &mut ports);
                self.put(from, to, &ports, &mut known);
                self.homes.learn(from, to, search.distance(from));
            }
        }
        for host in 0..self.homes.len() {
            for from in 0..self.anchors {
                let best = self.homes.distance_to_host(from, host);
                ports.clear();
                for home in self.homes.of(host).iter().filter(|h| self.homes.by(from, h) == best) {
                    match home.router as usize == from {
                        true => ports.push(home.down),
                        false => ports.extend_from_slice(self.ports_of(self.group(from as u32, home.router))),
                    }
                }
                ports.sort_unstable();
                ports.dedup();
                self.put(from, self.anchors + host, &ports, &mut known);
            }
        }
    }

    fn put(&mut self, from: usize, to: usize, ports: &[u16], known: &mut HashMap<Vec<u16>, u32>) {
        let at = from * self.width + to;
        // Neighbouring destinations mostly share their next hops: look before hashing.
        let before = self.table[at.saturating_sub(1)];
        let same = to > 0 && self.ports_of(before) == ports;
        self.table[at] = if same { before } else { self.intern(ports, known) };
    }

    #[inline]
    fn ports_of(&self, group: u32) -> &[u16] {
        let (offset, len) = self.groups[group as usize];
        &self.ports[offset as usize..offset as usize + len as usize]
    }

    /// The number of this set of ports, whichever node has it.
    fn intern(&mut self, ports: &[u16], known: &mut HashMap<Vec<u16>, u32>) -> u32 {
        if let Some(&group) = known.get(ports) {
            return group;
        }
        let group = self.groups.len() as u32;
        self.groups.push((self.ports.len() as u32, ports.len() as u16));
        self.ports.extend_from_slice(ports);
        known.insert(ports.to_vec(), group);
        group
    }

    /// The ports of `node` that lie on shortest paths to `dst`, in rising order; empty if `dst` is unreachable or is `node`.
    #[inline]
    pub fn next_ports(&self, node: usize, dst: usize) -> &[u16] {
        // Packets may name nodes that are not there.
        let (Some(here), Some(there)) = (self.places.get(node), self.places.get(dst)) else { return &[] };
        if node == dst || !here.up || !there.up {
            return &[];
        }
        if here.folded {
            // Its router is its only way; but not to where its router cannot go.
            let onward = here.row == there.column || self.group(here.row, there.column) != 0;
            return if onward { UPLINK } else { &[] };
        }
        if here.row == HOMED {
            return self.homes.way_out(here.column, there.column);
        }
        if here.row == there.column {
            return &there.down;
        }
        self.ports_of(self.group(here.row, there.column))
    }

    /// The nodes that routes are kept of: all but hosts with a single link to a router.
    pub fn spots(&self) -> &[u32] {
        &self.spots
    }

    /// The position of a node in [`Routes::spots`]; of a host with a single link, that of its router.
    pub fn spot(&self, node: usize) -> usize {
        self.places[node].column as usize
    }

    #[inline]
    fn group(&self, from: u32, to: u32) -> u32 {
        self.table[from as usize * self.width + to as usize]
    }

    /// The hops of a path from `src` to `dst`, where `pick` chooses among equal-cost ports: it is given the node and
    /// its ports and answers with a position (taken modulo their number). `None` if unreachable.
    pub fn path(
        &self,
        topology: &Topology,
        src: usize,
        dst: usize,
        mut pick: impl FnMut(usize, &[u16]) -> usize,
    ) -> Option<Vec<Hop>> {
        let at = |node: NodeId, port: PortId| topology.ports(node.0 as usize)[usize::from(port.0)];
        let choose = |node: NodeId| match self.next_ports(node.0 as usize, dst) {
            [] => None,
            [only] => Some(PortId(*only)),
            several => Some(PortId(several[pick(node.0 as usize, several) % several.len()])),
        };
        // Every hop of a shortest path is nearer, so it ends.
        let ends = (NodeId(src as u32), NodeId(dst as u32));
        let steps = walk(ends, usize::MAX, choose, |node, port| Some(NodeId(at(node, port).peer)))?;
        let hop = |s: &Step| Hop { node: s.node.0 as usize, port: s.port.0, link: at(s.node, s.port).link as usize };
        Some(steps.iter().map(hop).collect())
    }

    /// The path that per-flow ECMP gives the conversation `key`: the choices of [`ShortestPath::pick_index`], which nodes take too.
    pub fn flow_path(&self, topology: &Topology, src: usize, dst: usize, key: u32) -> Option<Vec<Hop>> {
        self.path(topology, src, dst, |node, ports| {
            ShortestPath::pick_index(ports.len(), key, NodeId(dst as u32), NodeId(node as u32))
        })
    }

    /// Bytes that the table occupies.
    pub fn memory(&self) -> usize {
        self.table.len() * size_of::<u32>()
            + self.ports.len() * size_of::<u16>()
            + self.groups.len() * size_of::<(u32, u16)>()
            + self.places.len() * size_of::<Place>()
            + self.homes.memory()
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

/// The router that a host with a single link hangs on, with the link.
fn fold(topology: &Topology, n: usize) -> Option<(usize, usize)> {
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
