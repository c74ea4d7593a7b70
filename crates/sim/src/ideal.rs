//! The ideal as a run: the fluid model on the scenario's topology, routes and flows, in the tables
//! of any other run.
//!
//! Sizes include headers, as these bytes cross the links; a flow's time begins with its first byte, without
//! handshake, and ends when its last byte has crossed its last link: propagation and storing one packet at each hop
//! are added to the fluid's time.

use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::roles::FlowReport;
use midpath_core::spec::SpecError;
use midpath_core::stats::PortCounters;
use midpath_core::units::{Bytes, Time};
use midpath_ideal::{Allocation, CapacityChange, FlowOutcome, FluidFlow, FluidFlows, FluidOptions, FluidOutput};

use crate::engine::Reports;
use crate::measure::{Capacity, Entity, PortRow, Recording};
use crate::setup::{FlowInfo, IDEAL, Setup};

/// What the ideal comes to, as a packet run has it.
pub(crate) struct IdealRun {
    pub reports: Reports,
    pub ports: Vec<PortRow>,
    pub recording: Recording,
    pub end: Time,
    pub events: u64,
}

fn capacities(setup: &Setup) -> Vec<f64> {
    let links = setup.topology.links();
    links.iter().flat_map(|l| [l.rate_from(l.a).as_f64(), l.rate_from(l.b).as_f64()]).collect()
}

/// `[schemes.ideal]`: `fairness = "max-min"` (default) or `"proportional"`.
pub(crate) fn allocation(setup: &Setup) -> Result<Allocation, SpecError> {
    let Some(params) = setup.scenario.schemes.get(IDEAL) else { return Ok(Allocation::MaxMin) };
    if let Some(key) = params.as_object().and_then(|m| m.keys().find(|k| *k != "fairness")) {
        return Err(SpecError::new(format!("schemes.ideal.{key}"), "unknown; `ideal` has the parameter `fairness`"));
    }
    match params.get("fairness").and_then(|f| f.as_str()) {
        None | Some("max-min") => Ok(Allocation::MaxMin),
        Some("proportional") => Ok(Allocation::Proportional),
        Some(_) => Err(SpecError::new("schemes.ideal.fairness", "write \"max-min\" or \"proportional\"")),
    }
}

/// The scenario's flows as fluids.
struct Fluids<'a>(&'a Setup);

impl FluidFlows for Fluids<'_> {
    fn count(&self) -> usize {
        self.0.flows.len()
    }
    fn groups(&self) -> usize {
        self.0.groups.count()
    }
    fn start_s(&self, flow: usize) -> f64 {
        self.0.flows.get(flow).flow.start.as_secs_f64()
    }
    fn flow(&self, flow: usize) -> FluidFlow {
        let (setup, info) = (self.0, self.0.flows.get(flow));
        let (src, dst) = (info.flow.src as usize, info.flow.dst as usize);
        let hops = setup.routes.path(&setup.topology, src, dst, flow as u32).unwrap_or_default();
        let wire = info.wire_bytes();
        FluidFlow {
            path: hops.iter().map(|h| setup.directed(h.link, h.node)).collect(),
            size_bits: wire.map_or(f64::INFINITY, |w| w as f64 * 8.0),
            start_s: info.flow.start.as_secs_f64(),
            stop_s: info.flow.stop.map_or(f64::INFINITY, Time::as_secs_f64),
            latency_s: latency(&info, wire),
            cap_bps: info.flow.rate.map_or(f64::INFINITY, |r| r.as_f64()),
            group: setup.groups.of(&info.flow).0,
            weight: info.flow.weight,
        }
    }
}

/// What an unloaded path adds to the time at the bottleneck: propagation, and one packet at each
/// other hop.
fn latency(info: &FlowInfo<'_>, wire: Option<u64>) -> f64 {
    match (info.unloaded(), wire) {
        (Some(unloaded), Some(wire)) => (unloaded.saturating_sub(info.bottleneck.time_for(Bytes(wire)))).as_secs_f64(),
        _ => (info.rtt / 2).as_secs_f64(),
    }
}

