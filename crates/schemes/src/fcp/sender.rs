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
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations;
use super::header::{FcpHeader, WIRE};
use super::host::{Account, Host};
use super::params::{GroupParams, HeaderRtt, Plan, PreloadFor};
use super::sent::{InFlight, after};
use crate::tcp::cc::{Ack, Congestion, CongestionController, View, Window};
use deadline::Deadline;
pub use preload::Announced;

/// The least that a flow with data sends is a packet in this time, s, and one in two round trips if
/// its target pays for that: so that a flow which spends (almost) nothing still hears the price,
/// and one whose last round the price has stretched gets on. Ours: the paper leaves them no way to
/// learn that the price has fallen. A second is TCP's least timeout.
const PROBE: f64 = 1.0;

/// A change of budget below this share is not announced. Ours: single precision and the price's
/// noise are far below.
const NOISE: f64 = 1e-3;

/// How often a flow that needs less than its budget looks what that costs, in round trips. §6.2's
/// period for policies.
const LOOK: f64 = 2.0;

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
    /// After a timeout, the newest packet before it: until a later one is answered, nobody knows a
    /// price. Answers that come from before an outage tell prices from before it.
    silent: Option<u32>,
    /// The price that the need was last reckoned at, $/byte, and when that will be done again.
    need_price: f64,
    need_at: Time,
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
            announced: Announced::default(),
            deadline: Deadline::of(plan.group(flow.group)),
            assigned: 0.0,
            rate: 0.0,
            target: 0.0,
            nonce: 0,
            in_flight: InFlight::default(),
            opening: 0.0,
            silent: None,
            need_price: 0.0,
            need_at: Time::ZERO,
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
        self.assigned = ctx.shared.get::<Host>().account(self.flow).map_or(0.0, |a| a.target);
        let share = self.group.ramp.map_or(1.0, |r| r.share(ctx.now));
        self.target = self.deadline.map_or(self.assigned * share, |d| d.rate * self.price);
        if view.unsent == u64::MAX {
            return self.target;
        }
        let wire = view.to_send() as f64 * (1.0 + view.overhead as f64 / view.mss as f64);
        let then = match self.plan.params.preload_for {
            PreloadFor::NextRound => (wire - self.rate * self.rtt).max(0.0),
            PreloadFor::FlowSize => wire,
        };
        // At the price of the last look: flows that follow a rising price with what they announce
        // make it rise faster.
        if ctx.now >= self.need_at {
            self.need_price = self.price;
            self.need_at = ctx.now.saturating_add(Time::from_secs_f64(LOOK * self.rtt));
        }
        self.target.min(self.need_price * then / self.rtt)
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
            None => self.announced.next(wanted, self.spending, pays).min(limit),
        };
        self.announced.push(self.nonce, preload * pays);
        preload
    }

    /// The least that the flow sends, bytes per second.
    fn least(&self, view: &View) -> f64 {
        let packet = (view.mss + view.overhead) as f64;
        let (slow, quick) = (packet / (2.0 * self.rtt).max(PROBE), packet / (2.0 * self.rtt));
        match self.deadline {
            // The pace of the packet that asks is that of the next one, which follows the answer.
            Some(_) => packet / self.rtt,
            // A flow that has sent everything has given its budget back; a repair may yet turn out
            // to be needed.
            None if view.to_send() == 0 => quick,
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
        self.rate = behaviour.idles(allowed, self.target, least, one).unwrap_or_else(|| {
            equations::rate(behaviour.spends() * allowed, self.price).clamp(least, self.cap.max(least))
        });
    }

    /// An ACK that answers packet `nonce` has brought `price`.
    fn on_price(&mut self, header: &FcpHeader, price_rtt: f64, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.price = f64::from(header.price).max(self.plan.params.minimum_price);
        if view.srtt > Time::ZERO {
            self.rtt = view.srtt.as_secs_f64();
        }
        (self.price_rtt, self.price_at) = (price_rtt, ctx.now);
        if self.silent.take().is_some() {
            let startup = f64::from(self.plan.params.startup_packets) * (view.mss + view.overhead) as f64;
            self.spending = self.spending.min(self.price * startup / self.rtt);
        }
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
            self.opening
        } else if packet.payload > 0 && self.rtt > 0.0 && self.price > 0.0 {
            self.preload(packet, view, ctx)
        } else {
            0.0
        };
        packet.set_header(&FcpHeader {
            rtt: if syn { 0.0 } else { self.age(ctx.now) as f32 },
            price: 0.0,
            preload: preload as f32,
            balance: (self.group.behaviour.claims() * self.price) as f32,
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

    fn on_feedback(&mut self, packet: &Packet, _window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<FcpHeader>().filter(|h| h.echo) else { return };
        if packet.flags.has(Flags::SYN) && self.price == 0.0 && view.srtt > Time::ZERO {
            // §4.1: "upon receiving it, we initialize the budget as price·size·preload/rtt".
            self.price = f64::from(header.price).max(self.plan.params.minimum_price);
            let paid = equations::paid(self.price, packet.size.into());
            let first = equations::preloaded(paid, self.opening, view.srtt.as_secs_f64());
            self.announced.push(header.nonce, first);
        }
        if self.silent.is_some_and(|before| !after(header.nonce, before)) {
            return;
        }
        // The round trip of the packet that this ACK answers: what is paid from now on was told
        // that long ago.
        let price_rtt = self.in_flight.answered(header.nonce, ctx.now).unwrap_or(view.srtt).as_secs_f64();
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

    fn on_poke(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.pace(view, ctx);
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(Rate(((self.rate * 8.0) as u64).max(1)))
    }

    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        // A timeout has set it to one segment. The price is what limits the flow, unless nobody
        // tells it.
        let rounds = self.plan.additions().unanswered_rounds;
        let startup = u64::from(self.plan.params.startup_packets) * window.mss;
        let most = if rounds > 0.0 { (rounds * self.rate * self.rtt) as u64 } else { u64::MAX };
        window.set(most.max(startup));
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    /// Nothing has come back for long. The price that the rate was made of is old, and links have
    /// forgotten a budget that has not been paid for a window. So it is as at the start: a few
    /// packets, a price, and preloads for the rest.
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        if self.rtt > 0.0 && self.plan.additions().restart {
            self.silent = Some(self.nonce);
            self.announced = Announced::default();
            self.rate = self.rate.min(f64::from(self.plan.params.startup_packets) * window.mss as f64 / self.rtt);
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
