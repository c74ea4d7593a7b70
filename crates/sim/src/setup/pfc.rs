//! Lossless classes: each router's thresholds, and its PFC ports.

use midpath_core::packet::PortId;
use midpath_core::pfc::{Buffer, Lane, NO_LIMIT, PfcPort, Pool, SharedBuffer, Thresholds, Upstream};
use midpath_core::queue::{AqmSpec, Discipline, QueueSpec, SignalSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use midpath_topo::Topology;

use super::Setup;
use super::equipment::bytes;
use crate::scenario::{PfcSpec, TrafficClass};

/// What `[pfc]` asks for, worked out for each port.
pub struct Lossless {
    spec: PfcSpec,
    /// By node and port: thresholds, the same for each lossless class; none at hosts.
    at: Vec<Vec<Ingress>>,
    /// By node: what its ports share, where XOFF is dynamic.
    pools: Vec<Option<Pool>>,
}

/// One port, as what comes in through it is counted.
#[derive(Debug, Clone, Copy)]
pub struct Ingress {
    /// The thresholds of each class.
    pub at: Thresholds,
    /// The headroom that it takes to lose nothing.
    pub needs: u64,
}

impl Lossless {
    /// Its classes, and whether each is lossless.
    pub fn classes(&self) -> impl Iterator<Item = (TrafficClass, bool)> + '_ {
        self.spec.classes().iter().copied().zip(self.spec.lossless())
    }

    /// The ports of a router; none of a host's.
    pub fn at(&self, node: usize) -> &[Ingress] {
        &self.at[node]
    }

    /// The headroom that the scenario gives.
    pub fn given_headroom(&self) -> Option<Bytes> {
        self.spec.headroom
    }

    /// New buffers for one run, by node.
    pub fn buffers(&self, topology: &Topology) -> Vec<SharedBuffer> {
        let buffer = |(n, ports): (usize, &Vec<Ingress>)| {
            let thresholds = ports.iter().flat_map(|port| {
                self.classes().map(|(_, lossless)| if lossless { port.at } else { Thresholds::default() })
            });
            let buffer = Buffer::new(self.spec.classes().len(), topology.ports(n).len(), thresholds);
            SharedBuffer::new(buffer.sharing(self.pools[n]))
        };
        self.at.iter().enumerate().map(buffer).collect()
    }

    /// A port with a queue for each class, as `queue` makes them.
    pub(super) fn port(
        &self,
        buffer: &SharedBuffer,
        mtu: u32,
        queue: impl Fn(bool) -> Result<Discipline, SpecError>,
    ) -> Result<Discipline, SpecError> {
        let weights = &self.spec.weights;
        let lane = |(i, (_, lossless)): (usize, (TrafficClass, bool))| {
            let quantum = weights.get(i).map(|weight| weight.saturating_mul(mtu));
            Ok(Lane { port: queue(lossless)?.into_port(), lossless, quantum })
        };
        let lanes = self.classes().enumerate().map(lane).collect::<Result<_, SpecError>>()?;
        Ok(Discipline::Held(Box::new(PfcPort::new(lanes, self.spec.class_of(), buffer.clone()))))
    }
}

impl Setup {
    /// Works out what `[pfc]` asks for. Keys of errors start at the scenario's root.
    pub(super) fn lossless_classes(&self) -> Result<Option<Lossless>, SpecError> {
        let Some(spec) = &self.scenario.pfc else { return Ok(None) };
        spec.check().map_err(|e| e.under("pfc"))?;
        self.check_pfc(spec)?;
        let ingresses = |n: usize| {
            let router = !self.topology.is_host(n) && !self.topology.ports(n).is_empty();
            if router { self.ingresses(n, spec) } else { Ok((Vec::new(), None)) }
        };
        let all = (0..self.topology.nodes().len()).map(ingresses).collect::<Result<Vec<_>, _>>()?;
        let (at, pools) = all.into_iter().unzip();
        Ok(Some(Lossless { spec: spec.clone(), at, pools }))
    }

    /// Refuses what PFC cannot work with.
    fn check_pfc(&self, spec: &PfcSpec) -> Result<(), SpecError> {
        if self.scenario.stop.is_none() {
            return Err(SpecError::new("pfc", "needs a `stop`: a deadlocked run would never end"));
        }
        if !self.tunnels.is_empty() {
            return Err(SpecError::new("pfc", "and tunnels exclude each other: a pause is between neighbours"));
        }
        let frames = "a lost pause frame is not retransmitted";
        if let Some(link) = self.topology.links().iter().find(|link| link.corruption > 0.0) {
            let name = |n: usize| &self.topology.nodes()[n].name;
            let message = format!("{}–{} corrupts packets, and {frames}", name(link.a), name(link.b));
            return Err(SpecError::new("pfc", message));
        }
        if let Some(i) = self.scenario.vary.iter().position(|vary| vary.loss.is_some()) {
            return Err(SpecError::new(format!("vary[{i}].loss"), format!("is not possible with [pfc]: {frames}")));
        }
        if let Some(i) = self.scenario.vary.iter().position(|vary| vary.aggregation.is_some() || vary.arq.is_some()) {
            let message = "has frames, which no pause stops; leave out `aggregation` and `arq`, or [pfc]";
            return Err(SpecError::new(format!("vary[{i}]"), message));
        }
        for n in 0..self.topology.nodes().len() {
            for port in 0..self.topology.ports(n).len() {
                let keyed = self.queue_of(n, port);
                if keyed.queue.signal == SignalSpec::Drop && spec.lossless().iter().all(|lossless| *lossless) {
                    let message = "an AQM drops nothing in a lossless class of [pfc], so it could signal nothing";
                    return Err(SpecError::new("signal", message).under(&keyed.key));
                }
                if matches!(keyed.queue.aqm, AqmSpec::Trim(_)) {
                    let message =
                        "a router with [pfc] pauses its neighbours before a queue is full: nothing is trimmed";
                    return Err(SpecError::new("kind", message).under(&keyed.key));
                }
                if spec.classes().len() == 1 {
                    continue;
                }
                let timed = matches!(keyed.queue.aqm, AqmSpec::Pie(_) | AqmSpec::DualPi2(_) | AqmSpec::Cake(_));
                if timed || !self.has_plain_queues(n, port) {
                    let message = "several classes of [pfc] support drop-tail, step, delay-step, red and codel, \
                        and no scheme with its own ports; a single class supports all";
                    return Err(SpecError::new("kind", message).under(&keyed.key));
                }
            }
        }
        Ok(())
    }

