//! A node's forwarder of packets by name: PIT, FIB from the routes, steering.

use std::sync::Arc;

use midpath_core::packet::{Kind, Name, NodeId, Packet, Pkt, PortId};
use midpath_core::rng::{Stream, unit};
use midpath_core::roles::{Ecmp, Face, ForwardCtx, Forwarder, LinkInfo, NodeSpec, Route, Routes};

use super::fib::{Copies, Entry as FibEntry, Fib, Hop, SharedGraph};
use super::header::{InterestHeader, Stamped, Trail, Way};
use super::params::{ForwarderParams, Outage, PathSelection};
use super::path::{NextHop, NodeLink, PathId, Shortcut, by_random_value, without_hint};
use super::pit::{Entry, Key, Pit, Record, Verdict};
use super::store::Store;

/// Which of a node's links are down, by port number: what its ports tell its forwarder.
pub struct Down(pub Vec<bool>);

/// The forwarder. What is not a packet by name it passes on.
pub struct IcnForwarder {
    params: ForwarderParams,
    pit: Pit,
    fib: Fib,
    store: Store,
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
    shortcut: Shortcut,
    down: Vec<bool>,
    /// The largest Data for an Interest that does not say: what shapers book for it.
    largest: u16,
}

impl IcnForwarder {
    /// The forwarder of a node. Hosts keep no content.
    pub fn new(
        params: &ForwarderParams,
        node: &NodeSpec<'_>,
        copies: &Arc<Copies>,
        graph: &SharedGraph,
    ) -> IcnForwarder {
        let bounds = |link: &LinkInfo| params.unproven > 0 && node.map.is_host(link.peer);
        let pit = Pit::new(params.pit, params.lifetime).bounding_hosts(params.unproven, node.links.iter().map(bounds));
        let store = if node.map.is_host(node.node) { 0 } else { params.store.0 };
        IcnForwarder {
            params: *params,
            pit,
            fib: Fib::new(node, params.stretch, copies, graph),
            store: Store::new(store),
            routes: node.routes.clone(),
            ecmp: node.ecmp,
            shortcut: Shortcut::new(params.known_paths),
            down: Vec::new(),
            largest: node.links.iter().map(|l| l.mtu).max().map_or(0, |mtu| u16::try_from(mtu).unwrap_or(u16::MAX)),
        }
    }

    fn interest(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &ctx.pool[&pkt];
        let face = from.map_or(Face::App(packet.flow), Face::Port);
        let record = Record { face, consumer: packet.src, flow: packet.flow, nonce: packet.nonce() };
        // Most are steered along a path, and of their header nothing else matters.
        let hint = InterestHeader::along_path(packet).filter(|_| self.store.is_none());
        let expected = match hint {
            Some((expected, _)) => expected,
            None => match self.expects(&pkt, key, ctx) {
                Some(expected) => expected,
                None => return to_face(pkt, face),
            },
        };
        match self.pit.interest(ctx.now, key, record, expected) {
            Verdict::Forward => {}
            Verdict::Aggregate | Verdict::Repeated => return Route::Consumed(pkt),
            Verdict::Loop | Verdict::Full => return refuse(pkt, face, ctx),
        }
        if self.fib.is_here(key.0) {
            self.pit.sent(None);
            return Route::Local(pkt);
        }
        let steered = hint.and_then(|(_, path)| self.steered(&pkt, path, key.0, from, ctx));
        let Some(port) = steered.or_else(|| self.next_hop(&pkt, key.0, from, ctx)) else {
            self.pit.forget(key);
            return refuse(pkt, face, ctx);
        };
        self.pit.sent(Some(port));
        Route::Port(port, pkt)
    }

    /// The size of the Data that an Interest asks for; `None` where it has become Data of the content store.
    #[inline(never)]
    fn expects(&mut self, pkt: &Pkt, key: Key, ctx: &mut ForwardCtx<'_>) -> Option<u16> {
        let packet = &ctx.pool[pkt];
        let header = packet.header::<InterestHeader>();
        let expected = header.map_or(self.largest, |h| h.expected);
        if !self.store.is_none()
            && let Some(data) = self.stored(packet, header, key, expected)
        {
            ctx.pool[pkt] = data;
            return None;
        }
        Some(expected)
    }

