//! Return paths: ACKs take the reverse path of their data, even among equal-cost paths.
//!
//! Backpressure needs this (§II-A, note): an ACK is marked by the interface where its data wait, and releases a
//! packet at the one before. With all links known (§III-A's link-state protocol) a router can compute a flow's path:
//! each router chooses among equal paths by a known hash, or takes the first.

use std::sync::Arc;

use midpath_core::packet::{HOP_LIMIT, NodeId, Packet, PortId};
use midpath_core::roles::{Ecmp, Routes};
use rustc_hash::FxHashMap;

use super::cache::Key;

/// Flows remembered at most; then all are forgotten and looked up again.
const MAX_KNOWN: usize = 1 << 16;

/// How a router chooses ways, so that it can tell which its data take.
#[derive(Clone)]
pub struct Ways {
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
}

impl std::fmt::Debug for Ways {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ways").field("ecmp", &self.ecmp).finish_non_exhaustive()
    }
}

impl Ways {
    /// A node's.
    pub fn new(routes: Arc<dyn Routes>, ecmp: Ecmp) -> Ways {
        Ways { routes, ecmp }
    }

    /// The port that the data of an ACK leave `node` through.
    pub fn data_port(&self, ack: &Packet, node: NodeId) -> Option<PortId> {
        self.ecmp.expected(self.routes.next_ports(node, ack.src), ack.key, ack.src, node)
    }
}

/// Where ACKs leave one router.
pub struct WayBack {
    routes: Arc<dyn Routes>,
    /// How data choose among equal paths.
    ecmp: Ecmp,
    known: FxHashMap<Key, Option<PortId>>,
}

impl WayBack {
    /// Nothing is known yet.
    pub fn new(routes: Arc<dyn Routes>, ecmp: Ecmp) -> WayBack {
        WayBack { routes, ecmp, known: FxHashMap::default() }
    }

    /// Routes have changed: ways are looked up again.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The port that an ACK leaves `node` through. `None` where its data don't pass: it goes by its
    /// destination then.
    pub fn port(&mut self, ack: &Packet, node: NodeId) -> Option<PortId> {
        // The lane of the data: who sends them.
        let key = (ack.flow, ack.dst);
        if let Some(port) = self.known.get(&key) {
            return *port;
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let port = self.before(ack, node).and_then(|peer| self.towards(node, ack.dst, peer));
        self.known.insert(key, port);
        port
    }

    /// The router that data come to `node` from.
    fn before(&self, ack: &Packet, node: NodeId) -> Option<NodeId> {
        let (mut at, receiver) = (ack.dst, ack.src);
        for _ in 0..HOP_LIMIT {
            let port = self.ecmp.expected(self.routes.next_ports(at, receiver), ack.key, receiver, at)?;
            let next = self.routes.peer(at, port.0)?;
            if next == node {
                return Some(at);
            }
            at = next;
        }
        None
    }

    fn towards(&self, node: NodeId, dst: NodeId, peer: NodeId) -> Option<PortId> {
        let ports = self.routes.next_ports(node, dst).iter();
        ports.copied().find(|p| self.routes.peer(node, *p) == Some(peer)).map(PortId)
    }
}
