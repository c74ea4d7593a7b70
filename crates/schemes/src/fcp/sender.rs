//! The sender's side of FCP (§4.1): it pays, preloads, and is paced at budget over price.
//!
//! The handshake, SACK, timers and repair are TCP's; this is its congestion controller. One round
//! trip lies between wish and deed: a packet *announces* by its preload how much more the flow will
//! spend, and the flow spends it when the packet's ACK brings the price that reckons with it.
//! Announcements on the way are kept by the packets' numbers.

mod deadline;
mod preload;

use std::sync::Arc;

use midpath_core::packet::{Flags, FlowId, NodeId, Packet};
use midpath_core::rng;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations;
use super::header::{FcpHeader, WIRE};
use super::host::{Account, Host};
use super::params::{GroupParams, HeaderRtt, PreloadFor};
use super::plan::Plan;
use super::sent::{InFlight, after};
use crate::transport::cc::{Ack, Congestion, CongestionController, View, Window};
use deadline::Deadline;
pub use preload::Announced;

/// The least that a flow with data sends is a packet in this time, s, at first
/// (`Additions::patience`), so that one which spends (almost) nothing still hears the price. Ours:
/// the paper leaves it no way to learn that the price has fallen. A second is TCP's least timeout.
const PROBE: f64 = 1.0;

/// The time between two packets varies by up to a half (`Additions::spread`). Ours.
const MOST_STRETCH: f64 = 1.5;

/// So many packets a sender has out however long nothing is answered: one that is lost can be found
/// out by three others. Ours.
const FEW: u64 = 4;

/// Links have forgotten the flow.
#[derive(Debug, Clone, Copy)]
struct Silence {
    /// The newest packet before that was found out. Answers to earlier ones tell old prices.
    before: u32,
    /// What the flow sends until it hears, bytes per second.
    rate: f64,
}

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

/// One flow's sender.
pub struct Sender {
    plan: Arc<Plan>,
    group: Arc<GroupParams>,
    flow: FlowId,
    host: NodeId,
    number: u32,
    weight: f64,
    state: State,
    /// w, $/s.
    spending: f64,
    /// The last price that was told, $/byte; 0 before the SYN-ACK.
    price: f64,
    /// Smoothed, s.
    rtt: f64,
    /// The round trip of the ACK that told the price, s, and when it came.
    price_rtt: f64,
    price_at: Time,
    /// What the host's link carries, bytes per second.
    cap: f64,
    announced: Announced,
    /// While it has its deadline served, or hopes for it.
    deadline: Option<Deadline>,
    /// What the host's policy gives it, $/s.
    assigned: f64,
    /// What the pace follows, bytes per second.
    rate: f64,
    /// Budget and target at the last look, for those who measure.
    target: f64,
    nonce: u32,
    in_flight: InFlight,
    /// What the SYN has preloaded. Ours to remember: a receiver's word for it would be its word for
    /// our budget.
    opening: f64,
    /// What it has said that the flow may spend at first, $/s.
    opening_budget: f64,
    /// While links have forgotten the flow.
    silent: Option<Silence>,
    /// How long the flow waits at most for its next packet, s.
    patience: f64,
    /// By what the time until its next packet is multiplied.
    stretch: f64,
    /// The size of a full packet.
    packet: f64,
}

impl Sender {
    /// The sender of `flow`.
    pub fn new(plan: Arc<Plan>, flow: &FlowSpec) -> Sender {
        Sender {
            group: plan.group(flow.group).clone(),
            flow: flow.id,
            host: flow.src,
            number: flow.group,
            weight: flow.weight,
            state: State::New,
            spending: 0.0,
            price: 0.0,
            rtt: 0.0,
            price_rtt: 0.0,
            price_at: Time::ZERO,
            cap: f64::INFINITY,
            announced: Announced::new(plan.additions().noise),
            deadline: Deadline::of(plan.group(flow.group)),
            assigned: 0.0,
            rate: 0.0,
            target: 0.0,
            nonce: 0,
            in_flight: InFlight::default(),
            opening: 0.0,
            opening_budget: f64::INFINITY,
            silent: None,
            patience: 2.0 * PROBE, // the first price is not told by chance
            stretch: 1.0,
            packet: 0.0,
            plan,
        }
    }

