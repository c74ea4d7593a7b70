//! Headers: on segments (tag 4) and between neighbours (tag 5).

use midpath_core::packet::{Header, NodeId, Packet, shim_size};

/// The alias of one congested interface (§II-A.3: "effectively a unique alias name for interface
/// i"); never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u32);

/// How many nonces a packet can carry. A path rarely has more than three hops in backpressure at
/// once; where it has, the ones nearest to the receiver go first, for their hops are gated by flow
/// already (see `port/ack.rs`).
pub const NONCES: usize = 3;

/// Bytes of the header on every segment, in its shim.
pub const SIZE: u32 = shim_size(FIXED as u32);

/// The same where ports put notifications on data (§II-A, note).
pub const SIZE_ON_DATA: u32 = shim_size((FIXED + FAR_PART) as u32);

/// Which way a segment goes, as the paper's routers know it from the protocol field and the
/// packet's form.
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
    #[inline]
    pub fn add(&mut self, nonce: Nonce) {
        let mut before = nonce.0;
        for place in &mut self.0 {
            let old = std::mem::replace(place, before);
            if old == 0 || old == nonce.0 {
                return; // a free place, or the one that it had
            }
            before = old;
        }
    }

    /// Those that a packet carries, oldest last.
    #[inline]
    pub(super) fn of(words: [u32; NONCES]) -> Nonces {
        let mut nonces = Nonces([words[0], 0, 0]);
        // Rarely more than one.
        if words[1] != 0 || words[2] != 0 {
            nonces = Nonces::default();
            words.into_iter().rev().filter_map(nonce).for_each(|n| nonces.add(n));
        }
        nonces
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

    /// All places, zero where there is none.
    pub fn words(&self) -> [u32; NONCES] {
        self.0
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
    /// How many packets the ACK that brings it releases upstream. One is the paper's (algorithm 1,
    /// line 18); none, two, and more on a handshake are ours: see [`super::port`] on steering.
    pub release: u16,
}

/// INRPP's option on a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InrppHeader {
    /// Which way it goes.
    pub direction: Direction,
    /// On ACKs, what senders are to store and echo; on data, what the sender echoes (§II-A.3).
    pub nonces: Nonces,
    /// A request to the next hop upstream.
    pub slow: Option<Slow>,
    /// A cancellation, for every hop up to the sender (algorithm 1, lines 23–27).
    pub cancel: Option<Nonce>,
    /// On asymmetric paths (§II-A, note): put on data by the congested port, reflected by the
    /// receiver, for the sender.
    pub far_slow: Option<Nonce>,
    /// The same for the cancellation.
    pub far_cancel: Option<Nonce>,
    /// On ACKs: how many packets it stands for, so that a loop keeps its packets where ACKs are
    /// delayed. Zero is one.
    pub releases: u8,
    /// On the answer to a SYN: how many bytes the flow may have on its way to begin with, the least
    /// of all hops. Ours: see [`super::port`] on steering. An answer without the SYN flag begins with all that can be told.
    pub begin: Option<u32>,
    /// The second answer to a SYN, which tells a large window and acknowledges nothing: no port has
    /// anything to say on it.
    pub idle: bool,
    /// The original next hop of a packet on a detour (§III-A).
    pub via: Option<NodeId>,
    /// The packet is plain TCP's, carried through the domain (§V-B).
    pub carried: bool,
    /// On a carried ACK: the router's interface that its data leave through has packets in its
    /// cache.
    pub stored: bool,
    /// Rises with every notification that leaves a port, so that a replay shows.
    pub number: u64,
    /// The MAC between the two neighbours (§V-C); zero without authentication.
    pub mac: u64,
}

impl InrppHeader {
    /// Whether it has anything for the next hop.
    pub fn notifies(&self) -> bool {
        self.slow.is_some() || self.cancel.is_some()
    }

    /// Whether it has anything that ports put on data and receivers echo.
    fn far(&self) -> bool {
        self.far_slow.is_some() || self.far_cancel.is_some()
    }

    /// Whether it is signed.
    fn signed(&self) -> bool {
        self.number != 0 || self.mac != 0
    }
}

