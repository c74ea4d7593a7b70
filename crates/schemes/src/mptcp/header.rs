//! MPTCP's header on established subflows: the Data Sequence Signal option as the bytes
//! of RFC 8684, figure 9.

use midpath_core::packet::{Header, TCP_OPTION};

/// Bytes of the option with data ACK and mapping of eight octets each, without a checksum: 26,
/// padded to words. With timestamps this fills TCP's 40 bytes of options.
pub const SIZE: u32 = 28;

/// Bytes of the option with a data ACK alone.
pub const ACK_SIZE: u32 = 12;

/// Bytes that TCP's options can take together (RFC 9293, §3.1), and those of the timestamp option
/// with its padding.
const ROOM: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// How many SACK blocks fit beside a data ACK: 4 + 8n bytes each (RFC 2018, §3). One with
/// timestamps, three without.
pub const fn sack_blocks(timestamps: bool) -> u8 {
    let taken = ACK_SIZE + if timestamps { TIMESTAMPS } else { 0 };
    ((ROOM - taken - 4) / 8) as u8
}

/// The option's kind, and its subtype in the upper half of an octet (RFC 8684, §3 and §3.3).
const KIND: u8 = 30;
const SUBTYPE: u8 = 2 << 4;

/// RFC 8684, §3.3: data ACK present, of eight octets; mapping present, its number of eight octets;
/// DATA_FIN.
const DATA_ACK: u8 = 0x01 | 0x02;
const MAPPING: u8 = 0x04 | 0x08;
const DATA_FIN: u8 = 0x10;

/// A run of a subflow's bytes and where it lies in the data stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub data: u64,
    /// The subflow's number of the first byte, counted from its SYN (RFC 8684, §3.3.1); 0 for a
    /// DATA_FIN alone (§3.3.3).
    pub subflow: u32,
    /// How many bytes; a DATA_FIN counts for one (RFC 8684, §3.3.3).
    pub len: u16,
}

/// The Data Sequence Signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dss {
    /// The next data sequence number expected.
    pub ack: u64,
    /// Where the packet's payload belongs.
    pub mapping: Option<Mapping>,
    /// The mapping ends with the stream.
    pub fin: bool,
}

/// Bytes of the option's body: subtype, flags and data ACK; and those of a mapping.
const BARE: usize = 10;
const MAPPED: usize = 14;

impl Header for Dss {
    const TAG: u8 = TCP_OPTION | KIND;

    fn body_len(&self) -> usize {
        if self.mapping.is_some() { BARE + MAPPED } else { BARE }
    }

    fn put(&self, out: &mut [u8]) {
        let fin = if self.fin { DATA_FIN } else { 0 };
        let flags = if self.mapping.is_some() { DATA_ACK | MAPPING | fin } else { DATA_ACK };
        out[..2].copy_from_slice(&[SUBTYPE, flags]);
        out[2..10].copy_from_slice(&self.ack.to_be_bytes());
        if let Some(m) = self.mapping {
            out[10..18].copy_from_slice(&m.data.to_be_bytes());
            out[18..22].copy_from_slice(&m.subflow.to_be_bytes());
            out[22..24].copy_from_slice(&m.len.to_be_bytes());
        }
    }

    fn get(body: &[u8]) -> Option<Dss> {
        let (bare, mapped) = body.split_first_chunk::<BARE>()?;
        let ack = u64::from_be_bytes(bare[2..].try_into().ok()?);
        let head = |flags| bare[..2] == [SUBTYPE, flags];
        if head(DATA_ACK) && mapped.is_empty() {
            return Some(Dss { ack, mapping: None, fin: false });
        }
        let fin = head(DATA_ACK | MAPPING | DATA_FIN);
        if !fin && !head(DATA_ACK | MAPPING) {
            return None;
        }
        let mapped: &[u8; MAPPED] = mapped.try_into().ok()?;
        let data = u64::from_be_bytes(mapped[..8].try_into().ok()?);
        let subflow = u32::from_be_bytes(mapped[8..12].try_into().ok()?);
        let len = u16::from_be_bytes([mapped[12], mapped[13]]);
        (len > 0).then_some(Dss { ack, mapping: Some(Mapping { data, subflow, len }), fin })
    }
}

/// What a packet says of the data stream, in bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The payload's first byte in the data stream.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
    /// The length of the stream, when the packet tells it.
    pub end: Option<u64>,
}

impl Dss {
    /// Where the payload of a packet belongs that came with this option and has this number counted
    /// from the subflow's SYN; `first` is the data sequence number of the stream's first byte.
    /// `None` when the mapping doesn't cover the payload.
    pub fn place(&self, first: u64, number: u32, payload: u16) -> Option<Place> {
        let m = self.mapping?;
        // Numbers wrap. Nobody sends 2^63 bytes: what seems to be beyond lies before the first.
        let at = Some(m.data.wrapping_sub(first)).filter(|at| *at < 1 << 63)?;
        let data = u64::from(m.len) - u64::from(self.fin);
        let end = self.fin.then_some(at + data);
        let payload = u64::from(payload);
        if payload == 0 {
            return Some(Place { from: at, to: at, end });
        }
        let skip = u64::from(number.wrapping_sub(m.subflow));
        (skip + payload <= data).then(|| Place { from: at + skip, to: at + skip + payload, end })
    }
}
