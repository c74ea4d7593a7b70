//! Shortest paths to one destination among the nodes that decide anything.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::graph::{NodeKind, Topology};

/// The cost of a link that must not be used, and the distance of a node that is not reached.
pub const UNUSABLE: u64 = u64::MAX;

/// What edges cost.
#[derive(Debug, Clone)]
enum Costs {
    /// All the same, so that breadth-first search will do.
    Uniform(u64),
    /// One for each.
    Each(Vec<u64>),
}

/// The links between anchors: for each usable port the anchor on its other end, and beside that its
/// number and cost. A search over a large network takes as long as it takes to read the peers.
#[derive(Debug, Clone)]
pub struct Search {
    offsets: Vec<u32>,
    peers: Vec<u32>,
    ports: Vec<u16>,
    /// Whether an anchor forwards: routers do, hosts don't.
    forwards: Vec<bool>,
    costs: Costs,
}

impl Search {
    /// Over the anchors `nodes`, given each link's cost. `row` is the place of a node among the
    /// anchors, if it is one.
    pub fn new(topology: &Topology, nodes: &[usize], row: impl Fn(usize) -> Option<u32>, costs: &[u64]) -> Search {
        let (mut offsets, mut peers, mut ports, mut each) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        for &n in nodes {
            for (port, p) in topology.ports(n).iter().enumerate() {
                let cost = costs[p.link as usize];
                if let Some(peer) = row(p.peer as usize)
                    && cost != UNUSABLE
                {
                    peers.push(peer);
                    ports.push(port as u16);
                    each.push(cost);
                }
            }
            offsets.push(peers.len() as u32);
        }
        let first = each.first().copied().unwrap_or(1);
        let costs = if each.iter().all(|c| *c == first) { Costs::Uniform(first) } else { Costs::Each(each) };
        let forwards = nodes.iter().map(|&n| topology.nodes()[n].kind == NodeKind::Router).collect();
        peers.shrink_to_fit();
        ports.shrink_to_fit();
        Search { offsets, peers, ports, forwards, costs }
    }

    fn span(&self, n: usize) -> Range<usize> {
        self.offsets[n] as usize..self.offsets[n + 1] as usize
    }

    /// How many anchors there are.
    pub fn anchors(&self) -> usize {
        self.forwards.len()
    }

    /// The anchors on the other ends of an anchor's usable links, each as often as there are links.
    pub fn neighbours(&self, n: usize) -> impl Iterator<Item = usize> {
        self.peers[self.span(n)].iter().map(|peer| *peer as usize)
    }

    /// An anchor's usable links in the order of their other ends: these, and what the links cost.
    pub fn links_in_order(&self, n: usize, links: &mut Vec<(usize, u64)>) {
        links.clear();
        links.extend(self.span(n).map(|edge| self.edge(edge)));
        links.sort_unstable();
    }

    /// The other end of a link, and what it costs.
    fn edge(&self, edge: usize) -> (usize, u64) {
        let cost = match &self.costs {
            Costs::Uniform(cost) => *cost,
            Costs::Each(costs) => costs[edge],
        };
        (self.peers[edge] as usize, cost)
    }

    /// Every anchor's distance to `to`.
    pub fn distances_to(&self, to: usize) -> Vec<u64> {
        let mut distance = vec![UNUSABLE; self.forwards.len()];
        distance[to] = 0;
        match &self.costs {
            Costs::Uniform(cost) => self.breadth_first(to, *cost, &mut distance),
            Costs::Each(costs) => self.dijkstra(to, costs, &mut distance),
        }
        distance
    }

    /// Whether paths to `to` may lead through `n`.
    fn leads_on(&self, n: usize, to: usize) -> bool {
        n == to || self.forwards[n]
    }

    fn breadth_first(&self, to: usize, cost: u64, distance: &mut [u64]) {
        let mut queue = Vec::with_capacity(distance.len());
        queue.push(to as u32);
        let mut next = 0;
        // Whoever is found first is found on a shortest path: when all are found, the links of those
        // that are still in the queue need not be read.
        while next < queue.len() && queue.len() < distance.len() {
            let n = queue[next] as usize;
            next += 1;
            if !self.leads_on(n, to) {
                continue;
            }
            let far = distance[n].saturating_add(cost);
            for &peer in &self.peers[self.span(n)] {
                let there = &mut distance[peer as usize];
                if far < *there {
                    *there = far;
                    queue.push(peer);
                }
            }
        }
    }

    fn dijkstra(&self, to: usize, costs: &[u64], distance: &mut [u64]) {
        let mut heap = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((here, n))) = heap.pop() {
            if here != distance[n] || !self.leads_on(n, to) {
                continue;
            }
            for (peer, cost) in self.peers[self.span(n)].iter().zip(&costs[self.span(n)]) {
                let (peer, far) = (*peer as usize, here.saturating_add(*cost));
                if far < distance[peer] {
                    distance[peer] = far;
                    heap.push(Reverse((far, peer)));
                }
            }
        }
    }

    /// Fills `ports` with those of `from` that begin a shortest path to `to`, given the distances
    /// to there.
    pub fn next_ports(&self, from: usize, to: usize, distance: &[u64], ports: &mut Vec<u16>) {
        ports.clear();
        let best = distance[from];
        if from == to || best == UNUSABLE {
            return;
        }
        let (peers, numbers) = (&self.peers[self.span(from)], &self.ports[self.span(from)]);
        let edges = peers.iter().map(|p| *p as usize).zip(numbers);
        // What is reached has a distance, so no sum was cut off at the largest number.
        match &self.costs {
            Costs::Uniform(cost) => {
                let before = best - cost;
                let on_path = |&(peer, _): &(usize, &u16)| distance[peer] == before && self.leads_on(peer, to);
                ports.extend(edges.filter(on_path).map(|(_, port)| *port));
            }
            Costs::Each(costs) => {
                let each = edges.zip(&costs[self.span(from)]);
                let on_path = |&((peer, _), cost): &((usize, &u16), &u64)| {
                    distance[peer].saturating_add(*cost) == best && self.leads_on(peer, to)
                };
                ports.extend(each.filter(on_path).map(|((_, port), _)| *port));
            }
        }
    }

    /// Fills `ports` with those of `from` that begin a shortest path to `to`, given those of each
    /// anchor that begin one to its `twin`: in place of `from` that one is asked which takes its
    /// place when the twins change places.
    pub fn next_ports_as_to_twin<'a>(
        &self,
        from: usize,
        (to, twin): (usize, usize),
        known: impl Fn(usize) -> &'a [u16],
        ports: &mut Vec<u16>,
    ) {
        let other = |n: usize| match n {
            _ if n == to => twin,
            _ if n == twin => to,
            _ => n,
        };
        let (here, there) = (self.span(from), self.span(other(from)));
        let on_path = known(other(from)).iter().filter_map(|port| {
            let place = self.ports[there.clone()].binary_search(port).ok()?;
            let (peer, cost) = self.edge(there.start + place);
            Some((other(peer), cost))
        });
        let on_path: Vec<(usize, u64)> = on_path.collect();
        ports.clear();
        ports.extend(here.filter(|edge| on_path.contains(&self.edge(*edge))).map(|edge| self.ports[edge]));
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let costs = if let Costs::Each(all) = &self.costs { all.len() * size_of::<u64>() } else { 0 };
        self.peers.len() * (size_of::<u32>() + size_of::<u16>())
            + costs
            + self.offsets.len() * size_of::<u32>()
            + self.forwards.len()
    }
}
