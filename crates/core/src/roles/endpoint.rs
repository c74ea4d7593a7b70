use std::any::{Any, TypeId};
use std::collections::VecDeque;

use crate::packet::{FlowId, FlowKey, NodeId, Note, NotePlace, Packet, Payload, Pkt, Pool, PortId};
use crate::rng::Stream;
use crate::roles::{Action, Application, Ended, Half, LinkInfo, Supply, Way};
use crate::units::Time;

/// One end of a flow: active (sender, consumer) or passive (receiver, producer).
pub trait Endpoint: Send {
    /// Called once: when the flow starts (active), or before the first packet is handed over
    /// (passive).
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>);
    /// Called when a packet of this flow arrived at this node.
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>);
    /// Called when the time last set with [`EndpointCtx::set_timer`] has come. The timer is off
    /// then.
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>);
    /// Called when the application behind it has handed more over, has closed its side, or has room
    /// for more.
    fn on_application(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when nothing has been heard of the peer for long: asks whether it is there.
    fn on_probe(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when its node has gone over to other routes.
    fn on_routes(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when the application gives the flow up: the other end is told, and this one is gone.
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        ctx.finish();
    }
    /// Called when somebody measures: at sampling times, when the endpoint finishes, and at the end
    /// of the run.
    fn report(&self) -> FlowReport;
    /// Of a passive end: whether its deliveries are the flow's. A multicast flow has several
    /// passive ends; one is measured, the others report nothing and never finish.
    fn measured(&self) -> bool {
        true
    }
    /// Of a passive end: whether nothing has shown yet that its peer hears what it says (TCP's
    /// SYN-RECEIVED). Whoever forges addresses can open as many of these as he likes.
    fn is_half_open(&self) -> bool {
        false
    }
    /// Of an active end: what it is doing (slow start, recovery, a state of its scheme), in a word or
    /// two; for who traces the run.
    fn phase(&self) -> &'static str {
        ""
    }
    /// Numbers to plot over time besides those of the report (a budget, a price, a buffer), with
    /// their names. The flow's two ends use different names.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// What an endpoint has seen so far. Each end fills in what it knows; zero or `None` elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowReport {
    /// Payload bytes delivered in order (passive end).
    pub delivered: u64,
    /// Payload bytes that have arrived, in order or not, each counted once (passive end). Zero
    /// where that is no more than was delivered.
    pub arrived: u64,
    /// When the last byte was delivered (passive end).
    pub completed: Option<Time>,
    /// Packets sent that carry payload, repeats included (active end).
    pub sent: u64,
    /// Packets sent again (active end).
    pub retransmitted: u64,
    /// Retransmission timeouts (active end).
    pub timeouts: u64,
    /// Smallest round-trip time measured (active end).
    pub rtt_min: Time,
    /// Largest round-trip time measured.
    pub rtt_max: Time,
    /// Sum of round-trip times, for the mean.
    pub rtt_sum: u128,
    /// How many were measured.
    pub rtt_count: u64,
    /// Congestion window now, in bytes (active end; zero when there is none).
    pub cwnd: u64,
    /// Smoothed round-trip time now.
    pub srtt: Time,
    /// Sending rate now in bits per second, for schemes that have one.
    pub rate: u64,
}

impl FlowReport {
    /// Counts one round-trip time.
    #[inline]
    pub fn rtt(&mut self, rtt: Time) {
        self.rtt_min = if self.rtt_count == 0 { rtt } else { self.rtt_min.min(rtt) };
        self.rtt_max = self.rtt_max.max(rtt);
        self.rtt_sum += u128::from(rtt.0);
        self.rtt_count += 1;
    }

    /// Both ends' reports of one flow as one.
    pub fn merge(self, other: FlowReport) -> FlowReport {
        let (a, b) = if self.rtt_count > 0 { (self, other) } else { (other, self) };
        FlowReport {
            delivered: a.delivered.max(b.delivered),
            arrived: a.arrived.max(b.arrived),
            completed: a.completed.or(b.completed),
            sent: a.sent + b.sent,
            retransmitted: a.retransmitted + b.retransmitted,
            timeouts: a.timeouts + b.timeouts,
            // Those of the end that measured.
            rtt_min: a.rtt_min,
            rtt_max: a.rtt_max,
            rtt_sum: a.rtt_sum,
            rtt_count: a.rtt_count,
            srtt: a.srtt,
            cwnd: a.cwnd.max(b.cwnd),
            rate: a.rate.max(b.rate),
        }
    }
}

