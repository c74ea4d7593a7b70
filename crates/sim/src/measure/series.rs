//! Time series of bounded size: when one is full, neighbouring points are merged and the interval doubles.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::node::Node;
use midpath_core::packet::{Carried, FlowId, NodeId, PortId};
use midpath_core::roles::{End, FlowReport};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::{Capacity, Watch, WatchPlan, Watched};
use crate::engine::Probe;
use crate::output::{Column, Table};
use crate::pcap::Capture;
use crate::setup::{AllFlows, Groups};

/// What is to be sampled in the whole network.
#[derive(Debug, Clone, Default)]
pub struct SeriesPlan {
    /// Time between samples.
    pub interval: Time,
    /// Points that a series may have; even, at least 2.
    pub points: usize,
    /// Ports with what their links can send.
    pub ports: Vec<(NodeId, PortId, Capacity)>,
    /// Flows with series of their own.
    pub flows: Vec<FlowId>,
    /// All flows, and their groups.
    pub all: Option<(Arc<AllFlows>, Arc<Groups>)>,
    /// How many groups have series, the first ones.
    pub groups: usize,
}

/// One quantity of one entity over time.
#[derive(Debug, Clone, Default)]
struct Track {
    sum: f64,
    points: Vec<f64>,
}

/// What a track is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    /// A port.
    Port(NodeId, PortId),
    /// A group of flows, by number.
    Group(u32),
    /// A flow.
    Flow(FlowId),
}

/// The tracks of one part while it runs.
#[derive(Debug)]
pub struct Recorder {
    plan: SeriesPlan,
    nodes: Vec<NodeId>,
    tracks: BTreeMap<(Entity, &'static str), Track>,
    /// Samples joined into one point now, and how many of them the open point has.
    stride: u32,
    open: u32,
    /// By node: its ports, what they can send, and the bits that had left at the last sample.
    ports_of: FxHashMap<NodeId, Vec<(PortId, Capacity, u64)>>,
    arrived: FxHashMap<FlowId, u64>,
    group_bytes: Vec<u64>,
    /// Bytes per point of each group. Whole numbers until all parts are joined: a group's flows may
    /// end in several parts, and a sum of fractions would depend on how many.
    group_points: Vec<Vec<u64>>,
    closed: usize,
    captures: Vec<Capture>,
    sampling: bool,
    watch: Option<Watch>,
}

/// Finished tracks.
#[derive(Debug, Default)]
pub struct Recording {
    tracks: BTreeMap<(Entity, &'static str), Vec<f64>>,
    groups: Vec<Vec<u64>>,
    interval: Time,
    /// The captures of this part.
    pub captures: Vec<Capture>,
    /// What the watch for stalls saw.
    pub watched: Watched,
}

impl Recorder {
    /// A recorder for the part that has `nodes`.
    pub fn new(plan: &SeriesPlan, watch: Option<Arc<WatchPlan>>, nodes: &[NodeId], captures: Vec<Capture>) -> Recorder {
        let mut ports_of = FxHashMap::<NodeId, Vec<_>>::default();
        for (node, port, capacity) in plan.ports.iter().filter(|p| nodes.contains(&p.0)) {
            ports_of.entry(*node).or_default().push((*port, capacity.clone(), 0));
        }
        Recorder {
            plan: plan.clone(),
            nodes: nodes.to_vec(),
            tracks: BTreeMap::new(),
            stride: 1,
            open: 0,
            ports_of,
            arrived: FxHashMap::default(),
            group_bytes: vec![0; plan.groups],
            group_points: vec![Vec::new(); plan.groups],
            closed: 0,
            captures,
            sampling: !plan.interval.is_zero(),
            watch: watch.map(|plan| Watch::new(plan, nodes)),
        }
    }

    fn add(&mut self, entity: Entity, metric: &'static str, value: f64) {
        // A track that begins late has zeros before.
        let track = self.tracks.entry((entity, metric)).or_default();
        track.sum += value;
    }

