//! What the two ends say to each other, as bytes: RTP's header (RFC 3550, §5.1), and RTCP's congestion control feedback
//! (RFC 8888, §3.1). Nothing authenticates either: what cannot be is refused.

use midpath_core::packet::Ecn;
use midpath_core::units::Time;

/// Bytes of RTP's header without extensions.
pub const RTP: usize = 12;

/// Version 2, no padding, no extension, no contributing sources.
const VERSION: u8 = 0x80;
/// Dynamic payload types (RFC 3551, §6): media, and what has none.
const PAYLOAD_TYPE: u8 = 96;
const PADDING_TYPE: u8 = 97;
/// RTP's clock of video (RFC 3551, §5).
const VIDEO_CLOCK: u128 = 90_000;
const PS: u128 = 1_000_000_000_000;

/// RTP's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtp {
    /// The last data unit of a frame.
    pub marker: bool,
    /// Sixteen bits of the data unit's number.
    pub sequence: u16,
    /// When the frame was sampled.
    pub timestamp: u32,
    /// The stream.
    pub ssrc: u32,
    /// Whether it has no media.
    pub padding: bool,
}

impl Rtp {
    /// A data unit of a frame of this time.
    pub fn new(marker: bool, sequence: u16, frame: Time, ssrc: u32) -> Rtp {
        Rtp { marker, sequence, timestamp: ticks(frame, VIDEO_CLOCK), ssrc, padding: false }
    }

    /// A data unit of `length` bytes; its media are zeros.
    pub fn packet(&self, length: usize) -> Vec<u8> {
        let mut out = vec![0; length.max(RTP)];
        out[0] = VERSION;
        out[1] = if self.padding { PADDING_TYPE } else { PAYLOAD_TYPE } | u8::from(self.marker) << 7;
        out[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        out[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        out[8..RTP].copy_from_slice(&self.ssrc.to_be_bytes());
        out
    }

    /// Reads it back. RTCP's packet types are no RTP (RFC 5761, §4).
    pub fn get(bytes: &[u8]) -> Option<Rtp> {
        let head: &[u8; RTP] = bytes.first_chunk()?;
        let kind = head[1] & 0x7f;
        (head[0] == VERSION && [PAYLOAD_TYPE, PADDING_TYPE].contains(&kind)).then(|| Rtp {
            marker: head[1] >> 7 != 0,
            sequence: u16::from_be_bytes([head[2], head[3]]),
            timestamp: word(head, 4),
            ssrc: word(head, 8),
            padding: kind == PADDING_TYPE,
        })
    }
}

/// RTCP's transport-layer feedback with FMT 11.
const HEAD: [u8; 2] = [VERSION | 11, 205];
/// Header, sender's SSRC, stream's SSRC, begin_seq and num_reports, which is the number of blocks (erratum 8166; the
/// authors' implementation writes one less, as the text had it); then the blocks, then the report's timestamp.
const BEFORE: usize = 16;
const AFTER: usize = 4;
/// Arrivals are in units of 1/1024 s before the report's timestamp, thirteen bits.
const RECEIVED: u16 = 0x8000;
const OFFSET: u16 = 0x1fff;
/// "More than that", and "not known".
const OVER: u16 = 0x1ffe;
/// A second in the report's clock: the middle bits of NTP's.
pub const NTP: u32 = 65_536;
const TO_OFFSET: u32 = NTP / 1024;

/// The report's clock, in 1/65,536 s.
pub fn ntp(now: Time) -> u32 {
    ticks(now, NTP.into())
}

fn ticks(now: Time, clock: u128) -> u32 {
    (u128::from(now.0) * clock / PS) as u32
}

/// When a data unit came, and how it was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// By the report's clock.
    pub at: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// What a receiver says of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The stream.
    pub ssrc: u32,
    /// The sequence number of the first block.
    pub begin: u16,
    /// One for each sequence number from there on; `None` for what has not come.
    pub blocks: Vec<Option<Arrival>>,
    /// The report's timestamp.
    pub at: u32,
}

impl Report {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let padded = self.blocks.len().next_multiple_of(2);
        let mut out = Vec::with_capacity(BEFORE + 2 * padded + AFTER);
        out.extend(HEAD);
        out.extend(((BEFORE + 2 * padded + AFTER) as u16 / 4 - 1).to_be_bytes());
        // The receiver sends no media: one SSRC stands for both.
        out.extend(self.ssrc.to_be_bytes());
        out.extend(self.ssrc.to_be_bytes());
        out.extend(self.begin.to_be_bytes());
        out.extend((self.blocks.len() as u16).to_be_bytes());
        for block in &self.blocks {
            out.extend(block.map_or(0, |arrival| self.block(arrival)).to_be_bytes());
        }
        out.resize(BEFORE + 2 * padded, 0);
        out.extend(self.at.to_be_bytes());
        out
    }

    fn block(&self, arrival: Arrival) -> u16 {
        let offset = (self.at.wrapping_sub(arrival.at) / TO_OFFSET).min(OVER.into()) as u16;
        RECEIVED | (arrival.ecn as u16) << 13 | offset
    }

    /// Reads it back. An arrival whose time is not known counts as long ago.
    pub fn get(bytes: &[u8]) -> Option<Report> {
        let words = u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?);
        if bytes.get(..2)? != HEAD || bytes.len() != 4 * (usize::from(words) + 1) || bytes.len() < BEFORE + AFTER {
            return None;
        }
        let (before, rest) = bytes.split_at(BEFORE);
        let (blocks, after) = rest.split_at(rest.len() - AFTER);
        let count = usize::from(u16::from_be_bytes([before[14], before[15]]));
        if blocks.len() != 2 * count.next_multiple_of(2) {
            return None;
        }
        let at = word(after, 0);
        let block = |two: &[u8; 2]| {
            let bits = u16::from_be_bytes(*two);
            let ago = u32::from((bits & OFFSET).min(OVER)) * TO_OFFSET;
            let arrival = Arrival { at: at.wrapping_sub(ago), ecn: Ecn::from_bits((bits >> 13) as u8) };
            (bits & RECEIVED != 0).then_some(arrival)
        };
        let blocks = blocks.as_chunks::<2>().0.iter().take(count).map(block).collect();
        Some(Report { ssrc: word(before, 8), begin: u16::from_be_bytes([before[12], before[13]]), blocks, at })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
