//! The sender (§III-C), as what it adds to TCP's: open loop at the processor-sharing share of the
//! host's port, closed loop at the rate of the ACKs. The receiver is TCP's.
//!
//! "Modified, rate-based version of TCP": handshake, SACK and the retransmission timer are TCP's;
//! there is no fast recovery ([`Params::tcp`](super::Params::tcp)), and a timeout repeats what is
//! missing, not what waits in custody ([`ControllerTraits::stores`]).

use std::collections::BTreeMap;

use midpath_core::packet::{Flags, FlowId, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::cache::START;
use super::header::{Direction, InrppHeader, Nonce, Nonces, Slow};
use super::intervals::Intervals;
use super::params::{Notify, Repair};
use crate::transport::TcpParams;
use crate::transport::cc::{Ack, Congestion, CongestionController, ControllerConfig, ControllerTraits, View, Window};

/// With more open flows than this on a host they are not woken when their share changes: each reads
/// its share with its next packet anyway, and waking all for each that comes would cost the square
/// of their number. Ours.
const MAX_POKES: usize = 32;

/// Nonces that a host remembers to have been slowed down by.
const MAX_HOST_NONCES: usize = 256;

/// Nonces that a sender is slowed down by at most; a path has fewer congested hops.
const MAX_SLOWED: usize = 16;

/// How long a host counts ACKs until it knows their rate. Ours.
const ACK_INTERVAL: Time = Time::from_ms(100);

/// Bytes that the ACKs of a host's receivers take of its link.
#[derive(Debug, Clone, Copy)]
struct AckLoad(Intervals<3>);

impl Default for AckLoad {
    fn default() -> AckLoad {
        AckLoad(Intervals::new(ACK_INTERVAL))
    }
}

impl AckLoad {
    /// In bits per second: the more of the two intervals before this one, so that what has come too
    /// much goes again.
    fn bps(self, now: Time) -> f64 {
        let [_, last, before] = self.0.at(now);
        last.max(before) as f64 * 8.0 / ACK_INTERVAL.as_secs_f64()
    }
}

/// The flows of a host that have something to send, and what else it sends.
#[derive(Debug, Default)]
pub struct HostFlows {
    /// Each flow's rate in closed loop in bits per second; `None` in open loop.
    claims: BTreeMap<FlowId, Option<f64>>,
    open: usize,
    /// Sum of the closed-loop rates.
    closed_bps: f64,
    /// Interfaces that have asked one of the flows to slow down, and when they last did.
    pressed: BTreeMap<Nonce, Time>,
    acks: AckLoad,
    /// Rises with every change that others' rates depend on.
    version: u64,
}

impl HostFlows {
    fn set(&mut self, flow: FlowId, claim: Option<f64>) -> bool {
        let before = self.remove(flow);
        match claim {
            Some(bps) => self.closed_bps += bps,
            None => self.open += 1,
        }
        self.claims.insert(flow, claim);
        let changed = before.is_none_or(|b| b.is_some() != claim.is_some());
        self.version += u64::from(changed);
        changed
    }

    fn remove(&mut self, flow: FlowId) -> Option<Option<f64>> {
        let claim = self.claims.remove(&flow)?;
        self.version += 1;
        match claim {
            Some(bps) => self.closed_bps -= bps,
            None => self.open -= 1,
        }
        if self.claims.len() == self.open {
            self.closed_bps = 0.0; // no error is left behind by adding and taking away
        }
        Some(claim)
    }

    /// An ACK leaves.
    fn acknowledged(&mut self, ack: &Packet, now: Time) {
        self.version += u64::from(self.acks.0.add(now, ack.size.into()));
    }

    /// The share of a flow in open loop of "the rate available through its outgoing interface":
    /// what ACKs and closed-loop flows leave, in equal parts, and never less than an equal part of
    /// what ACKs leave. Data get half of the link at least.
    fn share(&self, line: Rate, now: Time) -> Rate {
        let line = (line.as_f64() - self.acks.bps(now)).max(line.as_f64() / 2.0);
        let all = self.claims.len().max(1) as f64;
        let free = (line - self.closed_bps).max(0.0) / self.open.max(1) as f64;
        Rate((free.max(line / all)) as u64)
    }

    /// An interface asks to slow down. Whether that is news.
    fn press(&mut self, nonce: Nonce, now: Time) -> bool {
        if self.pressed.len() >= MAX_HOST_NONCES && !self.pressed.contains_key(&nonce) {
            self.pressed.pop_first();
        }
        let news = self.pressed.insert(nonce, now).is_none();
        self.version += u64::from(news);
        news
    }

    /// An interface cancels. Whether that is news.
    fn release(&mut self, nonce: Nonce) -> bool {
        let news = self.pressed.remove(&nonce).is_some();
        self.version += u64::from(news);
        news
    }

    /// Whether one of these interfaces has asked to slow down since `after`.
    fn presses(&self, mut nonces: impl Iterator<Item = Nonce>, after: Time) -> bool {
        !self.pressed.is_empty() && nonces.any(|n| self.pressed.get(&n).is_some_and(|at| *at >= after))
    }

    /// How many flows there are, and how many of them in open loop.
    pub fn count(&self) -> (usize, usize) {
        (self.claims.len(), self.open)
    }

    /// The flows whose rate has changed because `me`'s has; none where there are too many to wake.
    fn others(&self, me: FlowId) -> Vec<FlowId> {
        if self.claims.len() > MAX_POKES {
            return Vec::new();
        }
        self.claims.iter().filter(|(f, c)| **f != me && c.is_none()).map(|(f, _)| *f).collect()
    }
}

/// The configuration of senders and receivers.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// How long a sender stays in closed loop without being asked to.
    pub expiry: Time,
    /// Whether a sender that has left closed loop doubles its rate each round trip, in place of
    /// jumping to its share.
    pub steer: bool,
    /// Whether ports promise newcomers what they have room for, and open loop is bounded by it.
    pub promises: bool,
    /// Whether a sender that has left closed loop spreads what may be on its way over a round trip.
    pub spread: bool,
    /// Whether a flow may have less than a packet in a round trip.
    pub sparse: bool,
    /// Who carries notifications.
    pub notify: Notify,
    /// What is repeated when.
    pub repair: Repair,
}

