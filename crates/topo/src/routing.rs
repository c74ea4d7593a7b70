//! Shortest-path routing with all equal-cost next hops, in a table of routers × routers.
//!
//! A host with one link, to a router, has nothing to decide and is reached through that router alone, so it is *folded*
//! onto it: 13,350 hosts on 440 routers need a table of 440², not of 13,790². Every other node (routers, multi-homed
//! hosts, a host linked to a host) is an *anchor* and has a row and a column of its own. Hosts never forward.

use std::collections::HashMap;

use midpath_core::packet::NodeId;
use midpath_core::roles::ShortestPath;
use serde::{Deserialize, Serialize};

use crate::graph::{LinkInfo, Topology};
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
    /// The row and column of the node, or of the router that it is folded onto.
    anchor: u32,
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
    /// `groups[table[from * anchors + to]]` are the ports of `from` on shortest paths to `to`.
    table: Vec<u32>,
    anchors: usize,
    /// Offset and length in `ports` of each distinct set of ports. Set 0 is empty.
    groups: Vec<(u32, u16)>,
    ports: Vec<u16>,
}

/// A folded host's only port.
const UPLINK: &[u16] = &[0];

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
        let (places, anchor_nodes) = place_nodes(topology, &costs);
        let anchors = anchor_nodes.len();
        let mut routes =
            Routes { places, table: vec![0; anchors * anchors], anchors, groups: vec![(0, 0)], ports: vec![] };
        let row = |n: usize| (!routes.places[n].folded).then(|| routes.places[n].anchor);
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
                let at = from * self.anchors + to;
                // Neighbouring destinations mostly share their next hops: look before hashing.
                let before = self.table[at.saturating_sub(1)];
                let same = to > 0 && self.ports_of(before) == ports;
                self.table[at] = if same { before } else { self.intern(&ports, &mut known) };
            }
        }
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
        let (here, there) = (&self.places[node], &self.places[dst]);
        if node == dst || !here.up || !there.up {
            return &[];
        }
        if here.folded {
            // Its router is its only way; but not to where its router cannot go.
            let onward = here.anchor == there.anchor || self.group(here.anchor, there.anchor) != 0;
            return if onward { UPLINK } else { &[] };
        }
        if here.anchor == there.anchor {
            return &there.down;
        }
        self.ports_of(self.group(here.anchor, there.anchor))
    }

    #[inline]
    fn group(&self, from: u32, to: u32) -> u32 {
        self.table[from as usize * self.anchors + to as usize]
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
        let mut hops = Vec::new();
        let mut node = src;
        while node != dst {
            let choices = self.next_ports(node, dst);
            let port = match choices {
                [] => return None,
                [only] => *only,
                several => several[pick(node, several) % several.len()],
            };
            let at = topology.ports(node)[port as usize];
            hops.push(Hop { node, port, link: at.link as usize });
            node = at.peer as usize;
        }
        Some(hops)
    }

    /// The path that per-flow ECMP gives `flow`: the choices of [`ShortestPath::pick_index`], which nodes take too.
    pub fn flow_path(&self, topology: &Topology, src: usize, dst: usize, flow: u32) -> Option<Vec<Hop>> {
        self.path(topology, src, dst, |node, ports| {
            ShortestPath::pick_index(ports.len(), flow, NodeId(dst as u32), NodeId(node as u32))
        })
    }

    /// Bytes that the table occupies.
    pub fn memory(&self) -> usize {
        self.table.len() * size_of::<u32>()
            + self.ports.len() * size_of::<u16>()
            + self.groups.len() * size_of::<(u32, u16)>()
            + self.places.len() * size_of::<Place>()
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

fn place_nodes(topology: &Topology, costs: &[u64]) -> (Vec<Place>, Vec<usize>) {
    let count = topology.nodes().len();
    let anchors: Vec<usize> = (0..count).filter(|&n| fold(topology, n).is_none()).collect();
    let mut places = vec![Place { anchor: 0, down: [0], folded: false, up: true }; count];
    for (row, &n) in anchors.iter().enumerate() {
        places[n].anchor = row as u32;
    }
    for n in 0..count {
        if let Some((router, link)) = fold(topology, n) {
            let down = topology.port_of_link(router, link).unwrap_or(0);
            places[n] =
                Place { anchor: places[router].anchor, down: [down], folded: true, up: costs[link] != UNUSABLE };
        }
    }
    (places, anchors)
}

#[cfg(test)]
#[path = "routing_tests.rs"]
mod tests;
