//! Forwarding by address: towards the router that the destination's address is attached to, then
//! over that link.
//!
//! Packets of other schemes are passed on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use midpath_core::packet::{FlowId, HOP_LIMIT, Interfaces, NodeId, Pkt, PortId, flow_key};
use midpath_core::roles::{Ecmp, ForwardCtx, Forwarder, LinkInfo, Map, NodeSpec, Route, Routes, walk};
use rustc_hash::FxHashMap;

use super::address::{MAX_ADDRESSES, Pair};

/// Where an address is: the router, and its port that leads there.
type Attachment = (NodeId, PortId);

/// All nodes that have a way to each other, and where multihomed hosts have their addresses. As large
/// as the network, whatever packets say.
#[derive(Debug, Default)]
struct Attachments {
    /// By node's number: where its addresses begin and end in `all`; [`UNKNOWN`] where there is no way.
    spans: Vec<[u32; 2]>,
    /// Side by side, for each packet asks at each node.
    all: Vec<Attachment>,
}

/// The span of a node to which there is no way.
const UNKNOWN: [u32; 2] = [u32::MAX; 2];

impl Attachments {
    /// Walks the map from `start`.
    fn walk(map: &dyn Map, start: NodeId) -> Attachments {
        let mut found = Attachments::default();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            if found.knows(node) {
                continue;
            }
            let links = map.links(node);
            queue.extend(links.iter().map(|l| l.peer).filter(|p| !found.knows(*p)));
            let multihomed = map.is_host(node) && links.len() > 1;
            let addresses = if multihomed { attachments(map, node, &links) } else { Box::default() };
            found.note(node, &addresses);
        }
        found
    }

    fn note(&mut self, node: NodeId, addresses: &[Attachment]) {
        let n = node.0 as usize;
        if self.spans.len() <= n {
            self.spans.resize(n + 1, UNKNOWN);
        }
        let from = self.all.len() as u32;
        self.all.extend(addresses);
        self.spans[n] = [from, self.all.len() as u32];
    }

    /// A node's addresses.
    #[inline]
    fn get(&self, node: NodeId) -> &[Attachment] {
        let [from, to] = self.spans.get(node.0 as usize).copied().unwrap_or(UNKNOWN);
        self.all.get(from as usize..to as usize).unwrap_or_default()
    }

    fn knows(&self, node: NodeId) -> bool {
        self.spans.get(node.0 as usize).is_some_and(|span| *span != UNKNOWN)
    }

    #[inline]
    fn find(&self, node: NodeId, address: PortId) -> Option<Attachment> {
        self.get(node).get(usize::from(address.0)).copied()
    }
}

/// Of each of a host's ports, what is on the other end. The k-th of parallel links is the k-th on
/// both ends.
fn attachments(map: &dyn Map, host: NodeId, links: &[LinkInfo]) -> Box<[Attachment]> {
    let of = |port: usize| {
        let peer = links[port].peer;
        let before = links[..port].iter().filter(|l| l.peer == peer).count();
        let back = map.links(peer);
        let at = back.iter().enumerate().filter(|(_, l)| l.peer == host).nth(before);
        (peer, PortId(at.map_or(u16::MAX, |(i, _)| i as u16)))
    };
    (0..links.len().min(MAX_ADDRESSES)).map(of).collect()
}

/// A host's routes, and how its packets' hash chooses among equal ones.
type HostRoutes = (Arc<dyn Routes>, Ecmp);

/// What the forwarders of one network share: where each host's addresses are, and what it knows of routes.
#[derive(Default)]
pub struct Addresses {
    parts: Mutex<Vec<Arc<Attachments>>>,
    hosts: Mutex<FxHashMap<NodeId, HostRoutes>>,
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Addresses {
    /// The part of the network that this node is in.
    fn around(&self, node: &NodeSpec<'_>) -> Arc<Attachments> {
        if node.map.is_host(node.node) {
            locked(&self.hosts).insert(node.node, (node.routes.clone(), node.ecmp));
        }
        let mut parts = locked(&self.parts);
        if let Some(part) = parts.iter().find(|p| p.knows(node.node)) {
            return part.clone();
        }
        let part = Arc::new(Attachments::walk(node.map, node.node));
        parts.push(part.clone());
        part
    }

    /// The pair of addresses that the shortest path connects as the source knows routes now, the one that a flow of another
    /// scheme would take where there are several: where the first subflow goes. Between the first ports as
    /// long as no forwarder has been made.
    pub fn first_pair(&self, flow: FlowId, src: NodeId, dst: NodeId) -> Pair {
        self.shortest(flow, src, dst).unwrap_or(Pair::new(0, 0))
    }

    fn shortest(&self, flow: FlowId, src: NodeId, dst: NodeId) -> Option<Pair> {
        let (routes, ecmp) = locked(&self.hosts).get(&src)?.clone();
        let part = locked(&self.parts).iter().find(|p| p.knows(src))?.clone();
        let key = flow_key(flow, src, dst, Interfaces::ANY);
        let pick = |node| ecmp.expected(routes.ports_for(node, dst, key), key, dst, node);
        let steps = walk((src, dst), usize::from(HOP_LIMIT), pick, |node, port| routes.peer(node, port.0))?;
        let (source, last) = (steps.first()?.port.0, steps.last()?);
        let at = part.get(dst).iter().position(|a| *a == (last.node, last.port)).unwrap_or(0);
        (usize::from(source) < MAX_ADDRESSES).then(|| Pair::new(source as u8, at as u8))
    }
}

/// A node's forwarder.
pub struct ByAddress {
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
    attached: Arc<Attachments>,
    ports: u16,
}

impl ByAddress {
    /// For a node of the network that has these addresses.
    pub fn new(network: &Addresses, node: &NodeSpec<'_>) -> ByAddress {
        ByAddress {
            routes: node.routes.clone(),
            ecmp: node.ecmp,
            attached: network.around(node),
            ports: node.links.len() as u16,
        }
    }

    /// The port towards the packet's address; `None` leaves the packet to the shortest path to its
    /// host.
    fn towards(&self, pkt: &Pkt, ctx: &mut ForwardCtx<'_>) -> Option<PortId> {
        let packet = &ctx.pool[pkt];
        let (dst, key) = (packet.dst, packet.key);
        // A host with one address, or none of this number: any way to it will do.
        let attached = packet.interfaces.destination().and_then(|address| self.attached.find(dst, address));
        let (router, port) = attached.unwrap_or((dst, PortId(u16::MAX)));
        if router == ctx.node {
            return (port.0 < self.ports).then_some(port);
        }
        self.ecmp.choose(self.routes.ports_for(ctx.node, router, key), key, dst, ctx.node, ctx.rng)
    }
}

impl Forwarder for ByAddress {
    fn route(&mut self, pkt: Pkt, _from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &ctx.pool[&pkt];
        let named = packet.dst != ctx.node && packet.interfaces.destination().is_some();
        match named.then(|| self.towards(&pkt, ctx)).flatten() {
            Some(port) => Route::Port(port, pkt),
            None => Route::Pass(pkt),
        }
    }
}