#[inline]
pub(super) fn put(out: &mut [u8], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(super) fn get(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_be_bytes)
}

#[inline]
pub(super) fn get_long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_be_bytes)
}

fn nonce(value: u32) -> Option<Nonce> {
    (value != 0).then_some(Nonce(value))
}

fn value(nonce: Option<Nonce>) -> u32 {
    nonce.map_or(0, |n| n.0)
}

/// Flags in the first octet: which way it goes, how it is carried, and which parts follow what
/// every packet has.
pub(super) const ACK: u8 = 1;
const CARRIED: u8 = 1 << 1;
const STORED: u8 = 1 << 2;
pub(super) const FAR: u8 = 1 << 3;
pub(super) const SAYS: u8 = 1 << 4;
pub(super) const SIGNED: u8 = 1 << 5;
pub(super) const BEGINS: u8 = 1 << 6;
const IDLE: u8 = 1 << 7;

/// Bytes that every packet has: flags, releases, nonces, the original next hop.
pub(super) const FIXED: usize = 2 + 4 * NONCES + 4;

/// Bytes of the parts that are there when they say something.
const FAR_PART: usize = 8;
pub(super) const NOTE_PART: usize = 10;
pub(super) const SIGNATURE_PART: usize = 16;
const BEGIN_PART: usize = 4;

/// Stands for no original next hop.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Header for InrppHeader {
    const TAG: u8 = 4;

    fn body_len(&self) -> usize {
        let part = |there: bool, len: usize| if there { len } else { 0 };
        let said = part(self.far(), FAR_PART) + part(self.notifies(), NOTE_PART) + part(self.signed(), SIGNATURE_PART);
        FIXED + said + part(self.begin.is_some(), BEGIN_PART)
    }

    fn put(&self, out: &mut [u8]) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let begins = flag(self.begin.is_some(), BEGINS);
        let parts = flag(self.far(), FAR) | flag(self.notifies(), SAYS) | flag(self.signed(), SIGNED) | begins;
        let carried = flag(self.carried, CARRIED) | flag(self.stored, STORED) | flag(self.idle, IDLE);
        let Some((fixed, mut rest)) = out.split_first_chunk_mut::<FIXED>() else { return };
        fixed[0] = flag(self.direction == Direction::Ack, ACK) | carried | parts;
        fixed[1] = self.releases;
        let [first, second, third] = self.nonces.0;
        put(fixed, 2, first);
        put(fixed, 6, second);
        put(fixed, 10, third);
        put(fixed, FIXED - 4, self.via.map_or(NOWHERE, |n| n.0));
        if self.far() {
            put(rest, 0, value(self.far_slow));
            put(rest, 4, value(self.far_cancel));
            rest = &mut rest[FAR_PART..];
        }
        if self.notifies() {
            put(rest, 0, value(self.slow.map(|s| s.nonce)));
            rest[4..6].copy_from_slice(&self.slow.map_or(0, |s| s.release).to_be_bytes());
            put(rest, 6, value(self.cancel));
            rest = &mut rest[NOTE_PART..];
        }
        if self.signed() {
            rest[..8].copy_from_slice(&self.number.to_be_bytes());
            rest[8..SIGNATURE_PART].copy_from_slice(&self.mac.to_be_bytes());
            rest = &mut rest[SIGNATURE_PART..];
        }
        if let Some(begin) = self.begin {
            put(rest, 0, begin);
        }
    }

    fn get(body: &[u8]) -> Option<InrppHeader> {
        let (fixed, rest) = body.split_first_chunk::<FIXED>()?;
        let has = |bit: u8| fixed[0] & bit != 0;
        let part = |bit: u8, len: usize| if has(bit) { len } else { 0 };
        let (far, rest) = rest.split_at_checked(part(FAR, FAR_PART))?;
        let (says, rest) = rest.split_at_checked(part(SAYS, NOTE_PART))?;
        let (signature, rest) = rest.split_at_checked(part(SIGNED, SIGNATURE_PART))?;
        let (begin, rest) = rest.split_at_checked(part(BEGINS, BEGIN_PART))?;
        if !rest.is_empty() {
            return None;
        }
        let mut header = InrppHeader {
            direction: if has(ACK) { Direction::Ack } else { Direction::Data },
            carried: has(CARRIED),
            stored: has(STORED),
            idle: has(IDLE),
            releases: fixed[1],
            via: Some(get(fixed, FIXED - 4)).filter(|n| *n != NOWHERE).map(NodeId),
            ..InrppHeader::default()
        };
        header.nonces = Nonces::of([get(fixed, 2), get(fixed, 6), get(fixed, 10)]);
        if !far.is_empty() {
            (header.far_slow, header.far_cancel) = (nonce(get(far, 0)), nonce(get(far, 4)));
        }
        if !says.is_empty() {
            let release = u16::from_be_bytes([says[4], says[5]]);
            header.slow = nonce(get(says, 0)).map(|nonce| Slow { nonce, release });
            header.cancel = nonce(get(says, 6));
        }
        if !signature.is_empty() {
            (header.number, header.mac) = (get_long(signature, 0), get_long(signature, 8));
        }
        if !begin.is_empty() {
            header.begin = Some(get(begin, 0));
        }
        // A part that says nothing is left out.
        (header.body_len() == body.len()).then_some(header)
    }
}

