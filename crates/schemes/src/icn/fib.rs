//! The FIB: the next hops towards a node. With a stretch these are not only those of the shortest
//! paths.
//!
//! The paper leaves open where a FIB gets several next hops from; its figure 10 has them on a
//! network where hardly two paths are equally short. So a path may be longer than the shortest one
//! by a factor, the *stretch*. What a path may still cost above the shortest one from here, the
//! *spare* cost, travels in Interests without a hint, and each forwarder takes its part of it:
//! so no path is longer, whatever is drawn. An Interest never goes back to where it came from, and a
//! next hop counts only if a way leads on from it that does not come back here. The PIT detects longer loops by the
//! nonce, and returns a Nack.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

use midpath_core::packet::{Name, NodeId, PortId};
use midpath_core::roles::{LinkInfo, NodeSpec, Routes};
use rustc_hash::FxHashMap;

/// Who has the objects that several nodes have.
pub type Copies = FxHashMap<Name, Vec<NodeId>>;

/// A link, from one of its ends.
#[derive(Debug, Clone, Copy)]
struct Edge {
    peer: NodeId,
    cost: u64,
}

/// The network, as link-state routing tells it.
#[derive(Debug, Default)]
pub struct Graph {
    /// By port number.
    edges: FxHashMap<NodeId, Vec<Edge>>,
    /// Those that hand packets on.
    forwards: FxHashMap<NodeId, bool>,
}

/// The graph of a run, made when the first node asks for it.
pub type SharedGraph = OnceLock<Arc<Graph>>;

impl Graph {
    /// What can be reached from a node.
    pub fn around(node: &NodeSpec<'_>) -> Graph {
        let (mut graph, mut next) = (Graph::default(), vec![node.node]);
        while let Some(n) = next.pop() {
            if graph.edges.contains_key(&n) {
                continue;
            }
            let links = node.map.links(n).into_iter().enumerate();
            let edge =
                |(port, link): (usize, LinkInfo)| Edge { peer: link.peer, cost: node.routes.cost(n, port as u16) };
            let edges: Vec<Edge> = links.map(edge).collect();
            next.extend(edges.iter().map(|e| e.peer));
            graph.edges.insert(n, edges);
            graph.forwards.insert(n, !node.map.is_host(n) && node.map.runs(n));
        }
        graph
    }

    fn edges(&self, n: NodeId) -> &[Edge] {
        self.edges.get(&n).map_or(&[], Vec::as_slice)
    }

    fn forwards(&self, n: NodeId) -> bool {
        self.forwards.get(&n).copied().unwrap_or(false)
    }

    /// What the shortest paths to the nearest of `dsts` cost that do not cross `without`. Links
    /// cost the same both ways.
    fn costs_to(&self, dsts: &[NodeId], without: Option<NodeId>) -> FxHashMap<NodeId, u64> {
        let mut costs = FxHashMap::from_iter(dsts.iter().map(|dst| (*dst, 0u64)));
        let mut heap: BinaryHeap<_> = dsts.iter().map(|dst| Reverse((0, *dst))).collect();
        while let Some(Reverse((cost, n))) = heap.pop() {
            let stale = costs.get(&n).is_some_and(|best| *best < cost);
            if stale || (!dsts.contains(&n) && !self.forwards(n)) || Some(n) == without {
                continue;
            }
            for edge in self.edges(n) {
                let cost = cost.saturating_add(edge.cost);
                if costs.get(&edge.peer).is_none_or(|best| cost < *best) {
                    costs.insert(edge.peer, cost);
                    heap.push(Reverse((cost, edge.peer)));
                }
            }
        }
        costs
    }