impl ControllerConfig for Ends {
    type Controller = Control;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Control {
        Control {
            expiry: self.expiry,
            steer: self.steer,
            promises: self.steer && self.promises,
            spread: self.steer && self.promises && self.spread,
            sparse: self.steer && self.promises && self.sparse,
            halvings: 0,
            echoed: self.notify == Notify::Data,
            mss: u64::from(mss),
            slowed: Vec::new(),
            asked: Time::ZERO,
            last_ack: Time::ZERO,
            round_trip: Time::ZERO,
            repair: self.repair,
            silence: tcp.min_rto,
            echo: Nonces::default(),
            passed: Nonces::default(),
            rate: Rate::ZERO,
            version: 0,
            ramp: None,
            room: None,
            trip: Trip::default(),
            growth: 1.0,
            sending: true,
        }
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits {
            header: self.notify.header(),
            reflect: Some(reflect),
            acknowledged: Some(|ack, ctx| ctx.shared.get::<HostFlows>().acknowledged(ack, ctx.now)),
            rate_based: true,
            stores: true,
            overtaken: self.repair == Repair::Overtaken,
            own_network: true,
            ..ControllerTraits::default()
        }
    }
}

/// What the ACK of a packet carries. The second answer to a SYN, which tells the window, acknowledges
/// nothing: no port has anything to say on it, and it brings no packet into a loop. On symmetric paths it is the mark of the protocol alone (the
/// IP protocol field of §V-A), so that ports know whose ACK it is; on asymmetric ones the receiver
/// echoes what ports have put on the data (§II-A, note).
fn reflect(seen: &Packet, ack: &mut Packet) {
    if seen.flags.has(Flags::SYN) && !ack.flags.has(Flags::SYN) {
        ack.set_header(&InrppHeader { direction: Direction::Ack, idle: true, ..InrppHeader::default() });
    } else if let Some(data) = seen.header::<InrppHeader>() {
        ack.set_header(&InrppHeader {
            direction: Direction::Ack,
            far_slow: data.far_slow,
            far_cancel: data.far_cancel,
            ..InrppHeader::default()
        });
    }
}

