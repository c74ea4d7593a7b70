//! What packets carry: the option on segments (tag 4) and what neighbours say to each other (tag 5).

use midpath_core::packet::{EXT_LEN, Header, NodeId, Packet};

/// The alias of one congested interface (§II-A.3: "effectively a unique alias name for interface i"); never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u32);

/// How many nonces a packet can carry. A path rarely has more than three hops in backpressure at once; where it has, the ones
/// nearest to the receiver go first, for their hops are gated by flow already (see `port/ack.rs`).
pub const NONCES: usize = 3;

/// Bytes of the option on every segment: kind and length (2, RFC 9293 §3.1), direction and count, and three nonces.
pub const OPTION: u32 = 16;

/// Bytes that a notification adds: slow-down and cancel nonces (8), number (8), MAC (8).
pub const NOTE: u32 = 24;

/// Bytes that number and MAC add to an ACK that crosses plain routers with nonces but no notification: they vouch for the nonces.
pub const SIGNATURE: u32 = 16;

/// Which way a segment goes, as the paper's routers know it from the protocol field and the packet's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Direction {
    /// From the sender: data, SYN, the sender's own ACKs.
    #[default]
    Data = 1,
    /// From the receiver: an ACK of data.
    Ack = 2,
}

/// A few nonces, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nonces([u32; NONCES]);

impl Nonces {
    /// Puts `nonce` in front; the oldest goes when there is no room.
    pub fn add(&mut self, nonce: Nonce) {
        self.remove(nonce);
        self.0.rotate_right(1);
        self.0[0] = nonce.0;
    }

    /// Takes `nonce` out.
    pub fn remove(&mut self, nonce: Nonce) {
        let mut kept = [0; NONCES];
        let others = self.0.iter().filter(|o| **o != 0 && **o != nonce.0);
        kept.iter_mut().zip(others).for_each(|(place, old)| *place = *old);
        self.0 = kept;
    }

    /// Those that count.
    pub fn iter(&self) -> impl Iterator<Item = Nonce> + '_ {
        self.0.iter().filter(|n| **n != 0).map(|n| Nonce(*n))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

/// A slow-down request (§II-A.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Which interface asks.
    pub nonce: Nonce,
    /// How many packets the ACK that brings it releases upstream. One is the paper's (algorithm 1, line 18); none, two, and more on a
    /// handshake are ours: see [`super::port`] on steering.
    pub release: u16,
}

/// INRPP's option on a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Option4 {
    /// Which way it goes.
    pub direction: Direction,
    /// On ACKs, what senders are to store and echo; on data, what the sender echoes (§II-A.3).
    pub nonces: Nonces,
    /// A request to the next hop upstream.
    pub slow: Option<Slow>,
    /// A cancellation, for every hop up to the sender (algorithm 1, lines 23–27).
    pub cancel: Option<Nonce>,
    /// On asymmetric paths (§II-A, note): put on data by the congested port, reflected by the receiver, for the sender.
    pub far_slow: Option<Nonce>,
    /// The same for the cancellation.
    pub far_cancel: Option<Nonce>,
    /// On ACKs: how many packets it stands for, so that a loop keeps its packets where ACKs are delayed. Zero is one.
    pub releases: u8,
    /// The packet is plain TCP's, carried through the domain (§V-B).
    pub carried: bool,
    /// On a carried ACK: the router's interface that its data leave through has packets in its cache.
    pub stored: bool,
    /// Rises with every notification that leaves a port, so that a replay shows.
    pub number: u64,
    /// The MAC between the two neighbours (§V-C); zero without authentication.
    pub mac: u64,
}

impl Option4 {
    /// Whether it has anything for the next hop.
    pub fn notifies(&self) -> bool {
        self.slow.is_some() || self.cancel.is_some()
    }
}

fn put(out: &mut [u8], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn get(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_be_bytes)
}

fn get_long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_be_bytes)
}

fn nonce(value: u32) -> Option<Nonce> {
    (value != 0).then_some(Nonce(value))
}

fn value(nonce: Option<Nonce>) -> u32 {
    nonce.map_or(0, |n| n.0)
}

impl Header for Option4 {
    const TAG: u16 = 4;

    fn encode(&self, out: &mut [u8; EXT_LEN]) {
        out[0] = self.direction as u8;
        out[1] = u8::from(self.carried) | u8::from(self.stored) << 1;
        out[2..4].copy_from_slice(&self.slow.map_or(0, |s| s.release).to_be_bytes());
        put(out, 4, value(self.slow.map(|s| s.nonce)));
        put(out, 8, value(self.cancel));
        put(out, 12, value(self.far_slow));
        put(out, 16, value(self.far_cancel));
        (0..NONCES).for_each(|i| put(out, 20 + 4 * i, self.nonces.0[i]));
        out[32..40].copy_from_slice(&self.number.to_be_bytes());
        out[40..48].copy_from_slice(&self.mac.to_be_bytes());
        out[48] = self.releases;
    }

    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Option4> {
        let direction = match bytes[0] {
            1 => Direction::Data,
            2 => Direction::Ack,
            _ => return None,
        };
        if bytes[1] > 3 {
            return None;
        }
        let release = u16::from_be_bytes([bytes[2], bytes[3]]);
        let mut nonces = Nonces::default();
        (0..NONCES).rev().filter_map(|i| nonce(get(bytes, 20 + 4 * i))).for_each(|n| nonces.add(n));
        Some(Option4 {
            direction,
            nonces,
            slow: nonce(get(bytes, 4)).map(|nonce| Slow { nonce, release }),
            cancel: nonce(get(bytes, 8)),
            far_slow: nonce(get(bytes, 12)),
            far_cancel: nonce(get(bytes, 16)),
            carried: bytes[1] & 1 == 1,
            stored: bytes[1] & 2 == 2,
            releases: bytes[48],
            number: get_long(bytes, 32),
            mac: get_long(bytes, 40),
        })
    }
}

