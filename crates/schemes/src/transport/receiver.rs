//! The passive end of a TCP: takes the bytes in, acknowledges them, answers the FIN with its own.
//!
//! Here is what it takes in; `receiver/reply.rs` has what it says, `receiver/room.rs` how the window
//! follows the application's room, `receiver/half.rs` what it is where data go both ways.

mod half;
mod misbehaving;
mod reply;
mod room;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

pub(super) use half::largest;
use midpath_core::packet::{Ecn, Flags, Kind, Packet, SackBlock};
use midpath_core::ranges::RangeSet;
use midpath_core::roles::{Ended, Endpoint, EndpointCtx, FlowReport, Half};
use midpath_core::units::Time;

use super::ecn::{self, Agreed};
use super::lazy_box::{Initial, LazyBox};
use super::rtt::RttEstimator;
use super::segment::{Ends, reset};
use super::settings::Settings;

/// Separate ranges held out of order at most: a peer that sends single bytes must not fill the
/// memory. A gigabyte of full packets with every second one lost makes 370,000.
const MAX_RANGES: usize = 1 << 19;

/// How many recent ranges are remembered for SACK: one more than fit on an ACK, as Linux.
const RECENT: usize = 4;

/// Where the connection stands (RFC 9293, §3.3.2, the passive side).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No SYN yet.
    Listen,
    /// The SYN-ACK is out.
    SynReceived,
    /// Data may come.
    Established,
    /// The sender's FIN has come and ours is out.
    LastAck,
    /// The same where data go both ways: ours is the other half's to send.
    CloseWait,
}

/// The passive end. Laid out by use: what every segment reads or writes comes first, and what few flows need is in
/// boxes.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    ends: Ends,
    state: State,
    /// What both ends have agreed on: by the first SYN.
    ecn: Agreed,
    /// How the latest SYN arrived.
    syn: Ecn,
    /// [`HALF`], [`ECHO`], [`MARKED`].
    flags: u8,
    /// With accurate ECN: r.cep, of which the lower bits count; and marks that no ACK has said.
    marks: u8,
    unreported: u8,
    /// Segments not yet acknowledged, and their bytes: from Last.ACK.sent of RFC 7323, §4.3 to RCV.NXT.
    pending: u16,
    unacknowledged: u32,
    settings: Arc<Settings>,
    /// RCV.NXT as an offset, as all that follows: the next one expected; one past the FIN when that
    /// has come.
    next: u64,
    /// When payload was last delivered.
    delivered_at: Time,
    /// When the SYN-ACK or FIN is repeated, in the states that have one; in others when a delayed ACK must go.
    due_at: Time,
    extras: Few,
    /// The one round trip that this end measures; [`Time::MAX`] before.
    measured: Time,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Receiver>() == 96);

/// A half of an end whose other half sends data.
const HALF: u8 = 1;
/// ACKs carry ECN-Echo now (DCTCP.CE of RFC 8257 with [`Echo::Exact`](super::cc::Echo::Exact)).
const ECHO: u8 = 2;
/// With accurate ECN: the last packet was marked.
const MARKED: u8 = 4;

/// What is kept to be reflected, as [`Seen`](super::cc::Seen) has it.
#[derive(Debug, Clone)]
struct Reflected {
    syn: bool,
    hops: u8,
    headers: Box<[u8]>,
}

/// What has come out of order and what there is to say of it, and what else few receivers have.
#[derive(Debug, Clone)]
struct Extras {
    /// What has come beyond what is expected next.
    held: RangeSet,
    /// The ranges reported most recently, newest first (RFC 2018, §4).
    recent: [SackBlock; RECENT],
    recent_len: usize,
    /// What has come again and is to be said on the next ACK (RFC 2883).
    twice: Option<SackBlock>,
    /// Where a FIN is that has come out of order; `u64::MAX` before.
    fin: u64,
    /// When a reset that may be made up was last answered.
    challenged: Option<Time>,
    /// Where an application says what it has room for: one past the last byte that the window admits, and what of it
    /// was told last. `u64::MAX` where nobody does.
    edge: u64,
    told: u64,
    /// Whether the SYN-ACK had been sent before.
    answered_again: bool,
    /// How often the SYN-ACK or FIN was repeated.
    retries: u32,
    /// How often the timeout has doubled since the round trip was measured, if it was.
    doublings: u16,
}

