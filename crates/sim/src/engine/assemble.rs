//! Builds an engine from a network: assignment of nodes, wiring, lookahead.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::node::Node;
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::rng::Streams;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::delays::Delays;
use super::network::{NetLink, Network};
use super::parallel::{Plan, Survey, run_alone, run_together};
use super::part::{Part, Span};
use super::partition::{cut_window, partition, pays};
use super::reports::{AllReports, Reports};
use super::rings::Rings;
use super::trace::{Record, Trace, TracePlan};
use super::waits::Waiting;
use super::wire::{Target, Wire};
use super::{Event, FlowFate, Probe, Progress, Tally};

/// A network ready to run.
pub struct Engine {
    pub(super) parts: Vec<Part>,
    /// Part and number therein of each node.
    place: Vec<(u32, u32)>,
    nodes_of_rings: Vec<Vec<u32>>,
    reports: AllReports,
    window: Time,
    threads: usize,
    survey: Survey,
}

/// Whether nodes in such parts are worth several threads.
pub type IsWorth<'a> = &'a dyn Fn(&[u32]) -> bool;

/// By how many threads a network is to be run, and in how many parts.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    /// At most so many.
    pub threads: usize,
    /// So many if they balance; 0 for as many as threads want.
    pub parts: usize,
    /// One thread only, where several would wait for each other, or where this says that nodes in
    /// such parts are not worth it.
    pub sparing: Option<IsWorth<'a>>,
}