/// Whether a packet is an ACK of data under INRPP, seen without reading the whole option.
#[inline]
pub fn is_ack(packet: &Packet) -> bool {
    packet.ext_tag == Option4::TAG && packet.ext_bytes()[0] == Direction::Ack as u8
}

/// Whether a packet belongs to an INRPP flow: the protocol field of §V-A.
#[inline]
pub fn is_inrpp(packet: &Packet) -> bool {
    packet.ext_tag == Option4::TAG
}

/// Whether an ACK carries something for the next hop.
#[inline]
pub fn notifies(packet: &Packet) -> bool {
    packet.ext_bytes()[4..12].iter().any(|b| *b != 0)
}

/// Whether an ACK carries nonces for the sender to echo.
#[inline]
pub fn has_nonces(packet: &Packet) -> bool {
    packet.ext_bytes()[20..32].iter().any(|b| *b != 0)
}

/// Whether an ACK carries what ports put on data and receivers echo.
#[inline]
pub fn echoes(packet: &Packet) -> bool {
    packet.ext_bytes()[12..20].iter().any(|b| *b != 0)
}

/// Whether a packet is plain TCP's, carried through the domain.
#[inline]
pub fn is_carried(packet: &Packet) -> bool {
    packet.ext_tag == Option4::TAG && packet.ext_bytes()[1] & 1 == 1
}

/// What neighbours tell each other about detours (§III-A).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    /// "What may I send to `target` through you?"
    Probe {
        /// Who asks.
        origin: NodeId,
        /// The origin's port that is short of capacity.
        port: u16,
        /// The original next hop.
        target: NodeId,
        /// Routers that the probe may still be handed on to: 1 on the first leg of a 2-hop detour.
        more: u8,
    },
    /// The answer to it, with the rate feedback.
    Feedback {
        /// Who asked.
        origin: NodeId,
        /// The origin's port that is short of capacity.
        port: u16,
        /// The original next hop.
        target: NodeId,
        /// What the interfaces from the detour router on say.
        feedback: Feedback,
    },
}

/// What an interface says to those who detour through it: equation (2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Feedback {
    /// Whether it is in Push.
    pub push: bool,
    /// Δ⁺: each router's share of the spare capacity, in bytes per second.
    pub up: f64,
    /// Δ⁻: the share of its rate that each router is to give back, from 0 to 1.
    pub down: f64,
}

impl Feedback {
    /// What a path through two interfaces says: the worse of both.
    pub fn and(self, other: Feedback) -> Feedback {
        Feedback { push: self.push && other.push, up: self.up.min(other.up), down: self.down.max(other.down) }
    }
}

/// Bytes of a probe or its answer: an ICMP-like message in an IP packet (20 + 8 + 20 of content, MAC 8).
pub const CONTROL: u32 = 56;

/// A control packet with its MAC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signed {
    /// What it says.
    pub control: Control,
    /// Rises with every control packet that leaves a port.
    pub number: u64,
    /// The MAC between the two neighbours.
    pub mac: u64,
}

impl Header for Signed {
    const TAG: u16 = 5;

    fn encode(&self, out: &mut [u8; EXT_LEN]) {
        let (kind, origin, port, target) = match self.control {
            Control::Probe { origin, port, target, .. } => (1, origin, port, target),
            Control::Feedback { origin, port, target, .. } => (2, origin, port, target),
        };
        out[..40].fill(0);
        (out[0], out[2], out[3]) = (kind, port.to_be_bytes()[0], port.to_be_bytes()[1]);
        put(out, 4, origin.0);
        put(out, 8, target.0);
        match self.control {
            Control::Probe { more, .. } => out[1] = more,
            Control::Feedback { feedback, .. } => {
                out[1] = u8::from(feedback.push);
                out[16..24].copy_from_slice(&feedback.up.to_be_bytes());
                out[24..32].copy_from_slice(&feedback.down.to_be_bytes());
            }
        }
        out[32..40].copy_from_slice(&self.number.to_be_bytes());
        out[40..48].copy_from_slice(&self.mac.to_be_bytes());
    }

    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Signed> {
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let (origin, target) = (NodeId(get(bytes, 4)), NodeId(get(bytes, 8)));
        let control = match (bytes[0], bytes[1]) {
            (1, more @ 0..=1) => Control::Probe { origin, port, target, more },
            (2, push @ 0..=1) => {
                let float = |at: usize| f64::from_bits(get_long(bytes, at));
                let feedback = Feedback { push: push == 1, up: float(16), down: float(24) };
                // No link carries a terabyte per second; a share is a share.
                let sane = (0.0..=1e12).contains(&feedback.up) && (0.0..=1.0).contains(&feedback.down);
                sane.then_some(Control::Feedback { origin, port, target, feedback })?
            }
            _ => return None,
        };
        Some(Signed { control, number: get_long(bytes, 32), mac: get_long(bytes, 40) })
    }
}