impl Initial for Extras {
    const INITIAL: &'static Extras = &Extras {
        held: RangeSet::new(),
        recent: [SackBlock { from: 0, to: 0 }; RECENT],
        recent_len: 0,
        twice: None,
        fin: u64::MAX,
        challenged: None,
        edge: u64::MAX,
        told: u64::MAX,
        answered_again: false,
        retries: 0,
        doublings: 0,
    };
}

/// [`Extras`] and a header to reflect: few receivers have either, so both are behind one pointer.
#[derive(Debug, Clone, Default)]
struct Few(LazyBox<Rare>);

#[derive(Debug, Clone)]
struct Rare {
    /// What is kept of the newest packet that brought a header to reflect.
    seen: Option<Reflected>,
    extras: LazyBox<Extras>,
}

impl Initial for Rare {
    const INITIAL: &'static Rare = &Rare { seen: None, extras: LazyBox::NONE };
}

impl Few {
    #[inline]
    fn get(&self) -> Option<&Extras> {
        self.0.get()?.extras.get()
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut Extras> {
        self.0.get_mut()?.extras.get_mut()
    }

    #[inline]
    fn seen(&self) -> Option<&Reflected> {
        self.0.get()?.seen.as_ref()
    }
}

impl Deref for Few {
    type Target = Extras;
    #[inline]
    fn deref(&self) -> &Extras {
        &self.0.extras
    }
}

impl DerefMut for Few {
    #[inline]
    fn deref_mut(&mut self) -> &mut Extras {
        &mut self.0.extras
    }
}

impl Receiver {
    /// The end that `syn` opens: all that it knows of its peer is there.
    pub(super) fn new(syn: &Packet, settings: Arc<Settings>) -> Receiver {
        let ends = Ends::new(syn.flow, syn.dst, syn.src, syn.interfaces.reversed(), 0, &settings.tcp);
        Receiver::between(ends, settings)
    }

    fn between(ends: Ends, settings: Arc<Settings>) -> Receiver {
        Receiver {
            ends,
            state: State::Listen,
            next: 0,
            extras: Few::default(),
            pending: 0,
            due_at: Time::MAX,
            unacknowledged: 0,
            measured: Time::MAX,
            flags: 0,
            ecn: Agreed::None,
            syn: Ecn::NotEct,
            marks: ecn::FIRST as u8,
            unreported: 0,
            delivered_at: Time::ZERO,
            settings,
        }
    }

    /// Lets the window be shared with other connections, for those who put TCP inside a scheme of
    /// their own: none of its own is kept to.
    #[must_use]
    pub fn sharing_window(mut self) -> Receiver {
        self.ends.share_window();
        self
    }

    #[inline]
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn put(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// The peer's initial sequence number.
    pub fn peer_isn(&self) -> u32 {
        self.ends.peer.isn()
    }

    /// Whether a packet comes from somebody who has seen this end's SYN-ACK.
    pub fn has_answered(&self, packet: &Packet) -> bool {
        // The FIN is all that this end sends after it.
        packet.flags.has(Flags::ACK) && packet.ack.wrapping_sub(self.ends.own.wire(0)) <= 1
    }

    /// Whether an ACK is being delayed.
    pub fn delays_ack(&self) -> bool {
        self.pending > 0
    }

    /// Acknowledges what has come, for those who put TCP inside a scheme of their own.
    pub fn acknowledge_now(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.acknowledge(ctx);
        ctx.set_timer(self.due_at);
    }

    /// Whether a segment with these numbers would be taken in as it stands.
    pub fn would_take(&self, packet: &Packet) -> bool {
        let len = u64::from(packet.payload) + u64::from(packet.flags.has(Flags::FIN));
        let open = !matches!(self.state, State::Listen) && packet.kind == Kind::Segment;
        let plain = packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::RST);
        open && plain && self.acceptable(packet, len).is_some()
    }

    /// Bytes held out of order.
    pub fn held(&self) -> u64 {
        self.extras.held.bytes()
    }

    /// A SYN: answers it, again if it is a repeat.
    fn on_syn(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        match self.state {
            State::Listen | State::SynReceived => {
                let asked = ecn::on_syn(self.settings.ecn, packet.flags);
                if self.state == State::Listen {
                    self.ecn = asked;
                    self.ends.begin(ctx);
                    self.ends.agree(packet, ctx.now);
                } else if packet.seq != self.ends.peer.isn() {
                    // Another connection's; as below.
                    return self.acknowledge(ctx);
                } else if [asked, self.ecn] == [Agreed::Classic, Agreed::Accurate]
                    || [asked, self.ecn] == [Agreed::Accurate, Agreed::Classic]
                {
                    return self.refuse(packet, ctx);
                }
                if self.state == State::SynReceived {
                    self.extras.answered_again = true;
                }
                self.state = State::SynReceived;
                self.syn = packet.ecn;
                self.ends.remember(packet, ctx.now);
                self.send_syn_ack(ctx);
            }
            // RFC 9293, §3.10.7.4: a SYN on an open connection is answered by an ACK.
            State::Established | State::LastAck | State::CloseWait => self.acknowledge(ctx),
        }
    }

