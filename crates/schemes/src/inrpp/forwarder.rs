//! Forwarding: tagged packets go to their original next hop (§III-A), ACKs take the reverse path of their data. All
//! others pass to the next forwarder.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{NodeId, Packet, Pkt, PortId};
use midpath_core::roles::{Ecmp, ForwardCtx, Forwarder, NodeSpec, Route, Routes};

use super::back::WayBack;
use super::detour::seconds;
use super::header::{carries_inrpp, hop_fields, set_via};
use super::tunnels::Tunnels;

/// A router's forwarder.
pub struct Detouring {
    routes: Arc<dyn Routes>,
    back: WayBack,
    ecmp: Ecmp,
    /// Ports by the router behind them; the first of parallel links.
    ports: BTreeMap<NodeId, PortId>,
    /// The router behind each port.
    peers: Vec<NodeId>,
    /// With 2-hop detours, by the neighbour that a packet came from: what [`seconds`] says.
    second: BTreeMap<NodeId, BTreeMap<NodeId, PortId>>,
    tunnels: Option<Tunnels>,
    /// Destinations with one shortest path, by their last bits.
    single: [Option<NodeId>; SINGLE],
}

/// Destinations that are remembered to have one shortest path. Ours: as many as next hops ([`ShortestPath`]).
///
/// [`ShortestPath`]: midpath_core::roles::ShortestPath
const SINGLE: usize = 8;

impl Detouring {
    /// For a node; `two` if 2-hop detours are on.
    pub fn new(node: &NodeSpec<'_>, two: bool, tunnels: Option<Tunnels>) -> Detouring {
        let peers: Vec<NodeId> = node.links.iter().map(|l| l.peer).collect();
        let mut ports = BTreeMap::new();
        for (i, peer) in peers.iter().enumerate() {
            ports.entry(*peer).or_insert(PortId(i as u16));
        }
        let routers = peers.iter().filter(|p| two && !node.map.is_host(**p));
        let second = routers.map(|p| (*p, seconds(node, *p))).collect();
        let routes = node.routes.clone();
        let back = WayBack::new(routes.clone(), node.ecmp);
        Detouring { routes, back, ecmp: node.ecmp, ports, peers, second, tunnels, single: [None; SINGLE] }
    }

    /// The port towards the original next hop of a tagged packet that came in through `from`.
    fn towards(&self, via: NodeId, from: Option<PortId>) -> Option<PortId> {
        if let Some(port) = self.ports.get(&via) {
            return Some(*port);
        }
        let origin = self.peers.get(usize::from(from?.0))?;
        self.second.get(origin)?.get(&via).copied()
    }

    /// Whether the way back of an ACK may be another than its destination's, as far as is known.
    #[inline]
    fn asks_back(&self, ack: &Packet) -> bool {
        self.single[ack.dst.0 as usize % SINGLE] != Some(ack.dst) && matches!(self.ecmp, Ecmp::Flow | Ecmp::Off)
    }

    /// Where an ACK goes if there is more than one shortest path: back the way that its data went.
    fn back(&mut self, packet: &Packet, node: NodeId) -> Option<PortId> {
        // The first of several need not be the way back of the first the other way round.
        if !self.asks_back(packet) {
            return None;
        }
        if self.routes.next_ports(node, packet.dst).len() > 1 {
            return self.back.port(packet, node);
        }
        self.single[packet.dst.0 as usize % SINGLE] = Some(packet.dst);
        None
    }
}

impl Forwarder for Detouring {
    /// Detours stay: they are around links of the network as it is built.
    fn on_routes(&mut self, _state: u32) {
        self.back.forget();
        self.single = [None; SINGLE];
        self.tunnels.iter_mut().for_each(Tunnels::forget);
    }

    fn ignores_some_inbound(&self) -> bool {
        self.tunnels.is_none()
    }

    fn ignores_inbound(&self, packet: &Packet, node: NodeId) -> bool {
        let fields = hop_fields(packet);
        let goes_on = fields.via.is_none() && (!fields.ack || !self.asks_back(packet));
        goes_on || packet.dst == node
    }

    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let node = ctx.node;
        let packet = &mut ctx.pool[&pkt];
        if packet.dst == node {
            return Route::Pass(pkt);
        }
        let fields = hop_fields(packet);
        if let Some(via) = fields.via {
            if via != node
                && let Some(port) = self.towards(via, from)
            {
                return Route::Port(port, pkt);
            }
            // The original next hop, or a router that doesn't know it: from here on the packet goes
            // by its destination.
            set_via(packet, None);
        }
        if let Some(tunnels) = &mut self.tunnels
            && carries_inrpp(&ctx.pool[&pkt])
            && let Some(port) = tunnels.port(&ctx.pool[&pkt], node, fields.ack)
        {
            return Route::Port(port, pkt);
        }
        let back = if fields.ack { self.back(&ctx.pool[&pkt], node) } else { None };
        match back {
            Some(port) => Route::Port(port, pkt),
            None => Route::Pass(pkt),
        }
    }
}
