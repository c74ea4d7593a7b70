//! The packet: fields that every hop reads come first, optional ones last.

mod header;
mod name;
mod note;
mod pool;
mod sequence;
mod size;

use std::ops::{Deref, DerefMut};

use header::Stack;
pub use header::{ENTROPY, HEADER_ROOM, Header, TCP_OPTION, body_of, change_among, header_among};
pub use name::Name;
pub use note::{Note, NotePlace};
pub use pool::{Carried, PacketId, Payload, Pkt, Pool};
pub use sequence::{Sequence, comes_after};
pub use size::{ICN_HEADER, IP_HEADER, Options, TCP_HEADER, TIMESTAMPS, UDP_HEADER, shim_size};

use crate::rng::mix;
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

/// A flow as one of its hosts tells it from others: its number, and the node at the other end. Two peers may give flows
/// of theirs the same number.
pub type FlowKey = (FlowId, NodeId);

impl FlowId {
    /// No conversation at all: what neighbours say to each other.
    pub const NONE: FlowId = FlowId(u32::MAX);
}

/// Interfaces that an address can name; a host's further ports have no address of their own.
pub const MAX_INTERFACES: usize = 15;

/// The interfaces of a packet's two ends: the source's in the upper half, the destination's in the
/// lower. 0 is any; else it is the number of the port plus one. With the node's number this is the
/// address (see `wire`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Interfaces(pub u8);

impl Interfaces {
    /// Any interface of both.
    pub const ANY: Interfaces = Interfaces(0);

    /// From the source's port to the destination's, both below [`MAX_INTERFACES`].
    pub const fn between(source: PortId, destination: PortId) -> Interfaces {
        Interfaces((source.0 as u8 + 1) << 4 | (destination.0 as u8 + 1) & 0xf)
    }
    /// The source's port, if it is named.
    pub const fn source(self) -> Option<PortId> {
        port_of(self.0 >> 4)
    }
    /// The destination's port, if it is named.
    pub const fn destination(self) -> Option<PortId> {
        port_of(self.0 & 0xf)
    }
    /// The same, seen from the other end.
    #[must_use]
    pub const fn reversed(self) -> Interfaces {
        Interfaces(self.0.rotate_left(4))
    }
}

const fn port_of(interface: u8) -> Option<PortId> {
    if interface == 0 { None } else { Some(PortId(interface as u16 - 1)) }
}

/// What ECMP, fair queueing and registers by flow know a conversation by: a hash of its two
/// addresses and ports, the same in both directions.
pub const fn flow_key(flow: FlowId, a: NodeId, b: NodeId, interfaces: Interfaces) -> u32 {
    let a = (a.0 as u64) << 4 | (interfaces.0 >> 4) as u64;
    let b = (b.0 as u64) << 4 | (interfaces.0 & 0xf) as u64;
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // The ports are the flow's (see `wire`), so its number stands for them.
    (mix(mix(low << 32 | high) ^ flow.0 as u64) >> 32) as u32
}

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
    /// That of the field's two bits.
    pub const fn from_bits(bits: u8) -> Ecn {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][(bits & 3) as usize]
    }

    /// Whether a queue may mark instead of dropping.
    #[inline]
    pub const fn capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// What a full queue does with a packet (packet trimming), which is said by its DSCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Trim {
    /// It drops it.
    #[default]
    No = 0,
    /// It cuts its payload off, and sends what is left on.
    May = 1,
    /// A queue has done so.
    Cut = 2,
    /// The one before its destination has.
    CutAtLastHop = 3,
    /// It cuts its payload off; what is left may go back to where it comes from.
    MayReturn = 4,
    /// A queue has done so; one that has no room for what is left may send it back.
    CutMayReturn = 5,
    /// A queue has sent it back.
    Returned = 6,
}

impl Trim {
    const ALL: [Trim; 7] =
        [Trim::No, Trim::May, Trim::Cut, Trim::CutAtLastHop, Trim::MayReturn, Trim::CutMayReturn, Trim::Returned];

    /// Its DSCP: the default one, and six for local use (RFC 2474, §6, pool 2). Ours.
    pub const fn dscp(self) -> u8 {
        [0, 0b11, 0b111, 0b1011, 0b1111, 0b1_0011, 0b1_0111][self as usize]
    }

    /// That of a DSCP.
    pub fn of_dscp(dscp: u8) -> Trim {
        Trim::ALL.into_iter().find(|trim| trim.dscp() == dscp).unwrap_or_default()
    }

    /// Whether a queue may cut its payload off.
    pub const fn allows(self) -> bool {
        matches!(self, Trim::May | Trim::MayReturn)
    }

    /// The same when a queue has done so, the last one before its destination or not.
    #[must_use]
    pub const fn cut(self, at_last_hop: bool) -> Trim {
        match (self, at_last_hop) {
            (Trim::MayReturn, _) => Trim::CutMayReturn,
            (_, true) => Trim::CutAtLastHop,
            (_, false) => Trim::Cut,
        }
    }

