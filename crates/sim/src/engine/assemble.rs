//! From a network to an engine: who runs where, what leads to what, who can reach whom how soon.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use midpath_core::node::{Line, Node, Opportunities};
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::FlowReport;
use midpath_core::units::{Rate, Time};
use rustc_hash::FxHashMap;

use super::chance::{Bursts, Chain, Jitter};
use super::parallel::{Plan, run_alone, run_together};
use super::part::Part;
use super::rings::{MANY, Rings};
use super::wire::{Changes, Loss, Target, Wire};
use super::{Event, FlowFate, Probe, Progress, Tally};

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct NetLink {
    /// Sending end.
    pub from: (NodeId, PortId),
    /// Receiving end.
    pub to: (NodeId, PortId),
    /// Transmission rate at the start.
    pub rate: Rate,
    /// Propagation delay, above zero.
    pub delay: Time,
    /// Probability that a packet is corrupted on the way.
    pub corruption: f64,
    /// When it goes down during the run.
    pub downs: Vec<Time>,
    /// Delays from a time on, in order.
    pub delays: Vec<(Time, Time)>,
    /// How it varies from packet to packet.
    pub variation: Variation,
}

/// How one direction of a link varies from packet to packet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variation {
    /// Loss in bursts, beside corruption.
    pub bursts: Option<Bursts>,
    /// What is added to the delay.
    pub jitter: Option<Jitter>,
    /// When packets are delivered, in place of a rate.
    pub opportunities: Option<Arc<Opportunities>>,
}

/// What an engine runs. Node `i` has number `i`.
pub struct Network {
    /// The nodes, with their flows' starts already asked for.
    pub nodes: Vec<Node>,
    /// Both directions of every link. Each port has exactly one link out and one in.
    pub links: Vec<NetLink>,
    /// What happens to nodes during the run.
    pub events: Vec<(NodeId, Time, Event)>,
    /// The run's seed.
    pub seed: u64,
}

/// A network ready to run.
pub struct Engine {
    parts: Vec<Part>,
    /// Part and number therein of each node.
    place: Vec<(u32, u32)>,
    nodes_of_rings: Vec<Vec<u32>>,
    window: Time,
}

