//! What a run records, and where: read from the scenario before the run.

use std::collections::BTreeMap;

use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::units::Time;
use midpath_traffic::WaitFor;

use super::{Capacity, SeriesPlan};
use crate::pcap::Capture;
use crate::scenario;
use crate::setup::{FlowInfo, Setup};

/// Groups that have series, the first ones. Ours: each has a point at each sample, and there may be ten million.
const MOST_GROUPS: usize = 1000;

/// What measurement needs of a setup.
impl Setup {
    /// Time between samples.
    pub fn sample_interval(&self) -> Time {
        let measure = &self.scenario.measure;
        let default = self.scenario.stop.map_or(Time::from_ms(10), |s| Time((s.0 / 500).max(1)));
        measure.interval.filter(|i| !i.is_zero()).unwrap_or(default)
    }

    /// The ports that will carry most, judged by the flows' sizes and paths (flows without end
    /// count as 1 GB).
    pub(crate) fn busiest_ports(&self) -> Vec<(NodeId, PortId, Capacity)> {
        let mut load = BTreeMap::<(usize, u16), f64>::new();
        for (i, info) in self.flows.iter().enumerate() {
            let bytes = info.flow.size.map_or(1e9, |s| s.as_f64());
            let (src, dst) = (info.flow.src as usize, info.flow.dst as usize);
            let hops = self.routes.path(&self.topology, src, dst, i as u32);
            for hop in hops.unwrap_or_default() {
                let rate = self.topology.links()[hop.link].rate_from(hop.node).as_f64();
                *load.entry((hop.node, hop.port)).or_default() += bytes / rate;
            }
            if self.hosts.contains_key(&dst) {
                // What waits for the host is shown at its first port.
                let rate = self.topology.links()[self.topology.ports(dst)[0].link as usize].rate_from(dst).as_f64();
                *load.entry((dst, 0)).or_default() += bytes / rate;
            }
            for (node, port, rate) in self.tunnels_on(src, dst, i as u32) {
                *load.entry((node, port)).or_default() += bytes / rate.as_f64();
            }
        }
        let mut ports: Vec<_> = load.into_iter().collect();
        ports.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ports.truncate(self.scenario.measure.ports as usize);
        let capacity = |n: usize, p: u16| Capacity::of(self, self.topology.ports(n)[p as usize].link as usize, n);
        ports.into_iter().map(|((n, p), _)| (NodeId(n as u32), PortId(p), capacity(n, p))).collect()
    }

    /// The port that is offered most, over what it can carry until `stop`, by the flows' sizes or
    /// rates and their shortest paths. None where nothing is offered or the run has no `stop`.
    pub(crate) fn most_offered(&self) -> Option<((usize, usize), f64)> {
        let stop = self.scenario.stop?;
        let offered = |info: &FlowInfo<'_>| {
            let until = info.flow.stop.map_or(stop, |end| end.min(stop));
            let steady = info.flow.rate.map(|rate| rate.as_f64() * until.saturating_sub(info.flow.start).as_secs_f64());
            let whole = info.wire_bytes().map(|bytes| 8.0 * bytes as f64);
            let bits = steady.into_iter().chain(whole).reduce(f64::min).unwrap_or(0.0);
            // A closed loop offers as much as is carried.
            let closed = matches!(info.flow.wait, Some(WaitFor::Step(_)));
            (info.flow.start < stop && !closed).then_some(bits)
        };
        let bits = self.along_paths(offered);
        let share = |((n, p), bits): ((usize, u16), f64)| {
            let link = &self.topology.links()[self.topology.ports(n)[usize::from(p)].link as usize];
            ((n, usize::from(p)), bits / (link.rate_from(n).as_f64() * stop.as_secs_f64()))
        };
        bits.into_iter().map(share).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }

    /// What flows bring to each port on their shortest paths, by node and port. A flow for which `amount`
    /// is nothing does not count.
    pub(crate) fn along_paths(&self, amount: impl Fn(&FlowInfo<'_>) -> Option<f64>) -> BTreeMap<(usize, u16), f64> {
        let mut sums = BTreeMap::new();
        for (i, info) in self.flows.iter().enumerate() {
            let Some(amount) = amount(&info) else { continue };
            let hops = self.routes.path(&self.topology, info.flow.src as usize, info.flow.dst as usize, i as u32);
            hops.unwrap_or_default().iter().for_each(|hop| *sums.entry((hop.node, hop.port)).or_default() += amount);
        }
        sums
    }

    /// What is to be recorded, and where.
    pub(crate) fn series_plan(&self) -> SeriesPlan {
        if !self.scenario.measure.series {
            return SeriesPlan::default();
        }
        let measure = &self.scenario.measure;
        SeriesPlan {
            interval: self.sample_interval(),
            points: (measure.points as usize).max(2).next_multiple_of(2),
            ports: self.busiest_ports(),
            flows: self.sampled_flows().map(FlowId).collect(),
            all: Some((self.flows.clone(), self.groups.clone())),
            groups: self.groups.count().min(MOST_GROUPS),
        }
    }

    /// The flows that have series of their own: the first ones.
    pub(crate) fn sampled_flows(&self) -> std::ops::Range<u32> {
        let measure = &self.scenario.measure;
        0..if measure.series { (self.flows.len() as u32).min(measure.flows) } else { 0 }
    }

    /// The captures that the scenario asks for.
    pub fn captures(&self) -> Vec<Capture> {
        let find = |name: &str| self.topology.find(name);
        let capture = |p: &scenario::PcapSpec| {
            let (from, to) = (find(&p.from)?, find(&p.to)?);
            let port = self.topology.port_to(from, to)?;
            let name = format!("{}-{}.pcapng", file_name(&p.from), file_name(&p.to));
            Some(Capture::new((NodeId(from as u32), PortId(port)), name, p.packets).with_drops(p.drops))
        };
        self.scenario.measure.pcap.iter().filter_map(capture).collect()
    }
}

/// A node's name as a part of a file name.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '_' }).collect()
}
