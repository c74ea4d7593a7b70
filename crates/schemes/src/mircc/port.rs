//! A port: its link ([`MirccLink`]), and the queue of all that is not an Interest.
//!
//! Data, Nacks and other schemes' packets wait in a FIFO. An Interest released by the shaper has capacity booked and
//! goes first: behind Data it would be late, and its Data would arrive in bursts.

use std::collections::VecDeque;

use midpath_core::packet::{Kind, Packet, Pkt};
use midpath_core::queue::{Bound, Limit};
use midpath_core::roles::{Backlog, CutThrough, Drop, HopCtx, Inbound, LinkInfo, Port, PortCtx, Transmitter};
use midpath_core::units::{Bytes, Rate, Time};

use super::link::{MirccLink, Request};
use super::mean::InflationFactor;
use super::params::{Inflation, MirccParams, RttSource};
use crate::icn::above::Via;
use crate::icn::awaited::Awaited;
use crate::icn::forwarder::Down;
use crate::icn::header::{Class, InterestHeader, Plain, Stamped, Trail};
use crate::icn::params::{Outage, Outstanding};
use crate::icn::path::PathId;
use crate::icn::pit::Key;
use crate::icn::shaper::{Interest, Offer};

type Link = MirccLink<Key, Pkt>;

/// The port.
pub struct MirccPort {
    params: MirccParams,
    limit: Limit,
    link: Option<Link>,
    /// What is not an Interest.
    queue: VecDeque<Pkt>,
    /// With `rtt = "upstream"`: the Interest whose Data will tell a round trip, and when it went
    /// out.
    timed: Option<(Key, Time)>,
    /// With `outstanding = "queue"`: the Data that have been asked for. With "due" the link has them.
    awaited: Option<Awaited>,
    /// With `inflation = "average"`: that of the Interests that go out, and of those that come in.
    factors: Option<[InflationFactor; 2]>,
    /// What waits there, and Interests in the shaper.
    queued: Backlog,
    interests: Backlog,
}

fn add(backlog: &mut Backlog, size: u32) {
    backlog.packets += 1;
    backlog.bytes += u64::from(size);
}

fn take(backlog: &mut Backlog, size: u32) {
    backlog.packets -= 1;
    backlog.bytes -= u64::from(size);
    debug_assert!(backlog.is_sound(), "{backlog:?}");
}

impl MirccPort {
    /// A port whose FIFO holds at most `limit`.
    pub fn new(params: &MirccParams, limit: Limit) -> MirccPort {
        MirccPort {
            params: *params,
            limit,
            link: None,
            queue: VecDeque::new(),
            timed: None,
            awaited: (params.shaper.outstanding == Outstanding::Queue).then(|| Awaited::new(limit, params.lifetime)),
            factors: (params.inflation == Inflation::Average).then(Default::default),
            queued: Backlog::default(),
            interests: Backlog::default(),
        }
    }

    /// A packet goes out (0), or has come in (1): what asks, and what answers the other way.
    #[inline]
    fn measure(&mut self, way: usize, packet: &Packet) {
        let Some(factors) = &mut self.factors else { return };
        let size = Bytes(u64::from(packet.size));
        match packet.kind {
            Kind::Interest => factors[way].on_interest(size),
            Kind::Data => factors[1 - way].on_data(size),
            Kind::Nack | Kind::Segment | Kind::Datagram | Kind::Control => {}
        }
    }

    /// The size of the Data that an Interest asks for which goes out (0), or has come in (1).
    #[inline]
    fn expects(&self, way: usize, interest: &Packet, announced: Bytes, mtu: u32) -> Bytes {
        let Some(factors) = &self.factors else { return announced };
        let mtu = Bytes(u64::from(mtu));
        factors[way].expected(Bytes(u64::from(interest.size)), mtu).min(mtu)
    }

    /// What the link is to know of an Interest.
    #[inline(always)]
    fn request<T>(&self, packet: &Packet, mtu: u32, token: T) -> Request<T> {
        let request = request(packet, mtu, token);
        Request { data: self.expects(0, packet, request.data, mtu), ..request }
    }