/// The sender's rate control.
#[derive(Debug, Clone)]
pub struct Control {
    expiry: Time,
    steer: bool,
    promises: bool,
    spread: bool,
    sparse: bool,
    /// In closed loop with one packet: how often its rate has been halved.
    halvings: u32,
    /// Whether what receivers echo counts. Nobody signs it, so it doesn't where the network has a
    /// better way.
    echoed: bool,
    mss: u64,
    /// Who has slowed this flow down; empty in open loop.
    slowed: Vec<Nonce>,
    /// When that was last asked for.
    asked: Time,
    /// When the last ACK came, and the round trip then in which the rate doubles.
    last_ack: Time,
    round_trip: Time,
    repair: Repair,
    /// How long without any ACK is silence: the least RTO.
    silence: Time,
    /// Nonces to copy to data packets: of interfaces that have asked to slow down and have not
    /// cancelled.
    echo: Nonces,
    /// Nonces of interfaces that this flow goes through, as far as they have shown themselves.
    passed: Nonces,
    /// The rate in open loop.
    rate: Rate,
    /// What it was computed from.
    version: u64,
    /// On the way from the rate of the closed loop to the share: the rate in bits per second, and
    /// when it last rose.
    ramp: Option<(f64, Time)>,
    /// In open loop: what may be on its way. It begins with what the caches have room for, or with
    /// what was on its way when the loop was opened, and grows by what is acknowledged, as in slow
    /// start: "new flows enter the system in open-loop mode" (§II-B), but no cache gets more than
    /// it has room for before its port is heard. Without promises until the first slow-down only.
    room: Option<u64>,
    trip: Trip,
    /// The part of what is acknowledged by which `room` grows beyond what a round trip has brought
    /// before. All of it at first; after a cancellation little, and twice as much in each round trip
    /// without a request to slow down.
    growth: f64,
    /// Whether the flow is among the host's open flows.
    sending: bool,
}

/// What is delivered in a round trip.
#[derive(Debug, Clone, Copy, Default)]
struct Trip {
    since: Time,
    now: u64,
    before: u64,
    /// The most of any, less a sixteenth with each that has passed since.
    most: u64,
}

impl Trip {
    /// `bytes` more, at a round trip of `trip`. Whether they are the first of a new one.
    fn add(&mut self, bytes: u64, trip: Time, now: Time) -> bool {
        let new = now.saturating_sub(self.since) >= trip;
        if new {
            self.most = self.now.max(self.most - self.most / 16);
            (self.before, self.now, self.since) = (self.now, 0, now);
        }
        self.now += bytes;
        new
    }

    /// Of this round trip, or of the last if that is more.
    fn bytes(&self) -> u64 {
        self.now.max(self.before)
    }
}

/// The growth of what may be on its way in the first round trip after a cancellation. Ours: the port
/// has just had too little, so there is not much more to be had than what was acknowledged.
const CAUTIOUS: f64 = 1.0 / 16.0;

/// How much faster than a window in a round trip a sender sends that spreads it. Ours: enough for the
/// window, not the rate, to be the limit.
const FASTER: f64 = 1.25;

/// How often the rate of a flow with one packet in its loop is halved at most. Ours: with a round trip
/// of 50 ms that is a packet in three seconds, the wait of TCP's second timeout.
const MAX_HALVINGS: u32 = 6;

/// A window that never limits.
const OPEN: u64 = 1 << 40;

impl Control {
    /// Whether the flow is in closed loop.
    pub fn closed(&self) -> bool {
        !self.slowed.is_empty()
    }

    /// Enters closed loop: as many packets as are in the network now, and one more for each that
    /// leaves it.
    fn slow_down(&mut self, slow: Slow, first: bool, begin: Option<u64>, window: &mut Window, view: &View, now: Time) {
        let entering = !self.closed();
        (self.asked, self.ramp, self.room) = (now, None, None);
        if !self.slowed.contains(&slow.nonce) && self.slowed.len() < MAX_SLOWED {
            self.slowed.push(slow.nonce);
        }
        // "It adapts the sending rate of the specific flow to the rate of acknowledgement packets."
        // The ACK that brings the request releases packets, too, as many as it says; that of a
        // handshake begins the loop.
        if first {
            // Hops further on may have less room than the one that asks.
            let room = begin.filter(|_| self.promises).unwrap_or(u64::MAX);
            return window.set((u64::from(slow.release) * self.mss).min(room));
        }
        if self.sparse && self.is_sparse(slow.release, view) {
            return window.set(self.mss);
        }
        let wanted = view.pipe + u64::from(slow.release) * self.mss;
        match slow.release {
            0 => window.set(wanted.max(self.mss).min(window.cwnd)),
            _ if entering => window.set(wanted),
            1 => {}
            _ => window.set(wanted.max(window.cwnd)),
        }
    }