    /// RFC 9768, §3.1.5: a connection has one kind of feedback, so nobody may ask for two.
    fn refuse(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if let Some(reset) = reset(packet) {
            ctx.send(reset);
        }
        ctx.ended(Ended::Reset);
        ctx.finish();
    }

    fn send_syn_ack(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.ends.mtu = ctx.links.iter().map(|l| l.mtu).max().unwrap_or_default();
        let grant = ecn::grant(self.ecn, self.syn, self.extras.retries);
        let mut p = self.ends.syn(Flags::SYN.with(Flags::ACK).with(grant), self.window(), ctx);
        if !self.answers_apart() {
            self.reflect(&mut p);
        }
        ctx.send(p);
        self.due_at = ctx.now.saturating_add(self.rto());
        let first = u64::from(self.settings.initial_window) * u64::from(self.settings.mss(self.ends.mtu));
        let asked = self.answers_apart() && self.extras.seen().is_some_and(|seen| !seen.headers.is_empty());
        if asked || self.ends.syn_tells_less() && first > u64::from(u16::MAX) {
            // A sender that begins with more than a SYN-ACK can tell (RFC 7323, §2.2) must not wait
            // a round trip for it; nor one whose SYN the SYN-ACK has not answered, because that asks itself.
            let mut p = self.ack(ctx);
            self.reflect(&mut p);
            ctx.send(p);
        }
    }

    /// The round trip and the timeout, as RFC 6298 has them after at most one measurement.
    fn rtt(&self) -> RttEstimator {
        let mut rtt = RttEstimator::NEW;
        if self.measured < Time::MAX {
            rtt.sample(self.measured);
        }
        if let Some(extras) = self.extras.get() {
            (0..extras.doublings).for_each(|_| rtt.back_off());
        }
        rtt
    }

    /// The timeout now.
    fn rto(&self) -> Time {
        self.rtt().rto(&self.settings.tcp)
    }

    /// The first ACK opens the connection and gives this end its only round-trip sample, if it is
    /// known what it is an answer to.
    fn on_established(&mut self, packet: &Packet, now: Time) {
        self.state = State::Established;
        // It would have been repeated a timeout after it was sent.
        let syn_ack_at = self.due_at.saturating_sub(self.rto());
        self.due_at = Time::MAX;
        let once = self.extras.retries == 0 && !self.extras.answered_again;
        let counts = once || self.ends.echoes(packet, syn_ack_at);
        if counts {
            self.measured = now.saturating_sub(syn_ack_at);
        }
        if let Some(extras) = self.extras.get_mut() {
            extras.doublings = if counts { 0 } else { extras.doublings };
            extras.retries = 0;
        }
    }

    /// Last.ACK.sent of RFC 7323, §4.3.
    #[inline]
    fn last_ack(&self) -> u64 {
        self.next - u64::from(self.unacknowledged)
    }

    /// Whether what this end has sent last is repeated until it is answered.
    #[inline]
    pub(super) fn repeats(&self) -> bool {
        matches!(self.state, State::SynReceived | State::LastAck)
    }

    /// Whether everything up to the FIN has come.
    #[inline]
    fn has_all(&self) -> bool {
        matches!(self.state, State::LastAck | State::CloseWait)
    }

    /// Where the FIN is, once it has been seen; `u64::MAX` before.
    #[inline]
    fn fin(&self) -> u64 {
        if self.has_all() { self.next - 1 } else { self.extras.fin }
    }

    /// Bytes delivered in order: the FIN has a number and is none.
    fn delivered(&self) -> u64 {
        self.next - u64::from(self.has_all())
    }