impl Engine {
    /// Prepares `network` to be run by `crew`. `probe` makes the probe of a part from its nodes.
    pub fn new(mut network: Network, crew: Crew<'_>, mut probe: impl FnMut(&[NodeId]) -> Box<dyn Probe>) -> Engine {
        let (part_of, window) = divide(network.nodes.len(), &network.links, crew);
        let parts = part_of.iter().map(|p| *p as usize + 1).max().unwrap_or(1);
        let threads = crew.threads.clamp(1, parts);
        let mut place = Vec::with_capacity(part_of.len());
        let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); parts];
        for (n, p) in part_of.iter().enumerate() {
            place.push((*p, members[*p as usize].len() as u32));
            members[*p as usize].push(NodeId(n as u32));
        }
        let mut events = schedule_events(&mut network, &place, parts);
        let mut map = Map::new(&network, &members);
        let mut wires: Vec<Vec<Wire>> =
            map.spans.iter().map(|spans| Vec::with_capacity(ports(spans) as usize)).collect();
        for n in 0..network.nodes.len() {
            wires[place[n].0 as usize].extend(map.wires_of(n, &network.links, &place, network.seed));
        }
        for link in network.links.iter().filter(|link| link.framing().is_some()) {
            network.nodes[link.from.0.0 as usize].gather(link.from.1);
        }
        for (node, port) in network.links.iter().map(|link| link.from) {
            let (part, at) = place[node.0 as usize];
            let first = map.spans[part as usize][at as usize].first;
            let wire = &mut wires[part as usize][first as usize + usize::from(port.0)];
            wire.marks_sent = wire.line.goes_by_rate() && network.nodes[node.0 as usize].enable_sent_marks(port);
        }
        // What is large goes before the rest is made.
        drop(network.links);
        let mut nodes = split(network.nodes, &place, &members);
        let nodes_of_rings = map.spans.iter().map(|spans| node_of_ring(spans)).collect();
        let built = (0..parts).map(|p| {
            let (nodes, wires) = (std::mem::take(&mut nodes[p]), std::mem::take(&mut wires[p]));
            let rings = Rings::new(nodes.iter().map(Node::ports).sum());
            let spans = std::mem::take(&mut map.spans[p]);
            Part::new(nodes, spans, wires, rings, parts, std::mem::take(&mut events[p]), probe(&members[p]))
        });
        let mut parts: Vec<Part> = built.collect();
        let reports = AllReports::default();
        let waits = network.waits.map(|waits| (waits, place.clone().into()));
        for (p, part) in (0..).zip(&mut parts) {
            part.common.reports = reports.clone();
            part.common.delays.late_after = network.late_after.clone();
            let waiting =
                |(waits, place): &(_, Arc<[_]>)| Waiting::new(Arc::clone(waits), place.clone(), p, reports.clone());
            part.common.waiting = waits.as_ref().map(waiting).map(Box::new);
        }
        Engine { parts, place, nodes_of_rings, reports, window, threads, survey: Survey::default() }
    }

    /// Makes all links carry bytes: every packet is encoded and decoded on each.
    pub fn carry_bytes(&mut self) {
        self.parts.iter_mut().for_each(Part::carry_bytes);
    }

    /// Has a record be kept of what `plan` chooses.
    pub fn trace(&mut self, plan: &Arc<TracePlan>) {
        for (p, part) in self.parts.iter_mut().enumerate() {
            let mut nodes: Vec<(u32, NodeId)> =
                (0..).zip(&self.place).filter(|(_, at)| at.0 as usize == p).map(|(n, at)| (at.1, NodeId(n))).collect();
            nodes.sort_unstable();
            let nodes: Vec<NodeId> = nodes.into_iter().map(|(_, id)| id).collect();
            part.record(Trace::new(plan.clone(), &nodes));
        }
    }

    /// What was recorded, if anything was to be.
    pub fn take_record(&mut self) -> Option<Record> {
        let records = self.parts.iter_mut().filter_map(|part| Some(part.take_trace()?.finish()));
        records.reduce(|mut all, part| {
            all.merge(part);
            all
        })
    }

    /// Runs until nothing but housekeeping happens any more, or until `stop`; samples every
    /// `sample`, and looks for stalls no more often than each `watch`. `progress` returning false
    /// cancels the run. Says whether it ran to its end.
    pub fn run(
        &mut self,
        stop: Option<Time>,
        sample: Option<Time>,
        watch: Option<Time>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> bool {
        let stop_at = stop.unwrap_or(Time::MAX);
        self.parts.iter_mut().flat_map(|p| &mut p.nodes).for_each(|node| node.measure_until(stop_at));
        let [sample, watch] = [sample, watch].map(|t| t.filter(|t| !t.is_zero()).unwrap_or(Time::MAX));
        let plan = Plan { stop: stop_at, sample, watch, window: self.window };
        let done = match self.parts.as_mut_slice() {
            [only] => run_alone(only, plan, progress),
            several => {
                let (done, survey) = run_together(several, &self.nodes_of_rings, self.threads, plan, progress);
                self.survey = survey;
                done
            }
        };
        // Where nothing has happened any more, nothing will until then.
        if let (Some(stop), true) = (stop, plan.watch < Time::MAX) {
            self.parts.iter_mut().for_each(|part| part.watch(stop));
        }
        done
    }

    /// How many threads it runs on.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// What the parts had to do at a time; nothing of a run in one part.
    pub fn survey(&self) -> Survey {
        self.survey
    }

    /// Whether any node drew from its streams under the run's `seed`.
    pub fn has_drawn(&self, seed: u64) -> bool {
        let mut nodes = self.parts.iter().flat_map(|part| &part.nodes);
        nodes.any(|node| node.has_drawn(&Streams::of(seed, node.id().0.into())))
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        let (p, n) = self.place[id.0 as usize];
        &self.parts[p as usize].nodes[n as usize]
    }

    /// The same, to take out what has been measured.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        let (p, n) = self.place[id.0 as usize];
        &mut self.parts[p as usize].nodes[n as usize]
    }

    /// Packets lost on a port's wire because the link went down on them.
    pub fn cut(&self, id: NodeId, port: PortId) -> u64 {
        let (p, n) = self.place[id.0 as usize];
        let part = &self.parts[p as usize];
        let wire = &part.wires[part.spans[n as usize].first as usize + usize::from(port.0)];
        wire.cut()
    }

    /// Packets that arrived at a port corrupted.
    pub fn corrupted(&self, id: NodeId, port: PortId) -> u64 {
        let (p, n) = self.place[id.0 as usize];
        let part = &self.parts[p as usize];
        part.common.rings.corrupted(part.spans[n as usize].first + u32::from(port.0))
    }

    /// All parts' tallies as one.
    pub fn tally(&self) -> Tally {
        self.parts.iter().fold(Tally::default(), |mut sum, p| {
            sum.add(&p.common.tally);
            sum
        })
    }

    /// Packets made by endpoints and ports; imports count once.
    pub fn created(&self) -> u64 {
        self.parts.iter().map(|p| p.pool.created() - p.common.tally.imported).sum()
    }

    /// Packets stored in ports and packets on wires.
    pub fn remaining(&self) -> (u64, u64) {
        self.parts.iter().map(Part::remaining).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Payloads in the pools: no more than packets alive.
    pub fn payloads(&self) -> u64 {
        self.parts.iter().map(|p| p.pool.payloads() as u64).sum()
    }

    /// Packets alive in the pools: what must equal those remaining.
    pub fn live(&self) -> u64 {
        self.parts.iter().map(|p| p.pool.live() as u64).sum()
    }

    /// What happened to each flow's packets; it is handed over.
    pub fn take_fates(&mut self) -> FxHashMap<FlowId, FlowFate> {
        let mut parts = self.parts.iter_mut().map(|part| std::mem::take(&mut part.common.fates));
        let mut all = parts.next().unwrap_or_default();
        for (flow, fate) in parts.flatten() {
            all.entry(flow).or_default().add(fate);
        }
        all
    }

    /// One-way delays of flows of datagrams, in order of flows; they are handed over.
    pub fn take_delays(&mut self) -> BTreeMap<FlowId, Box<Delays>> {
        self.parts.iter_mut().flat_map(|part| std::mem::take(&mut part.common.delays.of)).collect()
    }

    /// What every flow's ends have reported, those that are gone and those that are still here. The
    /// first are handed over.
    pub fn take_reports(&mut self) -> Reports {
        let mut all = self.reports.take();
        for part in &self.parts {
            let alive = part.nodes.iter().flat_map(Node::reports);
            alive.for_each(|(flow, _, report)| all.add(flow, report));
        }
        all
    }

    /// Bytes of memory in use by the engine.
    pub fn memory(&self) -> usize {
        self.parts.iter().map(Part::memory).sum()
    }

    /// Bytes of these for packets.
    pub fn packet_memory(&self) -> usize {
        self.parts.iter().map(Part::packet_memory).sum()
    }

    /// The probes, part by part.
    pub fn into_probes(self) -> impl Iterator<Item = Box<dyn Probe>> {
        self.parts.into_iter().map(|p| p.common.probe)
    }
}

