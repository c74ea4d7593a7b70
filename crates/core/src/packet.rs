//! The packet: what every hop reads in the first cache line, what only ends read in the second, a scheme's header in the third.

use crate::units::Time;

/// A node's number: dense, from zero, in the topology's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

/// A port's number within its node: the order of the links at that node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PortId(pub u16);

/// A flow's number: both directions of a conversation carry the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

/// The ECN field of the IP header (RFC 3168, §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion drops it.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Whether a queue may mark instead of dropping.
    #[inline]
    pub const fn capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// What a packet is, for nodes that treat kinds differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// A TCP-like segment: data, ACK or both.
    #[default]
    Segment = 0,
    /// A datagram without a transport's promises.
    Datagram = 1,
    /// An ICN Interest.
    Interest = 2,
    /// An ICN Data.
    Data = 3,
    /// An ICN Nack.
    Nack = 4,
    /// From one neighbour to the next: never forwarded, taken by the port it comes in through.
    Control = 5,
}

/// TCP's flag bits, at their places in the header's octets 12 and 13 (RFC 9293, §3.1; RFC 3168, §6.1; RFC 9768, §3.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(1);
    /// Opens a connection.
    pub const SYN: Flags = Flags(2);
    /// Refuses one.
    pub const RST: Flags = Flags(4);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(16);
    /// ECN-Echo.
    pub const ECE: Flags = Flags(64);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(128);
    /// Accurate ECN.
    pub const AE: Flags = Flags(256);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// With the bits of `other` set.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A SACK block (RFC 2018) as distances above the acknowledgement number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte received, as a distance above `ack`.
    pub from: u32,
    /// One past the last byte received, as a distance above `ack`.
    pub to: u32,
}

/// How many SACK blocks fit beside timestamps (RFC 2018, §3).
pub const MAX_SACK: usize = 3;

/// Room for a scheme's own header, in bytes.
pub const EXT_LEN: usize = 72;

/// Hops a packet may take before it is taken for a loop and dropped (the IP default, RFC 1700).
pub const HOP_LIMIT: u8 = 64;

/// A scheme's header as the bytes it has on the wire, so that what is simulated is what is sent.
///
/// A port that doesn't know the header forwards it untouched.
pub trait Header: Copy {
    /// Tells headers apart on the wire. 0 is "none"; 1–1023 are Midpath's own; outside schemes take from 1024 up.
    const TAG: u16;
    /// Writes the header; the rest of `out` stays as it is.
    fn encode(&self, out: &mut [u8; EXT_LEN]);
    /// Reads it back. `None` when the bytes are no valid header: peers are hostile until authenticated.
    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Self>;
}

/// One packet. Copied only where it enters or leaves a node's endpoints; hops move its [`Pkt`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Packet {
    /// Where it goes.
    pub dst: NodeId,
    /// Where it comes from.
    pub src: NodeId,
    /// Which conversation it belongs to.
    pub flow: FlowId,
    /// Bytes on the link, IP header included.
    pub size: u32,
    /// First payload byte's number (the SYN is before byte 0), or the segment an Interest or Data names.
    pub seq: u64,
    /// Next byte expected from the other side; counts when `flags` has ACK.
    pub ack: u64,
    /// When it was sent (RFC 7323 TSval, unrounded).
    pub ts_val: Time,
    /// When it came into the queue that it is in; sojourn is counted from here.
    pub queued: Time,
    /// Payload bytes.
    pub payload: u16,
    /// The tag of the scheme's header, 0 for none.
    pub ext_tag: u16,
    /// TCP flags.
    pub flags: Flags,
    /// ECN field.
    pub ecn: Ecn,
    /// What it is.
    pub kind: Kind,
    /// Hops left.
    pub hops: u8,
    /// Receive window in bytes above `ack`.
    pub window: u64,
    /// The TSval echoed (RFC 7323 TSecr); zero when there is none.
    pub ts_ecr: Time,
    /// SACK blocks, newest first; `sack_len` of them count.
    pub sack: [SackBlock; MAX_SACK],
    /// How many SACK blocks count.
    pub sack_len: u8,
    /// The subflow or path it belongs to (MPTCP: the source's port in the upper half, the destination's in the lower; MIRCC), 0 otherwise.
    pub path: u8,
    /// The original next hop of a detoured packet (INRPP §III-A); `u32::MAX` when it isn't detoured.
    pub via: u32,
    ext: [u8; EXT_LEN],
}

