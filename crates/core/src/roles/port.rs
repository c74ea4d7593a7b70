use std::any::Any;
use std::collections::VecDeque;

use super::HopCtx;
use crate::limit::Backlog;
use crate::packet::{FlowId, NodeId, Note, NotePlace, Packet, PacketId, Pkt, Pool, PortId, Trim};
use crate::rng::Stream;
use crate::units::{Rate, Time};

/// The link behind a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkInfo {
    /// Transmission rate of this port.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Largest packet, IP header included.
    pub mtu: u32,
    /// The node on the other end.
    pub peer: NodeId,
}

/// A port's transmitter, as whoever drives the node sees it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmitter {
    /// It can take a packet, and has been able to since then.
    Idle {
        /// Since when.
        since: Time,
    },
    /// It sends, or cannot send.
    Busy {
        /// When it is to be asked again; `None` if the driver comes back by itself.
        until: Option<Time>,
    },
}

impl Transmitter {
    /// Whether it can take no packet now.
    #[inline]
    pub const fn is_busy(self) -> bool {
        matches!(self, Transmitter::Busy { .. })
    }
    /// Since when it has been idle, if it is.
    #[inline]
    pub const fn idle_since(self) -> Option<Time> {
        match self {
            Transmitter::Idle { since } => Some(since),
            Transmitter::Busy { .. } => None,
        }
    }
}

/// Why a packet ended before its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// No room.
    Queue,
    /// Active queue management chose it.
    Aqm,
    /// The link or node was down.
    Fault,
    /// A scheme's policy refused it (a policer, a forged notification).
    Policy,
    /// It is larger than the link's MTU.
    TooBig,
    /// It had no hops left: a loop.
    Hops,
    /// Nobody is there to take it.
    Undeliverable,
    /// There is no way to its destination.
    NoRoute,
}

/// What becomes of a packet that came in through a port.
#[derive(Debug, PartialEq, Eq)]
pub enum Inbound {
    /// It is routed on.
    Forward(Pkt),
    /// The port has used it up; the node frees it.
    Consume(Pkt),
    /// The port refuses it; the node counts and frees it.
    Drop(Pkt, Drop),
    /// The port keeps it, and counts it in its backlog.
    Keep,
}

/// One interface of a node, both directions: it keeps its packets, and is asked for one whenever the
/// transmitter is idle. Two kinds are asked more: [`Timetable`](super::Timetable) and
/// [`CutThrough`](super::CutThrough).
pub trait Port: Send {
    /// Called when a packet was routed here. Keep it for [`Port::poll_transmit`], give it to
    /// [`PortCtx::drop`], or hand it to a sibling.
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>);
    /// Called when the transmitter is idle: the next packet, which starts onto the wire now. Stamp
    /// it here.
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt>;
    /// Called when a packet came in through this port, before it is routed.
    fn inbound(&mut self, pkt: Pkt, _ctx: &mut PortCtx<'_>) -> Inbound {
        Inbound::Forward(pkt)
    }
    /// Whether [`Port::inbound`] wants to be called. Asked once.
    fn watches_inbound(&self) -> bool {
        true
    }
    /// Whether it may mark packets that it has sent ([`PortCtx::mark_sent`]). Asked once.
    fn marks_sent(&self) -> bool {
        false
    }
    /// Called when a packet that came in through a sibling was handed over to this port
    /// ([`PortCtx::hand_over`]), before it is routed: what [`Port::inbound`] does, of a packet that
    /// the sibling vouches for.
    fn handed_over(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.inbound(pkt, ctx)
    }
    /// Called when the time last given to [`PortCtx::wake_at`] or [`PortCtx::wake_in_background`]
    /// has come: do all that is due.
    fn on_timer(&mut self, _ctx: &mut PortCtx<'_>) {}
    /// Called when the rate changed or the link came back. The new rate is in the context.
    fn on_link(&mut self, _ctx: &mut PortCtx<'_>) {}
    /// What it holds.
    fn backlog(&self) -> Backlog;
    /// Called when the node restarts: drop everything held, forget everything known.
    fn reset(&mut self, ctx: &mut PortCtx<'_>);
    /// A number to plot over time besides the backlog (a price, a state, a rate), with its name.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
    /// Called when a run is over: what its user should know about this port, a sentence each. The
    /// same words for the same cause, without numbers, for a result names each sentence once, with
    /// its ports.
    fn warnings(&self, _out: &mut Vec<String>) {}
}

/// A wish that a port leaves with its node.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Offer the packet to a sibling port's `outbound`.
    Sibling(PortId, Pkt),
    /// Route the packet as if an endpoint here had sent it.
    Route(Pkt),
    /// The packet ends at this port.
    Drop(PortId, Pkt, Drop),
    /// The forwarder gets the packet as if it had come in through this port.
    Back(PortId, Pkt),
    /// A sibling port looks at the packet, which goes on as if it had come in there.
    HandOver(PortId, Pkt),
    /// The packet is used up.
    Consume(Pkt),
    /// Wake this port in the background then.
    Background(PortId, Time),
    /// Ask this sibling for a packet, if its transmitter is idle: what it waited for has changed.
    Kick(PortId),
    /// The packet has left this port through a tunnel: it counts as sent, and is used up.
    Carried(PortId, Pkt),
    /// Wake the end of this flow here now.
    Poke(FlowId),
    /// So many bytes of this flow have been delivered, for which somebody waits.
    Delivered(FlowId, u64),
    /// The packet has come in through this port, out of a tunnel.
    Arrived(PortId, Pkt),
}

impl Action {
    /// The packet that it is about.
    pub(crate) fn packet(&self) -> Option<&Pkt> {
        match self {
            Action::Sibling(_, pkt)
            | Action::Route(pkt)
            | Action::Drop(_, pkt, _)
            | Action::Back(_, pkt)
            | Action::HandOver(_, pkt)
            | Action::Consume(pkt)
            | Action::Carried(_, pkt)
            | Action::Arrived(_, pkt) => Some(pkt),
            Action::Background(..) | Action::Kick(_) | Action::Poke(_) | Action::Delivered(..) => None,
        }
    }
}

/// What a port may reach during a call. A timetable has no timer.
pub struct PortCtx<'a> {
    /// The time of this call.
    pub now: Time,
    /// The node.
    pub node: NodeId,
    /// This port.
    pub me: PortId,
    /// The node's links, by port number.
    pub links: &'a [LinkInfo],
    /// The packets.
    pub pool: &'a mut Pool,
    /// The node's random stream.
    pub rng: &'a mut Stream,
    /// The state of this port's transmitter.
    pub transmitter: Transmitter,
    /// What waits on a timetable; nothing where the port is held, for that knows itself what it
    /// holds.
    pub booked: Backlog,
    /// Whether the queue that is called is of a lossless class ([`pfc`](crate::pfc)): no AQM drops there.
    pub lossless: bool,
    /// The rates of the links' other directions; none where links are as fast both ways.
    pub(crate) reverse: &'a [Rate],
    pub(crate) state: Option<&'a mut (dyn Any + Send)>,
    pub(crate) actions: &'a mut VecDeque<Action>,
    pub(crate) timer: &'a mut Time,
    pub(crate) marks: &'a mut u64,
    pub(crate) trims: &'a mut u64,
    pub(crate) sent: &'a mut SentMark,
}

