//! The sender's side of FCP (§4.1): it pays, preloads, and is paced at budget over price.
//!
//! The handshake, SACK, timers and repair are TCP's; this is its congestion controller. A change takes one round
//! trip: a packet's preload *announces* how much more the flow will spend, and the flow spends it when the packet's
//! ACK returns the price that includes it. Announcements in flight are stored by packet number.

mod deadline;
mod pace;
mod preload;
mod silence;

use std::sync::Arc;

use midpath_core::packet::{Flags, FlowKey, IP_HEADER, Kind, NodeId, Packet, UDP_HEADER};
use midpath_core::rng;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations;
use super::header::{FcpHeader, WIRE};
use super::host::{Account, Host, IDLE};
use super::in_flight::{InFlight, after};
use super::params::additions::{ANNOUNCEMENTS, UNANSWERED_ROUNDS};
use super::params::{GroupParams, HeaderRtt, PreloadFor};
use super::resolved::Resolved;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, View, Window};
use deadline::Deadline;
use pace::{FEW, MOST_STRETCH, Pace};
pub use preload::{Announced, next_round};
use silence::Silence;

/// Whether the flow has an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not yet.
    New,
    /// It has.
    Open,
    /// No longer: all is acknowledged, or the flow was given up.
    Closed,
}

/// Which flow it is, and whose budget it spends.
struct Identity {
    flow: FlowKey,
    host: NodeId,
    group: u32,
    weight: f64,
    /// When it stops, where that is known.
    stop: Time,
}

impl Identity {
    fn of(flow: &FlowSpec) -> Identity {
        let stop = flow.stop.unwrap_or(Time::MAX);
        Identity { flow: (flow.id, flow.dst), host: flow.src, group: flow.group, weight: flow.weight, stop }
    }
}

/// What the flow spends, $/s.
#[derive(Default)]
struct Budget {
    /// w: what the network knows of.
    spending: f64,
    /// x: what it should be.
    target: f64,
    /// What the host's policy gives it.
    assigned: f64,
}

/// The price that was told last.
#[derive(Default)]
struct Quote {
    /// $/byte; 0 before the SYN-ACK.
    price: f64,
    /// The round trip of the ACK that told it, s, and when it came.
    round_trip: f64,
    at: Time,
}

/// What the SYN has said. Ours to remember: a receiver's word for it would be its word for our
/// budget.
struct Opening {
    /// What it has preloaded.
    preload: f64,
    /// What the flow may spend at first, $/s.
    budget: f64,
}

/// One flow's sender.
pub struct Sender {
    params: Arc<Resolved>,
    group: Arc<GroupParams>,
    identity: Identity,
    state: State,
    budget: Budget,
    quote: Quote,
    /// Smoothed, s.
    rtt: f64,
    announced: Announced,
    opening: Opening,
    /// While it has its deadline served, or hopes for it.
    deadline: Option<Box<Deadline>>,
    pace: Pace,
    /// While links have forgotten the flow.
    silent: Option<Box<Silence>>,
    nonce: u32,
    in_flight: InFlight,
    /// Its application has said nothing yet.
    idle: bool,
    /// Its last packets have announced its end.
    ends: bool,
}

impl Sender {
    /// The sender of `flow`.
    pub fn new(params: Arc<Resolved>, flow: &FlowSpec) -> Sender {
        Sender {
            group: params.group(flow.group).clone(),
            identity: Identity::of(flow),
            state: State::New,
            budget: Budget::default(),
            quote: Quote::default(),
            rtt: 0.0,
            announced: Announced::new(params.additions().unannounced()),
            opening: Opening { preload: 0.0, budget: f64::INFINITY },
            deadline: Deadline::of(params.group(flow.group)).map(Box::new),
            pace: Pace::default(),
            silent: None,
            nonce: 0,
            in_flight: InFlight::default(),
            idle: false,
            ends: false,
            params,
        }
    }

    /// The flow's account is opened with its first SYN, so that the host's other flows make room
    /// during the handshake.
    fn join(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        if self.state != State::New {
            return;
        }
        self.state = State::Open;
        self.idle = is_idle(view);
        self.pace.cap = carries(ctx);
        let account = Account {
            group: self.identity.group,
            weight: self.identity.weight,
            target: 0.0,
            spending: 0.0,
            price: 0.0,
            rtt: 0.0,
            cap: self.pace.cap,
            idle: self.idle,
        };
        ctx.shared.get::<Host>().open(self.identity.flow, account, self.identity.host, &self.params, ctx.now);
    }

