//! The border of a domain (§V-B): plain TCP is carried through it as INRPP, and where it came in its sender is slowed down by the window
//! that its ACKs advertise.
//!
//! The first INRPP router puts the option on, the last one takes it off. In between such a flow is INRPP's: custody, closed loops, detours.
//! Where a native sender would be asked to slow down, "an ingress router reduces the receive window size of ack packets".
//!
//! **The window.** A receiver's right edge must not move left (RFC 9293, §3.8.6), so an edge that has been let run far ahead could never be of use.
//! The edge is therefore kept near: as far beyond the data seen as the sender may want to go with its next window. When the ingress interface
//! asks to slow down, the edge moves on by what is acknowledged, as one packet follows each ACK in a closed loop; by twice that, or not at all, where the
//! interface steers. It is never beyond the receiver's own, never left of what has been said, never less than a segment ahead.

use midpath_core::packet::{Flags, FlowId, Kind, NodeId, Options, Packet};
use rustc_hash::FxHashMap;

use super::header::{Direction, InrppHeader, Nonce, Nonces, SIZE, Slow};

/// Flows that a border remembers: twice as many at most. Those not heard of for longest are forgotten, and their windows pass as they are. Ours.
const MAX_FLOWS: usize = 1 << 15;

/// Packets that one ACK releases at most. Ours: far above what delayed ACKs stand for (RFC 9293, §3.8.6.3: two).
const MAX_RELEASES: u64 = 64;

/// The initial window of RFC 6928: ten segments, or 14,600 bytes.
const INITIAL: u64 = 14_600;

/// A segment's payload before one has been seen: Ethernet's 1500 bytes less IPv4 and TCP.
const SEGMENT: u64 = 1460;

/// The most in flight during this round trip and the last.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    now: u64,
    before: u64,
    /// The round trip is over when this is acknowledged.
    until: u64,
}

impl Flight {
    fn sent(&mut self, flight: u64) {
        self.now = self.now.max(flight);
    }

    fn acked(&mut self, ack: u64, nxt: u64) {
        if ack >= self.until {
            *self = Flight { now: nxt.saturating_sub(ack), before: self.now, until: nxt.saturating_add(1) };
        }
    }

    fn most(&self) -> u64 {
        self.now.max(self.before)
    }
}

/// What is known of a flow.
#[derive(Debug, Clone, Default)]
struct Carried {
    sender: NodeId,
    /// Largest payload seen.
    mss: u64,
    /// One past the last byte seen.
    nxt: u64,
    /// Highest acknowledgement seen, and duplicates of it.
    acked: u64,
    dups: u64,
    flight: Flight,
    /// The right edge that the sender has been told. `None` where the flow was not seen from its beginning and no ACK yet.
    edge: Option<u64>,
    /// In closed loop: where the edge should be.
    goal: Option<u64>,
    /// Nonces for the data to carry, as a native sender would echo them.
    echo: Nonces,
    /// What ports have put on the data, for the ACKs, as a native receiver would echo it.
    far: (Option<Nonce>, Option<Nonce>),
}

impl Carried {
    /// What one packet from the sender tells.
    fn see(&mut self, packet: &Packet) {
        self.mss = self.mss.max(packet.payload.into());
        self.nxt = self.nxt.max(packet.seq.saturating_add(packet.payload.into()));
        self.flight.sent(self.nxt.saturating_sub(self.acked));
    }

    /// How many packets an ACK says to have left: receivers delay ACKs, and in closed loop each packet that leaves makes room for one.
    fn releases(&mut self, ack: u64) -> u8 {
        let news = ack.saturating_sub(self.acked).div_ceil(self.mss.max(1));
        self.acked = self.acked.max(ack);
        if news == 0 {
            self.dups += 1;
            return 1;
        }
        let dups = std::mem::take(&mut self.dups);
        news.saturating_sub(dups).clamp(1, MAX_RELEASES) as u8
    }

    /// The window to advertise.
    fn window(&mut self, packet: &Packet, slow: Option<Slow>, stored: bool) -> u64 {
        let own = packet.ack.saturating_add(packet.window);
        let Some(told) = self.edge else {
            self.edge = Some(own);
            return packet.window;
        };
        let news = packet.ack.saturating_sub(self.acked);
        self.acked = self.acked.max(packet.ack);
        self.flight.acked(self.acked, self.nxt);
        let target = match slow {
            Some(slow) => {
                let moves = if packet.flags.has(Flags::SYN) {
                    u64::from(slow.release) * SEGMENT // a handshake's request is the window to begin with
                } else {
                    news.saturating_mul(slow.release.into())
                };
                *self.goal.insert(self.goal.map_or(self.nxt, |g| g.saturating_add(moves)))
            }
            None => {
                self.goal = None;
                // Slow start sends two for one: twice what was in flight in a round trip, and a little, is never the limit. While the
                // ingress stores, more than its interface can send would come: the little alone.
                let little = INITIAL.max(10 * self.mss);
                let near = self.nxt.saturating_add(little);
                let twice = self.flight.most().saturating_mul(2);
                if stored { near } else { near.max(packet.ack.saturating_add(twice).saturating_add(little)) }
            }
        };
        let edge = target.max(told).max(packet.ack.saturating_add(self.mss)).min(own);
        self.edge = Some(told.max(edge));
        edge - packet.ack
    }
}

