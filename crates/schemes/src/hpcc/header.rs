//! HPCC's header: INT records of up to five ports on the path.
//!
//! The space is allocated at the sender, so packets keep their size. HPCC packs a record into 8 bytes for one data
//! centre's rates and times; ours has 16 and is exact from 1 bit/s to 100 Gbit/s.

use midpath_core::packet::{Header, Packet, shim_size};

use crate::transport::cc::Seen;

/// Most ports that can say something: five switches, a fat-tree's longest path (HPCC, §3.1).
pub const HOPS: usize = 5;

const READING: usize = 16;
const BODY: usize = 1 + HOPS * READING;

/// Bytes on the wire: the header in a shim.
pub const SIZE: u32 = shim_size(BODY as u32);

/// On ACKs: the readings are the sender's, or shall be.
const RETURNS: u8 = 0x80;

/// What a port says of itself (HPCC, §3.1: B, qLen, txBytes, ts).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// The link's rate in bits per second.
    pub rate: f32,
    /// Bytes that wait.
    pub queue: u32,
    /// Bytes sent so far, modulo 2³².
    pub sent: u32,
    /// When, in nanoseconds modulo 2³².
    pub time: u32,
}

/// The header of HPCC.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IntHeader {
    /// Whether it is on its way back.
    pub returns: bool,
    hops: u8,
    readings: [Reading; HOPS],
}

impl IntHeader {
    /// One without readings.
    pub fn empty(returns: bool) -> IntHeader {
        IntHeader { returns, ..IntHeader::default() }
    }

    /// What ports have written, in the order in which the packet met them.
    pub fn readings(&self) -> &[Reading] {
        &self.readings[..usize::from(self.hops)]
    }

    /// Adds a port's reading; one beyond the fifth finds no room.
    pub fn push(&mut self, reading: Reading) {
        if let Some(place) = self.readings.get_mut(usize::from(self.hops)) {
            *place = reading;
            self.hops += 1;
        }
    }
}

impl Header for IntHeader {
    const TAG: u8 = 8;

    fn body_len(&self) -> usize {
        BODY
    }

    fn put(&self, out: &mut [u8]) {
        out[0] = self.hops | if self.returns { RETURNS } else { 0 };
        for (place, r) in out[1..].chunks_exact_mut(READING).zip(&self.readings) {
            for (word, bytes) in place.chunks_exact_mut(4).zip([r.rate.to_bits(), r.queue, r.sent, r.time]) {
                word.copy_from_slice(&bytes.to_be_bytes());
            }
        }
    }

    fn get(body: &[u8]) -> Option<IntHeader> {
        let bytes: &[u8; BODY] = body.try_into().ok()?;
        let hops = bytes[0] & !RETURNS;
        // Peers are hostile: no more readings than there is room for, no link without a rate.
        if usize::from(hops) > HOPS {
            return None;
        }
        let mut header = IntHeader { returns: bytes[0] & RETURNS != 0, hops, readings: Default::default() };
        for (i, part) in bytes[1..].chunks_exact(READING).take(usize::from(hops)).enumerate() {
            let word = |at: usize| u32::from_be_bytes([part[at], part[at + 1], part[at + 2], part[at + 3]]);
            let rate = f32::from_bits(word(0));
            if !(1.0..=f32::MAX).contains(&rate) {
                return None;
            }
            header.readings[i] = Reading { rate, queue: word(4), sent: word(8), time: word(12) };
        }
        Some(header)
    }
}

/// What a receiver puts on an ACK where data bring the readings: those.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(header) = seen.header::<IntHeader>() {
        ack.set_header(&IntHeader { returns: true, ..header });
    }
}

/// And where ACKs collect them: room.
pub fn make_room(_seen: Seen<'_>, ack: &mut Packet) {
    ack.set_header(&IntHeader::empty(true));
}