    /// Where a remembered path leads, as [`Choice::steered`] says, without a look at anything else. The
    /// Interest takes the hint along that counts there.
    #[inline(always)]
    fn steered(
        &mut self,
        pkt: &Pkt,
        hint: PathId,
        name: Name,
        from: Option<PortId>,
        ctx: &mut ForwardCtx<'_>,
    ) -> Option<PortId> {
        if self.params.paths != PathSelection::All || self.params.outage == Outage::Around {
            return None;
        }
        let (link, upstream) = self.shortcut.steer(hint)?;
        let port = PortId(u16::try_from(link).ok()?);
        if Some(port) == from || !self.fib.towards(name)?.hops.iter().any(|hop| hop.port == port) {
            return None;
        }
        if upstream != hint {
            InterestHeader::set_path(&mut ctx.pool[pkt], upstream);
        }
        Some(port)
    }

    /// The FIB's choice: by what steers (§4.3.2), else by lot (§4.3.3); with one path by the flow's
    /// hash.
    #[inline(never)]
    fn next_hop(&mut self, pkt: &Pkt, name: Name, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Option<PortId> {
        let packet = &ctx.pool[pkt];
        let (node, dst, flow) = (ctx.node, packet.dst, packet.key);
        if self.params.paths == PathSelection::One {
            if self.fib.several(name).is_none() {
                return self.ecmp.choose(self.routes.ports_for(node, dst, flow), flow, dst, node, ctx.rng);
            }
            let ports: Vec<u16> = self.fib.towards(name)?.hops.iter().map(|hop| hop.port.0).collect();
            return self.ecmp.choose(&ports, flow, dst, node, ctx.rng);
        }
        if self.params.outage == Outage::Around {
            self.down.clone_from(&ctx.state::<Down>().0);
        }
        let entry = self.fib.towards(name)?;
        let header = ctx.pool[pkt].header::<InterestHeader>();
        let way = header.map_or(Way::ANY, |h| h.way);
        let spare = match way {
            // The path begins here.
            Way::Any { .. } | Way::Value { .. } if from.is_none() => entry.spare,
            Way::Any { spare, .. } | Way::Value { spare, .. } => spare,
            Way::Path(_) | Way::Filter(_) => 0,
        };
        let choice = Choice { entry, from, down: &self.down, spare };
        let (hop, onward) = choice.steered(way, &self.shortcut).or_else(|| choice.drawn(node, way, ctx.rng))?;
        if let Some(header) = header.filter(|h| h.way != onward) {
            header.put_way(&mut ctx.pool[pkt], onward);
        }
        Some(hop)
    }

    /// The answer from the content store: Data as a producer would send them. `None` if it has
    /// none, or a larger one than was asked for.
    fn stored(&mut self, interest: &Packet, header: Option<InterestHeader>, key: Key, expected: u16) -> Option<Packet> {
        let payload = self.store.get(key)?;
        let mut data = *interest;
        data.answer(Kind::Data, payload);
        data.ecn = interest.ecn;
        if let Some(header) = header {
            data.set_header(&Stamped::start(self.params.largest_rate.0, self.params.steering.trail(header.way)));
        }
        (data.size <= u32::from(expected)).then_some(data)
    }

    fn data(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        let Some(place) = self.pit.data(ctx.now, key, from, ctx.pool[&pkt].size) else {
            // Nobody waits for it, or whoever sends it was not asked.
            return Route::Unroutable(pkt);
        };
        let packet = &mut ctx.pool[&pkt];
        if let Some(port) = from {
            self.extend(packet, NodeLink { node: ctx.node.0, link: u32::from(port.0) }, key.0);
        }
        self.store.put(key, packet.payload, packet.size);
        answer_all(pkt, self.pit.entry(place), ctx)
    }

    /// Puts the link that Data came in over on their path.
    #[inline]
    fn extend(&mut self, packet: &mut Packet, link: NodeLink, name: Name) {
        if self.params.paths == PathSelection::All
            && let Some(mut plain) = Stamped::plain(packet)
        {
            let path = self.shortcut.learn(plain.path(), link);
            return plain.set_path(path);
        }
        self.extend_trail(packet, link, name);
    }

    /// The same where Data have a trail, or their header is not their only one.
    #[inline(never)]
    fn extend_trail(&mut self, packet: &mut Packet, link: NodeLink, name: Name) {
        if let Some(header) = packet.header::<Stamped>() {
            let (path, trail) = self.over(header, link, name);
            header.put_path(packet, path, trail);
        }
    }

    /// What Data say of their path from here on (§4.3.1, §4.3.2).
    fn over(&mut self, data: Stamped, link: NodeLink, name: Name) -> (PathId, Trail) {
        let mut trail = data.trail;
        match &mut trail {
            Trail::None if self.params.paths == PathSelection::All => {
                return (self.shortcut.learn(data.path, link), trail);
            }
            Trail::Filter(filter) if self.fib.towards(name).is_some_and(FibEntry::splits) => filter.insert(link),
            Trail::None | Trail::Filter(_) | Trail::Value(_) => {}
        }
        (data.path.extend(link), trail)
    }

    #[inline(never)]
    fn nack(&mut self, pkt: Pkt, from: Option<PortId>, key: Key, ctx: &mut ForwardCtx<'_>) -> Route {
        match self.pit.nack(ctx.now, key, from) {
            Some(Some(place)) => answer_all(pkt, self.pit.entry(place), ctx),
            Some(None) => Route::Consumed(pkt),
            None => Route::Unroutable(pkt),
        }
    }
}

/// The next hops that an Interest may take.
struct Choice<'a> {
    entry: &'a FibEntry,
    from: Option<PortId>,
    down: &'a [bool],
    spare: u64,
}