    /// All next hops of `node` towards any of `dsts` from which a way leads on that does not come
    /// back.
    fn entry(&self, node: NodeId, dsts: &[NodeId], links: &[LinkInfo], stretch: f64) -> Entry {
        let (all, around) = (self.costs_to(dsts, None), self.costs_to(dsts, Some(node)));
        let Some(shortest) = all.get(&node).copied() else { return Entry::default() };
        let hop = |(port, edge): (usize, &Edge)| {
            let usable = dsts.contains(&edge.peer) || self.forwards(edge.peer);
            let (way, onward) = (around.get(&edge.peer).filter(|_| usable)?, all.get(&edge.peer)?);
            Some(Hop {
                port: PortId(port as u16),
                weight: links.get(port)?.rate.0,
                extra: way.saturating_add(edge.cost).saturating_sub(shortest),
                takes: onward.saturating_add(edge.cost).saturating_sub(shortest),
            })
        };
        let spare = (shortest as f64 * (stretch - 1.0)) as u64;
        Entry { hops: self.edges(node).iter().enumerate().filter_map(hop).collect(), spare }
    }
}

/// A next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The port that leads there.
    pub port: PortId,
    /// What it is drawn in proportion to: the link's bandwidth (§4.3.3).
    pub weight: u64,
    /// What the shortest way over it that does not come back costs above the shortest path: zero on
    /// that path.
    pub extra: u64,
    /// What going there takes of the spare cost.
    pub takes: u64,
}

/// The next hops towards a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// By port number.
    pub hops: Vec<Hop>,
    /// What a path that begins here may cost above the shortest one.
    pub spare: u64,
}

impl Entry {
    /// Whether paths part here (§4.3.2, *split point*).
    pub fn splits(&self) -> bool {
        self.hops.len() > 1
    }

    fn shortest_only(self) -> Entry {
        Entry { hops: self.hops.into_iter().filter(|hop| hop.extra == 0).collect(), ..self }
    }
}

/// The table of one node.
pub struct Fib {
    node: NodeId,
    links: Vec<LinkInfo>,
    routes: Arc<dyn Routes>,
    /// With a stretch above one.
    graph: Option<Arc<Graph>>,
    stretch: f64,
    copies: Arc<Copies>,
    /// Those that were asked for: at most as many as the network has nodes, and objects at several
    /// of them; what nothing leads to has no entry.
    entries: Vec<(Prefix, Entry)>,
    places: FxHashMap<Prefix, u32>,
    /// Places of the entries that were asked for of late, by prefix.
    recent: [u32; RECENT],
}

/// How many are looked at before the table is. As many as next hops that a node remembers
/// otherwise.
const RECENT: usize = 8;

/// What an entry is for: a node, or one of the objects that several nodes have.
type Prefix = (NodeId, Option<u32>);

impl Fib {
    /// The table of `node` for paths of at most `stretch` times the shortest one's cost.
    pub fn new(node: &NodeSpec<'_>, stretch: f64, copies: &Arc<Copies>, graph: &SharedGraph) -> Fib {
        let needed = stretch > 1.0 || !copies.is_empty();
        let graph = needed.then(|| graph.get_or_init(|| Arc::new(Graph::around(node))).clone());
        let (links, routes) = (node.links.to_vec(), node.routes.clone());
        Fib {
            node: node.node,
            links,
            routes,
            graph,
            stretch,
            copies: copies.clone(),
            entries: Vec::new(),
            places: FxHashMap::default(),
            recent: [0; RECENT],
        }
    }

    /// Routes have changed: entries are made again. Those of several paths come out as before, for
    /// they are of the whole network.
    pub fn forget(&mut self) {
        self.entries.clear();
        self.places.clear();
        self.recent = [0; RECENT];
    }

    /// Whether this node has the object.
    pub fn is_here(&self, name: Name) -> bool {
        self.several(name).map_or(name.prefix == self.node, |nodes| nodes.contains(&self.node))
    }

    /// The nodes that have an object, if they are several.
    pub fn several(&self, name: Name) -> Option<&[NodeId]> {
        if self.copies.is_empty() {
            return None;
        }
        self.copies.get(&name).map(Vec::as_slice)
    }

    /// The next hops towards an object; `None` if nothing leads there.
    #[inline]
    pub fn towards(&mut self, name: Name) -> Option<&Entry> {
        let prefix = (name.prefix, self.several(name).map(|_| name.object));
        let place = self.recent[name.prefix.0 as usize % RECENT];
        if self.entries.get(place as usize).is_none_or(|e| e.0 != prefix) {
            return self.look_up(name, prefix);
        }
        self.entries.get(place as usize).map(|e| &e.1)
    }