    /// The link's state at this time.
    #[inline]
    fn link(&mut self, ctx: &PortCtx<'_>) -> &mut Link {
        self.link_at(ctx.now, ctx.links[usize::from(ctx.me.0)].rate, ctx.reverse())
    }

    #[inline]
    fn link_at(&mut self, now: Time, out: Rate, back: Rate) -> &mut Link {
        let params = &self.params;
        let link = self.link.get_or_insert_with(|| Link::new(params, out, back, now));
        link.at(now, out, back);
        link
    }

    /// Whether the port measures round trips itself: of one Interest after the other, from here to
    /// whoever answers.
    fn measures(&self) -> bool {
        self.params.rates.rtt == RttSource::Upstream
    }

    /// Offers an Interest to the shaper; hands the one back that finds no room, or has made room.
    fn shape(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let (size, now) = (ctx.pool[&pkt].size, ctx.now);
        let mtu = ctx.links[usize::from(ctx.me.0)].mtu;
        let consumer = ctx.pool[&pkt].src;
        let passing = consumer != ctx.node && ctx.links.iter().all(|link| link.peer != consumer);
        let request = Request { passing, ..self.request(&ctx.pool[&pkt], mtu, pkt) };
        let link = self.link(ctx);
        let offer = link.offer(now, request);
        let stamps = link.stamps();
        add(&mut self.interests, size);
        if let Offer::Displaced(Interest { token, size, .. }) | Offer::Refused(Interest { token, size, .. }) = offer {
            take(&mut self.interests, size.0 as u32);
            // §3.1: Nacks carry R(t), too.
            let start = Stamped::start(u64::MAX, Trail::None);
            ctx.pool[&token].answer(Kind::Nack, 0);
            ctx.pool[&token].set_header(&start.least(stamps));
            ctx.note("refused", stamps.primary, Some(&token));
            ctx.hand_back(token);
        }
    }

    /// Called when Data or a Nack have come in.
    #[inline]
    fn answered(&mut self, now: Time, (kind, size): (Kind, u32), key: Key, path: PathId) {
        let Some(link) = &mut self.link else { return };
        if kind != Kind::Data {
            return link.on_nack(now, &key);
        }
        let booked = link.on_data(now, &key, Via::of_data(path, key.0));
        if let Some(more) = booked.and_then(|booked| size.checked_sub(booked)).filter(|more| *more > 0)
            && self.factors.is_some()
        {
            // A mean was too small.
            link.on_larger_data(now, Bytes(u64::from(more)));
        }
    }

    /// An Interest has come in: it books the link.
    #[inline(never)]
    fn asked(&mut self, pkt: &Pkt, hop: &HopCtx<'_>) {
        let (now, link, back, packet) = (hop.now, hop.link, hop.reverse, &hop.pool[pkt]);
        let announced = match InterestHeader::along_path(packet) {
            Some((expected, _)) => Bytes(u64::from(expected).min(u64::from(link.mtu))),
            None => expected(packet.header::<InterestHeader>(), link.mtu),
        };
        self.measure(1, packet);
        let data = self.expects(1, packet, announced, link.mtu);
        let state = self.link_at(now, link.rate, back);
        state.on_opposite_interest(now, Bytes(u64::from(packet.size)), data);
    }

    /// §3.1: whoever receives the Data stamps it, for the Interests into this link are his. Whether a rate has become
    /// less.
    #[inline]
    fn stamp(&mut self, packet: &mut Packet, now: Time, link: &LinkInfo, back: Rate) -> bool {
        let (kind, key) = ((packet.kind, packet.size), key_of(packet));
        self.measure(1, packet);
        let (plain, header) = match Stamped::plain(packet) {
            Some(plain) => (Some(plain), None),
            None => (None, packet.header::<Stamped>()),
        };
        if let Some(key) = key {
            let path = plain.as_ref().map(Plain::path).or(header.map(|h| h.path));
            self.answered(now, kind, key, path.unwrap_or(PathId::START));
        }
        let rates = self.link_at(now, link.rate, back).whole_stamps();
        if let Some(mut plain) = plain {
            return plain.lower(rates);
        }
        let Some((before, after)) = header.map(|h| (h, h.after(rates))) else { return false };
        let lowered = before != after;
        if lowered {
            packet.set_header(&after);
        }
        lowered
    }