    /// The flow's account is opened with its first SYN, so that the host's other flows make room
    /// during the handshake.
    fn join(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.state != State::New {
            return;
        }
        self.state = State::Open;
        self.cap = ctx.links.iter().map(|l| l.rate.as_f64() / 8.0).fold(0.0, f64::max);
        let account = Account {
            group: self.number,
            weight: self.weight,
            target: 0.0,
            spending: 0.0,
            price: 0.0,
            rtt: 0.0,
            cap: self.cap,
        };
        ctx.shared.get::<Host>().open(self.flow, account, self.host, &self.plan, ctx.now);
    }

    /// x: what the flow should spend in the next round, $/s. The host's policy says how much it
    /// may, the data that will be left then how much it can use: "the flow size / RTT" (§6.1.1),
    /// and nothing at the end (§4.1, "preloads −1").
    fn wanted(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) -> f64 {
        self.look_up_target(ctx);
        if view.unsent == u64::MAX {
            return self.target;
        }
        let wire = view.to_send() as f64 * (1.0 + view.overhead as f64 / view.mss as f64);
        let then = match self.plan.params.preload_for {
            PreloadFor::NextRound => (wire - self.rate * self.rtt).max(0.0),
            PreloadFor::FlowSize => wire,
        };
        self.target.min(self.price * then / self.rtt)
    }

    /// What the host's policy gives the flow now.
    fn look_up_target(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.assigned = ctx.shared.get::<Host>().account(self.flow).map_or(0.0, |a| a.target);
        let share = self.group.ramp.map_or(1.0, |r| r.share(ctx.now));
        self.target = self.deadline.map_or(self.assigned * share, |d| d.rate * self.price);
    }

    /// The round-trip time in the header, s: how long ago the path's links quoted the price that a
    /// packet pays, when it passes them. That is the round trip of the ACK that brought the price,
    /// and how long ago it came: ACKs are far apart where a queue has just grown.
    fn age(&self, now: Time) -> f64 {
        match self.plan.params.header_rtt {
            HeaderRtt::PriceAge => self.price_rtt + now.saturating_sub(self.price_at).as_secs_f64(),
            HeaderRtt::RoundTrip => self.price_rtt,
        }
    }

    /// What a SYN announces: the packets of the first round trip (§4.1, "start-up behaviour"), or
    /// all there are if that is less.
    fn start_up(&self, packet: &Packet, view: &View) -> f64 {
        let full = (view.mss + view.overhead) as f64;
        let packets =
            (view.unsent as f64 / view.mss as f64).ceil().clamp(1.0, f64::from(self.plan.params.startup_packets));
        packets * full / on_wire(packet)
    }

    /// What a SYN says that the flow may spend: its part of the host's budget. Infinity where it says
    /// nothing.
    fn opens_with(&self, ctx: &mut EndpointCtx<'_>) -> f64 {
        let account = ctx.shared.get::<Host>().account(self.flow).filter(|_| self.plan.additions().opening_budget);
        account.map_or(f64::INFINITY, |a| a.target * self.group.ramp.map_or(1.0, |r| r.share(ctx.now)))
    }

    /// The time between two packets of a flow whose share is less than one in a round trip, if those
    /// are to be spread, s. Flows that begin together would send together, and such that find a
    /// queue, and so a high price, all come back at one time.
    fn scarce(&self, view: &View) -> Option<f64> {
        let gap = (view.mss + view.overhead) as f64 / self.rate;
        (self.plan.additions().spread && self.rtt > 0.0 && gap.is_finite() && gap > self.rtt).then_some(gap)
    }

    /// What this packet preloads, in multiples of what it pays.
    fn preload(&mut self, packet: &Packet, view: &View, ctx: &mut EndpointCtx<'_>) -> f64 {
        let wanted = self.wanted(view, ctx);
        // What the network reckons with per round trip for a packet like this one, $/s.
        let pays = equations::pays(self.price, on_wire(packet), self.age(ctx.now));
        if let Some((preload, change)) = self.group.behaviour.preload(self.spending, self.target, pays) {
            self.announced.push(self.nonce, change);
            return preload;
        }
        let limit = self.group.preload_limit();
        let preload = match self.ask(wanted, pays) {
            Some(all) => all,
            None => self.announced.next(wanted, self.spending, pays).min(limit).min(self.may_announce(ctx) / pays),
        };
        self.announced.push(self.nonce, preload * pays);
        ctx.shared.get::<Host>().announce(preload * pays, ctx.now);
        preload
    }