    /// A segment on the open connection: RFC 9293, §3.10.7.4, in its order.
    #[inline]
    fn on_segment(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::LastAck && packet.ack == self.ends.own.wire(1) {
            return ctx.finish();
        }
        let fin = packet.flags.has(Flags::FIN);
        let len = u64::from(packet.payload) + u64::from(fin);
        if len == 0 {
            let marked = packet.ecn == Ecn::Ce;
            self.put(MARKED, marked);
            self.marks = self.marks.wrapping_add(marked.into());
            return self.on_empty(packet, ctx);
        }
        let fresh = self.ends.is_fresh(packet); // mostly
        let outdated = || !fresh && self.ends.is_outdated(packet, self.settings.most_late(), ctx.now);
        let Some((from, to)) = self.acceptable(packet, len).filter(|_| !outdated()) else {
            return self.acknowledge(ctx);
        };
        // RFC 7323, §4.3, (2): the timestamp of the segment that the next ACK is about is echoed.
        let newest = fresh || !self.ends.is_older(packet, ctx.now);
        if from <= self.last_ack() && self.ends.stamped(packet) && newest {
            self.ends.remember(packet, ctx.now);
        }
        let urgent = self.ecn != Agreed::None && self.see_mark(packet, ctx);
        if packet.payload > 0 {
            ctx.arrived(from);
        }
        if from <= self.next && to > self.next && self.extras.get().is_none_or(|extras| extras.held.is_empty()) {
            self.take_in_order(to, fin, urgent, ctx);
        } else {
            self.take_with_gaps(from, to, fin, ctx);
        }
    }

    /// A segment without data says nothing, but one before the window is answered (RFC 9293,
    /// §3.10.7.4): a keep-alive (RFC 1122, §4.2.3.6), or a header that asks the network.
    #[inline]
    fn on_empty(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.seq != self.ends.peer.wire(self.next).wrapping_sub(1) {
            return;
        }
        if self.ends.stamped(packet) && !self.ends.is_older(packet, ctx.now) {
            self.ends.remember(packet, ctx.now);
        }
        if self.settings.reflect.is_some() {
            self.see_header(packet, ctx.received);
        }
        self.acknowledge(ctx);
    }

    /// RFC 9293, §3.4: the segment's numbers, if it lies in the window, contradicts no FIN, and
    /// there is memory for it.
    #[inline(always)]
    fn acceptable(&self, packet: &Packet, len: u64) -> Option<(u64, u64)> {
        let from = self.ends.peer.offset(packet.seq, self.next)?;
        let to = from + len;
        let fin = packet.flags.has(Flags::FIN);
        // The FIN takes no room in the buffer.
        let in_window = to - u64::from(fin) <= self.next + self.ends.receive_window(self.window());
        if self.extras.get().is_none() && !fin && !self.has_all() {
            return in_window.then_some((from, to)); // mostly
        }
        let held = self.extras.get().map(|extras| &extras.held);
        let highest = held.and_then(RangeSet::last).map_or(self.next, |r| r.1);
        let known = self.fin();
        let fits_fin = if fin { (known == u64::MAX && to >= highest) || known == to - 1 } else { to <= known };
        (in_window && fits_fin && held.is_none_or(|held| held.len() < MAX_RANGES)).then_some((from, to))
    }

    /// The usual case: the next segment, and nothing is missing.
    #[inline]
    fn take_in_order(&mut self, to: u64, fin: bool, urgent: bool, ctx: &mut EndpointCtx<'_>) {
        self.deliver(to, fin, ctx.now);
        self.pending = self.pending.saturating_add(1);
        if fin {
            return self.on_all_received(ctx);
        }
        // RFC 5681, §4.2: at least every second full-sized segment, and not later than the timer.
        if urgent || u32::from(self.pending) >= self.settings.tcp.delayed_ack.0 {
            self.acknowledge_or_let(ctx);
        } else if self.due_at == Time::MAX {
            self.due_at = ctx.now.saturating_add(self.settings.tcp.delack_timeout);
        }
    }

    /// A segment that is out of order, fills a gap, or has come before: acknowledged at once (RFC
    /// 5681, §4.2).
    fn take_with_gaps(&mut self, from: u64, to: u64, fin: bool, ctx: &mut EndpointCtx<'_>) {
        self.note_duplicate(from, to);
        if fin && !self.has_all() {
            self.extras.fin = to - 1;
        }
        if to > self.next {
            let extras = &mut *self.extras;
            extras.held.insert(from.max(self.next), to);
            if let Some((start, end)) = extras.held.first()
                && start <= self.next
            {
                extras.held.remove_below(end);
                let fin = end > extras.fin;
                self.deliver(end, fin, ctx.now);
            }
            self.remember(from);
        }
        if self.next > self.fin() {
            return self.on_all_received(ctx);
        }
        self.acknowledge(ctx);
    }

    /// All below `to` has come, of which the last number may be the FIN's.
    #[inline]
    fn deliver(&mut self, to: u64, fin: bool, now: Time) {
        if to - u64::from(fin) > self.next {
            self.delivered_at = now;
        }
        // A window has no more than 2^30.
        self.unacknowledged += (to - self.next) as u32;
        self.next = to;
    }