impl Engine {
    /// Prepares `network` to be run by at most `threads` threads. `probe` makes the probe of a part from its nodes.
    pub fn new(mut network: Network, threads: usize, mut probe: impl FnMut(&[NodeId]) -> Box<dyn Probe>) -> Engine {
        let part_of = partition(network.nodes.len(), &network.links, threads.max(1));
        let parts = part_of.iter().map(|p| *p as usize + 1).max().unwrap_or(1);
        let mut place = Vec::with_capacity(part_of.len());
        let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); parts];
        for (n, p) in part_of.iter().enumerate() {
            place.push((*p, members[*p as usize].len() as u32));
            members[*p as usize].push(NodeId(n as u32));
        }
        let window = cut_window(&network.links, &part_of);
        let mut events = schedule_events(&mut network, &place, parts);
        let map = Map::new(&network, &members);
        let mut nodes: Vec<Vec<Node>> = (0..parts).map(|_| Vec::new()).collect();
        let mut wires: Vec<Vec<Vec<Wire>>> = (0..parts).map(|_| Vec::new()).collect();
        let mut lookahead: Vec<Vec<Time>> = (0..parts).map(|_| Vec::new()).collect();
        for (n, node) in network.nodes.into_iter().enumerate() {
            let p = place[n].0 as usize;
            wires[p].push(map.wires_of(n, node.ports(), &network.links, &place, network.seed));
            lookahead[p].push(map.lookahead[n]);
            nodes[p].push(node);
        }
        let nodes_of_rings = map.first_ring.iter().map(|f| node_of_ring(f)).collect();
        let built = (0..parts).map(|p| {
            let take = |v: &mut Vec<Vec<Time>>| std::mem::take(&mut v[p]);
            let look = take(&mut lookahead);
            let (nodes, wires) = (std::mem::take(&mut nodes[p]), std::mem::take(&mut wires[p]));
            let mut rings = Rings::default();
            nodes.iter().for_each(|n| (0..n.ports()).for_each(|i| rings.add(PortId(i as u16))));
            if nodes.iter().any(|n| n.ports() > MANY) {
                rings.index();
            }
            let first_ring = map.first_ring[p].clone();
            Part::new(nodes, wires, first_ring, rings, look, parts, std::mem::take(&mut events[p]), probe(&members[p]))
        });
        let parts = built.collect();
        Engine { parts, place, nodes_of_rings, window }
    }

    /// Makes all links carry bytes: every packet is encoded and decoded on each.
    pub fn carry_bytes(&mut self) {
        self.parts.iter_mut().for_each(Part::carry_bytes);
    }

    /// Runs until nothing but housekeeping happens any more, or until `stop`; samples every `sample`. `progress` returning false
    /// cancels the run. Says whether it ran to its end.
    pub fn run(
        &mut self,
        stop: Option<Time>,
        sample: Option<Time>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> bool {
        let stop_at = stop.unwrap_or(Time::MAX);
        self.parts.iter_mut().flat_map(|p| &mut p.nodes).for_each(|node| node.measure_until(stop_at));
        let plan =
            Plan { stop: stop_at, sample: sample.filter(|s| !s.is_zero()).unwrap_or(Time::MAX), window: self.window };
        match self.parts.as_mut_slice() {
            [only] => run_alone(only, plan, progress),
            several => run_together(several, &self.nodes_of_rings, plan, progress),
        }
    }

    /// How many threads it runs on.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        let (p, n) = self.place[id.0 as usize];
        &self.parts[p as usize].nodes[n as usize]
    }

    /// Packets lost on a port's wire because the link went down on them.
    pub fn cut(&self, id: NodeId, port: PortId) -> u64 {
        let (p, n) = self.place[id.0 as usize];
        let wire = &self.parts[p as usize].wires[n as usize][usize::from(port.0)];
        wire.changes.as_ref().map_or(0, |c| c.lost)
    }

    /// Packets that arrived at a port corrupted.
    pub fn corrupted(&self, id: NodeId, port: PortId) -> u64 {
        let (p, n) = self.place[id.0 as usize];
        let part = &self.parts[p as usize];
        part.rings.corrupted[(part.first_ring[n as usize] + u32::from(port.0)) as usize]
    }

    /// All parts' tallies as one.
    pub fn tally(&self) -> Tally {
        self.parts.iter().fold(Tally::default(), |mut sum, p| {
            sum.add(&p.tally);
            sum
        })
    }

    /// Packets made by endpoints and ports; imports count once.
    pub fn created(&self) -> u64 {
        self.parts.iter().map(|p| p.pool.created() - p.tally.imported).sum()
    }

    /// Packets stored in ports and packets on wires.
    pub fn remaining(&self) -> (u64, u64) {
        self.parts.iter().map(Part::remaining).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Packets alive in the pools: what must equal those remaining.
    pub fn live(&self) -> u64 {
        self.parts.iter().map(|p| p.pool.live() as u64).sum()
    }

    /// What happened to each flow's packets.
    pub fn fates(&self) -> FxHashMap<FlowId, FlowFate> {
        let mut all = FxHashMap::<FlowId, FlowFate>::default();
        for (flow, fate) in self.parts.iter().flat_map(|p| &p.fates) {
            let sum = all.entry(*flow).or_default();
            sum.dropped += fate.dropped;
            sum.corrupted += fate.corrupted;
            sum.marked += fate.marked;
        }
        all
    }

    /// Every endpoint's last report: flow, whether it is the active end, report.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, bool, FlowReport)> + '_ {
        self.parts.iter().flat_map(|p| p.reports.iter().copied().chain(p.nodes.iter().flat_map(Node::reports)))
    }

    /// Bytes of memory in use by the engine.
    pub fn memory(&self) -> usize {
        self.parts.iter().map(Part::memory).sum()
    }

    /// The probes, part by part.
    pub fn into_probes(self) -> impl Iterator<Item = Box<dyn Probe>> {
        self.parts.into_iter().map(|p| p.probe)
    }
}

/// What leads where.
struct Map {
    /// Per part, per node: its first ring; one more entry ends the last.
    first_ring: Vec<Vec<u32>>,
    /// The link that leaves each port.
    out: FxHashMap<(NodeId, PortId), usize>,
    /// How soon anybody can reach each node.
    lookahead: Vec<Time>,
}

impl Map {
    fn new(network: &Network, members: &[Vec<NodeId>]) -> Map {
        let mut lookahead = vec![Time::MAX; network.nodes.len()];
        for link in &network.links {
            let reach = &mut lookahead[link.to.0.0 as usize];
            *reach = link.shortest().min(*reach);
        }
        let first_ring = members
            .iter()
            .map(|m| {
                let mut sum = 0;
                let ends = m.iter().map(|id| {
                    sum += network.nodes[id.0 as usize].ports() as u32;
                    sum
                });
                std::iter::once(0).chain(ends).collect()
            })
            .collect();
        let out = network.links.iter().enumerate().map(|(i, l)| (l.from, i)).collect();
        Map { first_ring, out, lookahead }
    }