    /// x: what the flow should spend in the next round, $/s. The host's policy says how much it
    /// may, the data and the time that will be left then how much it can use: "the flow size / RTT"
    /// (§6.1.1), and nothing at the end (§4.1, "preloads −1").
    fn wanted(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) -> f64 {
        self.update_target(ctx);
        let until_stop = self.budget.target * next_round(self.identity.stop, ctx.now, self.rtt);
        if view.unsent == u64::MAX {
            return until_stop;
        }
        let wire = view.to_send() as f64 * (1.0 + view.overhead as f64 / view.mss as f64);
        let then = match self.params.given.preload_for {
            PreloadFor::NextRound => (wire - self.pace.rate * self.rtt).max(0.0),
            PreloadFor::FlowSize => wire,
        };
        until_stop.min(self.quote.price * then / self.rtt)
    }

    /// What the host's policy gives the flow now.
    fn update_target(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.budget.assigned = ctx.shared.get::<Host>().account(self.identity.flow).map_or(0.0, |a| a.target);
        let share = self.group.ramp.map_or(1.0, |r| r.share(ctx.now));
        self.budget.target = self.deadline.as_ref().map_or(self.budget.assigned * share, |d| d.rate * self.quote.price);
    }

    /// The round-trip time in the header, s: how long ago the path's links quoted the price that a
    /// packet pays, when it passes them. That is the round trip of the ACK that brought the price,
    /// and how long ago it came: ACKs are far apart where a queue has just grown.
    fn age(&self, now: Time) -> f64 {
        match self.params.given.header_rtt {
            HeaderRtt::PriceAge => self.quote.round_trip + now.saturating_sub(self.quote.at).as_secs_f64(),
            HeaderRtt::RoundTrip => self.quote.round_trip,
        }
    }

    /// What a SYN announces: the packets of the first round trip (§4.1, "start-up behaviour"), or
    /// all there are if that is less.
    fn start_up(&self, packet: &Packet, view: &View) -> f64 {
        let full = (view.mss + view.overhead) as f64;
        let packets = (view.unsent as f64 / view.mss as f64).ceil().clamp(1.0, equations::STARTUP_PACKETS);
        packets * full / on_wire(packet)
    }

    /// What a SYN says that the flow may spend: its part of the host's budget, on a SYN-ACK what an idle flow has of all
    /// of that. Infinity where it says nothing.
    fn opens_with(&self, ctx: &mut EndpointCtx<'_>) -> f64 {
        if !self.params.additions().opening_budget {
            return f64::INFINITY;
        }
        let account = ctx.shared.get::<Host>().account(self.identity.flow);
        let part = account.map_or_else(|| IDLE * self.params.budget(self.identity.host), |a| a.target);
        part * self.group.ramp.map_or(1.0, |r| r.share(ctx.now))
    }

    /// What this packet preloads, in multiples of what it pays.
    fn preload(&mut self, packet: &Packet, view: &View, ctx: &mut EndpointCtx<'_>) -> f64 {
        let wanted = self.wanted(view, ctx);
        // What the network reckons with per round trip for a packet like this one, $/s.
        let pays = equations::pays(self.quote.price, on_wire(packet), self.age(ctx.now));
        if let Some((preload, change)) = self.group.behaviour.preload(self.budget.spending, self.budget.target, pays) {
            self.announced.push(self.nonce, change);
            return preload;
        }
        let limit = self.group.preload_limit();
        let preload = match self.ask(wanted, pays) {
            Some(all) => all,
            None => match self.announced.next(wanted, self.budget.spending, pays).min(limit) {
                next if next > 0.0 => next.min(self.may_announce(ctx) / pays),
                next => next,
            },
        };
        if preload != 0.0 {
            self.announced.push(self.nonce, preload * pays);
            ctx.shared.get::<Host>().announce(preload * pays, ctx.now);
        }
        preload
    }

    /// What the host may announce now, $/s.
    fn may_announce(&self, ctx: &mut EndpointCtx<'_>) -> f64 {
        let bounded = self.params.additions().announcements;
        let most = if bounded { ANNOUNCEMENTS * self.params.budget(self.identity.host) } else { f64::INFINITY };
        ctx.shared.get::<Host>().may_announce(most, ctx.now)
    }