    /// Everything up to the FIN has come: acknowledges it with a FIN of our own.
    fn on_all_received(&mut self, ctx: &mut EndpointCtx<'_>) {
        if !self.has_all() {
            self.state = if self.is(HALF) { State::CloseWait } else { State::LastAck };
            ctx.completed(Half::Receiving);
            if self.delivered() == 0 {
                self.delivered_at = ctx.now; // a flow of no bytes is complete with its FIN
            }
            self.due_at = if self.is(HALF) { Time::MAX } else { ctx.now.saturating_add(self.rto()) };
        }
        self.acknowledge(ctx);
    }

    /// RFC 5961, §3.2: a reset counts only at the number that is expected next. One elsewhere in the
    /// window may be honest: its sender has not heard what has arrived. It is asked, and if it has
    /// no such connection any more its answer counts.
    fn on_reset(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Listen {
            return;
        }
        match self.ends.peer.offset(packet.seq, self.next) {
            Some(at) if at == self.next => {
                ctx.ended(Ended::Reset);
                ctx.finish();
            }
            Some(at) if ctx.application() && self.is_in_window(at) => self.challenge(ctx),
            _ => {}
        }
    }

    fn on_rto(&mut self, ctx: &mut EndpointCtx<'_>) {
        let tcp = &self.settings.tcp;
        let gives_up = match self.state {
            State::SynReceived => tcp.gives_up_opening(self.extras.retries, self.rto()),
            _ => self.extras.retries >= tcp.syn_retries,
        };
        if gives_up {
            ctx.ended(Ended::TimedOut);
            return ctx.finish();
        }
        self.extras.retries += 1;
        self.extras.doublings = self.extras.doublings.saturating_add(1);
        match self.state {
            State::SynReceived => self.send_syn_ack(ctx),
            _ => {
                self.acknowledge(ctx); // carries the FIN
                self.due_at = ctx.now.saturating_add(self.rto());
            }
        }
    }
}

impl Endpoint for Receiver {
    fn is_half_open(&self) -> bool {
        matches!(self.state, State::Listen | State::SynReceived)
    }
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_room(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return;
        }
        if packet.flags.has(Flags::RST) {
            return self.on_reset(packet, ctx);
        }
        self.take_room(ctx);
        if self.settings.reflect.is_some() && (packet.payload > 0 || packet.flags.has(Flags::SYN)) {
            self.see_header(packet, ctx.received);
        }
        if packet.flags.has(Flags::SYN) {
            if !packet.flags.has(Flags::ACK) {
                self.on_syn(packet, ctx);
            }
        } else if packet.flags.has(Flags::ACK) && self.state != State::Listen {
            if self.state == State::SynReceived {
                if packet.ack != self.ends.own.wire(0) {
                    // RFC 9293, §3.10.7.4: it has not seen our SYN. The connection stays as it is.
                    reset(packet).into_iter().for_each(|reset| ctx.send(reset));
                    return ctx.set_timer(self.due_at);
                }
                self.on_established(packet, ctx.now);
            }
            self.on_segment(packet, ctx);
        }
        ctx.set_timer(self.due_at);
    }

    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.offer_more(ctx);
        ctx.set_timer(self.due_at);
    }

    /// RFC 1122, §4.2.3.6: the number before the next one, which any peer that is there answers; one
    /// that has forgotten the flow by a reset.
    fn on_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut probe = self.ack(ctx);
        probe.seq = probe.seq.wrapping_sub(1);
        ctx.send(probe);
    }

    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut reset = self.ends.packet(0, self.window(), ctx);
        // Its FIN, if that is out, has a number.
        let fin = u64::from(self.state == State::LastAck);
        (reset.seq, reset.flags) = (self.ends.own.wire(fin), Flags::RST);
        ctx.send(reset);
        ctx.finish();
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_room(ctx);
        if ctx.now >= self.due_at {
            self.due_at = Time::MAX;
            if self.repeats() { self.on_rto(ctx) } else { self.acknowledge(ctx) }
        }
        ctx.set_timer(self.due_at);
    }

    fn report(&self) -> FlowReport {
        let (held, delivered) = (&self.extras.held, self.delivered());
        let arrived = delivered + held.bytes() - u64::from(held.containing(self.fin()).is_some());
        let completed = self.has_all().then_some(self.delivered_at);
        FlowReport { arrived, delivered, completed, ..FlowReport::default() }
    }
}
