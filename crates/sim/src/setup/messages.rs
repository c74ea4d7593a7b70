//! Messages: flows that begin at run time, between any two hosts. They are numbered behind the scenario's flows and its tunnels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use midpath_core::node::Flows;
use midpath_core::packet::{FlowId, HOP_LIMIT, NodeId, Packet};
use midpath_core::roles::{Accept, End, Endpoint, FlowSpec, Transport};
use midpath_core::units::{Bytes, Time};
use midpath_topo::Topology;
use midpath_topo::path::Unloaded;
use rustc_hash::FxHashMap;

use super::{Setup, TableRoutes};

/// The messages under way.
pub(crate) struct Messages {
    /// The number of the first.
    first: u32,
    transport: Arc<dyn Transport>,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    sent: u32,
    /// With whether a passive end was asked for.
    specs: FxHashMap<FlowId, (FlowSpec, bool)>,
}

/// Why a message cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// The network does not lead there.
    Route,
    /// Packets do not live for so many links.
    Hops(usize),
    /// There are no numbers left.
    Numbers,
}

impl Messages {
    pub fn new(first: usize, transport: Arc<dyn Transport>) -> Messages {
        Messages { first: first as u32, transport, live: Mutex::default() }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are known: under way, or being closed.
    pub fn known(&self) -> usize {
        self.live().specs.len()
    }

    /// A new message, and the node at which it begins.
    pub fn add(&self, setup: &Setup, [src, dst]: [u32; 2], bytes: u64) -> Result<(FlowId, NodeId), NoWay> {
        let mut live = self.live();
        let number = self.first.checked_add(live.sent).filter(|number| *number < u32::MAX).ok_or(NoWay::Numbers)?;
        let hops = setup.routes.path(&setup.topology, src as usize, dst as usize, number).ok_or(NoWay::Route)?;
        if hops.len() > usize::from(HOP_LIMIT) {
            return Err(NoWay::Hops(hops.len()));
        }
        let (id, src, dst) = (FlowId(number), NodeId(src), NodeId(dst));
        let mtu = Unloaded::new(&setup.topology, &hops).mtu;
        let spec = FlowSpec { size: Some(Bytes(bytes)), mtu, ..FlowSpec::new(id, src, dst) };
        let active = self.ends(&spec).0;
        live.sent += 1;
        live.specs.insert(id, (spec, false));
        Ok((id, active))
    }

    /// Called when an end of a message is gone: with the passive one all is forgotten, for a node remembers which flows it has
    /// closed; with the active one, if there never was another.
    pub fn gone(&self, flow: FlowId, active: bool) {
        let mut live = self.live();
        if live.specs.get(&flow).is_some_and(|(_, accepted)| !active || !accepted) {
            live.specs.remove(&flow);
        }
    }

    /// Where a message goes.
    pub fn destination(&self, flow: FlowId) -> Option<NodeId> {
        Some(self.live().specs.get(&flow)?.0.dst)
    }

    fn spec(&self, flow: FlowId) -> Option<FlowSpec> {
        Some(self.live().specs.get(&flow)?.0)
    }

    /// Called when a message comes to a node where it has no end: what it is, if its passive end belongs there.
    fn accepted(&self, flow: FlowId, node: NodeId) -> Option<FlowSpec> {
        let mut live = self.live();
        let (spec, accepted) = live.specs.get_mut(&flow).filter(|(spec, _)| self.ends(spec).1 == node)?;
        *accepted = true;
        Some(*spec)
    }

    /// The nodes of its active and its passive end.
    fn ends(&self, spec: &FlowSpec) -> (NodeId, NodeId) {
        match self.transport.opener() {
            End::Source => (spec.src, spec.dst),
            End::Destination => (spec.dst, spec.src),
        }
    }
}

/// The flows of a scenario, and messages.
pub(super) struct WithMessages {
    pub table: Arc<dyn Flows>,
    pub messages: Arc<Messages>,
}

impl WithMessages {
    /// What carries a flow, if it is a message.
    fn transport(&self, flow: FlowId) -> Option<&dyn Transport> {
        (flow.0 >= self.messages.first).then_some(&*self.messages.transport)
    }
}

impl Flows for WithMessages {
    fn connection(&self, flow: FlowId) -> Option<FlowId> {
        self.transport(flow).is_none().then(|| self.table.connection(flow)).flatten()
    }
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>> {
        match self.transport(flow) {
            Some(transport) => Some(transport.open(&self.messages.spec(flow)?)),
            None => self.table.open(flow),
        }
    }
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        let Some(transport) = self.transport(first.flow) else { return self.table.accept(node, first) };
        transport.accept(first, self.messages.accepted(first.flow, node).as_ref())
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        match self.transport(packet.flow) {
            Some(transport) => transport.refuse(packet),
            None => self.table.refuse(packet),
        }
    }
}

/// Most pairs of hosts whose paths are looked at. Ours: a second.
const PAIRS: usize = 1 << 18;

/// The longest unloaded round trip between two hosts. Of hosts whose links are alike, two stand for all; where there are more
/// than [`PAIRS`] of these, every so many of them are sources.
pub(super) fn longest_rtt(topology: &Topology, routes: &TableRoutes) -> Time {
    let mut alike = BTreeMap::<Vec<_>, Vec<usize>>::new();
    for host in topology.hosts() {
        let link = |port: &midpath_topo::graph::Port| {
            let link = &topology.links()[port.link as usize];
            (port.peer, link.rate_from(host), link.rate_from(port.peer as usize), link.delay, link.mtu)
        };
        alike.entry(topology.ports(host).iter().map(link).collect()).or_default().push(host);
    }
    let hosts: Vec<usize> = alike.values().flat_map(|hosts| hosts.iter().copied().take(2)).collect();
    let step = (hosts.len() * hosts.len()).div_ceil(PAIRS).max(1);
    let pairs = hosts.iter().step_by(step).flat_map(|src| hosts.iter().map(move |dst| (*src, *dst)));
    let rtt = |(src, dst)| {
        let path = Unloaded::new(topology, &routes.path(topology, src, dst, 0)?);
        Some(path.packet_time(Bytes(path.mtu.into())).saturating_add(path.delay))
    };
    pairs.filter(|(src, dst)| src != dst).filter_map(rtt).max().unwrap_or_default()
}