    /// Whether the flow has less than a packet in a round trip, after an ACK that releases so many. None
    /// halves the rate of a flow with nothing on its way, two double it again.
    fn is_sparse(&mut self, release: u16, view: &View) -> bool {
        let before = self.halvings;
        match release {
            0 if view.pipe == 0 => self.halvings = (before + 1).min(MAX_HALVINGS),
            0 | 1 => {}
            _ => self.halvings = before.saturating_sub(1),
        }
        before > 0 || self.halvings > 0
    }

    /// "It switches back to open-loop mode and sends at the rate available through its outgoing
    /// interface."
    ///
    /// With steering the rate doubles each round trip until it is that: many flows that are let go
    /// at once would send what all their hosts can before they hear of it.
    fn open(&mut self, window: &mut Window, view: &View, now: Time) {
        self.slowed.clear();
        self.halvings = 0;
        self.ramp = self.steer.then(|| (2.0 * ack_rate(window.cwnd, view), now));
        // No more than what a round trip has brought, whatever is thought to be on its way.
        self.room = self.promises.then(|| view.pipe.min(self.trip.bytes()).max(2 * self.mss));
        self.growth = if self.promises { CAUTIOUS } else { 1.0 };
        window.set(self.room.unwrap_or(OPEN));
    }

    /// The ten packets that a TCP begins with.
    fn start(&self) -> u64 {
        u64::from(START) * self.mss
    }

    /// What of these bytes on the wire is payload: a packet at least. Without promises at least the
    /// ten that a TCP begins with.
    fn payload_of(&self, bytes: u64, view: &View) -> u64 {
        if self.promises {
            return (bytes / (self.mss + view.overhead)).max(1) * self.mss;
        }
        bytes.max(self.start())
    }

    /// "It stores the nonce and copies it to the future data packets of this flow" (§III-C).
    fn store(&mut self, nonces: &Nonces) {
        for nonce in nonces.iter() {
            self.echo.add(nonce);
            self.passed.add(nonce);
        }
    }

    /// Who has cancelled asks for nothing more. Data that went on to bring its nonce would be
    /// cached upstream as soon as the interface presses anybody again.
    fn cancel(&mut self, nonce: Nonce) {
        self.slowed.retain(|s| *s != nonce);
        self.echo.remove(nonce);
    }

    /// The rate on the way to the share doubles in a round trip in which ACKs come.
    fn climb(&mut self, now: Time) {
        if let Some((bps, last)) = &mut self.ramp {
            let trips = now.saturating_sub(*last).as_secs_f64() / self.round_trip.as_secs_f64().max(1e-6);
            *bps *= 2.0_f64.powf(trips.min(1.0));
            *last = now;
            if let Some(room) = self.room.filter(|_| self.spread) {
                *bps = bps.min(FASTER * room as f64 * 8.0 / self.round_trip.as_secs_f64().max(1e-6));
            }
        }
    }

    /// The flow's line among the host's, and its rate.
    fn claim(&mut self, view: &View, cwnd: u64, ctx: &mut EndpointCtx<'_>) {
        let line = line(ctx);
        let closed = self.closed().then(|| ack_rate(cwnd, view).min(line.as_f64()));
        let flows = ctx.shared.get::<HostFlows>();
        if self.sending && flows.set(ctx.flow, closed) {
            poke_others(ctx);
        }
        self.read_share(view, ctx);
    }

