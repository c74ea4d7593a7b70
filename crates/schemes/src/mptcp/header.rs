//! What MPTCP's packets carry: the Data Sequence Signal option as the bytes of RFC 8684, figure 9, and what SYNs say.

use midpath_core::packet::{Header, Packet, TCP_OPTION};

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

    /// Puts it on a SYN or, as an `answer`, on a SYN-ACK, in place of whatever option it has.
    pub fn put_on(self, packet: &mut Packet, answer: bool) {
        let mut body = [0; 14];
        self.put(&mut body[..BODY]);
        packet.take_header::<Hello>();
        packet.push_raw(Hello::TAG, &body[..self.size(answer) as usize - 2]);
    }
}

/// Subtype and flags: what of the option on SYNs is more than zeros.
const BODY: usize = 2;

impl Header for Hello {
    const TAG: u8 = Dss::TAG;

    fn body_len(&self) -> usize {
        BODY
    }

    fn put(&self, out: &mut [u8]) {
        let (subtype, octet) = match self {
            Hello::Capable(addresses) => (MP_CAPABLE, *addresses),
            Hello::Join => (MP_JOIN, 0),
        };
        out.copy_from_slice(&[subtype, octet]);
    }

    fn get(body: &[u8]) -> Option<Hello> {
        let (head, rest) = body.split_first_chunk::<BODY>()?;
        if rest.iter().any(|b| *b != 0) || rest.len() > 12 {
            return None;
        }
        match head {
            [MP_CAPABLE, n] if (1..=MAX_ADDRESSES as u8).contains(n) => Some(Hello::Capable(*n)),
            [MP_JOIN, 0] => Some(Hello::Join),
            _ => None,
        }
    }
}

/// A run of a subflow's bytes and where it lies in the data stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub data: u64,
    /// The subflow's number of the first byte, counted from its SYN (RFC 8684, §3.3.1).
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
        // Peers are hostile: no empty mapping, and none beyond the last number.
        let valid = len > 0 && data.checked_add(len.into()).is_some();
        valid.then_some(Dss { ack, mapping: Some(Mapping { data, subflow, len }), fin })
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
    /// Where `packet`, which came with this option and has this number counted from the subflow's SYN, belongs. `None` when the mapping doesn't
    /// cover its payload.
    pub fn place(&self, packet: &Packet, number: u32) -> Option<Place> {
        let m = self.mapping?;
        let data = u64::from(m.len) - u64::from(self.fin);
        let end = self.fin.then_some(m.data + data);
        let payload = u64::from(packet.payload);
        if payload == 0 {
            return Some(Place { from: m.data, to: m.data, end });
        }
        let skip = u64::from(number.wrapping_sub(m.subflow));
        let from = m.data.checked_add(skip)?;
        (skip + payload <= data).then(|| Place { from, to: from + payload, end })
    }
}