    /// The same where another prefix was asked for of late.
    #[inline(never)]
    fn look_up(&mut self, name: Name, prefix: Prefix) -> Option<&Entry> {
        let place = match self.places.get(&prefix) {
            Some(place) => *place,
            None => self.make(name, prefix)?,
        };
        self.recent[name.prefix.0 as usize % RECENT] = place;
        Some(&self.entries[place as usize].1)
    }

    /// Makes the entry for a prefix; `None` if nothing leads there.
    fn make(&mut self, name: Name, prefix: Prefix) -> Option<u32> {
        let several = self.copies.get(&name);
        let dsts = several.map_or(std::slice::from_ref(&name.prefix), Vec::as_slice);
        let entry = match &self.graph {
            Some(graph) if self.stretch > 1.0 => graph.entry(self.node, dsts, &self.links, self.stretch),
            Some(graph) if several.is_some() => graph.entry(self.node, dsts, &self.links, 1.0).shortest_only(),
            _ => self.ecmp_entry(name.prefix),
        };
        if entry.hops.is_empty() {
            return None;
        }
        let place = self.entries.len() as u32;
        self.entries.push((prefix, entry));
        self.places.insert(prefix, place);
        Some(place)
    }

    fn ecmp_entry(&self, dst: NodeId) -> Entry {
        let hop = |port: &u16| {
            let weight = self.links.get(usize::from(*port))?.rate.0;
            Some(Hop { port: PortId(*port), weight, extra: 0, takes: 0 })
        };
        Entry { hops: self.routes.next_ports(self.node, dst).iter().filter_map(hop).collect(), spare: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::roles::{Ecmp, Map};
    use midpath_core::units::{Rate, Time};

    /// Links between numbered nodes, each with its cost; hosts are those from 100 on.
    struct Net(Vec<(u32, u32, u64)>);

    impl Net {
        fn ports(&self, n: NodeId) -> Vec<(NodeId, u64)> {
            let ends = self.0.iter().filter_map(|(a, b, cost)| match n.0 {
                n if n == *a => Some((NodeId(*b), *cost)),
                n if n == *b => Some((NodeId(*a), *cost)),
                _ => None,
            });
            ends.collect()
        }
    }

    impl Map for Net {
        fn links(&self, n: NodeId) -> Vec<LinkInfo> {
            let link = |(peer, _)| LinkInfo { rate: Rate::from_mbps(10), delay: Time::from_ms(1), mtu: 1500, peer };
            self.ports(n).into_iter().map(link).collect()
        }
        fn is_host(&self, n: NodeId) -> bool {
            n.0 >= 100
        }
    }

    impl Routes for Net {
        fn next_ports(&self, _: NodeId, _: NodeId) -> &[u16] {
            &[0]
        }
        fn cost(&self, n: NodeId, port: u16) -> u64 {
            self.ports(n)[usize::from(port)].1
        }
    }

    fn fib(net: fn() -> Net, node: u32, stretch: f64) -> Fib {
        let routes: Arc<dyn Routes> = Arc::new(net());
        let (map, node) = (net(), NodeId(node));
        let links = map.links(node);
        let spec = NodeSpec { node, links: &links, map: &map, routes: &routes, ecmp: Ecmp::Flow };
        Fib::new(&spec, stretch, &Arc::default(), &SharedGraph::new())
    }

    /// A ring of five routers, 0 to 4, with a host at each.
    fn ring() -> Net {
        let ring = (0..5).map(|i| (i, (i + 1) % 5, 1));
        Net(ring.chain((0..5).map(|i| (i, 100 + i, 1))).collect())
    }

    /// An object that only this node has.
    fn at(node: u32) -> Name {
        Name { prefix: NodeId(node), object: 5 }
    }

    fn hop(port: u16, extra: u64, takes: u64) -> Hop {
        Hop { port: PortId(port), weight: 10_000_000, extra, takes }
    }

    #[test]
    fn the_long_way_round_a_ring_is_a_next_hop() {
        // To the host at 1: directly 2, the other way 5. From 4 on it is 4, and going there takes 2
        // of 3, for 4 could turn back.
        let mut fib = fib(ring, 0, 3.0);
        let entry = fib.towards(at(101)).expect("there is a way");
        assert_eq!((entry.hops.as_slice(), entry.spare), (&[hop(0, 0, 0), hop(1, 3, 2)][..], 4));
        // The neighbour's host is behind it; other hosts lead nowhere.
        assert_eq!(fib.towards(at(100)).expect("there is a way").hops, [hop(2, 0, 0)]);
        assert!(fib.towards(at(999)).is_none());
    }

    #[test]
    fn the_nearest_of_several_producers_counts() {
        let copies = Arc::new(Copies::from_iter([(at(101), vec![NodeId(101), NodeId(103)])]));
        let routes: Arc<dyn Routes> = Arc::new(ring());
        let (map, node) = (ring(), NodeId(4));
        let links = map.links(node);
        let spec = NodeSpec { node, links: &links, map: &map, routes: &routes, ecmp: Ecmp::Flow };
        let mut fib = Fib::new(&spec, 1.0, &copies, &SharedGraph::new());
        // Ports of 4 in the order of links: to 3, to 0, to its host. The producer at 3's host is 2
        // away, that at 1's 3.
        assert_eq!(fib.towards(at(101)).expect("there is a way").hops, [hop(0, 0, 0)]);
        assert!(!fib.is_here(at(101)));
        let mut wider = Fib::new(&spec, 1.5, &copies, &SharedGraph::new());
        assert_eq!(wider.towards(at(101)).expect("there is a way").hops, [hop(0, 0, 0), hop(1, 1, 1)]);
    }

    #[test]
    fn what_only_leads_back_is_no_next_hop() {
        // 0 – 1 – 2, and 3 hangs on 0 alone.
        let tree = || Net(vec![(0, 1, 1), (1, 2, 1), (0, 3, 1)]);
        assert_eq!(fib(tree, 0, 10.0).towards(at(2)).expect("there is a way").hops, [hop(0, 0, 0)]);
    }

    #[test]
    fn costs_are_the_metrics() {
        // 0 – 2 costs 10; by 1 it is 4.
        let triangle = || Net(vec![(0, 1, 2), (1, 2, 2), (0, 2, 10)]);
        let mut fib = fib(triangle, 0, 1.5);
        let entry = fib.towards(at(2)).expect("there is a way");
        assert_eq!((entry.hops.as_slice(), entry.spare), (&[hop(0, 0, 0), hop(1, 6, 6)][..], 2));
    }

    /// Draws anything that the spare cost allows: the path arrives, is no longer than the stretch
    /// allows, and is simple on a ring.
    #[test]
    fn whatever_is_drawn_arrives_within_the_stretch() {
        let net = ring();
        for (start, dst) in [(0, 101), (0, 102), (3, 100), (2, 104)] {
            for stretch in [1.5, 2.0, 4.0] {
                for choice in 0..64u32 {
                    let (mut at, mut from, mut cost, mut spare) = (NodeId(start), None, 0, None);
                    while at != NodeId(dst) {
                        let mut fib = fib(ring, at.0, stretch);
                        let entry = fib.towards(self::at(dst)).expect("there is a way");
                        let left = spare.unwrap_or(entry.spare);
                        let allowed = |h: &&Hop| net.ports(at)[usize::from(h.port.0)].0 != from.unwrap_or(at);
                        let hops: Vec<&Hop> = entry.hops.iter().filter(|h| h.extra <= left).filter(allowed).collect();
                        let hop = hops[(choice >> (cost % 6)) as usize % hops.len()];
                        (spare, from) = (Some(left - hop.takes), Some(at));
                        let (peer, price) = net.ports(at)[usize::from(hop.port.0)];
                        (at, cost) = (peer, cost + price);
                    }
                    let shortest = *ring_cost(start, dst - 100).iter().min().expect("two ways") + 1;
                    assert!(cost as f64 <= stretch * shortest as f64, "{start} to {dst}: {cost}");
                    assert!(ring_cost(start, dst - 100).contains(&(cost - 1)), "once round at most: {cost}");
                }
            }
        }
    }

    fn ring_cost(a: u32, b: u32) -> [u64; 2] {
        let there = u64::from((b + 5 - a) % 5);
        [there, 5 - there]
    }
}
