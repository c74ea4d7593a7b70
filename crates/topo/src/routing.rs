//! Shortest-path routing with all equal-cost next hops, in a table of routers × routers.
//!
//! A host with one link, to a router, has nothing to decide and is reached through that router alone, so it is *folded*
//! onto it: 13,350 hosts on 440 routers need a table of 440², not of 13,790². Every other node (routers, multi-homed
//! hosts, a host linked to a host) is an *anchor* and has a row and a column of its own. Hosts never forward.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use midpath_core::rng::mix;
use serde::{Deserialize, Serialize};

use crate::graph::{LinkInfo, NodeKind, Topology};

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
        let mut known = HashMap::from([(Vec::new(), 0)]);
        let mut search = Search::new(topology, &costs);
        let mut ports = Vec::new();
        for (column, &to) in anchor_nodes.iter().enumerate() {
            search.distances_to(to, metric == Metric::Hops);
            for (row, &from) in anchor_nodes.iter().enumerate() {
                search.next_ports(from, to, &mut ports);
                routes.table[row * anchors + column] = routes.intern(&ports, &mut known);
            }
        }
        routes
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
            let onward = here.anchor == there.anchor || self.group(here.anchor, there.anchor).1 > 0;
            return if onward { UPLINK } else { &[] };
        }
        if here.anchor == there.anchor {
            return &there.down;
        }
        let (offset, len) = self.group(here.anchor, there.anchor);
        &self.ports[offset as usize..offset as usize + len as usize]
    }

    #[inline]
    fn group(&self, from: u32, to: u32) -> (u32, u16) {
        self.groups[self.table[from as usize * self.anchors + to as usize] as usize]
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

    /// The path that per-flow ECMP gives `flow`: at each node, [`ecmp_hash`] modulo the number of choices.
    pub fn flow_path(&self, topology: &Topology, src: usize, dst: usize, flow: u64) -> Option<Vec<Hop>> {
        self.path(topology, src, dst, |node, ports| ecmp_choice(flow, node as u32, ports.len()))
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

/// Spreads flows over equal-cost ports: splitmix64's finaliser over the flow and, differently at each node, the node.
///
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Hashing the node in keeps
/// consecutive routers from all making the same choice (ECMP polarisation).
#[inline]
pub fn ecmp_hash(flow: u64, node: u32) -> u64 {
    mix(flow ^ mix(u64::from(node)))
}

/// [`ecmp_hash`] as a choice among `ports`, by multiply-shift: unbiased to within `ports`/2⁶⁴ and without a division.
#[inline]
pub fn ecmp_choice(flow: u64, node: u32, ports: usize) -> usize {
    ((u128::from(ecmp_hash(flow, node)) * ports as u128) >> 64) as usize
}

/// The cost of a link that must not be used, and the distance of a node that is not reached.
const UNUSABLE: u64 = u64::MAX;

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

/// Single-destination shortest paths, with buffers that are used again.
struct Search<'a> {
    topology: &'a Topology,
    costs: &'a [u64],
    distance: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(topology: &'a Topology, costs: &'a [u64]) -> Search<'a> {
        Search { topology, costs, distance: vec![UNUSABLE; topology.nodes().len()] }
    }

    /// Whether a path may pass through or end at `n` on its way to `to`.
    fn carries(&self, n: usize, to: usize) -> bool {
        n == to || self.topology.nodes()[n].kind == NodeKind::Router
    }

    /// Fills `distance` with every node's cost to reach `to`.
    fn distances_to(&mut self, to: usize, uniform: bool) {
        self.distance.fill(UNUSABLE);
        self.distance[to] = 0;
        if uniform { self.breadth_first(to) } else { self.dijkstra(to) }
    }

    fn breadth_first(&mut self, to: usize) {
        let mut queue = VecDeque::from([to]);
        while let Some(n) = queue.pop_front() {
            self.relax(n, to, |peer, _| queue.push_back(peer));
        }
    }

    fn dijkstra(&mut self, to: usize) {
        let mut heap = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((distance, n))) = heap.pop() {
            if distance == self.distance[n] {
                self.relax(n, to, |peer, distance| heap.push(Reverse((distance, peer))));
            }
        }
    }

    fn relax(&mut self, n: usize, to: usize, mut closer: impl FnMut(usize, u64)) {
        if !self.carries(n, to) {
            return;
        }
        for port in self.topology.ports(n) {
            let (peer, cost) = (port.peer as usize, self.costs[port.link as usize]);
            let distance = self.distance[n].saturating_add(cost);
            if distance < self.distance[peer] {
                self.distance[peer] = distance;
                closer(peer, distance);
            }
        }
    }

    /// Fills `ports` with those of `from` that begin a shortest path.
    fn next_ports(&self, from: usize, to: usize, ports: &mut Vec<u16>) {
        ports.clear();
        let best = self.distance[from];
        if from == to || best == UNUSABLE {
            return;
        }
        let on_path = |peer: usize, link: usize| {
            self.carries(peer, to) && self.distance[peer].saturating_add(self.costs[link]) == best
        };
        let all = self.topology.ports(from).iter().enumerate();
        ports.extend(all.filter(|(_, p)| on_path(p.peer as usize, p.link as usize)).map(|(i, _)| i as u16));
    }
}

#[cfg(test)]
#[path = "routing_tests.rs"]
mod tests;
