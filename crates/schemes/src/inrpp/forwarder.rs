//! Forwarding: tagged packets go to their original next hop (§III-A), all others along shortest paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{NodeId, Packet, PacketId, PortId};
use midpath_core::rng::mix;
use midpath_core::roles::{Ecmp, ForwardCtx, Forwarder, NodeSpec, Route, Routes, ShortestPath};

use super::detour::seconds;

/// A router's forwarder.
pub struct Detouring {
    routes: Arc<dyn Routes>,
    base: ShortestPath,
    ecmp: Ecmp,
    /// Ports by the router behind them; the first of parallel links.
    ports: BTreeMap<NodeId, PortId>,
    /// The router behind each port.
    peers: Vec<NodeId>,
    /// With 2-hop detours, by the neighbour that a packet came from: what [`seconds`] says.
    second: BTreeMap<NodeId, BTreeMap<NodeId, PortId>>,
}

impl Detouring {
    /// For a node; `two` if 2-hop detours are on.
    pub fn new(node: &NodeSpec<'_>, two: bool) -> Detouring {
        let peers: Vec<NodeId> = node.links.iter().map(|l| l.peer).collect();
        let mut ports = BTreeMap::new();
        for (i, peer) in peers.iter().enumerate() {
            ports.entry(*peer).or_insert(PortId(i as u16));
        }
        let routers = peers.iter().filter(|p| two && !node.map.is_host(**p));
        let second = routers.map(|p| (*p, seconds(node, *p))).collect();
        let routes = node.routes.clone();
        let base = ShortestPath::new(routes.clone(), node.ecmp);
        Detouring { routes, base, ecmp: node.ecmp, ports, peers, second }
    }

    /// The port towards the original next hop of a tagged packet that came in through `from`.
    fn towards(&self, via: NodeId, from: Option<PortId>) -> Option<PortId> {
        if let Some(port) = self.ports.get(&via) {
            return Some(*port);
        }
        let origin = self.peers.get(usize::from(from?.0))?;
        self.second.get(origin)?.get(&via).copied()
    }

    /// The shortest path's next port. Among equal ones the choice is by the router behind the port, not by the port's number: so both
    /// directions of a flow choose alike wherever two equal paths differ in one router, and ACKs come back the way the data
    /// went (§II-A, note). Where they differ in more they may not.
    fn next(&self, packet: &Packet, node: NodeId) -> Option<PortId> {
        let choices = self.routes.next_ports(node, packet.dst);
        let score = |p: &u16| {
            let peer = self.peers[usize::from(*p)];
            let hash = match self.ecmp {
                Ecmp::Flow => mix(u64::from(packet.flow.0) << 32 | u64::from(peer.0)),
                Ecmp::Packet | Ecmp::Off => 0,
            };
            (hash, peer, *p)
        };
        choices.iter().min_by_key(|p| score(p)).map(|p| PortId(*p))
    }
}

impl Forwarder for Detouring {
    fn route(&mut self, id: PacketId, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let node = ctx.node;
        let packet = &mut ctx.pool[id];
        if packet.dst == node {
            return Route::Local;
        }
        if packet.via != u32::MAX {
            let via = NodeId(packet.via);
            if via != node
                && let Some(port) = self.towards(via, from)
            {
                return Route::Port(port);
            }
            // The original next hop, or a router that doesn't know it: from here on the packet goes by its destination.
            packet.via = u32::MAX;
        }
        if self.ecmp == Ecmp::Packet {
            return self.base.route(id, from, ctx);
        }
        self.next(&ctx.pool[id], node).map_or(Route::Unroutable, Route::Port)
    }
}