impl Packet {
    /// A segment of `size` bytes on the link from `src` to `dst`, all else zero or off.
    pub const fn new(flow: FlowId, src: NodeId, dst: NodeId, size: u32) -> Packet {
        Packet {
            dst,
            src,
            flow,
            size,
            seq: 0,
            ack: 0,
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            queued: Time::ZERO,
            payload: 0,
            ext_tag: 0,
            ecn: Ecn::NotEct,
            kind: Kind::Segment,
            flags: Flags(0),
            hops: HOP_LIMIT,
            window: 0,
            sack: [SackBlock { from: 0, to: 0 }; MAX_SACK],
            sack_len: 0,
            path: 0,
            via: u32::MAX,
            ext: [0; EXT_LEN],
        }
    }

    /// The SACK blocks that count.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_len).min(MAX_SACK)]
    }

    /// The scheme header `H`, if this packet carries one that is valid.
    pub fn header<H: Header>(&self) -> Option<H> {
        if self.ext_tag == H::TAG { H::decode(&self.ext) } else { None }
    }

    /// Puts `header` on the packet in place of any other.
    pub fn set_header<H: Header>(&mut self, header: &H) {
        self.ext_tag = H::TAG;
        header.encode(&mut self.ext);
    }

    /// Puts a scheme header's bytes on the packet as they came from the wire; they are checked when they are read.
    pub fn set_ext(&mut self, tag: u16, bytes: [u8; EXT_LEN]) {
        (self.ext_tag, self.ext) = (tag, bytes);
    }

    /// The scheme header's bytes as they stand on the wire.
    pub fn ext_bytes(&self) -> &[u8; EXT_LEN] {
        &self.ext
    }
}

/// The name of a packet in its pool: good for telling packets apart in books that are kept beside the pool, not for reaching one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// A packet that is held: the only way to reach it in its [`Pool`].
///
/// It is moved, never copied, so that a packet cannot be freed or sent twice. Whoever holds it passes it on, gives it back to
/// the pool, or keeps it. In builds with debug assertions a pool refuses the packets of another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "a packet that is dropped like this is lost: send it, keep it, or free it"]
pub struct Pkt {
    place: u32,
    #[cfg(debug_assertions)]
    pool: u32,
}

impl Pkt {
    /// Its name.
    #[inline]
    pub const fn id(&self) -> PacketId {
        PacketId(self.place)
    }
}

/// A slab of packets: no allocation per hop, the last freed place is used first (its lines are still in cache).
#[derive(Debug)]
pub struct Pool {
    slots: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
    #[cfg(debug_assertions)]
    tag: u32,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            slots: Vec::new(),
            free: Vec::new(),
            created: 0,
            #[cfg(debug_assertions)]
            tag: next_tag(),
        }
    }
}

/// Tells pools apart in checks; it reaches no result.
#[cfg(debug_assertions)]
fn next_tag() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static POOLS: AtomicU32 = AtomicU32::new(0);
    POOLS.fetch_add(1, Ordering::Relaxed)
}

impl Pool {
    /// An empty pool; it grows to the largest number of packets alive at once.
    pub fn new() -> Pool {
        Pool::default()
    }

    #[inline]
    fn hold(&self, place: u32) -> Pkt {
        Pkt {
            place,
            #[cfg(debug_assertions)]
            pool: self.tag,
        }
    }

    #[inline]
    fn place(&self, pkt: &Pkt) -> usize {
        #[cfg(debug_assertions)]
        assert_eq!(pkt.pool, self.tag, "a packet of another pool");
        pkt.place as usize
    }