    /// The rate in open loop: the share of the port. Once an interface that this flow goes through
    /// (its nonce has come with an ACK, now or earlier) has asked another flow of the host to slow
    /// down, no more than the ACKs' rate, until this flow's own ACK closes or opens the loop: with
    /// many flows that takes many round trips' worth of the host's rate.
    fn read_share(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        let (line, now) = (line(ctx), ctx.now);
        let flows = ctx.shared.get::<HostFlows>();
        let mut rate = flows.share(line, now);
        if !self.closed() && flows.presses(self.passed.iter(), now.saturating_sub(self.expiry)) {
            rate = rate.min(Rate(ack_rate(view.pipe + self.mss, view) as u64)).max(Rate(1));
        }
        if self.halvings > 0 {
            rate = rate.min(Rate((ack_rate(self.mss, view) / f64::from(1 << self.halvings)) as u64)).max(Rate(1));
        }
        if let Some((bps, _)) = self.ramp {
            let climbing = bps < rate.as_f64();
            self.ramp = self.ramp.filter(|_| climbing);
            rate = rate.min(Rate(bps as u64)).max(Rate(1));
        }
        (self.rate, self.version) = (rate, flows.version);
    }

    fn leave(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.sending = false;
        if ctx.shared.get::<HostFlows>().remove(ctx.flow).is_some() {
            poke_others(ctx);
        }
    }
}

/// Wakes the host's other flows in open loop, because their share has changed.
fn poke_others(ctx: &mut EndpointCtx<'_>) {
    let others = ctx.shared.get::<HostFlows>().others(ctx.flow);
    others.into_iter().for_each(|f| ctx.poke(f));
}

/// The rate of the host's port. With several, flows share the slowest: which one a flow takes is
/// the forwarder's choice.
fn line(ctx: &EndpointCtx<'_>) -> Rate {
    ctx.links.iter().map(|l| l.rate).min().unwrap_or_default()
}

/// What `window` bytes per round trip are in bits per second.
fn ack_rate(window: u64, view: &View) -> f64 {
    window as f64 * 8.0 / view.srtt.as_secs_f64().max(1e-6)
}