impl Choice<'_> {
    /// Not back, and not over a link that is known to be down.
    fn usable(&self, port: PortId) -> bool {
        Some(port) != self.from && !self.down.get(usize::from(port.0)).copied().unwrap_or(false)
    }

    fn hops(&self) -> impl Iterator<Item = &Hop> + Clone {
        self.entry.hops.iter().filter(|hop| self.usable(hop.port))
    }

    /// Where a remembered pathId leads, and the pathId there.
    fn steered(&self, way: Way, shortcut: &Shortcut) -> Option<(PortId, Way)> {
        let Way::Path(hint) = way else { return None };
        let (link, upstream) = shortcut.steer(hint)?;
        let hop = self.hops().find(|hop| u32::from(hop.port.0) == link)?;
        Some((hop.port, Way::Path(upstream)))
    }

    /// The filter's hit, the value's choice, or one by lot.
    fn drawn(&self, node: NodeId, way: Way, rng: &mut Stream) -> Option<(PortId, Way)> {
        let evenly = matches!(way, Way::Any { evenly: true, .. } | Way::Value { evenly: true, .. });
        let next = |hop: &Hop| NextHop { link: u32::from(hop.port.0), weight: if evenly { 1 } else { hop.weight } };
        let within = self.hops().filter(|hop| hop.extra <= self.spare);
        let port = match way {
            Way::Filter(filter) => lot(filter.hits(node.0, self.hops().map(next)), rng),
            Way::Value { value, .. } => by_random_value(value, node.0, within.clone().map(next)),
            Way::Any { .. } | Way::Path(_) => None,
        };
        let port = port.or_else(|| lot(within.map(next), rng));
        // Round a link that is down any way will do; if there is none, Interests wait at the link.
        let port = port.or_else(|| lot(self.hops().map(next), rng));
        let shortest = self.entry.hops.iter().filter(|hop| Some(hop.port) != self.from && hop.extra <= self.spare);
        let port = port.or_else(|| lot(shortest.map(next), rng))?;
        let hop = self.entry.hops.iter().find(|hop| u32::from(hop.port.0) == port)?;
        let spare = self.spare.saturating_sub(hop.takes);
        let onward = match way {
            Way::Any { evenly, .. } => Way::Any { spare, evenly },
            Way::Value { value, evenly, .. } => Way::Value { value, spare, evenly },
            Way::Path(_) | Way::Filter(_) => way,
        };
        Some((hop.port, onward))
    }
}

/// One of the next hops, in proportion to their weights.
fn lot(mut next_hops: impl Iterator<Item = NextHop> + Clone, rng: &mut Stream) -> Option<u32> {
    let mut rest = next_hops.clone();
    match (rest.next(), rest.next()) {
        (Some(_), Some(_)) => without_hint(next_hops, unit(rng)),
        _ => next_hops.next().map(|only| only.link),
    }
}

/// Sends an answer to all who wait, to each under his own address. For each Data: a call costs 20 instructions.
#[inline(always)]
fn answer_all(pkt: Pkt, entry: &Entry, ctx: &mut ForwardCtx<'_>) -> Route {
    if let Some(only) = entry.only() {
        ctx.pool[&pkt].readdress(only.flow, only.consumer);
        return to_face(pkt, only.face);
    }
    answer_several(pkt, entry, ctx)
}

#[cold]
fn answer_several(pkt: Pkt, entry: &Entry, ctx: &mut ForwardCtx<'_>) -> Route {
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
#[inline(never)]
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

    fn on_routes(&mut self, _state: u32) {
        self.fib.forget();
    }

    fn reset(&mut self, _kept: &mut Vec<Pkt>) {
        self.pit.clear();
        self.shortcut.clear();
        self.store.clear();
    }
}

#[cfg(test)]
mod tests;
