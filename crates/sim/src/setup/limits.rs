//! What may limit a flow besides its scheme: its path, faults, its receiver, random loss.

use std::collections::BTreeSet;

use midpath_core::packet::NodeId;
use midpath_core::queue::{AqmSpec, SchedulerSpec, SignalSpec};
use midpath_core::roles::{End, Network};
use midpath_core::units::{Bytes, Rate, Time};
use midpath_topo::Hop;

use super::Setup;
use crate::engine::{Bursts, Variation};

impl Setup {
    /// The hops of flow `i`'s data, and those of what comes back. Data that are asked for go back
    /// the way of what asked for them.
    pub(crate) fn ways(&self, i: usize) -> Option<(Vec<Hop>, Vec<Hop>)> {
        let (from, to) = self.flows.get(i).ends();
        let path =
            |from: NodeId, to: NodeId| self.routes.path(&self.topology, from.0 as usize, to.0 as usize, i as u32);
        let out = path(from, to)?;
        match self.flows.get(i).opener {
            End::Source => Some((out, path(to, from)?)),
            End::Destination => Some((self.reversed(&out), out)),
        }
    }

    fn reversed(&self, hops: &[Hop]) -> Vec<Hop> {
        let back = |hop: &Hop| {
            let node = self.topology.ports(hop.node)[usize::from(hop.port)].peer as usize;
            let port = self.topology.port_of_link(node, hop.link).expect("a link is at both of its ends");
            Hop { node, port, link: hop.link }
        };
        hops.iter().rev().map(back).collect()
    }

    /// When faults and schedules keep the flows over these hops from their work, and `grace`
    /// more. Where routes follow the network, an outage anywhere may be on a flow's way.
    pub(crate) fn covered(&self, hops: &[Hop], grace: Time) -> Vec<(Time, Time)> {
        let links: BTreeSet<usize> = match self.scenario.routing.reconverge {
            None => hops.iter().map(|hop| hop.link).collect(),
            Some(_) => self.changing_links().collect(),
        };
        let grace = grace.saturating_add(self.scenario.routing.reconverge.unwrap_or_default());
        let links = links.into_iter().flat_map(|link| self.faults.covered(link, grace));
        links.chain(hops.iter().flat_map(|hop| self.faults.restarting(hop.node, grace))).collect()
    }

    /// The most that a flow can carry, whatever the network's scheme does: its receiver's window, a
    /// rate of its own, or what losses by chance on its way leave a window that halves with each
    /// (Mathis et al., 1997: a window of √(3/2p)). `None` where nothing bounds it.
    pub(crate) fn ceiling(&self, flow: usize, hops: &[Hop]) -> Option<Rate> {
        let info = &self.flows.get(flow);
        let transport = self.schemes.transport(info.flow.scheme.as_deref()).ok().flatten();
        let own = transport.and_then(|t| t.ceiling(info.rtt));
        let loss: f64 = hops.iter().map(|hop| self.loss(hop)).sum();
        let window = (loss > 0.0).then(|| (1.5 / loss).sqrt() * f64::from(info.mtu));
        let lossy = window.map(|bytes| Rate::from_bytes_in(Bytes(bytes as u64), info.rtt));
        own.into_iter().chain(lossy).min()
    }

    /// Whether a flow's packets may take other ways than these hops, those that number `number` is hashed to.
    pub(crate) fn draws_paths(&self, flow: usize, number: u32, hops: &[Hop]) -> bool {
        let info = &self.flows.get(flow);
        let transport = self.schemes.transport(info.flow.scheme.as_deref()).ok().flatten();
        let drawn = transport.is_some_and(|t| t.draws_paths());
        self.routes.may_leave(hops, (info.flow.src as usize, info.flow.dst as usize), number, drawn)
    }

    /// The share of packets that chance takes on a link.
    fn loss(&self, hop: &Hop) -> f64 {
        let bursts = self.varying.of(hop.link, self.direction(hop.link, hop.node)).bursts;
        self.topology.links()[hop.link].corruption + bursts.map_or(0.0, Bursts::mean)
    }

    /// Whether chance has a say on the way of a packet over these hops.
    pub(crate) fn is_random(&self, hops: &[Hop]) -> bool {
        let varies = |hop: &Hop| self.variation(hop.link, self.direction(hop.link, hop.node));
        hops.iter().any(|hop| self.loss(hop) > 0.0 || varies(hop) != Variation::default())
    }

    /// The AQM that the scenario gives to a port, in words; none where that is none.
    pub(crate) fn aqm_at(&self, n: usize, port: usize) -> Option<String> {
        super::equipment::asked_aqm(&self.queue_of(n, port).queue)
    }

    /// Whether a port can mark packets: its queue has an AQM that does, or names none and the scheme there brings one.
    pub(crate) fn can_mark(&self, n: usize, port: usize) -> bool {
        let queue = self.queue_of(n, port).queue;
        if queue.is_drop_tail() {
            let own = self.network_at(n, port).and_then(|scheme| self.description(scheme));
            return own.is_some_and(|own| own.aqm.is_some()) && !self.only_drops(n, port);
        }
        !matches!(queue.aqm, AqmSpec::DropTail) && queue.signal == SignalSpec::Ce
    }

    /// Whether a link is between two routers.
    pub(crate) fn is_inside(&self, link: usize) -> bool {
        let link = &self.topology.links()[link];
        !self.topology.is_host(link.a) && !self.topology.is_host(link.b)
    }

    /// Whether a port keeps one queue of packets as they came, and chooses among them by nothing
    /// but what waits.
    pub(crate) fn is_blind(&self, n: usize, port: usize) -> bool {
        let queue = self.queue_of(n, port).queue;
        let random = matches!(queue.aqm, AqmSpec::Red(_) | AqmSpec::Pie(_));
        let one_queue = queue.scheduler == SchedulerSpec::Fifo
            && !matches!(queue.aqm, AqmSpec::DualPi2(_) | AqmSpec::Cake(_) | AqmSpec::Trim(_));
        one_queue && !random && self.has_plain_queues(n, port)
    }

    /// Whether what runs at a port is a queue and nothing else.
    pub(super) fn has_plain_queues(&self, n: usize, port: usize) -> bool {
        let network = self.deployment.of(n, port).and_then(|instance| self.deployment.get(instance).network.as_deref());
        network.is_none_or(Network::has_plain_queues)
    }
}