/// What the endpoints of one node share: a host's budget, its list of open flows.
#[derive(Default)]
pub struct Shared(Vec<(TypeId, Box<dyn Any + Send>)>);

impl Shared {
    /// The one value of type `T` on this node, made on first use.
    #[inline]
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        // A node shares values of one or two types, which are asked for with each packet.
        let place = match self.0.as_slice() {
            [(first, _), ..] if *first == TypeId::of::<T>() => 0,
            [_, (second, _), ..] if *second == TypeId::of::<T>() => 1,
            _ => return self.get_among_others(),
        };
        self.0[place].1.downcast_mut().expect("stored under its own type")
    }

    #[inline(never)]
    fn get_among_others<T: Any + Send + Default>(&mut self) -> &mut T {
        let place = self.0.iter().position(|(id, _)| *id == TypeId::of::<T>()).unwrap_or_else(|| {
            self.0.push((TypeId::of::<T>(), Box::new(T::default())));
            self.0.len() - 1
        });
        self.0[place].1.downcast_mut().expect("stored under its own type")
    }
}

/// What an endpoint that lives inside another one has asked for so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishes {
    /// When it wants to be woken; `Time::MAX` for not at all.
    pub timer: Time,
    /// Whether it needs no more calls.
    pub finished: bool,
}

/// What a call to an endpoint has ended. One byte, for it is looked at after each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome(u8);

impl Outcome {
    pub const FINISHED: Outcome = Outcome(1);

    const fn of(half: Half) -> Outcome {
        Outcome(match half {
            Half::Sending => 2,
            Half::Receiving => 4,
        })
    }
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub const fn has(self, what: Outcome) -> bool {
        self.0 & what.0 != 0
    }
    pub fn halves(self) -> impl Iterator<Item = Half> {
        [Half::Sending, Half::Receiving].into_iter().filter(move |half| self.has(Outcome::of(*half)))
    }
    fn add(&mut self, what: Outcome) {
        self.0 |= what.0;
    }
}

/// How a packet was received by a host that takes its time ([`Host`](crate::node::Host)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// How long it waited in the network card.
    pub waited: Time,
    /// Bytes that wait there behind it.
    pub held: u64,
    /// Bytes for which there is room.
    pub buffer: u64,
}

impl Received {
    /// How full the queue is behind it, in so many equal parts: the lowest is 0.
    pub fn level(&self, levels: u8) -> u8 {
        let level = u128::from(self.held) * u128::from(levels) / u128::from(self.buffer.max(1));
        level.min(u128::from(levels.saturating_sub(1))) as u8
    }
}

/// What an endpoint may reach during a call.
pub struct EndpointCtx<'a> {
    /// The time of this call.
    pub now: Time,
    /// The node it lives on.
    pub node: NodeId,
    /// Its flow.
    pub flow: FlowId,
    /// The node's random stream.
    pub rng: &'a mut Stream,
    /// What only this node knows: the key of initial sequence numbers and the like (RFC 6528, §3).
    pub secret: [u64; 2],
    /// What the node's endpoints share.
    pub shared: &'a mut Shared,
    /// The node's links, by port number.
    pub links: &'a [LinkInfo],
    /// On a host that takes its time: how it received the packet that this call is about.
    pub received: Option<&'a Received>,
    pub(crate) pool: &'a mut Pool,
    pub(crate) out: &'a mut VecDeque<(Way, Pkt)>,
    pub(crate) pokes: &'a mut Vec<FlowKey>,
    pub(crate) actions: &'a mut VecDeque<Action>,
    pub(crate) timer: &'a mut Time,
    pub(crate) outcome: &'a mut Outcome,
    /// Where the driver carries bytes: the application.
    pub(crate) application: Option<&'a mut Application>,
    /// What takes its place; `None` where it lives inside another one, which knows it by its type.
    pub(crate) successor: Option<&'a mut Option<Box<dyn Endpoint>>>,
}