    /// The wires that leave node `n`, by port.
    fn wires_of(&self, n: usize, ports: usize, links: &[NetLink], place: &[(u32, u32)], seed: u64) -> Vec<Wire> {
        (0..ports)
            .map(|port| {
                let index = self.out[&(NodeId(n as u32), PortId(port as u16))];
                let link = &links[index];
                let (part, node) = place[link.to.0.0 as usize];
                let ring = self.first_ring[part as usize][node as usize] + u32::from(link.to.1.0);
                let here = part == place[n].0;
                Wire {
                    line: link.line(),
                    delay: link.delay,
                    target: if here { Target::Here { ring, node } } else { Target::There { part, ring } },
                    loss: link.loss(seed, index as u64),
                    changes: link.changes(seed, index as u64),
                }
            })
            .collect()
    }
}

impl NetLink {
    /// The smallest delay that it has during the run.
    fn shortest(&self) -> Time {
        self.delays.iter().map(|d| d.1).fold(self.delay, Time::min)
    }

    fn line(&self) -> Line {
        let line = Line::new(self.rate);
        match &self.variation.opportunities {
            None => line,
            Some(all) => line.with_opportunities(all.clone()),
        }
    }

    fn loss(&self, seed: u64, index: u64) -> Option<Box<Loss>> {
        let corruption = (self.corruption > 0.0).then(|| (self.corruption, stream(seed, Purpose::Corruption, index)));
        let bursts = self.variation.bursts.map(|b| Chain::new(b, stream(seed, Purpose::Bursts, index)));
        (corruption.is_some() || bursts.is_some()).then(|| Box::new(Loss { corruption, bursts }))
    }

    fn changes(&self, seed: u64, index: u64) -> Option<Box<Changes>> {
        let jitter = self.variation.jitter.map(|j| (j, stream(seed, Purpose::Jitter, index)));
        let changes = !self.downs.is_empty() || !self.delays.is_empty() || jitter.is_some();
        changes.then(|| {
            let (downs, delays) = (self.downs.clone(), self.delays.clone());
            Box::new(Changes { downs, delays, jitter, ..Changes::default() })
        })
    }
}

/// Puts every event into its part's list and asks its node to be woken for it.
fn schedule_events(network: &mut Network, place: &[(u32, u32)], parts: usize) -> Vec<Vec<Event>> {
    let mut lists = vec![Vec::new(); parts];
    for (node, at, event) in &network.events {
        let list = &mut lists[place[node.0 as usize].0 as usize];
        network.nodes[node.0 as usize].wake_driver(*at, list.len() as u32);
        list.push(*event);
    }
    lists
}

fn node_of_ring(first_ring: &[u32]) -> Vec<u32> {
    let spans = first_ring.windows(2).enumerate();
    spans.flat_map(|(n, w)| std::iter::repeat_n(n as u32, (w[1] - w[0]) as usize)).collect()
}

/// The smallest delay between two parts; [`Time::MAX`] if nothing is cut.
fn cut_window(links: &[NetLink], part_of: &[u32]) -> Time {
    let cut = |l: &&NetLink| part_of[l.from.0.0 as usize] != part_of[l.to.0.0 as usize];
    links.iter().filter(cut).map(NetLink::shortest).min().unwrap_or(Time::MAX)
}

/// Which part each node goes to: `wanted` parts if they balance, else as many fewer as do.
fn partition(nodes: usize, links: &[NetLink], wanted: usize) -> Vec<u32> {
    let most = wanted.min(nodes);
    (2..=most).rev().find_map(|parts| cut(nodes, links, parts)).unwrap_or_else(|| vec![0; nodes])
}