impl CongestionController for Control {
    fn on_delivery(&mut self, ack: &Ack) {
        if self.trip.add(ack.delivered, ack.srtt, ack.now) {
            self.growth = (2.0 * self.growth).min(1.0);
        }
    }
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(room) = &mut self.room {
            // As in slow start up to what the path has brought before, and with care beyond.
            let growth = if *room < self.trip.most { 1.0 } else { self.growth };
            *room = room.saturating_add((ack.delivered as f64 * growth) as u64);
            if self.promises {
                // What is not used does not grow (RFC 7661), nor what does not arrive.
                *room = (*room).min(2 * self.trip.bytes().max(u64::from(START) * self.mss));
            }
            window.set(*room);
        }
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        // "No ACK arrivals for an entire RTO period: flows will automatically switch back to
        // open-loop mode" (§III-C). While ACKs arrive, one segment is missing, and the loop goes
        // on.
        if congestion.now < self.last_ack.saturating_add(self.silence) {
            return window.cwnd;
        }
        self.slowed.clear();
        self.halvings = 0;
        self.room = None;
        if !self.steer {
            return OPEN;
        }
        // Nobody knows what the network has room for: one packet asks, as in RFC 6298, and with the
        // first ACK the rate begins as a connection's.
        let window = self.start();
        self.room = self.promises.then_some(window);
        self.growth = 1.0;
        self.ramp = Some((window as f64 * 8.0 / self.round_trip.as_secs_f64().max(1e-6), congestion.now));
        self.version = 0; // the share is read again with the next packet
        self.mss
    }
    fn on_overtaken(&mut self, window: &mut Window, pipe: u64) {
        // What was dropped had no room: its part of the loop is given up, and steering will say how
        // much there is. With promises all of it: it is repeated in place of something new.
        let left = if self.promises { pipe.max(self.mss) } else { pipe + self.mss };
        if self.steer && self.closed() {
            window.set(window.cwnd.min(left));
        }
        if let Some(room) = self.room.as_mut().filter(|_| self.promises) {
            *room = (*room).min(left);
            window.set(*room);
        }
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    fn on_send(&mut self, packet: &mut Packet, view: &View, ctx: &mut EndpointCtx<'_>) {
        packet.set_header(&InrppHeader { nonces: self.echo, ..InrppHeader::default() });
        if self.rate == Rate::ZERO {
            self.claim(view, view.pipe, ctx);
        } else if self.version != ctx.shared.get::<HostFlows>().version {
            self.read_share(view, ctx);
        }
        if packet.payload > 0 && view.unsent == 0 && self.sending {
            self.leave(ctx); // all has been sent once: what is repeated is no claim to a share
        }
    }

    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(option) = packet.header::<InrppHeader>() else { return };
        if option.direction != Direction::Ack {
            return;
        }
        self.last_ack = ctx.now;
        // What waits in custody makes round trips long, but an interface that stores answers with
        // the next ACK.
        self.round_trip = if self.repair == Repair::Overtaken { view.base_rtt } else { view.srtt };
        self.climb(ctx.now);
        let (mut news, was_closed) = (false, self.closed());
        let (far_slow, far_cancel) = if self.echoed { (option.far_slow, option.far_cancel) } else { (None, None) };
        for nonce in [option.cancel, far_cancel].into_iter().flatten() {
            self.cancel(nonce);
            news |= ctx.shared.get::<HostFlows>().release(nonce);
        }
        self.store(&option.nonces);
        let begin = option.begin.map(|bytes| self.payload_of(bytes.into(), view));
        let slow = option.slow.or(far_slow.map(|nonce| Slow { nonce, release: 1 }));
        match slow {
            Some(slow) => {
                self.slow_down(slow, packet.flags.has(Flags::SYN), begin, window, view, ctx.now);
                news |= ctx.shared.get::<HostFlows>().press(slow.nonce, ctx.now);
            }
            // The cancellation may have been lost: nobody asks any more.
            None if self.closed() && ctx.now >= self.asked.saturating_add(self.expiry) => {
                self.open(window, view, ctx.now)
            }
            None if was_closed && !self.closed() => self.open(window, view, ctx.now),
            None => {}
        }
        if news {
            poke_others(ctx);
        }
        if packet.flags.has(Flags::SYN) && !self.closed() {
            self.room = begin;
        }
        if !self.closed() {
            window.set(self.room.unwrap_or(OPEN));
        }
        self.claim(view, window.cwnd, ctx);
    }

    fn on_close(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.leave(ctx);
    }

    fn on_poke(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.read_share(view, ctx);
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        (self.rate != Rate::ZERO).then_some(self.rate)
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("closed_loop", f64::from(u8::from(self.closed()))));
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::NodeId;

    use super::*;

    #[test]
    fn open_flows_share_what_acks_leave() {
        let mut host = HostFlows::default();
        let (line, ack) = (Rate::from_mbps(10), Packet::new(FlowId(3), NodeId(0), NodeId(1), 100));
        host.set(FlowId(0), None);
        host.set(FlowId(1), None);
        assert_eq!(host.share(line, Time::ZERO), Rate::from_mbps(5));
        // 1,000 ACKs of 100 bytes a second are 800 kbps.
        (0..500).for_each(|i| host.acknowledged(&ack, Time::from_ms(i)));
        assert_eq!(host.share(line, Time::from_ms(500)), Rate(4_600_000));
        // The last two intervals count: after the ACKs have ended the link is the flows' again.
        assert_eq!(host.share(line, Time::from_ms(650)), Rate(4_600_000));
        assert_eq!(host.share(line, Time::from_ms(700)), Rate::from_mbps(5));
        // However many ACKs there are, half of the link is for data.
        (0..50_000).for_each(|i| host.acknowledged(&ack, Time::from_us(1_000_000 + 10 * i)));
        assert_eq!(host.share(line, Time::from_ms(1_500)), Rate(2_500_000));
    }

    #[test]
    fn a_cancelled_nonce_is_no_longer_echoed() {
        let ends = Ends {
            expiry: Time::from_secs(1),
            steer: true,
            promises: true,
            spread: true,
            sparse: true,
            notify: Notify::Acks,
            repair: Repair::Overtaken,
        };
        let mut control = ends.build(&TcpParams::default(), 1424, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
        let mut nonces = Nonces::default();
        [7, 9].into_iter().for_each(|n| nonces.add(Nonce(n)));
        control.store(&nonces);
        control.cancel(Nonce(7));
        assert_eq!(control.echo.iter().collect::<Vec<_>>(), [Nonce(9)]);
        assert_eq!(control.passed.iter().count(), 2, "the flow goes through both all the same");
    }
}