    /// Whether its payload has been cut off.
    #[inline]
    pub const fn is_cut(self) -> bool {
        matches!(self, Trim::Cut | Trim::CutAtLastHop | Trim::CutMayReturn | Trim::Returned)
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

/// TCP's flag bits, at their places in the header's octets 12 and 13 (RFC 9293, §3.1; RFC 3168,
/// §6.1; RFC 9768, §3.2.2).
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

/// A SACK block (RFC 2018, §3) by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte received.
    pub from: u32,
    /// One past the last byte received.
    pub to: u32,
}

impl SackBlock {
    /// Whether the byte with this number lies in it.
    #[inline]
    pub const fn holds(self, number: u32) -> bool {
        number.wrapping_sub(self.from) < self.to.wrapping_sub(self.from)
    }
}

/// How many SACK blocks fit beside timestamps (RFC 2018, §3).
pub const MAX_SACK: usize = 3;

/// Hops a packet may take before it is taken for a loop and dropped (the IP default, RFC 1700).
pub const HOP_LIMIT: u8 = 64;

/// One packet. Copied only where it enters or leaves a node's endpoints; hops move its [`Pkt`].
///
/// Two parts, for what most packets say fits one cache line: its [`Head`], whose fields are reached
/// as the packet's own, and a tail of SACK blocks and headers that most packets do not have.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Packet {
    head: Head,
    tail: Tail,
}

/// What every packet has.
///
/// Fields are the wire's own. Three are not on the wire: `flow` and `key`, which follow from
/// addresses and ports, and `queued`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Head {
    /// Where it goes.
    pub dst: NodeId,
    /// Where it comes from.
    pub src: NodeId,
    /// Which conversation it belongs to: a handle of this network's, which stands for the ports.
    pub flow: FlowId,
    /// The conversation as everybody can tell it: [`flow_key`].
    pub key: u32,
    /// Bytes on the link, IP header included: the length of its encoding.
    pub size: u32,
    /// The number of its first byte, or of its SYN (RFC 9293, §3.4); or the segment that an
    /// Interest or Data names.
    pub seq: u32,
    /// When it came into the queue that it is in; sojourn is counted from here.
    pub queued: Time,
    /// The number expected next from the other side; counts when `flags` has ACK. Or the object
    /// that an Interest or Data names.
    pub ack: u32,
    /// With timestamps: the sender's clock when it was sent (RFC 7323, TSval). Or an Interest's
    /// nonce. Of a datagram with timestamps see [`Packet::stamp`].
    pub ts_val: u32,
    /// With timestamps: the TSval that it echoes (RFC 7323, TSecr).
    pub ts_ecr: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Receive window: bytes above `ack`, divided by the scale that the SYN has announced (RFC
    /// 7323, §2.2). A SYN's is not scaled.
    pub window: u16,
    /// TCP flags.
    pub flags: Flags,
    /// Of a SYN with that option: the largest segment that may come, TCP's and IP's headers without
    /// options not counted (RFC 6691).
    pub mss: u16,
    /// Of a SYN with that option: the window's scale, as a shift.
    pub window_scale: u8,
    /// TCP's options, besides SACK blocks.
    pub options: Options,
    /// How many SACK blocks count.
    pub sack_len: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// What it is.
    pub kind: Kind,
    /// Hops left.
    pub hops: u8,
    /// Which of its ends' interfaces it is between: [`Packet::set_interfaces`].
    pub interfaces: Interfaces,
    /// The tag of the outermost header, 0 for none.
    pub(crate) tag: u8,
    /// Bytes of headers.
    pub(crate) stacked: u8,
    /// What a full queue does with it.
    pub trim: Trim,
}

/// What most packets do not have.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Tail {
    sack: [SackBlock; MAX_SACK],
    stack: Stack,
}

impl Tail {
    const EMPTY: Tail = Tail { sack: [SackBlock { from: 0, to: 0 }; MAX_SACK], stack: Stack::EMPTY };
}

/// Equal in what counts.
impl PartialEq for Packet {
    fn eq(&self, other: &Packet) -> bool {
        self.head == other.head && self.sack_blocks() == other.sack_blocks() && self.headers() == other.headers()
    }
}

impl Deref for Packet {
    type Target = Head;
    #[inline]
    fn deref(&self) -> &Head {
        &self.head
    }
}

impl DerefMut for Packet {
    #[inline]
    fn deref_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}

/// What an application writes into a datagram's payload, as RTP does (RFC 3550, §5.1): the network's headers do not
/// have it.
impl Packet {
    /// The application numbers this datagram, and says when it sends it.
    #[inline]
    pub fn stamp(&mut self, number: u32, now: Time) {
        (self.seq, self.ts_val, self.ts_ecr) = (number, (now.0 >> 32) as u32, now.0 as u32);
        self.options = Options::TIMESTAMPS;
    }
    /// When a datagram was sent, if its application has said so.
    #[inline]
    pub fn stamped(&self) -> Option<Time> {
        let has_stamp = self.kind == Kind::Datagram && self.options.has(Options::TIMESTAMPS);
        has_stamp.then(|| Time(u64::from(self.ts_val) << 32 | u64::from(self.ts_ecr)))
    }
}

