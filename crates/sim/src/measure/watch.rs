//! The watch for stalls during a run: ports that send almost nothing, and flows that get more, sample by sample. It
//! reads existing counters, so packets cost no more. `stalls` evaluates it after the run.

use std::sync::Arc;

use midpath_core::node::Node;
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::roles::{End, FlowReport};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::Capacity;
use crate::setup::{AllFlows, Setup};

/// A link that sends less than this share of what it could is next to unused.
pub const NEXT_TO_NOTHING: f64 = 0.05;

/// Round trips between two looks, at least.
pub const ROUND_TRIPS: u64 = 100;

/// What the watch needs to know beforehand.
#[derive(Debug)]
pub struct WatchPlan {
    /// Least time from look to look: so many of the longest round trips.
    pub every: Time,
    flows: Arc<AllFlows>,
    /// Of ports whose links' capacity changes; the others' is in their nodes.
    varying: FxHashMap<(NodeId, PortId), Capacity>,
}

impl Setup {
    /// The watch for stalls; none in a run that ends before it could show anything.
    pub(crate) fn watch_plan(&self) -> Option<Arc<WatchPlan>> {
        let longest = self.flows.iter().map(|f| f.rtt).max().unwrap_or_default();
        let every = Time(longest.0.saturating_mul(ROUND_TRIPS));
        if every.is_zero() || self.scenario.stop.is_some_and(|stop| stop <= every) {
            return None;
        }
        let ends = |link: usize| [self.topology.links()[link].a, self.topology.links()[link].b].map(|n| (link, n));
        let varying = self.changing_links().flat_map(ends).filter_map(|(link, n)| {
            let port = self.topology.port_of_link(n, link)?;
            Some(((NodeId(n as u32), PortId(port)), Capacity::of(self, link, n)))
        });
        Some(Arc::new(WatchPlan { every, flows: self.flows.clone(), varying: varying.collect() }))
    }
}

/// Some looks in a row between which something held: from the interval `from` to before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spell {
    /// Its first interval, by number.
    pub from: u32,
    /// The interval after its last one.
    pub to: u32,
}

/// A port that sent next to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quiet {
    /// The port.
    pub port: (NodeId, PortId),
    /// When.
    pub spell: Spell,
    /// Bits that it sent then.
    pub bits: u64,
}

/// What a port was like at the last look.
#[derive(Debug, Clone, Copy)]
struct Port {
    id: (NodeId, PortId),
    /// Bits that had left.
    bits: u64,
    /// The first interval since which it sends next to nothing, and what had left by then.
    since: Option<(u32, u64)>,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Watched {
    /// The times of the looks.
    pub looks: Vec<Time>,
    /// The spells of ports that sent next to nothing.
    pub quiet: Vec<Quiet>,
    /// The spells of flows that got more than that share of their path's rate.
    pub served: Vec<(FlowId, Spell)>,
}

impl Watched {
    /// Joins what another part saw of the same run.
    pub fn merge(&mut self, other: Watched) {
        if self.looks.is_empty() {
            self.looks = other.looks;
        }
        self.quiet.extend(other.quiet);
        self.served.extend(other.served);
    }
}

/// Watches one part.
#[derive(Debug)]
pub struct Watch {
    plan: Arc<WatchPlan>,
    nodes: Vec<NodeId>,
    /// Of all nodes, one after the other; none before the first look.
    ports: Vec<Port>,
    /// Payload that has arrived of flows that are under way, and since when they are served.
    flows: FxHashMap<FlowId, (u64, Option<u32>)>,
    /// Events before the last look; and whether it found that nothing had left or arrived, and nothing was on its way out.
    events: u64,
    rests: bool,
    seen: Watched,
}

impl Watch {
    /// For the part that has `nodes`.
    pub fn new(plan: Arc<WatchPlan>, nodes: &[NodeId]) -> Watch {
        let nodes = nodes.to_vec();
        let (flows, seen) = (FxHashMap::default(), Watched::default());
        Watch { plan, nodes, ports: Vec::new(), flows, events: 0, rests: false, seen }
    }

    /// The interval at hand, by number.
    fn interval(&self) -> u32 {
        self.seen.looks.len() as u32
    }