    /// What the host may announce now, $/s.
    fn may_announce(&self, ctx: &mut EndpointCtx<'_>) -> f64 {
        let most = match self.plan.additions().announcements {
            0.0 => f64::INFINITY,
            budgets => budgets * self.plan.budget(self.host),
        };
        ctx.shared.get::<Host>().may_announce(most, ctx.now)
    }

    /// The least that the flow sends, bytes per second.
    fn least(&self, view: &View) -> f64 {
        let packet = (view.mss + view.overhead) as f64;
        let (slow, quick) = (packet / (2.0 * self.rtt).max(self.patience), packet / (2.0 * self.rtt));
        match self.deadline {
            // The pace of the packet that asks is that of the next one, which follows the answer.
            Some(_) => packet / self.rtt,
            // A flow that has sent everything has given its budget back; a repair may yet turn out
            // to be needed.
            None if view.to_send() == 0 => quick,
            None if !self.plan.additions().keep_pace => slow,
            None => equations::rate(self.target, self.price).clamp(slow, quick),
        }
    }

    /// The rate, where w is what the host may spend on this flow now.
    fn pace(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        if self.rtt <= 0.0 {
            return;
        }
        let allowed = ctx.shared.get::<Host>().allowance(self.flow, self.plan.budget(self.host));
        let least = self.least(view);
        let (behaviour, one) = (self.group.behaviour, (view.mss + view.overhead) as f64 / self.rtt);
        self.packet = (view.mss + view.overhead) as f64;
        let cap = self.silent.map_or(self.cap, |s| s.rate.min(self.cap));
        self.rate = behaviour
            .idles(allowed, self.target, least, one)
            .unwrap_or_else(|| equations::rate(behaviour.spends() * allowed, self.price).clamp(least, cap.max(least)));
    }

    /// How long the flow waits for its next packet: what its target pays for, but not more than
    /// twice as long as before, so that a single wrong price is soon forgotten.
    fn wait(&mut self, view: &View) {
        let packet = (view.mss + view.overhead) as f64;
        let affords = packet / equations::rate(self.target, self.price).max(f64::MIN_POSITIVE);
        self.patience = affords.min(2.0 * self.patience).clamp(PROBE, self.plan.additions().patience);
    }

    /// Nothing has come back for long: the links have forgotten a budget that was not paid for a
    /// window, and what they told is old. Until a packet from now on is answered, the flow sends
    /// `rate` bytes per second at most. That is what its budget is worth then; the rest is announced
    /// as at the start.
    fn forgotten(&mut self, rate: f64) {
        self.silent = Some(Silence { before: self.nonce, rate });
        self.announced.clear();
        self.rate = self.rate.min(rate);
    }

    /// Whether the flow had to wait for more than a round trip, for nothing was answered: the packet
    /// that is answered after `round_trip` s had more after it than a window.
    fn had_to_wait(&self, round_trip: f64, window: &Window) -> bool {
        self.plan.additions().restart && self.rtt > 0.0 && round_trip - window.cwnd as f64 / self.rate > self.rtt
    }

    /// An ACK that answers packet `nonce` has brought `price`.
    fn on_price(&mut self, header: &FcpHeader, price_rtt: f64, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.price = f64::from(header.price).max(self.plan.params.minimum_price);
        if view.srtt > Time::ZERO {
            self.rtt = view.srtt.as_secs_f64();
        }
        (self.price_rtt, self.price_at) = (price_rtt, ctx.now);
        if let Some(silence) = self.silent.take() {
            self.spending = self.spending.min(self.price * silence.rate);
            self.announced.again();
        }
        self.wait(view);
        let change = self.announced.answered(header.nonce);
        if self.group.behaviour.obeys(change) {
            self.spending = equations::budget(self.spending, change);
        }
        let (price, rtt, spending) = (self.price, self.rtt, self.spending);
        let update = |a: &mut Account| (a.price, a.rtt, a.spending) = (price, rtt, spending);
        ctx.shared.get::<Host>().on_feedback(self.flow, update, self.host, &self.plan, ctx.now);
        self.pace(view, ctx);
    }
}

/// A SYN's word for what its flow may spend; none for all.
fn told(budget: f64) -> f64 {
    if budget.is_finite() { budget } else { 0.0 }
}