#[inline]
fn body(packet: &Packet) -> Option<&[u8]> {
    packet.body(InrppHeader::TAG).filter(|b| b.len() >= FIXED)
}

#[inline]
fn flagged(packet: &Packet, bit: u8) -> bool {
    body(packet).is_some_and(|b| b[0] & bit != 0)
}

/// What an ACK says in its flags, with the header searched for once.
#[derive(Debug, Clone, Copy)]
pub struct Flags(u8);

impl Flags {
    /// Those of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Flags {
        Flags(body(packet).map_or(0, |b| b[0]))
    }
    /// As [`is_carried`] says.
    #[inline]
    pub fn carried(self) -> bool {
        self.0 & CARRIED != 0
    }
    /// Whether an ACK acknowledges nothing: see [`InrppHeader::idle`].
    #[inline]
    pub fn idle(self) -> bool {
        self.0 & IDLE != 0
    }
    /// Whether an ACK tells how a flow may begin: see [`InrppHeader::begin`].
    #[inline]
    pub fn begins(self) -> bool {
        self.0 & BEGINS != 0
    }
    /// As [`notifies`] says.
    #[inline]
    pub fn says(self) -> bool {
        self.0 & SAYS != 0
    }
}

/// Whether a packet is an ACK of data under INRPP, seen without reading the whole header.
#[inline]
pub fn is_ack(packet: &Packet) -> bool {
    flagged(packet, ACK)
}

/// Whether a packet belongs to an INRPP flow: the protocol field of §V-A.
#[inline]
pub fn is_inrpp(packet: &Packet) -> bool {
    packet.carries::<InrppHeader>()
}

/// Whether an ACK carries something for the next hop.
#[inline]
pub fn notifies(packet: &Packet) -> bool {
    flagged(packet, SAYS)
}

/// Whether an ACK carries nonces for the sender to echo.
#[inline]
pub fn has_nonces(packet: &Packet) -> bool {
    body(packet).is_some_and(|b| (0..NONCES).any(|i| get(b, 2 + 4 * i) != 0))
}

/// Whether an ACK carries what ports put on data and receivers echo.
#[inline]
pub fn echoes(packet: &Packet) -> bool {
    flagged(packet, FAR)
}

/// Whether an ACK brings nothing that an interface with a neighbour would look at: no word for the next hop,
/// no original next hop, nothing of a border's.
#[inline]
pub fn says_nothing(packet: &Packet) -> bool {
    body(packet).is_some_and(|b| b[0] & (SAYS | CARRIED | BEGINS) == 0 && get(b, FIXED - 4) == NOWHERE)
}

/// The same where nonces and echoes are taken off, too, for nobody has signed them.
#[inline]
pub fn is_bare(packet: &Packet) -> bool {
    says_nothing(packet) && !has_nonces(packet) && !echoes(packet)
}

