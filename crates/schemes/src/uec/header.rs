//! What the two ends say to each other: one header for all, of HTSIM's 64 bytes with IP's and UDP's (`UecSrc::_hdr_size`,
//! `UecBasePacket::ACKSIZE`). Its layout is ours.

use midpath_core::packet::{ENTROPY, FlowId, Header, IP_HEADER, Kind, NodeId, Packet, UDP_HEADER, shim_size};

const BODY: usize = 30;
/// A packet without payload, and what each packet has beside its payload.
pub const SIZE: u32 = IP_HEADER + UDP_HEADER + shim_size(BODY as u32);

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Message {
    /// Data.
    #[default]
    Data = 0,
    /// A sender that may send nothing asks for an answer (`UecRtsPacket`).
    Rts = 1,
    /// Acknowledges (`UecAckPacket`).
    Ack = 2,
    /// Its payload did not arrive (`UecNackPacket`).
    Nack = 3,
    /// Credit (`UecPullPacket`).
    Pull = 4,
    /// All has arrived, and the flow is over.
    Closed = 5,
}

impl Message {
    const ALL: [Message; 6] =
        [Message::Data, Message::Rts, Message::Ack, Message::Nack, Message::Pull, Message::Closed];

    /// Whether it is a receiver's.
    pub const fn answers(self) -> bool {
        matches!(self, Message::Ack | Message::Nack | Message::Pull | Message::Closed)
    }
}

/// What is said of a packet, bit by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketFlags(pub u8);

impl PacketFlags {
    /// Data: acknowledge it at once (`ar`).
    pub const ACK_REQUEST: PacketFlags = PacketFlags(1);
    /// Data, and its answer: it was sent again.
    pub const AGAIN: PacketFlags = PacketFlags(2);
    /// The message's last packet.
    pub const LAST: PacketFlags = PacketFlags(4);
    /// An answer: the packet was marked (`ecn_echo`).
    pub const CE: PacketFlags = PacketFlags(8);
    /// A NACK: trimmed where its link led to the receiver.
    pub const LAST_HOP: PacketFlags = PacketFlags(16);
    /// An answer to [`Message::Rts`].
    pub const RTS: PacketFlags = PacketFlags(32);
    /// An ACK or NACK: it is a pull as well (NDP).
    pub const PULL: PacketFlags = PacketFlags(64);
    const SOME: u8 = 127;

    /// Whether all of `other` are there.
    pub const fn has(self, other: PacketFlags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These, and `other` if `there`.
    #[must_use]
    pub const fn with(self, other: PacketFlags, there: bool) -> PacketFlags {
        if there { PacketFlags(self.0 | other.0) } else { self }
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UecHeader {
    /// The entropy value by which paths are chosen; an answer has that of the packet.
    pub entropy: u16,
    /// What it is.
    pub message: Message,
    /// What is said of it.
    pub flags: PacketFlags,
    /// The packet's number, or the one that is answered.
    pub psn: u32,
    /// An ACK: the number that is expected next.
    pub cumulative: u32,
    /// An ACK: the number of the bitmap's first bit. Data: the credit asked for. A pull: the credit given; both in quanta
    /// from the flow's beginning.
    pub base: u32,
    /// An ACK: which packets from there on have arrived.
    pub bitmap: u64,
    /// An ACK: bytes received, headers included, modulo 2³² (`recvd_bytes`).
    pub received: u32,
    /// An ACK: packets received out of order (`ooo`).
    pub out_of_order: u16,
}

impl UecHeader {
    /// What a host says whose end of the flow is gone.
    pub fn closed(&self) -> UecHeader {
        UecHeader { message: Message::Closed, psn: self.psn, entropy: self.entropy, ..UecHeader::default() }
    }

    /// A datagram with this header.
    pub fn packet(&self, flow: FlowId, src: NodeId, dst: NodeId, payload: u16) -> Packet {
        let mut packet = Packet::new(flow, src, dst, IP_HEADER + UDP_HEADER + u32::from(payload));
        (packet.kind, packet.payload) = (Kind::Datagram, payload);
        packet.set_header(self);
        packet.set_entropy(self.entropy);
        packet
    }
}

impl Header for UecHeader {
    const TAG: u8 = ENTROPY;

    fn body_len(&self) -> usize {
        BODY
    }
    fn put(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&self.entropy.to_be_bytes());
        (out[2], out[3]) = (self.message as u8, self.flags.0);
        for (place, word) in out[4..16].chunks_exact_mut(4).zip([self.psn, self.cumulative, self.base]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        out[16..24].copy_from_slice(&self.bitmap.to_be_bytes());
        out[24..28].copy_from_slice(&self.received.to_be_bytes());
        out[28..BODY].copy_from_slice(&self.out_of_order.to_be_bytes());
    }
    fn get(body: &[u8]) -> Option<UecHeader> {
        let body: &[u8; BODY] = body.try_into().ok()?;
        let word = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let message = *Message::ALL.get(usize::from(body[2]))?;
        (body[3] <= PacketFlags::SOME).then(|| UecHeader {
            entropy: u16::from_be_bytes([body[0], body[1]]),
            message,
            flags: PacketFlags(body[3]),
            psn: word(4),
            cumulative: word(8),
            base: word(12),
            bitmap: u64::from(word(16)) << 32 | u64::from(word(20)),
            received: word(24),
            out_of_order: u16::from_be_bytes([body[28], body[29]]),
        })
    }
}
