//! A node's forwarder of packets by name: PIT, FIB from the routes, steering.

use std::sync::Arc;

use midpath_core::packet::{Kind, Pkt, PortId};
use midpath_core::rng::unit;
use midpath_core::roles::{Ecmp, Face, ForwardCtx, Forwarder, LinkInfo, NodeSpec, Route, Routes};

use super::header::{InterestHeader, Stamped};
use super::params::{MirccParams, Paths};
use super::path::{NextHop, NodeLink, PathId, Shortcut, without_hint};
use super::pit::{Entry, Key, Pit, Record, Verdict};

/// The forwarder. What is not a packet by name it passes on.
pub struct IcnForwarder {
    pit: Pit,
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
    links: Vec<LinkInfo>,
    shortcut: Shortcut,
    paths: Paths,
}

impl IcnForwarder {
    /// The forwarder of a node.
    pub fn new(params: &MirccParams, node: &NodeSpec<'_>) -> IcnForwarder {
        IcnForwarder {
            pit: Pit::new(params.pit, params.lifetime),
            routes: node.routes.clone(),
            ecmp: node.ecmp,
            links: node.links.to_vec(),
            shortcut: Shortcut::new(params.known_paths),
            paths: params.paths,
        }
    }

    fn interest(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &ctx.pool[&pkt];
        let face = from.map_or(Face::App(packet.flow), Face::Port);
        let record = Record { face, consumer: packet.src, flow: packet.flow, nonce: packet.nonce() };
        let header = packet.header::<InterestHeader>();
        let expected = header.map_or(0, |h| h.expected);
        match self.pit.interest(ctx.now, key, record, expected) {
            Verdict::Forward => {}
            Verdict::Aggregate | Verdict::Repeated => return Route::Consumed(pkt),
            Verdict::Full => return refuse(pkt, face, ctx),
        }
        if key.0.prefix == ctx.node {
            self.pit.sent(key, None);
            return Route::Local(pkt);
        }
        let Some(port) = self.next_hop(&pkt, header, ctx) else {
            self.pit.forget(key);
            return Route::Unroutable(pkt);
        };
        self.pit.sent(key, Some(port));
        Route::Port(port, pkt)
    }

    /// The FIB's choice: by the hint, else by lot in proportion to bandwidth (§4.3.3); with one path by the flow's hash.
    fn next_hop(&self, pkt: &Pkt, header: Option<InterestHeader>, ctx: &mut ForwardCtx<'_>) -> Option<PortId> {
        let packet = &ctx.pool[pkt];
        let choices = self.routes.next_ports(ctx.node, packet.dst);
        if self.paths == Paths::One {
            return self.ecmp.choose(choices, packet.key, packet.dst, ctx.node, ctx.rng);
        }
        if let Some(header) = header
            && let Some(hint) = header.hint
            && let Some((link, upstream)) = self.shortcut.steer(hint)
            && let Some(port) = u16::try_from(link).ok().filter(|port| choices.contains(port))
        {
            ctx.pool[pkt].set_header(&InterestHeader { hint: Some(upstream), ..header });
            return Some(PortId(port));
        }
        if let [only] = choices {
            return Some(PortId(*only));
        }
        let hop = |port: &u16| NextHop { link: u32::from(*port), weight: self.links[usize::from(*port)].rate.0 };
        let hops: Vec<NextHop> = choices.iter().map(hop).collect();
        without_hint(&hops, unit(ctx.rng)).map(|i| PortId(choices[i]))
    }

    fn data(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        let Some(entry) = self.pit.data(ctx.now, key, from, ctx.pool[&pkt].size) else {
            // Nobody waits for it, or whoever sends it was not asked.
            return Route::Unroutable(pkt);
        };
        if let Some(port) = from
            && let Some(header) = ctx.pool[&pkt].header::<Stamped>()
        {
            let link = NodeLink { node: ctx.node.0, link: u32::from(port.0) };
            let path = self.extend(header.path, link);
            ctx.pool[&pkt].set_header(&Stamped { path, ..header });
        }
        answer_all(pkt, &entry, ctx)
    }

    /// The pathId from here on (§4.3.1).
    fn extend(&mut self, upstream: PathId, link: NodeLink) -> PathId {
        match self.paths {
            Paths::One => upstream.extend(link),
            Paths::All => self.shortcut.learn(upstream, link),
        }
    }

    fn nack(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        match self.pit.nack(ctx.now, key, from) {
            Some(Some(entry)) => answer_all(pkt, &entry, ctx),
            Some(None) => Route::Consumed(pkt),
            None => Route::Unroutable(pkt),
        }
    }
}

/// Sends an answer to all who wait, to each under his own address.
fn answer_all(pkt: Pkt, entry: &Entry, ctx: &mut ForwardCtx<'_>) -> Route {
    let mut records = entry.records();
    let Some(first) = records.next() else { return Route::Consumed(pkt) };
    for record in records {
        ctx.copy_to(record.face, &pkt).readdress(record.flow, record.consumer);
    }
    ctx.pool[&pkt].readdress(first.flow, first.consumer);
    to_face(pkt, first.face)
}

fn to_face(pkt: Pkt, face: Face) -> Route {
    match face {
        Face::Port(port) => Route::Port(port, pkt),
        Face::App(_) => Route::Local(pkt),
    }
}

/// Turns an Interest into a Nack for whoever sent it.
fn refuse(pkt: Pkt, face: Face, ctx: &mut ForwardCtx<'_>) -> Route {
    ctx.pool[&pkt].answer(Kind::Nack, 0);
    to_face(pkt, face)
}

impl Forwarder for IcnForwarder {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &ctx.pool[&pkt];
        let Some(name) = packet.name() else { return Route::Pass(pkt) };
        let key = (name, packet.segment());
        match packet.kind {
            Kind::Interest => self.interest(pkt, from, key, ctx),
            Kind::Data => self.data(pkt, from, key, ctx),
            _ => self.nack(pkt, from, key, ctx),
        }
    }

    fn reset(&mut self, _kept: &mut Vec<Pkt>) {
        self.pit.clear();
        self.shortcut.clear();
    }
}