    /// Refuses `[pfc]` outside the simulator: there is no transmitter of a neighbour to be stopped.
    pub fn refuse_pfc(&self) -> Result<(), SpecError> {
        let message = "is supported in the simulator only: elsewhere no neighbour's transmitter can be stopped";
        if self.lossless.is_some() { Err(SpecError::new("pfc", message)) } else { Ok(()) }
    }

    /// The link that leads to a port.
    fn upstream(&self, n: usize, port: usize) -> Upstream {
        let at = self.topology.ports(n)[port];
        let (link, peer) = (&self.topology.links()[at.link as usize], at.peer as usize);
        let jitter = self.scenario.host_jitter.filter(|_| self.topology.is_host(peer)).unwrap_or(Time::ZERO);
        Upstream { rate: link.rate_from(peer), back: link.rate_from(n), delay: link.delay, jitter, mtu: link.mtu }
    }

    /// The thresholds of a router's ports: all of its memory in equal parts, less the headroom of each; or what is left
    /// of it when each has its own, for all.
    fn ingresses(&self, n: usize, spec: &PfcSpec) -> Result<(Vec<Ingress>, Option<Pool>), SpecError> {
        let classes = spec.lossless_count();
        let ups: Vec<Upstream> = (0..self.topology.ports(n).len()).map(|port| self.upstream(n, port)).collect();
        let needs: Vec<u64> = ups.iter().map(|up| up.headroom().0).collect();
        let headroom = |port: usize| spec.headroom.map_or(needs[port], |given| given.0);
        let (ports, kept) = (ups.len() as u64, (0..ups.len()).map(headroom).sum::<u64>().saturating_mul(classes));
        let largest = ups.iter().map(|up| u64::from(up.mtu)).max().unwrap_or_default();
        let queues =
            (0..ups.len()).map(|port| bytes(self.queue_of(n, port).queue.limit, ups[port].back, ups[port].mtu));
        let memory = match (spec.buffer, spec.xoff) {
            (Some(given), _) => Some(given.0),
            (None, Some(_)) => None,
            (None, None) => Some(queues.fold(0, u64::saturating_add)),
        };
        let own = spec.xoff.or(spec.reserve());
        let pooled = spec.alpha.map_or(0, |_| largest);
        let each = own.map_or(largest, |own| own.0).saturating_mul(ports * classes);
        let least = kept.saturating_add(each).saturating_add(pooled);
        if let Some(memory) = memory.filter(|memory| *memory < least) {
            let name = &self.topology.nodes()[n].name;
            let below = own.map_or_else(|| "a packet".to_owned(), |own| own.to_string());
            let below = below + if pooled > 0 { " each in reserve, a packet shared" } else { " each below XOFF" };
            let message = format!(
                "{} is too little at {name}: {classes} lossless class(es) of {ports} ports need {} of headroom, \
                    by rates, delays and largest packets, and {below}, {} in all",
                Bytes(memory),
                Bytes(kept),
                Bytes(least)
            );
            return Err(SpecError::new(if spec.buffer.is_some() { "pfc.buffer" } else { "pfc" }, message));
        }
        let share = memory.map_or(0, |memory| (memory - kept) / (ports * classes).max(1));
        let one = |port: usize| {
            let (xoff, two) = (own.map_or(share, |x| x.0), 2 * u64::from(ups[port].mtu));
            let gap = spec.xon.map_or(two, |xon| xoff - xon.0.min(xoff));
            Ingress { at: Thresholds { xoff, gap, headroom: headroom(port) }, needs: needs[port] }
        };
        let pool = spec.alpha.zip(memory).map(|(alpha, memory)| Pool::new(memory - (least - pooled), alpha));
        Ok(((0..ups.len()).map(one).collect(), pool))
    }

    /// The most that a router holds in lossless classes of what came in through a port; of what ports share, an equal
    /// part.
    pub(super) fn lossless_bytes(&self, n: usize, port: usize) -> Option<u64> {
        let lossless = self.lossless.as_ref()?;
        let at = lossless.at(n).get(port)?.at;
        let own = at.xoff.saturating_add(at.headroom).saturating_mul(lossless.spec.lossless_count());
        let part = lossless.pools[n].map_or(0, |pool| pool.size() / lossless.at(n).len() as u64);
        Some(own.saturating_add(part))
    }

    /// The queue of a port, with its limit, or without one.
    pub(super) fn queue_at(&self, n: usize, port: usize, lossless: bool) -> QueueSpec {
        let queue = self.queue_of(n, port).queue;
        if lossless { QueueSpec { limit: NO_LIMIT, ..queue } } else { queue }
    }

    /// The port at the other end of a port's link.
    pub(crate) fn across(&self, n: usize, port: usize) -> (usize, PortId) {
        let at = self.topology.ports(n)[port];
        let peer = at.peer as usize;
        let back = self.topology.port_of_link(peer, at.link as usize).expect("a link is at both of its ends");
        (peer, PortId(back))
    }
}