/// The size of a packet with FCP's header, which it is about to get.
fn on_wire(packet: &Packet) -> f64 {
    f64::from(packet.size + WIRE)
}

impl CongestionController for Sender {
    fn on_send(&mut self, packet: &mut Packet, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.join(ctx);
        self.nonce = self.nonce.wrapping_add(1);
        self.in_flight.sent(self.nonce, ctx.now);
        let syn = packet.flags.has(Flags::SYN);
        let preload = if syn {
            self.opening = if self.ask_by_syn() { 0.0 } else { self.start_up(packet, view) };
            self.opening_budget = self.opens_with(ctx);
            self.opening
        } else if packet.payload > 0 && self.rtt > 0.0 && self.price > 0.0 {
            self.preload(packet, view, ctx)
        } else {
            0.0
        };
        self.stretch = match self.scarce(view) {
            Some(_) if packet.payload > 0 => MOST_STRETCH - rng::unit(ctx.rng),
            _ => 1.0,
        };
        packet.set_header(&FcpHeader {
            rtt: if syn { 0.0 } else { self.age(ctx.now) as f32 },
            price: 0.0,
            preload: preload as f32,
            balance: if syn { told(self.opening_budget) } else { self.group.behaviour.claims() * self.price } as f32,
            charged: 0.0,
            exchange: 1.0,
            nonce: self.nonce,
            tenant: self.group.tenant,
            class: self.class(),
            echo: false,
            refused: false,
            tree: 0,
        });
    }

    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<FcpHeader>().filter(|h| h.echo) else { return };
        if packet.flags.has(Flags::SYN) && self.price == 0.0 && view.srtt > Time::ZERO {
            // §4.1: "upon receiving it, we initialize the budget as price·size·preload/rtt".
            self.price = f64::from(header.price).max(self.plan.params.minimum_price);
            let paid = equations::paid(self.price, packet.size.into());
            let first = equations::preloaded(paid, self.opening, view.srtt.as_secs_f64()).min(self.opening_budget);
            self.announced.push(header.nonce, first);
            self.look_up_target(ctx);
        }
        // The round trip of the packet that this ACK answers: what is paid from now on was told
        // that long ago.
        let price_rtt = self.in_flight.answered(header.nonce, ctx.now).unwrap_or(view.srtt).as_secs_f64();
        if self.silent.is_none() && self.had_to_wait(price_rtt, window) {
            self.forgotten(self.rate);
        }
        if self.silent.is_some_and(|s| !after(header.nonce, s.before)) {
            return;
        }
        if self.served(&header, view, ctx.now) {
            self.on_price(&header, price_rtt, view, ctx);
        }
    }

    fn on_close(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Open {
            self.state = State::Closed;
            ctx.shared.get::<Host>().close(self.flow, self.host, &self.plan, ctx.now);
        }
    }

    fn longest_gap(&self) -> Time {
        let waits = self.plan.additions().patience > PROBE && self.rate > 0.0;
        if waits { Time::from_secs_f64(MOST_STRETCH * self.packet / self.rate) } else { Time::ZERO }
    }

    fn waits(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) -> Time {
        match self.scarce(view) {
            Some(gap) => Time::from_secs_f64(gap * rng::unit(ctx.rng)),
            None => Time::ZERO,
        }
    }

    fn on_poke(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.pace(view, ctx);
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(Rate(((self.rate / self.stretch * 8.0) as u64).max(1)))
    }

    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        // A timeout has set it to one segment. The price is what limits the flow, unless nobody
        // tells it.
        let rounds = self.plan.additions().unanswered_rounds;
        let least = FEW * window.mss;
        let most = if rounds > 0.0 { (rounds * self.rate * self.rtt) as u64 } else { u64::MAX };
        window.set(most.max(least));
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    /// Nothing has come back for long. The price that the rate was made of is old, and links have
    /// forgotten a budget that has not been paid for a window. So it is as at the start: a few
    /// packets, a price, and preloads for the rest.
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        if self.rtt > 0.0 && self.plan.additions().restart {
            let startup = f64::from(self.plan.params.startup_packets) * window.mss as f64 / self.rtt;
            self.forgotten(self.rate.min(startup));
        }
        window.cwnd
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([("budget", self.spending), ("target", self.target), ("price", self.price)]);
    }
}
