//! Partial deployment (§V-B): which routers run INRPP, and the next one across plain routers.
//!
//! A plain router queues as the scenario says and forwards options untouched. For detours it counts as a host: no
//! detour goes through it. So a notification on an ACK reaches the next INRPP router upstream across any number of
//! plain ones; it is signed with that neighbour's key.

use std::collections::BTreeSet;
use std::sync::Arc;

use midpath_core::packet::{NodeId, Packet, PortId};
use midpath_core::roles::{Ecmp, LinkInfo, Map, NodeSpec, Routes};

/// Plain routers that are looked through behind one port, and INRPP routers that are known behind
/// them. Ours: far above what can lie between two neighbours of an overlay that is worth its name.
const MAX_BEYOND: usize = 1 << 14;

/// Neighbours whose keys are tried on an ACK beside the one that is expected, so that a flood of
/// forgeries costs little each. Ours.
const MAX_TRIES: usize = 16;

/// Whether a node is a router without INRPP, or with another domain's.
fn is_plain(map: &dyn Map, node: NodeId) -> bool {
    !map.runs(node) && !map.is_host(node)
}

/// The map in which plain routers count as hosts: nobody detours through them.
pub struct InrppMap<'a>(pub &'a dyn Map);

impl Map for InrppMap<'_> {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        self.0.links(node)
    }
    fn is_host(&self, node: NodeId) -> bool {
        self.0.is_host(node) || !self.0.runs(node)
    }
    fn is_tunnel(&self, node: NodeId, port: PortId) -> bool {
        self.0.is_tunnel(node, port)
    }
}

/// What lies behind a port whose peer is a plain router.
#[derive(Clone)]
pub struct PlainRegion {
    peer: NodeId,
    /// Plain routers up to the next INRPP ones.
    plain: BTreeSet<NodeId>,
    inrpp_routers: Vec<NodeId>,
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
}

impl PlainRegion {
    /// Looks through `port` of a node. `None` if its peer is no plain router.
    pub fn new(node: &NodeSpec<'_>, port: PortId) -> Option<PlainRegion> {
        let peer = node.links.get(usize::from(port.0))?.peer;
        if !is_plain(node.map, peer) {
            return None;
        }
        let (mut plain, mut found) = (BTreeSet::new(), BTreeSet::new());
        let mut next = vec![peer];
        while let Some(at) = next.pop() {
            let peers: Vec<NodeId> = node.map.links(at).iter().map(|l| l.peer).collect();
            for other in peers.iter().filter(|n| !node.map.is_host(**n) && **n != node.node) {
                if node.map.runs(*other) {
                    found.insert(*other);
                } else if !plain.contains(other) && plain.len() + next.len() < MAX_BEYOND {
                    next.push(*other);
                }
            }
            plain.insert(at);
        }
        let inrpp_routers = found.into_iter().take(MAX_BEYOND).collect();
        Some(PlainRegion { peer, plain, inrpp_routers, routes: node.routes.clone(), ecmp: node.ecmp })
    }

    /// Whether a plain router is part of it.
    pub fn has(&self, node: NodeId) -> bool {
        self.plain.contains(&node)
    }

    /// Who reads what a packet for `dst` says when it has left through this port: the next INRPP
    /// router on its way, or the host it goes to.
    pub fn next(&self, dst: NodeId, key: u32) -> Option<NodeId> {
        let mut at = self.peer;
        // Shortest paths have no loops, so it ends; the bound is for routes that aren't what they
        // should be.
        for _ in 0..=self.plain.len() {
            if !self.plain.contains(&at) {
                return Some(at);
            }
            let port = self.ecmp.expected(self.routes.ports_for(at, dst, key), key, dst, at)?;
            at = self.routes.peer(at, port.0)?;
        }
        None
    }

    /// Who may have signed what an ACK has brought from there: the INRPP router that the way to its
    /// source leads to, for ACKs come back the way the data went, or one of the others.
    pub fn signers(&self, ack: &Packet) -> impl Iterator<Item = NodeId> + '_ {
        let first = self.next(ack.src, ack.key).filter(|n| self.inrpp_routers.contains(n));
        first.into_iter().chain(self.inrpp_routers.iter().copied().filter(move |n| Some(*n) != first).take(MAX_TRIES))
    }
}

impl std::fmt::Debug for PlainRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beyond")
            .field("plain", &self.plain)
            .field("speakers", &self.inrpp_routers)
            .finish_non_exhaustive()
    }
}

/// Who is on the other side of a port.
#[derive(Debug, Clone, Default)]
pub enum PeerKind {
    /// An INRPP router, or a host's own router: the peer itself.
    #[default]
    Neighbour,
    /// A host.
    Host,
    /// Plain routers, and whoever is behind them.
    Plain(Arc<PlainRegion>),
}

impl PeerKind {
    /// Looks through `port` of a node.
    pub fn new(node: &NodeSpec<'_>, port: PortId) -> PeerKind {
        let host = node.links.get(usize::from(port.0)).is_some_and(|l| node.map.is_host(l.peer));
        match PlainRegion::new(node, port) {
            Some(plain_region) => PeerKind::Plain(Arc::new(plain_region)),
            None if host => PeerKind::Host,
            None => PeerKind::Neighbour,
        }
    }

    /// Whether a packet that leaves through this port meets no INRPP router any more: it leaves the
    /// domain.
    pub fn ends(&self, packet: &Packet) -> bool {
        match self {
            PeerKind::Neighbour => false,
            PeerKind::Host => true,
            PeerKind::Plain(plain_region) => plain_region
                .next(packet.dst, packet.key)
                .is_none_or(|n| plain_region.inrpp_routers.binary_search(&n).is_err()),
        }
    }
}