    /// An ACK that answers packet `nonce` has brought `price`.
    fn on_price(&mut self, header: &FcpHeader, price_rtt: f64, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.quote.price = f64::from(header.price).max(self.params.given.minimum_price);
        if view.srtt > Time::ZERO {
            self.rtt = view.srtt.as_secs_f64();
        }
        (self.quote.round_trip, self.quote.at) = (price_rtt, ctx.now);
        if let Some(silence) = self.silent.take() {
            self.budget.spending = self.budget.spending.min(self.quote.price * silence.rate);
            self.announced.again();
        }
        self.wait(view, ctx.now);
        let change = self.announced.answered(header.nonce);
        if self.group.behaviour.obeys(change) {
            self.budget.spending = equations::budget(self.budget.spending, change);
        }
        debug_assert!(self.quote.price > 0.0 && self.quote.price.is_finite(), "price {}", self.quote.price);
        debug_assert!(self.budget.spending >= 0.0 && self.budget.spending.is_finite(), "{} $/s", self.budget.spending);
        // The host's link may have another rate since the flow began.
        self.pace.cap = carries(ctx);
        let (price, rtt, spending, cap) = (self.quote.price, self.rtt, self.budget.spending, self.pace.cap);
        let update = |a: &mut Account| (a.price, a.rtt, a.spending, a.cap) = (price, rtt, spending, cap);
        let host = ctx.shared.get::<Host>();
        host.on_feedback(self.identity.flow, update, self.identity.host, &self.params, ctx.now);
        self.set_pace(view, host);
    }
}

impl Sender {
    /// The header of a packet that leaves now.
    fn header(&self, syn: bool, preload: f64, now: Time) -> FcpHeader {
        let balance = match syn {
            true => budget_field(self.opening.budget),
            false => self.group.behaviour.claims() * self.quote.price,
        };
        FcpHeader {
            rtt: if self.quote.price == 0.0 { 0.0 } else { self.age(now) as f32 },
            preload: preload as f32,
            balance: balance as f32,
            exchange: 1.0,
            nonce: self.nonce,
            tenant: self.group.tenant,
            class: self.class(),
            ..FcpHeader::default()
        }
    }

    /// The flow was given up, or its peer has: no FIN said so. A header alone preloads −1 (§4.1); the
    /// rest of what the flow paid decays in d, for no packet takes back more than it pays.
    fn take_leave(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.ends || self.rtt <= 0.0 || self.quote.price <= 0.0 {
            return;
        }
        let (flow, to) = self.identity.flow;
        let mut packet = Packet::new(flow, ctx.node, to, IP_HEADER + UDP_HEADER);
        packet.kind = Kind::Datagram;
        self.nonce = self.nonce.wrapping_add(1);
        self.in_flight.sent(self.nonce, ctx.now);
        packet.set_header(&self.header(false, -1.0, ctx.now));
        ctx.send(packet);
    }

    /// Whether its application has said nothing yet: the host's other flows have its budget then.
    fn rest(&mut self, idle: bool, ctx: &mut EndpointCtx<'_>) {
        if self.idle != idle {
            self.idle = idle;
            ctx.shared.get::<Host>().rest(self.identity.flow, idle, self.identity.host, &self.params, ctx.now);
        }
    }
}

/// Whether the flow's application has nothing to say, and has not said that it never will.
fn is_idle(view: &View) -> bool {
    view.unsent == u64::MAX && view.at_hand == 0
}

/// What the fastest of the host's links carries now, bytes per second.
fn carries(ctx: &EndpointCtx<'_>) -> f64 {
    ctx.links.iter().map(|l| l.rate).max().map_or(0.0, |rate| rate.as_f64() / 8.0)
}

/// What a SYN has in place of a balance: what its flow may spend, $/s; 0 says nothing.
fn budget_field(budget: f64) -> f64 {
    if budget.is_finite() { budget } else { 0.0 }
}

/// The size of a packet with FCP's header, which it is about to get.
fn on_wire(packet: &Packet) -> f64 {
    f64::from(packet.size + WIRE)
}

impl CongestionController for Sender {
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(Rate(((self.pace.rate / self.pace.stretch * 8.0) as u64).max(1)))
    }

    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        // A timeout has set it to one segment. The price is what limits the flow, unless nobody
        // tells it.
        let waits = self.params.additions().unanswered_rounds;
        let least = FEW * window.mss;
        let most = if waits { (UNANSWERED_ROUNDS * self.pace.rate * self.rtt) as u64 } else { u64::MAX };
        window.set(most.max(least));
        debug_assert!(window.cwnd >= window.mss, "a window of {} with segments of {}", window.cwnd, window.mss);
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    /// Nothing has come back for long. The price that the rate was made of is old, and links have
    /// forgotten a budget that has not been paid for a window. So it is as at the start: a few
    /// packets, a price, and preloads for the rest.
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        if self.rtt > 0.0 && self.params.additions().restart {
            let startup = equations::STARTUP_PACKETS * window.mss as f64 / self.rtt;
            self.forget(self.pace.rate.min(startup));
        }
        window.cwnd
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([("budget", self.budget.spending), ("target", self.budget.target), ("price", self.quote.price)]);
    }
}

