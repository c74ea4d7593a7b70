//! Bolt's headers: flags on data, echoed by ACKs, and the notice that a port sends to the sender.

use midpath_core::packet::{Header, Packet, shim_size};

use crate::transport::cc::Seen;

/// Bytes on the wire that data and ACKs carry.
pub const SIZE: u32 = shim_size(BODY as u32);

const BODY: usize = 5;

/// What is said of a packet, bit by bit (the artefact's `BoltHeader::Flags_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BoltFlags(pub u8);

impl BoltFlags {
    /// Of a flow that has not seen an ACK of data yet.
    pub const FIRST: BoltFlags = BoltFlags(1);
    /// Of a flow's last window: its ACK brings no packet after it.
    pub const LAST: BoltFlags = BoltFlags(2);
    /// Its ACK may raise the window. Ports take it off.
    pub const INC: BoltFlags = BoltFlags(4);
    /// A port on the way was congested, and has said so.
    pub const DEC: BoltFlags = BoltFlags(8);
    /// On ACKs.
    pub const RETURNS: BoltFlags = BoltFlags(16);
    const ALL: u8 = 31;

    /// Whether all of `other` are there.
    pub const fn has(self, other: BoltFlags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: BoltFlags) -> BoltFlags {
        BoltFlags(self.0 | other.0)
    }
    /// These without `other`.
    #[must_use]
    pub const fn without(self, other: BoltFlags) -> BoltFlags {
        BoltFlags(self.0 & !other.0)
    }
}

/// The header of data and of ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BoltHeader {
    /// What is said of it.
    pub marks: BoltFlags,
    /// When it was sent, in nanoseconds modulo 2³².
    pub sent: u32,
}

impl Header for BoltHeader {
    const TAG: u8 = 10;

    fn body_len(&self) -> usize {
        BODY
    }
    fn put(&self, out: &mut [u8]) {
        out[0] = self.marks.0;
        out[1..BODY].copy_from_slice(&self.sent.to_be_bytes());
    }
    fn get(body: &[u8]) -> Option<BoltHeader> {
        let [marks, sent @ ..]: [u8; BODY] = body.try_into().ok()?;
        (marks <= BoltFlags::ALL).then(|| BoltHeader { marks: BoltFlags(marks), sent: u32::from_be_bytes(sent) })
    }
}

/// SRC, which the artefact calls BTS: what a congested port says of itself to the sender of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Notice {
    /// Bytes that wait.
    pub queue: u32,
    /// The link's rate in bits per second.
    pub rate: f32,
    /// When the packet was sent that found them waiting, as its header says.
    pub sent: u32,
}

const NOTICE: usize = 12;

impl Header for Notice {
    const TAG: u8 = 11;

    fn body_len(&self) -> usize {
        NOTICE
    }
    fn put(&self, out: &mut [u8]) {
        for (place, word) in out.chunks_exact_mut(4).zip([self.queue, self.rate.to_bits(), self.sent]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
    fn get(body: &[u8]) -> Option<Notice> {
        let (words, rest) = body.as_chunks::<4>();
        let [queue, rate, sent] =
            <[[u8; 4]; 3]>::try_from(words).ok().filter(|_| rest.is_empty())?.map(u32::from_be_bytes);
        let rate = f32::from_bits(rate);
        // Peers are hostile: no link without a rate.
        (1.0..=f32::MAX).contains(&rate).then_some(Notice { queue, rate, sent })
    }
}

/// What a receiver puts on an ACK: what is said of the packet that it acknowledges.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(header) = seen.header::<BoltHeader>() {
        ack.set_header(&BoltHeader { marks: header.marks.with(BoltFlags::RETURNS), ..header });
    }
}