    /// Whether this end of a flow is the one that its data go to.
    fn receives(&self, flow: FlowId, active: bool) -> bool {
        let opener = self.plan.flows.find(flow).map(|info| info.opener);
        active == (opener == Some(End::Destination))
    }

    /// Looks at all of the part's nodes. Where nothing has happened since a look that found them at rest, they are as
    /// they were.
    pub fn look(&mut self, nodes: &[Node], events: u64, now: Time) {
        let since = std::mem::replace(&mut self.events, events);
        if !self.rests || since != events {
            self.rests = self.plan.varying.is_empty();
            self.look_at_all(nodes, now);
        }
        self.seen.looks.push(now);
    }

    fn look_at_all(&mut self, nodes: &[Node], now: Time) {
        let from = self.seen.looks.last().copied().unwrap_or(Time::ZERO);
        if self.ports.is_empty() {
            let ids = self.nodes.iter().zip(nodes).flat_map(|(id, n)| (0..n.ports()).map(|p| (*id, PortId(p as u16))));
            self.ports = ids.map(|id| Port { id, bits: 0, since: None }).collect();
        }
        let mut place = 0;
        for node in nodes {
            for _ in 0..node.ports() {
                self.look_at_port(place, node, (from, now));
                place += 1;
            }
            for (flow, active, endpoint) in node.endpoints() {
                if self.receives(flow, active) && (active || endpoint.measured()) {
                    self.look_at_flow(flow, &endpoint.report(), now - from);
                }
            }
        }
    }

    fn look_at_port(&mut self, place: usize, node: &Node, (from, now): (Time, Time)) {
        let interval = self.interval();
        let known = &mut self.ports[place];
        let port = known.id;
        let could = match self.plan.varying.get(&port) {
            Some(capacity) => capacity.bits(from, now),
            None => node.rate(port.1).as_f64() * (now - from).as_secs_f64(),
        };
        let bits = node.transmitted(port.1, now).bits;
        let before = std::mem::replace(&mut known.bits, bits);
        self.rests &= bits == before && node.free_at(port.1) <= now;
        let quiet = ((bits - before) as f64) < NEXT_TO_NOTHING * could;
        match known.since {
            None if quiet => known.since = Some((interval, before)),
            Some((from, had)) if !quiet => {
                known.since = None;
                self.seen.quiet.push(Quiet { port, spell: Spell { from, to: interval }, bits: before - had });
            }
            _ => {}
        }
    }

    fn look_at_flow(&mut self, flow: FlowId, report: &FlowReport, time: Time) {
        let Some(info) = self.plan.flows.find(flow) else { return };
        let interval = self.interval();
        let (arrived, since) = self.flows.entry(flow).or_default();
        let all = report.arrived.max(report.delivered);
        let new = all.saturating_sub(std::mem::replace(arrived, all));
        self.rests &= new == 0;
        let enough = NEXT_TO_NOTHING * info.bottleneck.as_f64() * info.payload_share() * time.as_secs_f64();
        match *since {
            None if new as f64 * 8.0 >= enough => *since = Some(interval),
            Some(from) if (new as f64) * 8.0 < enough => {
                *since = None;
                self.seen.served.push((flow, Spell { from, to: interval }));
            }
            _ => {}
        }
    }

    /// An end of a flow has finished: what the flow got until the last look is known.
    pub fn finished(&mut self, flow: FlowId, active: bool) {
        if !self.receives(flow, active) {
            return;
        }
        let to = self.interval();
        if let Some((_, Some(from))) = self.flows.remove(&flow) {
            self.seen.served.push((flow, Spell { from, to }));
        }
    }

    /// What was seen.
    pub fn finish(mut self) -> Watched {
        let to = self.interval();
        let quiet = self.ports.iter().filter_map(|port| {
            let (from, had) = port.since?;
            Some(Quiet { port: port.id, spell: Spell { from, to }, bits: port.bits - had })
        });
        self.seen.quiet.extend(quiet);
        let served = self.flows.iter().filter_map(|(flow, (_, since))| Some((*flow, Spell { from: (*since)?, to })));
        self.seen.served.extend(served);
        self.seen
    }
}