impl EndpointCtx<'_> {
    /// Sends `packet` along the route to its destination.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        debug_assert_eq!(packet.size, packet.wire_size(), "a packet is as long as its encoding");
        let pkt = self.pool.insert(packet);
        self.out.push_back((Way::Routed, pkt));
    }
    /// The same with a payload of these bytes: they go with the packet, and are gone with it.
    pub fn send_carrying(&mut self, packet: Packet, payload: Payload) {
        debug_assert_eq!(packet.size, packet.wire_size(), "a packet is as long as its encoding");
        let pkt = self.pool.insert_with(&packet, Some(payload));
        self.out.push_back((Way::Routed, pkt));
    }
    /// The bytes that the packet carried which this call is about. They are handed over.
    pub fn payload(&mut self) -> Option<Payload> {
        self.pool.taken_payload()
    }
    /// The same with the payload that begins at the offset `at` of what the application sends.
    #[inline(always)]
    pub fn send_bytes(&mut self, packet: &Packet, at: u64) {
        debug_assert_eq!(packet.size, packet.wire_size(), "a packet is as long as its encoding");
        let pkt = self.pool.insert_copy(packet);
        if self.application.is_some() {
            self.note_made(&pkt, at);
        }
        self.out.push_back((Way::Routed, pkt));
    }

    #[cold]
    fn note_made(&mut self, pkt: &Pkt, at: u64) {
        if let Some(application) = &mut self.application
            && self.pool[pkt].payload > 0
        {
            application.made.push((pkt.id(), at));
        }
    }

    /// Notes an event of the scheme's own, as [`PortCtx::note`](super::PortCtx::note).
    #[inline]
    pub fn note(&mut self, what: &'static str, value: f64) {
        let place = NotePlace::Endpoint(self.flow);
        self.pool.note(|| Note { what, value, place, packet: None });
    }

    /// Whether there is an application: whether what is said of bytes is heard.
    #[inline]
    pub fn application(&self) -> bool {
        self.application.is_some()
    }
    /// What the application has handed over to be sent. `None` where there is none, and the flow's
    /// length is what its [`FlowSpec`](super::FlowSpec) says.
    #[inline]
    pub fn supply(&self) -> Option<Supply> {
        self.application.as_ref()?.supply
    }
    /// The offset up to which the application takes what arrives. `None` where there is none, and
    /// only the scheme's parameters bound that.
    #[inline]
    pub fn room(&self) -> Option<u64> {
        self.application.as_ref()?.room
    }
    /// Says that the payload of the packet that this call is about belongs at the offset `at` of
    /// what the application receives.
    #[inline]
    pub fn arrived(&mut self, at: u64) {
        if let Some(application) = &mut self.application {
            application.arrived = Some(at);
        }
    }
    /// Says that the other end has all that was sent below the offset `up_to`.
    #[inline]
    pub fn acknowledged(&mut self, up_to: u64) {
        if let Some(application) = &mut self.application {
            application.acknowledged = Some(up_to);
        }
    }
    /// Says that one direction of the flow is complete: nothing of it is left to be sent, or to come.
    pub fn completed(&mut self, half: Half) {
        self.outcome.add(Outcome::of(half));
    }
    /// Says that the flow is over for the application before it is complete, and why. The first
    /// reason counts.
    pub fn ended(&mut self, why: Ended) {
        if let Some(application) = &mut self.application {
            application.ended.get_or_insert(why);
        }
    }
    /// Sends `packet` out of one port of a multihomed host.
    pub fn send_via(&mut self, port: PortId, packet: Packet) {
        debug_assert_eq!(packet.size, packet.wire_size(), "a packet is as long as its encoding");
        let pkt = self.pool.insert(packet);
        self.out.push_back((Way::Port(port), pkt));
    }
    /// Asks for `on_timer` at `at` in place of any earlier wish. In the past means now. Cheap:
    /// re-arming later costs nothing until the old time comes.
    #[inline]
    pub fn set_timer(&mut self, at: Time) {
        *self.timer = at;
    }
    /// Withdraws the wish.
    #[inline]
    pub fn cancel_timer(&mut self) {
        *self.timer = Time::MAX;
    }
    /// Asks that another flow's endpoint on this node gets `on_timer` now, because what they share
    /// has changed.
    pub fn poke(&mut self, flow: FlowKey) {
        self.pokes.push(flow);
    }
    /// Has a port asked for a packet, because what it waited for has changed: a tunnel whose end this
    /// is has room again.
    pub fn kick(&mut self, port: PortId) {
        self.actions.push_back(Action::Kick(port));
    }
    /// Says that a packet has come out of the tunnel whose end this is: it comes in through `port`.
    pub fn came_in(&mut self, port: PortId, packet: Packet, payload: Option<Payload>) {
        let pkt = self.pool.insert_with(&packet, payload);
        self.actions.push_back(Action::Arrived(port, pkt));
    }
    /// Says that this endpoint needs no more calls; it is removed after this one.
    pub fn finish(&mut self) {
        self.outcome.add(Outcome::FINISHED);
    }
    /// Says that so many bytes of a flow have been delivered, for which somebody waits.
    pub fn delivered(&mut self, flow: FlowId, bytes: u64) {
        self.actions.push_back(Action::Delivered(flow, bytes));
    }
    /// Whether it has said so in this call.
    pub fn is_finished(&self) -> bool {
        self.outcome.has(Outcome::FINISHED)
    }
    /// Says that another endpoint, which needs less memory, may take this one's place after this
    /// call, with the timer as it is then. Where that is impossible this one stays.
    pub fn leave(&mut self, successor: impl FnOnce() -> Box<dyn Endpoint>) {
        if let Some(place) = &mut self.successor {
            **place = Some(successor());
        }
    }
    /// Where the packets begin that will be sent from now on in this call.
    pub fn mark(&self) -> usize {
        self.out.len()
    }
    /// Changes what has been sent in this call since a mark: an endpoint of several parts completes
    /// what one of them has made. Says how many packets that were.
    pub fn change_since(&mut self, mark: usize, mut each: impl FnMut(&mut Packet)) -> usize {
        self.out.range(mark..).for_each(|(_, pkt)| each(&mut self.pool[pkt]));
        self.out.len() - mark
    }
    /// Tells the application where the bytes of packets begin that have been sent in this call since a mark: an endpoint
    /// of several parts numbers what one of them has made.
    pub fn number_since(&mut self, mark: usize, mut at: impl FnMut(&Packet) -> Option<u64>) {
        let Some(application) = &mut self.application else { return };
        for (_, pkt) in self.out.range(mark..).filter(|(_, pkt)| self.pool[pkt].payload > 0) {
            application.made.extend(at(&self.pool[pkt]).map(|at| (pkt.id(), at)));
        }
    }
    /// Calls an endpoint that lives inside this one. What it asks for is written to `wishes` in
    /// place of being carried out. Each packet that it has sent then passes `each`, with what the
    /// call returned: it may change the packet, and says through which port that leaves.
    pub fn inside<R>(
        &mut self,
        wishes: &mut Wishes,
        call: impl FnOnce(&mut EndpointCtx<'_>) -> R,
        mut each: impl FnMut(&R, &mut Packet) -> Option<PortId>,
    ) -> R {
        let first = self.out.len();
        let result = self.supplied(wishes, None, call);
        for (way, pkt) in self.out.range_mut(first..) {
            *way = each(&result, &mut self.pool[&*pkt]).into();
        }
        result
    }
    /// Calls an endpoint that lives inside this one, which is its application. What it asks for is
    /// written to `wishes` in place of being carried out; what it sends is sent.
    pub fn supplied<R>(
        &mut self,
        wishes: &mut Wishes,
        application: Option<&mut Application>,
        call: impl FnOnce(&mut EndpointCtx<'_>) -> R,
    ) -> R {
        // What is complete of one inside another is not the flow: that one says when it is.
        let mut outcome = Outcome::default();
        let result = call(&mut EndpointCtx {
            now: self.now,
            node: self.node,
            flow: self.flow,
            rng: self.rng,
            secret: self.secret,
            shared: self.shared,
            links: self.links,
            received: self.received,
            pool: self.pool,
            out: self.out,
            pokes: self.pokes,
            actions: self.actions,
            timer: &mut wishes.timer,
            outcome: &mut outcome,
            successor: None,
            application,
        });
        wishes.finished |= outcome.has(Outcome::FINISHED);
        result
    }
}