    /// A packet has come in. A call costs 15 instructions for each, and what it calls has all of its work.
    #[inline(always)]
    fn see(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) {
        match hop.pool[pkt].kind {
            Kind::Interest => self.asked(pkt, hop),
            Kind::Data | Kind::Nack => self.came(pkt, hop),
            Kind::Segment | Kind::Datagram | Kind::Control => {}
        }
    }

    /// Data or a Nack have come in.
    #[inline(never)]
    fn came(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) {
        let (now, link, back) = (hop.now, hop.link, hop.reverse);
        let packet = &mut hop.pool[pkt];
        if self.timed.is_some() {
            self.on_timed(packet, now, link.rate, back);
        }
        if self.stamp(packet, now, link, back) {
            let rate = self.link.as_ref().map_or(0.0, |link| link.stamps().primary);
            hop.note("stamped", rate, Some(pkt));
        }
    }

    /// Data or a Nack have come in: the round trip that is timed is over if they answer its Interest.
    fn on_timed(&mut self, packet: &Packet, now: Time, out: Rate, back: Rate) {
        if let Some((_, at)) = self.timed.take_if(|timed| key_of(packet) == Some(timed.0)) {
            self.link_at(now, out, back).on_rtt(now, now.saturating_sub(at));
        }
    }

    /// Whether an Interest leaves at once, where none waits: it has left then.
    #[inline]
    fn lets_go(&mut self, packet: &Packet, now: Time, link: &LinkInfo, back: Rate) -> bool {
        let request = self.request(packet, link.mtu, ());
        let state = self.link_at(now, link.rate, back);
        let Ok(interest) = state.pass(now, request) else { return false };
        if let Some(key) = key_of(packet) {
            state.left(now, key, &interest);
        }
        self.measure(0, packet);
        true
    }

    /// When the Data of the next Interest will have room in the neighbour's queue at the latest:
    /// now, unless too many others are awaited.
    fn blocked_until(&mut self, now: Time) -> Time {
        let (Some(awaited), Some(link)) = (&mut self.awaited, &self.link) else { return now };
        let size = link.first().map_or(0, |interest| interest.data.0 as u32);
        if awaited.has_room(now, link.capacity()[1], size) { now } else { awaited.next_expiry() }
    }

    /// The Interest whose turn it is, if the shaper lets one go now.
    fn due(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        if self.interests.packets == 0 {
            return None;
        }
        let now = ctx.now;
        self.link(ctx);
        if self.blocked_until(now) > now {
            return None;
        }
        let interest = self.link.as_mut()?.poll(now)?;
        if let Some(awaited) = &mut self.awaited
            && let Some(key) = key_of(&ctx.pool[&interest.token])
        {
            awaited.on_interest(now, key, interest.data.0 as u32);
        }
        if let Some(link) = &mut self.link
            && let Some(key) = key_of(&ctx.pool[&interest.token])
        {
            link.left(now, key, &interest);
        }
        let packet = &ctx.pool[&interest.token];
        self.measure(0, packet);
        take(&mut self.interests, packet.size);
        let over = self.timed.is_none_or(|(_, at)| now.saturating_sub(at) >= self.params.rates.max_interval);
        if self.measures() && over {
            self.timed = key_of(packet).map(|key| (key, now));
        }
        Some(interest.token)
    }
}

/// What a packet by name is about.
fn key_of(packet: &Packet) -> Option<Key> {
    packet.name().map(|name| (name, packet.segment()))
}