impl NetworkAssisted for Sender {
    fn on_send(&mut self, packet: &mut Packet, view: &View, ctx: &mut EndpointCtx<'_>) {
        // Whoever has sent a SYN may be nobody: a SYN-ACK takes nothing of the budget.
        if !packet.flags.has(Flags::SYN.with(Flags::ACK)) {
            self.join(view, ctx);
        }
        self.nonce = self.nonce.wrapping_add(1);
        self.in_flight.sent(self.nonce, ctx.now);
        let syn = packet.flags.has(Flags::SYN);
        let preload = if syn {
            self.opening.preload = if self.ask_by_syn() { 0.0 } else { self.start_up(packet, view) };
            self.opening.budget = self.opens_with(ctx);
            self.opening.preload
        } else if (packet.payload > 0 || packet.flags.has(Flags::FIN)) && self.rtt > 0.0 && self.quote.price > 0.0 {
            self.ends |= packet.flags.has(Flags::FIN);
            self.preload(packet, view, ctx)
        } else {
            0.0
        };
        self.pace.stretch = match self.scarce(view) {
            Some(_) if packet.payload > 0 => MOST_STRETCH - rng::unit(ctx.rng),
            _ => 1.0,
        };
        packet.set_header(&self.header(syn, preload, ctx.now));
        if syn || packet.payload > 0 {
            // Until it has something to say. Later silences are not told of: each would have all
            // the host's flows announce another budget.
            self.rest(syn && is_idle(view), ctx);
        }
    }

    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<FcpHeader>().filter(|h| h.echo) else { return };
        // The round trip of the packet that this ACK answers: what is paid from now on was told
        // that long ago. Its nonce says which one; TCP does not know where it has repeated the SYN (Karn's rule).
        let answered = self.in_flight.answered(header.nonce, ctx.now).unwrap_or(view.srtt);
        let round_trip = if view.srtt > Time::ZERO { view.srtt } else { answered };
        // The answer to a SYN, or to what asks in its place.
        if header.rtt <= 0.0 && self.quote.price == 0.0 && round_trip > Time::ZERO {
            self.join(view, ctx);
            // §4.1: "upon receiving it, we initialize the budget as price·size·preload/rtt".
            self.rtt = round_trip.as_secs_f64();
            self.quote.price = f64::from(header.price).max(self.params.given.minimum_price);
            let paid = equations::paid(self.quote.price, packet.size.into());
            let first = equations::preloaded(paid, self.opening.preload, self.rtt).min(self.opening.budget);
            self.announced.push(header.nonce, first);
            self.update_target(ctx);
        }
        if self.quote.price == 0.0 {
            return;
        }
        let price_rtt = answered.as_secs_f64();
        if self.silent.is_none() && self.was_window_limited(price_rtt, window) {
            self.forget(self.pace.rate);
        }
        if self.silent.as_ref().is_some_and(|s| !after(header.nonce, s.before)) {
            return;
        }
        if self.served(&header, view, ctx.now) {
            self.on_price(&header, price_rtt, view, ctx);
        }
    }

    fn on_close(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Open {
            self.take_leave(ctx);
            self.state = State::Closed;
            ctx.shared.get::<Host>().close(self.identity.flow, self.identity.host, &self.params, ctx.now);
        }
    }

    fn is_admitted(&self) -> bool {
        self.quote.price > 0.0
    }

    fn longest_gap(&self) -> Time {
        let waits = self.params.additions().patience && self.pace.rate > 0.0;
        if waits { Time::from_secs_f64(MOST_STRETCH * self.pace.packet / self.pace.rate) } else { Time::ZERO }
    }

    fn waits(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) -> Time {
        match self.scarce(view) {
            Some(gap) => Time::from_secs_f64(gap * rng::unit(ctx.rng)),
            None => Time::ZERO,
        }
    }

    fn on_poke(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.set_pace(view, ctx.shared.get::<Host>());
    }
}
