//! The border of a domain (§V-B): plain TCP is carried through it as INRPP, and the ingress slows down its sender by
//! the window advertised in its ACKs.
//!
//! The first INRPP router adds the option, the last one removes it. In between the flow is treated as INRPP:
//! custody, closed loops, detours. Where a native sender would be asked to slow down, "an ingress router reduces the
//! receive window size of ack packets".
//!
//! **The window.** A receiver's right edge must not move left (RFC 9293, §3.8.6), so an edge far ahead would be
//! useless. The edge is therefore kept near: beyond the data seen by at most the sender's next window. When the
//! ingress interface asks to slow down, the edge moves on by what is acknowledged, as one packet follows each ACK in
//! a closed loop; by twice that, or not at all, where the interface steers. It never exceeds the receiver's edge,
//! never moves left, and is at least a segment ahead.
//!
//! Only SYNs carry the window scale (RFC 7323, §2.2). For a flow whose SYN it has not seen, a border leaves the
//! windows unchanged.

use midpath_core::packet::{Flags, FlowId, Kind, NodeId, Options, Packet, Sequence};
use rustc_hash::FxHashMap;

use super::header::{Direction, InrppHeader, Nonce, Nonces, Slow};

/// Flows that a border remembers: twice as many at most. Those not heard of for longest are
/// forgotten, and their windows pass as they are. Ours.
const MAX_FLOWS: usize = 1 << 15;

/// Packets that one ACK releases at most. Ours: far above what delayed ACKs stand for (RFC 9293,
/// §3.8.6.3: two).
const MAX_RELEASES: u64 = 64;

/// The initial window of RFC 6928: ten segments, or 14,600 bytes.
const INITIAL: u64 = 14_600;

/// The offset of the first byte seen of a flow that was under way before: what comes before it must
/// have one, too.
const MIDWAY: u64 = 1 << 31;

/// The largest shift of a window (RFC 7323, §2.3).
const MAX_SCALE: u8 = 14;

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
    /// Where the sender's numbers begin. What follows are offsets.
    data: Sequence,
    /// Whether the SYN offers to scale windows, and what the SYN-ACK has made of that; `None` until
    /// it has come.
    offers: bool,
    scale: Option<u8>,
    /// Largest payload seen.
    mss: u64,
    /// One past the last byte seen.
    nxt: u64,
    /// Highest acknowledgement seen, and duplicates of it.
    acked: u64,
    dups: u64,
    flight: Flight,
    /// The right edge that the sender has been told.
    edge: u64,
    /// In closed loop: where the edge should be.
    goal: Option<u64>,
    /// Nonces for the data to carry, as a native sender would echo them.
    echo: Nonces,
    /// What ports have put on the data, for the ACKs, as a native receiver would echo it.
    far: (Option<Nonce>, Option<Nonce>),
}

impl Carried {
    /// A flow of which this packet of its sender is the first that has been seen.
    fn new(packet: &Packet) -> Carried {
        let sender = packet.src;
        if packet.flags.has(Flags::SYN) {
            let offers = packet.options.has(Options::WINDOW_SCALE);
            return Carried { sender, data: Sequence::after_syn(packet.seq), offers, ..Carried::default() };
        }
        Carried { sender, data: Sequence::with(packet.seq, MIDWAY), nxt: MIDWAY, acked: MIDWAY, ..Carried::default() }
    }

    /// What one packet from the sender tells.
    fn see(&mut self, packet: &Packet) {
        self.mss = self.mss.max(packet.payload.into());
        if let Some(from) = self.data.offset(packet.seq, self.nxt) {
            self.nxt = self.nxt.max(from + u64::from(packet.payload));
        }
        self.flight.sent(self.nxt.saturating_sub(self.acked));
    }

    /// What an ACK acknowledges.
    fn ack_of(&self, packet: &Packet) -> u64 {
        self.data.offset(packet.ack, self.acked).unwrap_or(0)
    }

    /// What the windows of a packet's sender are to be shifted by; `None` if nobody knows.
    fn scale_of(&mut self, packet: &Packet) -> Option<u8> {
        if packet.flags.has(Flags::SYN) {
            let both = self.offers && packet.options.has(Options::WINDOW_SCALE);
            self.scale = Some(if both { packet.window_scale.min(MAX_SCALE) } else { 0 });
            return Some(0);
        }
        self.scale
    }

    /// How many packets an ACK says to have left: receivers delay ACKs, and in closed loop each
    /// packet that leaves makes room for one.
    fn releases(&mut self, ack: u64) -> u8 {
        let acked = ack.saturating_sub(self.acked).div_ceil(self.mss.max(1));
        self.acked = self.acked.max(ack);
        if acked == 0 {
            self.dups += 1;
            return 1;
        }
        let dups = std::mem::take(&mut self.dups);
        acked.saturating_sub(dups).clamp(1, MAX_RELEASES) as u8
    }

