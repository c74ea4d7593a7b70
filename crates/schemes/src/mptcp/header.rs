//! What MPTCP's packets carry: the Data Sequence Signal option as the bytes of RFC 8684, figure 9, and what SYNs say.

use midpath_core::packet::{EXT_LEN, Header, Packet};

use super::address::MAX_ADDRESSES;

/// Bytes of the option with data ACK and mapping of eight octets each, without a checksum: 26, padded to words. With
/// timestamps this fills TCP's 40 bytes of options.
pub const SIZE: u32 = 28;

/// Bytes of the option with a data ACK alone.
pub const ACK_SIZE: u32 = 12;

/// Bytes that TCP's options can take together (RFC 9293, §3.1), and those of the timestamp option with its padding.
const ROOM: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// How many SACK blocks fit beside a data ACK: 4 + 8n bytes each (RFC 2018, §3). One with timestamps, three without.
pub const fn sack_blocks(timestamps: bool) -> u8 {
    let taken = ACK_SIZE + if timestamps { TIMESTAMPS } else { 0 };
    ((ROOM - taken - 4) / 8) as u8
}

/// The option's kind, and its subtype in the upper half of an octet (RFC 8684, §3 and §3.3).
const KIND: u8 = 30;
const SUBTYPE: u8 = 2 << 4;

/// RFC 8684, §3.3: data ACK present, of eight octets; mapping present, its number of eight octets; DATA_FIN.
const DATA_ACK: u8 = 0x01 | 0x02;
const MAPPING: u8 = 0x04 | 0x08;
const DATA_FIN: u8 = 0x10;

/// Subtypes of the options on SYNs (RFC 8684, §3.1 and §3.2), and the version that this is.
const MP_CAPABLE: u8 = 1;
const MP_JOIN: u8 = 1 << 4;

/// What a SYN or SYN-ACK says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hello {
    /// MP_CAPABLE: the first subflow, and how many addresses the end has. RFC 8684, §3.4.1 has an ADD_ADDR option for each of these, on a
    /// segment soon after; ours: a number, in the octet of the flags.
    Capable(u8),
    /// MP_JOIN: a further subflow. Its address is the packet's [`Pair`](super::address::Pair).
    Join,
}

impl Hello {
    /// Bytes of the option: RFC 8684, figures 4, 6 and 7. Keys, tokens and HMACs are counted, not computed.
    pub const fn size(self, answer: bool) -> u32 {
        match (self, answer) {
            (Hello::Capable(_), false) => 4,
            (Hello::Capable(_), true) | (Hello::Join, false) => 12,
            (Hello::Join, true) => 16,
        }
    }
}

impl Header for Hello {
    const TAG: u16 = Dss::TAG;

    fn encode(&self, out: &mut [u8; EXT_LEN]) {
        let (subtype, octet) = match self {
            Hello::Capable(addresses) => (MP_CAPABLE, *addresses),
            Hello::Join => (MP_JOIN, 0),
        };
        out[..4].copy_from_slice(&[KIND, 4, subtype, octet]);
    }

    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Hello> {
        match bytes[..4] {
            [KIND, 4, MP_CAPABLE, n] if (1..=MAX_ADDRESSES as u8).contains(&n) => Some(Hello::Capable(n)),
            [KIND, 4, MP_JOIN, 0] => Some(Hello::Join),
            _ => None,
        }
    }
}

/// A run of a subflow's bytes and where it lies in the data stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub data: u64,
    /// The last 32 bits of the subflow's number of the first byte.
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

impl Header for Dss {
    const TAG: u16 = 6;

    fn encode(&self, out: &mut [u8; EXT_LEN]) {
        let fin = if self.fin { DATA_FIN } else { 0 };
        let (flags, len) = if self.mapping.is_some() { (DATA_ACK | MAPPING | fin, 26) } else { (DATA_ACK, 12) };
        out[..4].copy_from_slice(&[KIND, len, SUBTYPE, flags]);
        out[4..12].copy_from_slice(&self.ack.to_be_bytes());
        if let Some(m) = self.mapping {
            out[12..20].copy_from_slice(&m.data.to_be_bytes());
            out[20..24].copy_from_slice(&m.subflow.to_be_bytes());
            out[24..26].copy_from_slice(&m.len.to_be_bytes());
        }
    }

    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Dss> {
        let long = |at: usize| bytes[at..at + 8].try_into().ok().map(u64::from_be_bytes);
        let ack = long(4)?;
        let head = |flags, len| bytes[..4] == [KIND, len, SUBTYPE, flags];
        if head(DATA_ACK, 12) {
            return Some(Dss { ack, mapping: None, fin: false });
        }
        let fin = head(DATA_ACK | MAPPING | DATA_FIN, 26);
        if !fin && !head(DATA_ACK | MAPPING, 26) {
            return None;
        }
        let subflow = u32::from_be_bytes(bytes[20..24].try_into().ok()?);
        let len = u16::from_be_bytes(bytes[24..26].try_into().ok()?);
        let mapping = Mapping { data: long(12)?, subflow, len };
        // Peers are hostile: no empty mapping, and none beyond the last number.
        let valid = len > 0 && mapping.data.checked_add(len.into()).is_some();
        valid.then_some(Dss { ack, mapping: Some(mapping), fin })
    }
}

/// What a packet says of the data stream.
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
    /// Where `packet`, which came with this option, belongs. `None` when the mapping doesn't cover its payload.
    pub fn place(&self, packet: &Packet) -> Option<Place> {
        let m = self.mapping?;
        let data = u64::from(m.len) - u64::from(self.fin);
        let end = self.fin.then_some(m.data + data);
        let payload = u64::from(packet.payload);
        if payload == 0 {
            return Some(Place { from: m.data, to: m.data, end });
        }
        let skip = u64::from((packet.seq as u32).wrapping_sub(m.subflow));
        let from = m.data.checked_add(skip)?;
        (skip + payload <= data).then(|| Place { from, to: from + payload, end })
    }
}
