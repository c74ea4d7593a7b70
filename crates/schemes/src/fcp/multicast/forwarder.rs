//! A node on multicast trees: ReceiveMulticast and ReceiveACK of §4.2.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId, Pkt, PortId};
use midpath_core::roles::{Face, ForwardCtx, Forwarder, NodeSpec, Route, Routes};
use midpath_core::units::Time;

use super::tree::{Peers, Place, place};
use crate::fcp::header::FcpHeader;
use crate::fcp::in_flight::after;
use crate::fcp::resolved::Resolved;

/// Trees remembered at one node; the one not used for longest goes for a new one. Ours.
const TREES: usize = 1024;

/// A child that has not answered for this long is not waited for, and its price no longer counts.
/// Ours: senders send a packet a second at least, and no round trip that the header can say in
/// practice is longer than two of these less that second.
const PATIENCE: Time = Time::from_secs(3);

/// What a child has said last.
#[derive(Debug, Clone, Copy)]
struct Echo {
    at: Time,
    /// The newest packet that all receivers below have answered.
    nonce: u32,
    /// The price of the link to the child and of what is below, $/byte.
    price: f32,
    refused: bool,
}

/// One flow's tree, as one node knows it.
#[derive(Debug, Clone)]
struct Tree {
    seen: Time,
    since: Time,
    place: Place,
    /// upstreamPrice: of the link from the parent, $/byte.
    upstream: f32,
    /// For each child.
    echoes: Vec<Option<Echo>>,
    /// The newest packet that has been acknowledged to the parent.
    returned: Option<u32>,
}

/// Forwards multicast packets along trees, and passes on everything else.
pub struct TreeForwarder {
    node: NodeId,
    params: Arc<Resolved>,
    routes: Arc<dyn Routes>,
    peers: Arc<Peers>,
    trees: BTreeMap<(NodeId, FlowId), Tree>,
}

impl TreeForwarder {
    /// The forwarder of one node. `peers` is the network around it.
    pub fn new(params: Arc<Resolved>, spec: &NodeSpec<'_>, peers: Arc<Peers>) -> TreeForwarder {
        TreeForwarder { node: spec.node, params, routes: spec.routes.clone(), peers, trees: BTreeMap::new() }
    }

    /// How many trees are remembered.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Who is at the other end of a port.
    fn peer(&self, port: PortId) -> Option<NodeId> {
        self.peers.get(&self.node)?.get(usize::from(port.0)).copied()
    }

    /// The tree of a data packet, made if it is new.
    fn tree(&mut self, root: NodeId, flow: FlowId, dst: NodeId, group: u32, now: Time) -> &mut Tree {
        let key = (root, flow);
        if !self.trees.contains_key(&key) {
            if self.trees.len() >= TREES {
                let oldest = self.trees.iter().min_by_key(|(key, tree)| (tree.seen, **key)).map(|(key, _)| *key);
                oldest.map(|key| self.trees.remove(&key));
            }
            let mut receivers = self.params.receivers(group).to_vec();
            if !receivers.contains(&dst) {
                receivers.push(dst);
            }
            let place = place(self.node, root, &receivers, &self.peers, self.routes.as_ref());
            let echoes = vec![None; place.children.len()];
            self.trees.insert(key, Tree { seen: now, since: now, place, upstream: 0.0, echoes, returned: None });
        }
        let tree = self.trees.get_mut(&key).expect("just made");
        tree.seen = now;
        tree
    }

    /// ReceiveMulticast: remembers the upstream price, resets it, and copies the packet to all
    /// children.
    fn down(&mut self, pkt: Pkt, header: FcpHeader, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &mut ctx.pool[&pkt];
        let (root, came) = (packet.src, from.and_then(|port| self.peer(port)));
        let group = header.tree - 1;
        if self.params.receivers(group).is_empty() {
            return Route::Unroutable(pkt);
        }
        let tree = self.tree(root, packet.flow, packet.dst, group, ctx.now);
        // From elsewhere than the parent it is not on the tree: a copy too many, or a forgery.
        if came != tree.place.parent {
            return Route::Unroutable(pkt);
        }
        if tree.place.children.is_empty() {
            return if tree.place.receives { Route::Local(pkt) } else { Route::Unroutable(pkt) };
        }
        tree.upstream = header.price;
        packet.set_header(&FcpHeader { price: 0.0, ..header });
        for &child in &tree.place.children {
            ctx.copy_to(Face::Port(child), &pkt);
        }
        Route::Consumed(pkt)
    }