    fn sample_ports(&mut self, id: NodeId, node: &mut Node, now: Time) {
        let Some(mut ports) = self.ports_of.remove(&id) else { return };
        let seconds = self.plan.interval.as_secs_f64();
        let mut gauges = Vec::new();
        for (port, capacity, seen) in &mut ports {
            let entity = Entity::Port(id, *port);
            // A packet in transmission counts in both intervals, as far as it has got.
            let bits = node.transmitted(*port, now).bits;
            let sent = (bits - *seen) as f64;
            *seen = bits;
            self.add(entity, "queue_bytes", node.backlog(*port, now).bytes as f64);
            self.add(entity, "throughput_bps", sent / seconds);
            self.add(entity, "utilisation", capacity.used(sent, now.saturating_sub(self.plan.interval), now));
            gauges.clear();
            node.gauges(*port, &mut gauges);
            gauges.drain(..).for_each(|(name, value)| self.add(entity, name, value));
        }
        self.ports_of.insert(id, ports);
    }

    /// Whether this end of a flow is the one that its data go to.
    fn receives(&self, flow: FlowId, active: bool) -> bool {
        let info = self.plan.all.as_ref().and_then(|(flows, _)| flows.find(flow));
        let pulled = info.is_some_and(|info| info.opener == End::Destination);
        active == pulled
    }

    /// Counts what has arrived at the end that a flow's data go to since the last time, in order or
    /// not: bytes count when they come, not when the hole before them closes.
    fn progress(&mut self, flow: FlowId, report: &FlowReport) -> u64 {
        let arrived = report.arrived.max(report.delivered);
        let seen = self.arrived.entry(flow).or_default();
        let new = arrived.saturating_sub(*seen);
        *seen = arrived;
        if let Some((flows, groups)) = &self.plan.all
            && let Some(info) = flows.find(flow)
        {
            let bytes = self.group_bytes.get_mut(groups.of(&info.flow).0 as usize);
            bytes.into_iter().for_each(|bytes| *bytes += new);
        }
        new
    }

    fn sample_flows(&mut self, node: &Node) {
        let seconds = self.plan.interval.as_secs_f64();
        let mut gauges = Vec::new();
        for (flow, active, endpoint) in node.endpoints() {
            let (own, report) = (self.plan.flows.contains(&flow), endpoint.report());
            if !active && !endpoint.measured() {
                continue;
            }
            if self.receives(flow, active) {
                let new = self.progress(flow, &report);
                if own {
                    self.add(Entity::Flow(flow), "goodput_bps", new as f64 * 8.0 / seconds);
                }
            }
            if active && own {
                self.add(Entity::Flow(flow), "cwnd_bytes", report.cwnd as f64);
                self.add(Entity::Flow(flow), "srtt_s", report.srtt.as_secs_f64());
                // Who is not paced for now reports no bound, which is no rate to draw.
                if report.rate > 0 && report.rate < u64::MAX {
                    self.add(Entity::Flow(flow), "rate_bps", report.rate as f64);
                }
            }
            if own {
                endpoint.gauges(&mut gauges);
                gauges.drain(..).for_each(|(name, value)| self.add(Entity::Flow(flow), name, value));
            }
        }
    }

    fn close_sample(&mut self) {
        self.open += 1;
        if self.open < self.stride {
            return;
        }
        for track in self.tracks.values_mut() {
            track.points.resize(self.closed, 0.0);
            track.points.push(track.sum / f64::from(self.stride));
            track.sum = 0.0;
        }
        self.group_points.iter_mut().zip(&mut self.group_bytes).for_each(|(p, b)| p.push(std::mem::take(b)));
        (self.open, self.closed) = (0, self.closed + 1);
        if self.closed >= self.plan.points {
            self.tracks.values_mut().for_each(Track::halve);
            self.group_points.iter_mut().for_each(|p| *p = p.chunks_exact(2).map(|c| c[0] + c[1]).collect());
            self.closed /= 2;
            self.stride *= 2;
        }
    }

    /// What was recorded.
    pub fn finish(self) -> Recording {
        Recording {
            interval: self.plan.interval * u64::from(self.stride),
            tracks: self.tracks.into_iter().map(|(k, t)| (k, t.points)).collect(),
            groups: self.group_points,
            captures: self.captures,
            watched: self.watch.map(Watch::finish).unwrap_or_default(),
        }
    }
}

impl Track {
    fn halve(&mut self) {
        self.points = self.points.chunks_exact(2).map(|c| (c[0] + c[1]) / 2.0).collect();
    }
}

impl Probe for Recorder {
    fn watches_packets(&self) -> bool {
        !self.captures.is_empty()
    }

