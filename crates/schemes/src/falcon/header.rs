//! Falcon's header, as far as its congestion control reads it: T1, how long the packet waited at the receiver, its hops and
//! the level of the receiver's buffer; and the entropy that stands for the flow label.

use midpath_core::packet::{ENTROPY, HOP_LIMIT, Header, Packet, change_among, shim_size};
use midpath_core::roles::Received;

use crate::transport::cc::Seen;

/// Bytes on the wire that data and ACKs carry.
pub const SIZE: u32 = shim_size(BODY as u32);

const BODY: usize = 13;

/// The header of data and of ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FalconHeader {
    /// By which ECMP chooses a path.
    pub entropy: u16,
    /// T1, in nanoseconds modulo 2³².
    pub sent: u32,
    /// T3 − T2, in nanoseconds.
    pub waited: u32,
    /// `rx_buffer_level`, 0 to 31.
    pub level: u8,
    /// `forward_hops`.
    pub hops: u8,
    /// On ACKs.
    pub returns: bool,
}

/// Levels of a buffer (§10.2).
pub const LEVELS: u8 = 32;

impl Header for FalconHeader {
    const TAG: u8 = ENTROPY;

    fn body_len(&self) -> usize {
        BODY
    }
    fn put(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&self.entropy.to_be_bytes());
        out[2..6].copy_from_slice(&self.sent.to_be_bytes());
        out[6..10].copy_from_slice(&self.waited.to_be_bytes());
        out[10..BODY].copy_from_slice(&[self.level, self.hops, u8::from(self.returns)]);
    }
    fn get(body: &[u8]) -> Option<FalconHeader> {
        let body: [u8; BODY] = body.try_into().ok()?;
        let [e0, e1, s0, s1, s2, s3, w0, w1, w2, w3, level, hops, returns] = body;
        (level < LEVELS && returns <= 1).then_some(FalconHeader {
            entropy: u16::from_be_bytes([e0, e1]),
            sent: u32::from_be_bytes([s0, s1, s2, s3]),
            waited: u32::from_be_bytes([w0, w1, w2, w3]),
            level,
            hops,
            returns: returns == 1,
        })
    }
}

/// Puts the header on a packet, whose path its entropy then chooses.
pub fn put_on(packet: &mut Packet, header: &FalconHeader) {
    packet.set_header(header);
    packet.set_entropy(header.entropy);
}

/// How a receiver notes T3 − T2 and the level: quantised with α = 1, in equal parts of the buffer (§10.2; ours).
pub fn stamp(headers: &mut [u8], received: &Received) {
    let waited = u32::try_from(received.waited.as_ns()).unwrap_or(u32::MAX);
    let level = received.level(LEVELS);
    change_among::<FalconHeader>(headers, |header| FalconHeader { waited, level, ..header });
}

/// What a receiver puts on an ACK: what is said of the packet that it acknowledges.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(header) = seen.header::<FalconHeader>() {
        put_on(ack, &FalconHeader { hops: HOP_LIMIT.saturating_sub(seen.hops), returns: true, ..header });
    }
}