/// Whether a packet is plain TCP's, carried through the domain.
#[inline]
pub fn is_carried(packet: &Packet) -> bool {
    flagged(packet, CARRIED)
}

/// What every hop reads of a header.
#[derive(Debug, Clone, Copy, Default)]
pub struct HopFields {
    /// As [`is_ack`] says.
    pub ack: bool,
    /// As [`notifies`] says.
    pub says: bool,
    /// As [`via()`] says.
    pub via: Option<NodeId>,
}

/// All of that, with the header searched for once.
#[inline]
pub fn hop_fields(packet: &Packet) -> HopFields {
    let Some(body) = body(packet) else { return HopFields::default() };
    let via = Some(get(body, FIXED - 4)).filter(|n| *n != NOWHERE).map(NodeId);
    HopFields { ack: body[0] & ACK != 0, says: body[0] & SAYS != 0, via }
}

/// Whether a packet is INRPP's.
#[inline]
pub fn carries_inrpp(packet: &Packet) -> bool {
    body(packet).is_some()
}

/// The original next hop of a packet on a detour (§III-A: "the packet is tagged").
#[inline]
pub fn via(packet: &Packet) -> Option<NodeId> {
    body(packet).map(|b| get(b, FIXED - 4)).filter(|n| *n != NOWHERE).map(NodeId)
}

/// Tags a packet with its original next hop, or takes the tag off. What carries no INRPP header
/// takes no detour.
#[inline]
pub fn set_via(packet: &mut Packet, via: Option<NodeId>) {
    if let Some(body) = packet.body_mut(InrppHeader::TAG).filter(|b| b.len() >= FIXED) {
        put(body, FIXED - 4, via.map_or(NOWHERE, |n| n.0));
    }
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

/// Bytes of a control packet's body: kind, a flag, port, origin, target, number, MAC; and those of
/// feedback.
const PROBE_BODY: usize = 28;
const FEEDBACK_PART: usize = 16;

impl Header for Signed {
    const TAG: u8 = 5;

    fn body_len(&self) -> usize {
        match self.control {
            Control::Probe { .. } => PROBE_BODY,
            Control::Feedback { .. } => PROBE_BODY + FEEDBACK_PART,
        }
    }

    fn put(&self, out: &mut [u8]) {
        let (kind, flag, origin, port, target) = match self.control {
            Control::Probe { origin, port, target, more } => (1, more, origin, port, target),
            Control::Feedback { origin, port, target, feedback } => (2, feedback.push.into(), origin, port, target),
        };
        (out[0], out[1]) = (kind, flag);
        out[2..4].copy_from_slice(&port.to_be_bytes());
        put(out, 4, origin.0);
        put(out, 8, target.0);
        out[12..20].copy_from_slice(&self.number.to_be_bytes());
        out[20..28].copy_from_slice(&self.mac.to_be_bytes());
        if let Control::Feedback { feedback, .. } = self.control {
            out[28..36].copy_from_slice(&feedback.up.to_be_bytes());
            out[36..].copy_from_slice(&feedback.down.to_be_bytes());
        }
    }

    fn get(body: &[u8]) -> Option<Signed> {
        let (bytes, rest) = body.split_first_chunk::<PROBE_BODY>()?;
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let (origin, target) = (NodeId(get(bytes, 4)), NodeId(get(bytes, 8)));
        let control = match (bytes[0], bytes[1], rest) {
            (1, more @ 0..=1, []) => Control::Probe { origin, port, target, more },
            (2, push @ 0..=1, rest) => {
                let rest: &[u8; FEEDBACK_PART] = rest.try_into().ok()?;
                let float = |at: usize| f64::from_bits(get_long(rest, at));
                let feedback = Feedback { push: push == 1, up: float(0), down: float(8) };
                // No link carries a terabyte per second; a share is a share.
                let sane = (0.0..=1e12).contains(&feedback.up) && (0.0..=1.0).contains(&feedback.down);
                sane.then_some(Control::Feedback { origin, port, target, feedback })?
            }
            _ => return None,
        };
        Some(Signed { control, number: get_long(bytes, 12), mac: get_long(bytes, 20) })
    }
}