/// What the link is to know of an Interest. A call costs 20 instructions for each.
#[inline(always)]
fn request<T>(packet: &Packet, mtu: u32, token: T) -> Request<T> {
    let header = packet.header::<InterestHeader>();
    Request {
        size: Bytes(u64::from(packet.size)),
        data: expected(header, mtu),
        class: header.map_or(Class::Primary, |h| h.class),
        rtt: header.and_then(|h| h.rtt()),
        via: header.zip(packet.name()).map(|(header, name)| Via::of(header.way, name)),
        passing: false,
        token,
    }
}

/// The size of the Data that an Interest asks for: a full packet if it doesn't say, or if it says
/// more than the link can carry.
#[inline]
fn expected(header: Option<InterestHeader>, mtu: u32) -> Bytes {
    Bytes(header.map_or(u64::from(mtu), |h| u64::from(h.expected).min(u64::from(mtu))))
}

impl Port for MirccPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if ctx.pool[&pkt].kind == Kind::Interest {
            return self.shape(pkt, ctx);
        }
        let size = ctx.pool[&pkt].size;
        let bound: Bound = self.limit.bound(ctx.link().rate);
        // What goes straight onto the wire does not wait.
        let waits = ctx.transmitter.is_busy() || !self.queue.is_empty();
        if waits && !bound.admits(self.queued, size) {
            return ctx.drop(pkt, Drop::Queue);
        }
        add(&mut self.queued, size);
        self.queue.push_back(pkt);
        debug_assert_eq!(self.queue.len() as u64, self.queued.packets);
        debug_assert!(!waits || bound.holds(self.queued), "what was admitted has room");
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if let Some(pkt) = self.due(ctx) {
            return Some(pkt);
        }
        if let Some(pkt) = self.queue.pop_front() {
            take(&mut self.queued, ctx.pool[&pkt].size);
            self.measure(0, &ctx.pool[&pkt]);
            return Some(pkt);
        }
        let next = self.link.as_ref().and_then(|link| link.next_release(ctx.now));
        ctx.wake_at(next.map_or(Time::MAX, |at| at.max(self.blocked_until(ctx.now))));
        None
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        let packet = &ctx.pool[&pkt];
        if let Some(awaited) = &mut self.awaited
            && let (Kind::Data | Kind::Nack, Some(key)) = (packet.kind, key_of(packet))
        {
            awaited.came(key);
        }
        self.see(&pkt, &mut ctx.hop());
        Inbound::Forward(pkt)
    }

    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        self.link(ctx);
        if self.params.outage == Outage::Around {
            // A transmitter that cannot say when it sends again has no link.
            let down = matches!(ctx.transmitter, Transmitter::Busy { until: None });
            let me = usize::from(ctx.me.0);
            ctx.state::<Down>().0[me] = down;
        }
    }

    fn backlog(&self) -> Backlog {
        self.queued + self.interests
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        let interests = self.link.take().map(|mut link| link.reset());
        let interests = interests.into_iter().flatten().map(|interest| interest.token);
        self.queue.drain(..).chain(interests).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        (self.queued, self.interests) = (Backlog::default(), Backlog::default());
        // What is on its way still comes; it is only not known any more.
        self.awaited = self.awaited.take().map(Awaited::emptied);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let Some(link) = &self.link else { return };
        let stamps = link.stamps();
        out.push(("rate_bps", stamps.primary));
        out.push(("secondary_rate_bps", stamps.secondary));
        out.push(("interests", self.interests.packets as f64));
    }
}

impl CutThrough for MirccPort {
    fn cut_through(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        if self.interests.packets > 0 || !self.queue.is_empty() {
            return false;
        }
        let packet = &hop.pool[pkt];
        if packet.kind == Kind::Interest {
            let plain = self.awaited.is_none() && !self.measures();
            return plain && self.lets_go(packet, hop.now, hop.link, hop.reverse);
        }
        self.measure(0, packet);
        true
    }

    /// What comes in books the link; only where awaited Data are bounded do they free anything.
    fn pass_inbound(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let passes = self.awaited.is_none() && hop.pool[pkt].kind != Kind::Control;
        if passes {
            self.see(pkt, hop);
        }
        passes
    }
}

#[cfg(test)]
mod tests;