/// Whether a packet that has been sent can be marked, and which one is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentMark {
    /// The driver cannot: a packet that has begun is out of reach.
    Never,
    /// None is.
    No,
    /// This one.
    Yes(PacketId),
}

impl SentMark {
    /// Which one.
    #[inline]
    pub fn packet(self) -> Option<PacketId> {
        match self {
            SentMark::Yes(id) => Some(id),
            SentMark::Never | SentMark::No => None,
        }
    }
}

/// The rate at which the neighbour of a port sends to it; `reverse` has nothing where that is the link's own.
#[inline]
pub(crate) fn sent_back(reverse: &[Rate], port: PortId, link: &LinkInfo) -> Rate {
    reverse.get(usize::from(port.0)).copied().unwrap_or(link.rate)
}

impl PortCtx<'_> {
    /// The link behind this port.
    pub fn link(&self) -> LinkInfo {
        self.links[usize::from(self.me.0)]
    }
    /// The rate at which the neighbour sends to this port.
    pub fn reverse(&self) -> Rate {
        sent_back(self.reverse, self.me, &self.links[usize::from(self.me.0)])
    }
    /// What a packet that passes through needs of this.
    pub fn hop(&mut self) -> HopCtx<'_> {
        let link = &self.links[usize::from(self.me.0)];
        let reverse = sent_back(self.reverse, self.me, link);
        let (state, timer) = (self.state.as_deref_mut(), &mut *self.timer);
        HopCtx { now: self.now, me: self.me, link, reverse, pool: self.pool, state, timer }
    }
    /// Ends a packet here.
    pub fn drop(&mut self, pkt: Pkt, why: Drop) {
        self.actions.push_back(Action::Drop(self.me, pkt, why));
    }
    /// Gives a packet back to the forwarder, which gets it as if it had come in through this port:
    /// an Interest that finds no room, as a Nack.
    pub fn hand_back(&mut self, pkt: Pkt) {
        self.actions.push_back(Action::Back(self.me, pkt));
    }
    /// Sends a packet back to where it comes from: a header that finds no room (NDP).
    pub fn return_to_sender(&mut self, pkt: Pkt) {
        self.note("returned", f64::NAN, Some(&pkt));
        let packet = &mut self.pool[&pkt];
        (packet.src, packet.dst) = (packet.dst, packet.src);
        packet.interfaces = packet.interfaces.reversed();
        packet.trim = Trim::Returned;
        self.hand_back(pkt);
    }
    /// Lets a sibling port look at a packet that came in through this one ([`Port::handed_over`]):
    /// an ACK that came around the link of its data. This port then answers [`Inbound::Keep`].
    pub fn hand_over(&mut self, port: PortId, pkt: Pkt) {
        self.actions.push_back(Action::HandOver(port, pkt));
    }
    /// Uses a packet up. It counts as consumed, not as dropped.
    pub fn consume(&mut self, pkt: Pkt) {
        self.actions.push_back(Action::Consume(pkt));
    }
    /// Notes an event of the scheme's own for who traces the run, with a number and the packet that it
    /// is about. Elsewhere it costs a branch.
    #[inline]
    pub fn note(&mut self, what: &'static str, value: f64, pkt: Option<&Pkt>) {
        let (place, packet) = (NotePlace::Port(self.me), pkt.map(Pkt::id));
        self.pool.note(|| Note { what, value, place, packet });
    }
    /// Sets CE on a packet and counts it.
    pub fn mark(&mut self, pkt: &Pkt) {
        self.pool[pkt].ecn = crate::packet::Ecn::Ce;
        *self.marks += 1;
    }
    /// Whether [`PortCtx::mark_sent`] does something: drivers on real packets and links that gather packets or let them go
    /// at other times than their rate says cannot mark what has begun.
    #[inline]
    pub fn can_mark_sent(&self) -> bool {
        *self.sent != SentMark::Never
    }
    /// In [`Port::poll_transmit`]: sets CE on the packet that was begun last and has been sent now.
    pub fn mark_sent(&mut self, id: PacketId) {
        debug_assert!(self.can_mark_sent());
        *self.sent = SentMark::Yes(id);
    }
    /// Cuts a packet's payload off and counts it; `at_last_hop` if the link leads to its destination.
    pub fn trim(&mut self, pkt: &Pkt, at_last_hop: bool) {
        self.note("trimmed", f64::from(self.pool[pkt].payload), Some(pkt));
        self.pool.trim(pkt, at_last_hop);
        *self.trims += 1;
    }
    /// Sends a held packet through a sibling port.
    pub fn sibling(&mut self, port: PortId, pkt: Pkt) {
        self.actions.push_back(Action::Sibling(port, pkt));
    }
    /// Sends a new packet through a port of this node: control packets between neighbours.
    pub fn emit(&mut self, port: PortId, packet: Packet) {
        debug_assert_eq!(packet.size, packet.wire_size(), "a packet is as long as its encoding");
        let pkt = self.pool.insert(packet);
        self.pool[&pkt].queued = self.now;
        self.actions.push_back(Action::Sibling(port, pkt));
    }
    /// Sends a new packet along the route to its destination, which may be an end on this node.
    pub fn route(&mut self, packet: Packet) {
        let pkt = self.pool.insert(packet);
        self.actions.push_back(Action::Route(pkt));
    }
    /// Has a sibling asked for a packet, because what it waited for has changed.
    pub fn kick(&mut self, port: PortId) {
        self.actions.push_back(Action::Kick(port));
    }
    /// Says that a packet has left through a tunnel whose end here is that of `flow`: it counts as
    /// sent by this port and is used up, and the end gets [`Endpoint::on_timer`] now.
    ///
    /// [`Endpoint::on_timer`]: super::Endpoint::on_timer
    pub fn carried(&mut self, pkt: Pkt, flow: FlowId) {
        self.actions.push_back(Action::Carried(self.me, pkt));
        self.actions.push_back(Action::Poke(flow));
    }
    /// Asks for `on_timer` at `at`, in place of any earlier wish; [`Time::MAX`] withdraws it.
    pub fn wake_at(&mut self, at: Time) {
        *self.timer = at;
    }
    /// The same for housekeeping (ageing, hellos): such a wish does not keep a run from ending. It
    /// stands beside that of [`PortCtx::wake_at`].
    pub fn wake_in_background(&mut self, at: Time) {
        self.actions.push_back(Action::Background(self.me, at));
    }
    /// What the ports and the forwarder of this instance share on this node: what
    /// [`Network::state`](super::Network::state) made.
    ///
    /// # Panics
    /// If that was of another type, or nothing.
    pub fn state<T: Any>(&mut self) -> &mut T {
        self.state.as_deref_mut().and_then(|s| s.downcast_mut()).expect(SHARED)
    }
    /// The same, to look at.
    ///
    /// # Panics
    /// As [`PortCtx::state`].
    pub fn shared<T: Any>(&self) -> &T {
        self.state.as_deref().and_then(|s| s.downcast_ref()).expect(SHARED)
    }
}

/// What a scheme that asks for another type has got wrong.
pub(super) const SHARED: &str = "the network scheme's `state` has this type";