/// Which part each node goes to, and how long a window may be.
fn divide(nodes: usize, links: &[NetLink], crew: Crew<'_>) -> (Vec<u32>, Time) {
    let in_parts = |parts: usize| {
        let part_of = partition(nodes, links, parts.max(1));
        let window = cut_window(links, &part_of);
        (part_of, window)
    };
    if crew.parts > 0 {
        return in_parts(crew.parts);
    }
    let Some(is_worth) = crew.sparing else { return in_parts(crew.threads) };
    // A window is no longer than the longest link: where not even that pays, nothing is cut.
    let longest = links.iter().map(NetLink::shortest).max().unwrap_or(Time::ZERO);
    if pays(links, longest) {
        let (part_of, window) = in_parts(crew.threads);
        if pays(links, window) && is_worth(&part_of) {
            return (part_of, window);
        }
    }
    (vec![0; nodes], Time::MAX)
}

/// The nodes by part. In one part they stay where they are, for they may be most of the memory.
fn split(all: Vec<Node>, place: &[(u32, u32)], members: &[Vec<NodeId>]) -> Vec<Vec<Node>> {
    if members.len() == 1 {
        return vec![all];
    }
    let mut nodes: Vec<Vec<Node>> = members.iter().map(|m| Vec::with_capacity(m.len())).collect();
    all.into_iter().zip(place).for_each(|(node, place)| nodes[place.0 as usize].push(node));
    nodes
}

/// What leads where.
struct Map {
    /// Per part, per node.
    spans: Vec<Vec<Span>>,
    /// The link that leaves each port, node by node, and where each node's begin; one more entry
    /// ends the last.
    out: Vec<u32>,
    first_out: Vec<u32>,
}

impl Map {
    fn new(network: &Network, members: &[Vec<NodeId>]) -> Map {
        let mut lookahead = vec![Time::MAX; network.nodes.len()];
        for link in &network.links {
            let reach = &mut lookahead[link.to.0.0 as usize];
            *reach = link.shortest().min(*reach);
        }
        let spans = members.iter().map(|members| {
            let mut first = 0;
            let span = |id: &NodeId| {
                let n = id.0 as usize;
                let last = first + network.nodes[n].ports() as u32;
                Span { first: std::mem::replace(&mut first, last), last, lookahead: lookahead[n] }
            };
            members.iter().map(span).collect()
        });
        let spans = spans.collect();
        let mut first_out = vec![0];
        network.nodes.iter().for_each(|n| first_out.push(first_out[first_out.len() - 1] + n.ports() as u32));
        let mut out = vec![0; network.links.len()];
        for (i, link) in network.links.iter().enumerate() {
            out[first_out[link.from.0.0 as usize] as usize + usize::from(link.from.1.0)] = i as u32;
        }
        Map { spans, out, first_out }
    }

    /// The wires that leave node `n`, by port.
    fn wires_of(&self, n: usize, links: &[NetLink], place: &[(u32, u32)], seed: u64) -> impl Iterator<Item = Wire> {
        self.out[self.first_out[n] as usize..self.first_out[n + 1] as usize].iter().map(move |&index| {
            let index = index as usize;
            let link = &links[index];
            let (part, node) = place[link.to.0.0 as usize];
            let ring = self.spans[part as usize][node as usize].first + u32::from(link.to.1.0);
            let here = part == place[n].0;
            let hazards = link.hazards(seed, index as u64);
            Wire {
                plain: hazards.is_none(),
                marks_sent: false,
                line: link.line(),
                delay: link.delay,
                target: if here { Target::Here { ring, node } } else { Target::There { part, ring } },
                hazards,
            }
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

fn ports(spans: &[Span]) -> u32 {
    spans.last().map_or(0, |span| span.last)
}

fn node_of_ring(spans: &[Span]) -> Vec<u32> {
    (0..).zip(spans).flat_map(|(n, span)| std::iter::repeat_n(n, (span.last - span.first) as usize)).collect()
}