    /// The window to advertise.
    fn window(&mut self, packet: &Packet, slow: Option<Slow>, stored: bool) -> u16 {
        let Some(scale) = self.scale_of(packet) else { return packet.window };
        let (ack, advertised) = (self.ack_of(packet), self.edge);
        let receivers = ack + (u64::from(packet.window) << scale);
        let acked = ack.saturating_sub(self.acked);
        self.acked = self.acked.max(ack);
        self.flight.acked(self.acked, self.nxt);
        let target = match slow {
            Some(slow) => {
                let moves = if packet.flags.has(Flags::SYN) {
                    u64::from(slow.release) * SEGMENT // a handshake's request is the window to begin with
                } else {
                    acked.saturating_mul(slow.release.into())
                };
                *self.goal.insert(self.goal.map_or(self.nxt, |g| g.saturating_add(moves)))
            }
            None => {
                self.goal = None;
                // Slow start sends two for one: twice what was in flight in a round trip, and a
                // little, is never the limit. While the ingress stores, more than its interface can
                // send would come: the little alone.
                let little = INITIAL.max(10 * self.mss);
                let near = self.nxt.saturating_add(little);
                let twice = self.flight.most().saturating_mul(2);
                if stored { near } else { near.max(ack.saturating_add(twice).saturating_add(little)) }
            }
        };
        let edge = target.max(advertised).max(ack + self.mss).min(receivers);
        self.edge = advertised.max(edge);
        // In whole units: not beyond the edge, but room for a segment there must be.
        let units = (edge - ack) >> scale;
        let least = self.mss.div_ceil(1 << scale);
        units.max(least).min(packet.window.into()) as u16
    }
}

/// A border port's memory of the flows that it has carried.
#[derive(Debug, Default)]
pub struct Border {
    /// What it puts on packets, bytes, and ports further in may.
    header: u32,
    young: FxHashMap<FlowId, Carried>,
    old: FxHashMap<FlowId, Carried>,
    /// ACKs whose window was lowered.
    pub lowered: u64,
}

impl Border {
    /// A border port that has seen nothing, of a domain whose headers take up to `header` bytes.
    pub fn new(header: u32) -> Border {
        Border { header, ..Border::default() }
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

    /// A packet of the sender has been seen: data, or the SYN that a flow is seen from its
    /// beginning by.
    fn see(&mut self, packet: &Packet) -> Option<&mut Carried> {
        // A SYN with another number opens another connection between the same ports.
        let again = |c: &mut Carried| packet.flags.has(Flags::SYN) && c.data.isn() != packet.seq;
        if self.find(packet.flow).is_none_or(again) {
            self.keep(packet.flow, Carried::new(packet));
        }
        let carried = self.find(packet.flow).filter(|c| c.sender == packet.src)?;
        carried.see(packet);
        Some(carried)
    }

    /// A packet comes into the domain, whose links take packets of `mtu` bytes: a TCP segment
    /// becomes INRPP's, around whatever other header it carries. One that would be too long with
    /// another header stays what it is: its sender has not heard a SYN that crossed a border, and
    /// knows nothing of headers. It goes beside INRPP's packets, as where TCP is not carried.
    pub fn enter(&mut self, packet: &mut Packet, mtu: u32) {
        if packet.kind != Kind::Segment || packet.carries::<InrppHeader>() || packet.size + self.header > mtu {
            return;
        }
        let opens = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        if packet.options.has(Options::MSS) {
            packet.mss = packet.mss.saturating_sub(self.header as u16); // what comes back must have room for the header
        }
        let mut option = InrppHeader { carried: true, ..InrppHeader::default() };
        if packet.payload > 0 || opens {
            if let Some(carried) = self.see(packet) {
                option.nonces = carried.echo;
            }
        } else {
            // Which way an ACK goes shows by who sends the data. Of a flow that nobody knows it
            // stays what it is.
            let Some(carried) = self.find(packet.flow) else { return };
            if packet.src != carried.sender {
                option.direction = Direction::Ack;
                option.releases =
                    if packet.flags.has(Flags::SYN) { 1 } else { carried.releases(carried.ack_of(packet)) };
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
        let Some(carried) = self.find(packet.flow).filter(|c| c.sender == packet.dst) else { return };
        option.nonces.iter().for_each(|n| carried.echo.add(n));
        option.cancel.into_iter().for_each(|n| carried.echo.remove(n));
        if !packet.flags.has(Flags::ACK) {
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