    /// Takes a packet in.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> Pkt {
        self.created += 1;
        match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = packet;
                self.hold(place)
            }
            None => {
                let place = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets alive");
                self.slots.push(packet);
                self.hold(place)
            }
        }
    }

    /// Takes a copy of a packet in.
    pub fn copy(&mut self, pkt: &Pkt) -> Pkt {
        let packet = self.slots[self.place(pkt)];
        self.insert(packet)
    }

    /// Gives a packet's place back.
    #[inline]
    pub fn free(&mut self, pkt: Pkt) {
        let place = self.place(&pkt);
        debug_assert!(place < self.slots.len());
        self.free.push(place as u32);
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, pkt: Pkt) -> Packet {
        let packet = self.slots[self.place(&pkt)];
        self.free(pkt);
        packet
    }

    /// Turns a held packet into a number, for drivers that keep packets on wires as such.
    #[inline]
    pub fn stow(&self, pkt: Pkt) -> u32 {
        self.place(&pkt) as u32
    }

    /// Turns a number that [`Pool::stow`] has given into the held packet again. Once: the number is worth nothing after that.
    #[inline]
    pub fn unstow(&self, number: u32) -> Pkt {
        debug_assert!((number as usize) < self.slots.len());
        self.hold(number)
    }

    /// Looks at a stowed packet, so that it is in the cache when it is taken.
    #[inline]
    pub fn warm(&self, number: u32) {
        std::hint::black_box(self.slots[number as usize].size);
    }

    /// A packet that is alive and held by somebody else.
    pub(crate) fn peek(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }

    /// Packets alive now.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Packets ever taken in.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Packet>() + self.free.capacity() * size_of::<u32>()
    }
}

impl std::ops::Index<&Pkt> for Pool {
    type Output = Packet;
    #[inline]
    fn index(&self, pkt: &Pkt) -> &Packet {
        &self.slots[self.place(pkt)]
    }
}

impl std::ops::IndexMut<&Pkt> for Pool {
    #[inline]
    fn index_mut(&mut self, pkt: &Pkt) -> &mut Packet {
        let place = self.place(pkt);
        &mut self.slots[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Price(f64);
    impl Header for Price {
        const TAG: u16 = 2000;
        fn encode(&self, out: &mut [u8; EXT_LEN]) {
            out[..8].copy_from_slice(&self.0.to_be_bytes());
        }
        fn decode(bytes: &[u8; EXT_LEN]) -> Option<Price> {
            let v = f64::from_be_bytes(bytes[..8].try_into().ok()?);
            v.is_finite().then_some(Price(v))
        }
    }

    #[test]
    fn what_a_hop_reads_is_one_cache_line() {
        assert_eq!(std::mem::offset_of!(Packet, window), 64);
        assert_eq!(size_of::<Packet>(), 192);
    }

    #[test]
    fn a_header_round_trips_and_a_bad_one_is_none() {
        let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        assert_eq!(p.header::<Price>(), None);
        p.set_header(&Price(0.25));
        assert_eq!(p.header::<Price>(), Some(Price(0.25)));
        p.set_header(&Price(f64::NAN));
        assert_eq!(p.header::<Price>(), None);
    }

    #[test]
    fn the_pool_reuses_what_was_freed_last() {
        let mut pool = Pool::new();
        let p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        let (a, b) = (pool.insert(p), pool.insert(p));
        let first = a.id();
        pool.free(a);
        assert_eq!(pool.live(), 1);
        let again = pool.insert(p);
        assert_eq!(again.id(), first);
        pool.free(b);
        assert_eq!((pool.live(), pool.created()), (1, 3));
        let number = pool.stow(again);
        assert_eq!(pool.unstow(number).id(), first);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "another pool")]
    fn a_packet_of_another_pool_is_caught() {
        let (mut here, mut there) = (Pool::new(), Pool::new());
        let p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        let pkt = there.insert(p);
        let _ = here.insert(p);
        here.free(pkt);
    }
}