/// A border port's memory of the flows that it has carried.
#[derive(Debug, Default)]
pub struct Border {
    /// Whether windows are rewritten.
    rewrites: bool,
    young: FxHashMap<FlowId, Carried>,
    old: FxHashMap<FlowId, Carried>,
    /// ACKs whose window was lowered.
    pub lowered: u64,
}

impl Border {
    /// A border port that has seen nothing.
    pub fn new(rewrites: bool) -> Border {
        Border { rewrites, ..Border::default() }
    }

    /// What is known of a flow, if anything.
    fn find(&mut self, flow: FlowId) -> Option<&mut Carried> {
        if !self.young.contains_key(&flow) {
            let known = self.old.remove(&flow)?;
            self.keep(flow, known);
        }
        self.young.get_mut(&flow)
    }

    fn keep(&mut self, flow: FlowId, carried: Carried) {
        if self.young.len() >= MAX_FLOWS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(flow, carried);
    }

    /// A packet of the sender has been seen: data, or the SYN that a flow is seen from its beginning by.
    fn see(&mut self, packet: &Packet) -> Option<&mut Carried> {
        if self.find(packet.flow).is_none() {
            let edge = packet.flags.has(Flags::SYN).then_some(0);
            self.keep(packet.flow, Carried { sender: packet.src, edge, ..Carried::default() });
        }
        let carried = self.find(packet.flow).filter(|c| c.sender == packet.src)?;
        carried.see(packet);
        Some(carried)
    }

    /// A packet comes into the domain: a TCP segment becomes INRPP's, around whatever other header it carries.
    pub fn enter(&mut self, packet: &mut Packet) {
        if packet.kind != Kind::Segment || packet.carries::<InrppHeader>() {
            return;
        }
        let opens = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        if packet.options.has(Options::MSS) {
            packet.mss = packet.mss.saturating_sub(SIZE as u16); // what comes back must have room for the header
        }
        let mut option = InrppHeader { carried: true, ..InrppHeader::default() };
        if packet.payload > 0 || opens {
            if let Some(carried) = self.see(packet) {
                option.nonces = carried.echo;
            }
        } else {
            // Which way an ACK goes shows by who sends the data. Of a flow that nobody knows it stays what it is.
            let Some(carried) = self.find(packet.flow) else { return };
            if packet.src != carried.sender {
                option.direction = Direction::Ack;
                option.releases = if packet.flags.has(Flags::SYN) { 1 } else { carried.releases(packet.ack) };
                (option.far_slow, option.far_cancel) = std::mem::take(&mut carried.far);
            }
        }
        packet.set_header(&option);
    }

    /// A packet leaves the domain.
    pub fn leave(&mut self, packet: &mut Packet) {
        let Some(option) = packet.header::<InrppHeader>().filter(|o| o.carried) else { return };
        packet.take_header::<InrppHeader>();
        if option.direction == Direction::Ack {
            return self.shape(packet, &option);
        }
        if (packet.payload > 0 || packet.flags.has(Flags::SYN))
            && let Some(carried) = self.see(packet)
        {
            let (slow, cancel) = carried.far;
            carried.far = (option.far_slow.or(slow), option.far_cancel.or(cancel));
        }
    }

    /// An ACK on its way to the sender, which knows no notifications.
    fn shape(&mut self, packet: &mut Packet, option: &InrppHeader) {
        let rewrites = self.rewrites;
        let Some(carried) = self.find(packet.flow).filter(|c| c.sender == packet.dst) else { return };
        option.nonces.iter().for_each(|n| carried.echo.add(n));
        option.cancel.into_iter().for_each(|n| carried.echo.remove(n));
        if !rewrites || !packet.flags.has(Flags::ACK) {
            return;
        }
        let far = option.far_slow.map(|nonce| Slow { nonce, release: 1 });
        let window = carried.window(packet, option.slow.or(far), option.stored);
        self.lowered += u64::from(window < packet.window);
        packet.window = window;
    }

    /// Forgets all but what has been counted.
    pub fn clear(&mut self) {
        (self.young, self.old) = Default::default();
    }

    /// Flows remembered.
    pub fn flows(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