/// A partition in at most `wanted` parts of about equal numbers of ports, cut where delays are long.
///
/// Links are taken from the longest delay down as the places where one may cut; the first delay that leaves pieces
/// small enough to balance is the one. The pieces are then laid out breadth-first and dealt into parts in that order.
fn cut(nodes: usize, links: &[NetLink], wanted: usize) -> Option<Vec<u32>> {
    let mut weight = vec![1usize; nodes];
    links.iter().for_each(|l| weight[l.from.0.0 as usize] += 1);
    let total: usize = weight.iter().sum();
    let delays: BTreeSet<Time> = links.iter().map(NetLink::shortest).collect();
    let fair = total.div_ceil(wanted);
    let balanced = delays.iter().rev().map(|d| pieces(nodes, links, *d)).find(|piece| {
        let mut sums = vec![0; nodes];
        (0..nodes).for_each(|n| sums[piece[n]] += weight[n]);
        sums.iter().max().is_some_and(|m| *m * 4 <= fair * 5)
    })?;
    Some(deal(&balanced, &breadth_first(nodes, links), &weight, fair, wanted))
}

/// The connected pieces (by smallest member) when links of `delay` and longer are cut.
fn pieces(nodes: usize, links: &[NetLink], delay: Time) -> Vec<usize> {
    let mut root: Vec<usize> = (0..nodes).collect();
    fn find(root: &mut [usize], mut n: usize) -> usize {
        while root[n] != n {
            root[n] = root[root[n]];
            n = root[n];
        }
        n
    }
    for l in links.iter().filter(|l| l.shortest() < delay) {
        let (a, b) = (find(&mut root, l.from.0.0 as usize), find(&mut root, l.to.0.0 as usize));
        let (low, high) = (a.min(b), a.max(b));
        root[high] = low;
    }
    (0..nodes).map(|n| find(&mut root, n)).collect()
}

fn breadth_first(nodes: usize, links: &[NetLink]) -> Vec<usize> {
    let mut next = vec![Vec::new(); nodes];
    links.iter().for_each(|l| next[l.from.0.0 as usize].push(l.to.0.0 as usize));
    let (mut seen, mut order, mut queue) = (vec![false; nodes], Vec::with_capacity(nodes), VecDeque::new());
    for start in 0..nodes {
        if !std::mem::replace(&mut seen[start], true) {
            queue.push_back(start);
        }
        while let Some(n) = queue.pop_front() {
            order.push(n);
            for &m in &next[n] {
                if !std::mem::replace(&mut seen[m], true) {
                    queue.push_back(m);
                }
            }
        }
    }
    order
}

/// Deals pieces into parts in the order in which their first nodes come up.
fn deal(piece: &[usize], order: &[usize], weight: &[usize], fair: usize, wanted: usize) -> Vec<u32> {
    let mut sums = vec![0; piece.len()];
    piece.iter().zip(weight).for_each(|(p, w)| sums[*p] += w);
    let mut part_of_piece = vec![u32::MAX; piece.len()];
    let (mut part, mut filled) = (0u32, 0usize);
    for &n in order {
        let p = piece[n];
        if part_of_piece[p] != u32::MAX {
            continue;
        }
        if filled > 0 && filled + sums[p] / 2 > fair && (part as usize) + 1 < wanted {
            part += 1;
            filled = 0;
        }
        part_of_piece[p] = part;
        filled += sums[p];
    }
    piece.iter().map(|p| part_of_piece[*p]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(edges: &[(u32, u32, u64)]) -> Vec<NetLink> {
        let link = |a: u32, b: u32, ms: u64| NetLink {
            from: (NodeId(a), PortId(0)),
            to: (NodeId(b), PortId(0)),
            rate: Rate::from_mbps(1),
            delay: Time::from_ms(ms),
            corruption: 0.0,
            downs: Vec::new(),
            delays: Vec::new(),
            variation: Variation::default(),
        };
        edges.iter().flat_map(|&(a, b, ms)| [link(a, b, ms), link(b, a, ms)]).collect()
    }

    #[test]
    fn it_cuts_where_delays_are_long() {
        // Two stars of 1 ms links joined by one of 20 ms.
        let l = links(&[(0, 1, 1), (0, 2, 1), (0, 3, 20), (3, 4, 1), (3, 5, 1)]);
        let parts = partition(6, &l, 2);
        assert_eq!(parts, [0, 0, 0, 1, 1, 1]);
        assert_eq!(cut_window(&l, &parts), Time::from_ms(20));
    }

    #[test]
    fn what_does_not_balance_in_four_is_cut_in_fewer() {
        let star: Vec<_> = (1..=12).map(|n| (0, n, 1)).collect();
        let parts = partition(13, &links(&star), 4);
        assert!((2..4).contains(&(parts.iter().max().unwrap() + 1)), "{parts:?}");
        assert_eq!(partition(2, &links(&[(0, 1, 1)]), 1), [0, 0]);
    }
}