    /// ReceiveACK: notes the child's price, and sends up that of the subtree when that is news.
    fn up(&mut self, pkt: Pkt, header: FcpHeader, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &mut ctx.pool[&pkt];
        if packet.dst == self.node {
            return Route::Local(pkt);
        }
        let minimum = self.params.given.minimum_price;
        let Some(tree) = self.trees.get_mut(&(packet.dst, packet.flow)) else { return Route::Consumed(pkt) };
        let Some(parent) = tree.place.parent else { return Route::Consumed(pkt) };
        if let Some(from) = from {
            let Ok(child) = tree.place.children.binary_search(&from) else { return Route::Consumed(pkt) };
            tree.note(child, &header, ctx.now);
            let Some(answer) = tree.answer(minimum, ctx.now) else { return Route::Consumed(pkt) };
            let clean = FcpHeader { rtt: 0.0, preload: 0.0, balance: 0.0, charged: 0.0, exchange: 1.0, ..header };
            packet.set_header(&FcpHeader {
                price: answer.price,
                nonce: answer.nonce,
                refused: answer.refused,
                ..clean
            });
        }
        let up = self.peers.get(&self.node).and_then(|ends| ends.iter().position(|n| *n == parent));
        match up {
            Some(port) => Route::Port(PortId(port as u16), pkt),
            None => Route::Unroutable(pkt),
        }
    }
}

impl Tree {
    fn note(&mut self, child: usize, header: &FcpHeader, now: Time) {
        let echoes = &mut self.echoes[child];
        if echoes.is_none_or(|h| after(header.nonce, h.nonce) || now >= h.at.saturating_add(PATIENCE)) {
            *echoes = Some(Echo { at: now, nonce: header.nonce, price: header.price, refused: header.refused });
        }
    }

    /// What goes up, if it answers packets that nothing before has answered. So there are no more
    /// ACKs than packets on any link, whatever the number of receivers: the paper's limit against
    /// implosion, without a timer. It waits for the slowest child, for a budget is in force only
    /// when all links of the tree reckon with it.
    fn answer(&mut self, minimum: f64, now: Time) -> Option<Echo> {
        let missed = |at: Time| now >= at.saturating_add(PATIENCE);
        // A child that has never answered is waited for while it is new.
        if self.echoes.iter().any(Option::is_none) && !missed(self.since) {
            return None;
        }
        let live: Vec<Echo> = self.echoes.iter().flatten().filter(|h| !missed(h.at)).copied().collect();
        let slowest = live.iter().copied().reduce(|a, b| if after(a.nonce, b.nonce) { b } else { a })?;
        if self.returned.is_some_and(|returned| !after(slowest.nonce, returned)) {
            return None;
        }
        self.returned = Some(slowest.nonce);
        // "price += upstreamPrice; for all c in children: price += subTreePrice[c]".
        let mut sum = FcpHeader { price: self.upstream, ..FcpHeader::default() };
        live.iter().for_each(|h| sum.add_price(h.price.into(), minimum));
        Some(Echo { price: sum.price, refused: live.iter().any(|h| h.refused), ..slowest })
    }
}

impl Forwarder for TreeForwarder {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        match ctx.pool[&pkt].header::<FcpHeader>() {
            Some(header) if header.tree != 0 && header.echo => self.up(pkt, header, from, ctx),
            Some(header) if header.tree != 0 => self.down(pkt, header, from, ctx),
            _ => Route::Pass(pkt),
        }
    }

    /// The next packets build the trees anew, on the new routes.
    fn on_routes(&mut self, _state: u32) {
        self.trees.clear();
    }

    /// The next packets build the trees anew.
    fn reset(&mut self, _kept: &mut Vec<Pkt>) {
        self.trees.clear();
    }
}
