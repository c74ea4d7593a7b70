//! An overlay over plain routers (§V-B): where plain routers lie before the next INRPP one, a packet
//! takes the tunnel that leads there.
//!
//! The path stays the shortest one, split at its INRPP routers. ACKs take the tunnel of their data, as they must
//! notify and release the port before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{HOP_LIMIT, NodeId, Packet, PortId};
use midpath_core::roles::{Ecmp, NodeSpec, Routes, walk};
use rustc_hash::FxHashMap;

use super::overlay::PlainRegion;

/// Conversations remembered at most; then all are forgotten and looked up again. Ours.
const MAX_KNOWN: usize = 1 << 16;

/// A router's tunnels, and who takes them.
pub struct Tunnels {
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
    /// By the router at their other end.
    ports: BTreeMap<NodeId, PortId>,
    /// What lies behind each port; none where that is no plain router.
    regions: Vec<Option<PlainRegion>>,
    /// By the conversation's key, where it goes, and whether it is an ACK.
    known: FxHashMap<(u32, NodeId, bool), Option<PortId>>,
}

impl Tunnels {
    /// Those of a node; `None` if it has none.
    pub fn new(node: &NodeSpec<'_>) -> Option<Tunnels> {
        let all = || (0..node.links.len()).map(|i| PortId(i as u16));
        let tunnels = all().filter(|p| node.map.is_tunnel(node.node, *p));
        let ports: BTreeMap<_, _> = tunnels.map(|p| (node.links[usize::from(p.0)].peer, p)).collect();
        if ports.is_empty() {
            return None;
        }
        let regions = all().map(|p| PlainRegion::new(node, p)).collect();
        Some(Tunnels { routes: node.routes.clone(), ecmp: node.ecmp, ports, regions, known: FxHashMap::default() })
    }

    /// Routes have changed: ways are looked up again.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The tunnel that a packet leaves `node` through. `None` where it takes none.
    pub fn port(&mut self, packet: &Packet, node: NodeId, ack: bool) -> Option<PortId> {
        let of = (packet.key, packet.dst, ack);
        if let Some(port) = self.known.get(&of) {
            return *port;
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let back = if ack { self.before(packet, node) } else { None };
        let port = back.or_else(|| self.next(packet, node)).and_then(|n| self.ports.get(&n).copied());
        self.known.insert(of, port);
        port
    }

    /// The next INRPP router on the shortest path, if plain ones lie between.
    fn next(&self, packet: &Packet, node: NodeId) -> Option<NodeId> {
        let choices = self.routes.ports_for(node, packet.dst, packet.key);
        let port = self.ecmp.expected(choices, packet.key, packet.dst, node)?;
        self.regions.get(usize::from(port.0))?.as_ref()?.next(packet.dst, packet.key)
    }

    /// The router from which the data of an ACK came here with plain ones between; `None` where they
    /// came straight, or don't pass.
    fn before(&self, ack: &Packet, node: NodeId) -> Option<NodeId> {
        let receiver = ack.src;
        let pick = |at| self.ecmp.expected(self.routes.ports_for(at, receiver, ack.key), ack.key, receiver, at);
        let peer = |at, port: PortId| self.routes.peer(at, port.0);
        let way = walk((ack.dst, node), usize::from(HOP_LIMIT), pick, peer)?;
        let last = way.iter().rev().map(|step| step.node).take_while(|n| *n != ack.dst).find(|n| !self.is_plain(*n))?;
        (way.last()?.node != last).then_some(last)
    }

    fn is_plain(&self, node: NodeId) -> bool {
        self.regions.iter().flatten().any(|region| region.has(node))
    }
}