impl Packet {
    /// A segment of `size` bytes on the link from `src` to `dst`, all else zero or off.
    pub const fn new(flow: FlowId, src: NodeId, dst: NodeId, size: u32) -> Packet {
        let key = flow_key(flow, src, dst, Interfaces::ANY);
        Packet::between(flow, src, dst, Interfaces::ANY, key, size)
    }

    /// The same between two interfaces, for those who know the [`flow_key`] already.
    pub const fn between(
        flow: FlowId,
        src: NodeId,
        dst: NodeId,
        interfaces: Interfaces,
        key: u32,
        size: u32,
    ) -> Packet {
        let head = Head {
            dst,
            src,
            flow,
            key,
            size,
            seq: 0,
            queued: Time::ZERO,
            ack: 0,
            ts_val: 0,
            ts_ecr: 0,
            payload: 0,
            window: 0,
            flags: Flags(0),
            mss: 0,
            window_scale: 0,
            options: Options::NONE,
            sack_len: 0,
            ecn: Ecn::NotEct,
            kind: Kind::Segment,
            hops: HOP_LIMIT,
            interfaces,
            tag: 0,
            stacked: 0,
            trim: Trim::No,
        };
        Packet { head, tail: Tail::EMPTY }
    }

    /// What a packet is copied over when it leaves its pool.
    pub(crate) const BLANK: Packet = Packet::control(NodeId(0), NodeId(0));

    /// What a node says to its neighbour: RFC 5082's hop limit shows that nobody else has sent it.
    pub const fn control(from: NodeId, to: NodeId) -> Packet {
        let mut packet = Packet::new(FlowId::NONE, from, to, IP_HEADER);
        (packet.head.kind, packet.head.hops) = (Kind::Control, u8::MAX);
        packet
    }

    /// Says which interfaces it is between.
    pub const fn set_interfaces(&mut self, interfaces: Interfaces) {
        self.head.interfaces = interfaces;
        self.head.key = flow_key(self.head.flow, self.head.src, self.head.dst, interfaces);
    }

    /// Says by which entropy ECMP chooses its path, with its conversation.
    #[inline]
    pub const fn set_entropy(&mut self, entropy: u16) {
        let key = flow_key(self.head.flow, self.head.src, self.head.dst, self.head.interfaces);
        self.head.key = (mix((key as u64) << 16 | entropy as u64) >> 32) as u32;
    }

    /// The SACK blocks that count.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.tail.sack[..usize::from(self.sack_len).min(MAX_SACK)]
    }

    /// The places of SACK blocks, newest first; `sack_len` of them count.
    pub const fn sack_mut(&mut self) -> &mut [SackBlock; MAX_SACK] {
        &mut self.tail.sack
    }

    /// Becomes a copy of `other`, of as much of it as counts.
    #[inline]
    pub(crate) fn become_copy_of(&mut self, other: &Packet) {
        // Read before: else the head is copied in pieces around these two, in 12 instructions more.
        let (sack_len, stacked) = (other.sack_len, other.stacked);
        self.head = other.head;
        if sack_len != 0 {
            self.tail.sack = other.tail.sack;
        }
        if stacked != 0 {
            self.tail.stack = other.tail.stack;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_packets_without_headers_are_is_one_cache_line() {
        assert_eq!(std::mem::offset_of!(Packet, tail), 64);
        assert_eq!(size_of::<Packet>(), 192);
    }

    #[test]
    fn interfaces_are_named_or_any() {
        let pair = Interfaces::between(PortId(3), PortId(12));
        assert_eq!((pair.source(), pair.destination()), (Some(PortId(3)), Some(PortId(12))));
        assert_eq!(pair.reversed(), Interfaces::between(PortId(12), PortId(3)));
        assert_eq!((Interfaces::ANY.source(), Interfaces::ANY.reversed()), (None, Interfaces::ANY));
    }

    #[test]
    fn a_key_is_the_same_both_ways_and_another_for_another_conversation() {
        let (a, b, pair) = (NodeId(3), NodeId(9), Interfaces::between(PortId(0), PortId(2)));
        let key = flow_key(FlowId(7), a, b, pair);
        assert_eq!(key, flow_key(FlowId(7), b, a, pair.reversed()));
        let others = [(7, a, b, Interfaces::ANY), (8, a, b, pair), (7, a, NodeId(10), pair), (7, b, a, pair)];
        assert!(others.iter().all(|(f, a, b, i)| flow_key(FlowId(*f), *a, *b, *i) != key));
    }
}