pub(crate) fn run(setup: &Setup, sample: Option<Time>) -> Result<IdealRun, SpecError> {
    let changes = setup.changing_links().flat_map(|link| {
        let both = move |(at, bps): (Time, [f64; 2])| {
            [0, 1].map(|d| CapacityChange { at_s: at.as_secs_f64(), link: (2 * link + d) as u32, bps: bps[d] })
        };
        setup.capacity_changes(link).into_iter().flat_map(both)
    });
    let options = FluidOptions {
        allocation: allocation(setup)?,
        stop_s: setup.scenario.stop.map_or(f64::INFINITY, Time::as_secs_f64),
        changes: changes.collect(),
        sample_s: sample.map(Time::as_secs_f64),
    };
    let stop = setup.scenario.stop.unwrap_or(Time::MAX);
    let (mut reports, mut last) = (Reports::default(), Time::ZERO);
    let mut shares = vec![(0.0, 0.0); setup.groups.count()];
    let ended = |i: usize, outcome: &FlowOutcome| {
        let info = setup.flows.get(i);
        let report = flow_report(&info, outcome, stop);
        last = last.max(outcome.finish_s.map_or(Time::ZERO, Time::from_secs_f64));
        let (payload, wire) = &mut shares[setup.groups.of(&info.flow).0 as usize];
        *payload += outcome.delivered_bits * info.payload_share();
        *wire += outcome.delivered_bits;
        reports.add(FlowId(i as u32), report);
    };
    let out = midpath_ideal::run_each(&capacities(setup), &Fluids(setup), &options, ended)
        .map_err(|e| SpecError::new("", format!("cannot compute the ideal: {e}")))?;
    let end = setup.scenario.stop.unwrap_or(last);
    Ok(IdealRun {
        reports,
        ports: port_rows(setup, &out, end),
        recording: recording(setup, &out, shares),
        end,
        events: out.events,
    })
}

fn flow_report(info: &FlowInfo<'_>, o: &FlowOutcome, end: Time) -> FlowReport {
    let completed = o.finish_s.map(Time::from_secs_f64).filter(|t| *t <= end);
    let whole = info.flow.size.filter(|_| completed.is_some()).map(|s| s.0);
    let delivered = whole.unwrap_or((o.delivered_bits / 8.0 * info.payload_share()) as u64);
    FlowReport { delivered, completed, ..FlowReport::default() }
}

fn port_rows(setup: &Setup, out: &FluidOutput, end: Time) -> Vec<PortRow> {
    let topology = &setup.topology;
    let mut rows = Vec::new();
    for n in 0..topology.nodes().len() {
        for (p, at) in topology.ports(n).iter().enumerate() {
            let sent = out.link_bits[setup.directed(at.link as usize, n) as usize];
            let bytes = (sent / 8.0) as u64;
            let packets = bytes.div_ceil(u64::from(topology.links()[at.link as usize].mtu));
            let counters = PortCounters { bytes, packets, ..PortCounters::default() };
            let utilisation = Capacity::of(setup, at.link as usize, n).used(sent, Time::ZERO, end);
            let place = (n as u32, p as u16, at.peer);
            rows.push(PortRow { place, counters, cut: 0, corrupted: 0, utilisation, span: end });
        }
    }
    rows
}

/// `shares` has payload and all of what each group has sent: groups' series are of goodput, as those of packets.
fn recording(setup: &Setup, out: &FluidOutput, shares: Vec<(f64, f64)>) -> Recording {
    let mut recording = Recording::default();
    let Some(series) = &out.series else { return recording };
    let interval = Time::from_secs_f64(series.interval_s);
    for (g, (payload, wire)) in shares.into_iter().enumerate() {
        let share = if wire > 0.0 { payload / wire } else { 1.0 };
        let points = series.group_bps.iter().map(|row| row.get(g).copied().unwrap_or(0.0) * share).collect();
        recording.push(interval, Entity::Group(g as u32), "goodput_bps", points);
    }
    for (node, port, capacity) in setup.busiest_ports() {
        let at = setup.topology.ports(node.0 as usize)[usize::from(port.0)];
        let link = setup.directed(at.link as usize, node.0 as usize) as usize;
        let bps: Vec<f64> = series.link_bps.iter().map(|row| row[link]).collect();
        let entity = Entity::Port(NodeId(node.0), PortId(port.0));
        let used = |(i, bps): (usize, &f64)| {
            let from = interval * i as u64;
            capacity.used(bps * series.interval_s, from, from + interval)
        };
        recording.push(interval, entity, "utilisation", bps.iter().enumerate().map(used).collect());
        recording.push(interval, entity, "throughput_bps", bps);
    }
    debug_assert!(setup.flows.len() < FlowId(u32::MAX).0 as usize);
    recording
}