    fn transmitted(&mut self, node: u32, port: PortId, packet: Carried<'_>, start: Time) {
        let id = self.nodes[node as usize];
        self.captures.iter_mut().filter(|c| c.place == (id, port)).for_each(|c| c.add(packet, start));
    }

    fn dropped(&mut self, node: u32, port: PortId, packet: Carried<'_>, why: &'static str, now: Time) {
        let id = self.nodes[node as usize];
        self.captures.iter_mut().filter(|c| c.place == (id, port)).for_each(|c| c.add_dropped(packet, now, why));
    }

    fn finished(&mut self, _node: u32, flow: FlowId, active: bool, report: &FlowReport, _now: Time) {
        if self.sampling && self.receives(flow, active) {
            self.progress(flow, report);
            self.arrived.remove(&flow);
        }
        self.watch.iter_mut().for_each(|watch| watch.finished(flow, active));
    }

    fn sample(&mut self, node: u32, state: &mut Node, now: Time) {
        let id = self.nodes[node as usize];
        self.sample_ports(id, state, now);
        self.sample_flows(state);
    }

    fn watch(&mut self, nodes: &[Node], events: u64, now: Time) {
        self.watch.iter_mut().for_each(|watch| watch.look(nodes, events, now));
    }

    fn end_sample(&mut self) {
        self.close_sample();
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any + Send> {
        self
    }
}

impl Recording {
    /// Joins another part's recording of the same run.
    pub fn merge(&mut self, other: Recording) {
        self.interval = self.interval.max(other.interval);
        self.captures.extend(other.captures);
        self.watched.merge(other.watched);
        // A port or an end of a flow is in one part only; groups are in all.
        self.tracks.extend(other.tracks);
        self.groups.resize(self.groups.len().max(other.groups.len()), Vec::new());
        for (mine, points) in self.groups.iter_mut().zip(other.groups) {
            mine.resize(mine.len().max(points.len()), 0);
            mine.iter_mut().zip(points).for_each(|(a, b)| *a += b);
        }
    }

    /// All tracks, the groups' bytes as rates.
    fn finished(&self) -> BTreeMap<(Entity, &'static str), Vec<f64>> {
        let seconds = self.interval.as_secs_f64();
        let rate = |bytes: &u64| *bytes as f64 * 8.0 / seconds;
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(g, p)| ((Entity::Group(g as u32), "goodput_bps"), p.iter().map(rate).collect()));
        self.tracks.iter().map(|(k, p)| (*k, p.clone())).chain(groups).collect()
    }

    /// Adds a finished track: the ideal's.
    pub fn push(&mut self, interval: Time, entity: Entity, metric: &'static str, points: Vec<f64>) {
        self.interval = interval;
        self.tracks.insert((entity, metric), points);
    }

    /// The table `series` up to `span`. A point's time is the end of its interval.
    pub fn table(mut self, span: Time, label: impl Fn(Entity) -> String) -> Table {
        let step = self.interval.as_secs_f64();
        let points = if self.interval.is_zero() { 0 } else { span.0.div_ceil(self.interval.0) as usize };
        self.tracks.values_mut().for_each(|t| t.truncate(points));
        self.groups.iter_mut().for_each(|g| g.truncate(points));
        let tracks = self.finished();
        let rows = || tracks.iter().flat_map(|(k, p)| p.iter().enumerate().map(move |(i, v)| (k, i, *v)));
        let labels: Vec<String> = tracks.keys().map(|k| label(k.0)).collect();
        let each = tracks.values().zip(&labels).flat_map(|(p, l)| std::iter::repeat_n(l.as_str(), p.len()));
        Table::default()
            .with("time_s", Column::F64(rows().map(|(_, i, _)| (i + 1) as f64 * step).collect()))
            .with("entity", Column::texts(each))
            .with("metric", Column::texts(rows().map(|(k, _, _)| k.1)))
            .with("value", Column::F64(rows().map(|r| r.2).collect()))
    }
}
