//! Shortest paths to one destination among the nodes that decide anything.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::graph::{NodeKind, Topology};

/// The cost of a link that must not be used, and the distance of a node that is not reached.
pub const UNUSABLE: u64 = u64::MAX;

/// One usable port between two anchors.
#[derive(Debug, Clone, Copy)]
struct Edge {
    peer: u32,
    port: u16,
    cost: u64,
}

/// The links between anchors, and buffers that each search uses again.
pub struct Search {
    offsets: Vec<u32>,
    edges: Vec<Edge>,
    /// Whether an anchor forwards: routers do, hosts don't.
    forwards: Vec<bool>,
    /// Whether all costs are equal, so that breadth-first search will do.
    uniform: bool,
    distance: Vec<u64>,
}

impl Search {
    /// Over the anchors `nodes`, given each link's cost. `row` is the place of a node among the anchors, if it is one.
    pub fn new(topology: &Topology, nodes: &[usize], row: impl Fn(usize) -> Option<u32>, costs: &[u64]) -> Search {
        let (mut offsets, mut edges) = (vec![0], Vec::new());
        for &n in nodes {
            for (port, p) in topology.ports(n).iter().enumerate() {
                let cost = costs[p.link as usize];
                if let Some(peer) = row(p.peer as usize)
                    && cost != UNUSABLE
                {
                    edges.push(Edge { peer, port: port as u16, cost });
                }
            }
            offsets.push(edges.len() as u32);
        }
        let uniform = edges.windows(2).all(|w| w[0].cost == w[1].cost);
        let forwards = nodes.iter().map(|&n| topology.nodes()[n].kind == NodeKind::Router).collect();
        Search { offsets, edges, forwards, uniform, distance: vec![UNUSABLE; nodes.len()] }
    }

    fn edges(&self, n: usize) -> &[Edge] {
        &self.edges[self.offsets[n] as usize..self.offsets[n + 1] as usize]
    }

    /// Finds every anchor's distance to `to`.
    pub fn distances_to(&mut self, to: usize) {
        self.distance.fill(UNUSABLE);
        self.distance[to] = 0;
        if self.uniform { self.breadth_first(to) } else { self.dijkstra(to) }
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

    /// Offers the way through `n` to its neighbours and reports those that it brings closer.
    fn relax(&mut self, n: usize, to: usize, mut closer: impl FnMut(usize, u64)) {
        if n != to && !self.forwards[n] {
            return;
        }
        let here = self.distance[n];
        for edge in &self.edges[self.offsets[n] as usize..self.offsets[n + 1] as usize] {
            let (peer, distance) = (edge.peer as usize, here.saturating_add(edge.cost));
            if distance < self.distance[peer] {
                self.distance[peer] = distance;
                closer(peer, distance);
            }
        }
    }

    /// How far an anchor is from the one that distances were found to last.
    pub fn distance(&self, from: usize) -> u64 {
        self.distance[from]
    }

    /// Fills `ports` with those of `from` that begin a shortest path to `to`, for which the distances were found last.
    pub fn next_ports(&self, from: usize, to: usize, ports: &mut Vec<u16>) {
        ports.clear();
        let best = self.distance[from];
        if from == to || best == UNUSABLE {
            return;
        }
        let on_path = |e: &&Edge| {
            let peer = e.peer as usize;
            (peer == to || self.forwards[peer]) && self.distance[peer].saturating_add(e.cost) == best
        };
        ports.extend(self.edges(from).iter().filter(on_path).map(|e| e.port));
    }
}
