use std::collections::VecDeque;

use crate::packet::{NodeId, Packet, Pkt, Pool, PortId};
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

/// What waits at a port, the packet in transmission not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
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
    /// No route, or nobody there to take it.
    Undeliverable,
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

/// One interface of a node, both directions.
///
/// A port is *held*: it keeps its packets, and is asked for one whenever the transmitter is idle. A port that sends what comes in the order in which it
/// came, and decides all on arrival, may be a *timetable* instead: it says yes or no, and the node knows when each packet starts.
pub trait Port: Send {
    /// Whether it can be a timetable. Asked once; it is held all the same where the link changes, and under drivers that know no timetables.
    fn is_timetable(&self) -> bool {
        false
    }
    /// Called when a packet was routed to a timetable, in place of [`Port::outbound`]: whether it is taken, by the same rule. What waits before it is in
    /// [`PortCtx::booked`].
    fn admit(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        unreachable!("only ports that say so are timetables")
    }
    /// Called when a packet was routed here. Keep it for [`Port::poll_transmit`], give it to [`PortCtx::drop`], or hand it to a sibling.
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>);
    /// Called when the transmitter is idle: the next packet, which starts onto the wire now. Stamp it here.
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt>;
    /// Whether [`Port::inbound`] wants to be called. Asked once.
    fn watches_inbound(&self) -> bool {
        true
    }
    /// Called when a packet came in through this port, before it is routed.
    fn inbound(&mut self, pkt: Pkt, _ctx: &mut PortCtx<'_>) -> Inbound {
        Inbound::Forward(pkt)
    }
    /// Called when the time last given to [`PortCtx::wake_at`] has come.
    fn on_timer(&mut self, _ctx: &mut PortCtx<'_>) {}
    /// Called when the rate changed or the link came back. The new rate is in the context.
    fn on_link(&mut self, _ctx: &mut PortCtx<'_>) {}
    /// What it holds.
    fn backlog(&self) -> Backlog;
    /// Called when the node restarts: drop everything held, forget everything known.
    fn reset(&mut self, ctx: &mut PortCtx<'_>);
    /// A number to plot over time besides the backlog (a price, a state, a rate), with its name.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
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
    /// Ask this sibling for a packet, if its transmitter is idle: what it waited for has changed.
    Kick(PortId),
}

/// What the ports of one node tell each other: a few words per port, read by siblings and by the forwarder, and letters
/// from one port to another.
#[derive(Debug, Clone, Default)]
pub struct Board {
    words: Vec<[u64; 4]>,
    letters: Vec<VecDeque<[u64; 4]>>,
}

/// Letters that wait for one port at most; the oldest goes for a new one. A port that reads looks every few milliseconds.
const MAX_LETTERS: usize = 256;

impl Board {
    /// A board for `ports` ports, all zero.
    pub fn new(ports: usize) -> Board {
        Board { words: vec![[0; 4]; ports], letters: vec![VecDeque::new(); ports] }
    }
    /// What `port` has published.
    pub fn read(&self, port: PortId) -> [u64; 4] {
        self.words[usize::from(port.0)]
    }
    pub(crate) fn write(&mut self, port: PortId, words: [u64; 4]) {
        self.words[usize::from(port.0)] = words;
    }
    fn post(&mut self, port: PortId, words: [u64; 4]) {
        let Some(letters) = self.letters.get_mut(usize::from(port.0)) else { return };
        if letters.len() == MAX_LETTERS {
            letters.pop_front();
        }
        letters.push_back(words);
    }
    fn take(&mut self, port: PortId) -> Option<[u64; 4]> {
        self.letters[usize::from(port.0)].pop_front()
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
    /// What waits on a timetable; nothing where the port is held, for that knows itself what it holds.
    pub booked: Backlog,
    pub(crate) board: &'a mut Board,
    pub(crate) actions: &'a mut VecDeque<Action>,
    pub(crate) timer: &'a mut Time,
    pub(crate) marks: &'a mut u64,
}

impl PortCtx<'_> {
    /// The link behind this port.
    pub fn link(&self) -> LinkInfo {
        self.links[usize::from(self.me.0)]
    }
    /// Ends a packet here.
    pub fn drop(&mut self, pkt: Pkt, why: Drop) {
        self.actions.push_back(Action::Drop(self.me, pkt, why));
    }
    /// Sets CE on a packet and counts it.
    pub fn mark(&mut self, pkt: &Pkt) {
        self.pool[pkt].ecn = crate::packet::Ecn::Ce;
        *self.marks += 1;
    }
    /// Sends a held packet through a sibling port.
    pub fn sibling(&mut self, port: PortId, pkt: Pkt) {
        self.actions.push_back(Action::Sibling(port, pkt));
    }
    /// Sends a new packet through a port of this node: control packets between neighbours.
    pub fn emit(&mut self, port: PortId, packet: Packet) {
        let pkt = self.pool.insert(packet);
        self.actions.push_back(Action::Sibling(port, pkt));
    }
    /// Sends a new packet along the route to its destination.
    pub fn route(&mut self, packet: Packet) {
        let pkt = self.pool.insert(packet);
        self.actions.push_back(Action::Route(pkt));
    }
    /// Has a sibling asked for a packet, because what it waited for has changed.
    pub fn kick(&mut self, port: PortId) {
        self.actions.push_back(Action::Kick(port));
    }
    /// Asks for `on_timer` at `at`, in place of any earlier wish; [`Time::MAX`] withdraws it.
    pub fn wake_at(&mut self, at: Time) {
        *self.timer = at;
    }
    /// Publishes this port's words to its siblings and the forwarder.
    pub fn publish(&mut self, words: [u64; 4]) {
        self.board.write(self.me, words);
    }
    /// What a sibling has published.
    pub fn published(&self, port: PortId) -> [u64; 4] {
        self.board.read(port)
    }
    /// Leaves four words for one sibling, which finds them when it next looks: nobody is called.
    pub fn post(&mut self, port: PortId, words: [u64; 4]) {
        self.board.post(port, words);
    }
    /// The next letter to this port, oldest first.
    pub fn letter(&mut self) -> Option<[u64; 4]> {
        self.board.take(self.me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_arrive_in_order_and_are_bounded() {
        let mut board = Board::new(2);
        (0..300).for_each(|i| board.post(PortId(1), [i, 0, 0, 0]));
        board.post(PortId(9), [0; 4]);
        assert_eq!(board.take(PortId(0)), None);
        let got: Vec<u64> = std::iter::from_fn(|| board.take(PortId(1))).map(|w| w[0]).collect();
        assert_eq!(got, (44..300).collect::<Vec<_>>());
    }
}
