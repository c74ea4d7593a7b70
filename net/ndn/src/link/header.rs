//! NDNLPv2's header.

use super::mircc::Mircc;
use super::{ignorable, reason, set};
use crate::tlv::{Element, Error, Reader, put, put_nested, put_number, put_var};

pub(super) const LP_PACKET: u32 = 0x64;
pub(super) const FRAGMENT: u32 = 0x50;
const SEQUENCE: u32 = 0x51;
pub(super) const FRAG_INDEX: u32 = 0x52;
pub(super) const FRAG_COUNT: u32 = 0x53;
pub(super) const PIT_TOKEN: u32 = 0x62;
pub(super) const NACK: u32 = 0x0320;
pub(super) const NACK_REASON: u32 = 0x0321;
const INCOMING_FACE: u32 = 0x032C;
const NEXT_HOP_FACE: u32 = 0x0330;
const CONGESTION_MARK: u32 = 0x0340;

/// Bytes of a PIT token (NDNLPv2, *PIT token*).
pub const MAX_TOKEN: usize = 32;

/// The downstream node's own word for an Interest, which comes back with its answer: 1 to 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PitToken {
    length: u8,
    bytes: [u8; MAX_TOKEN],
}

impl PitToken {
    /// Of these bytes, if they are neither none nor too many.
    pub fn of(bytes: &[u8]) -> Option<PitToken> {
        let mut token = PitToken { length: bytes.len() as u8, bytes: [0; MAX_TOKEN] };
        if bytes.is_empty() {
            return None;
        }
        token.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(token)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A fragment's place in its packet (NDNLPv2, *Indexed fragmentation*).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its number; those of a packet follow each other.
    pub sequence: u64,
    /// Which it is, from 0.
    pub index: u64,
    /// How many there are, more than one.
    pub count: u64,
}

/// What stands around a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Of which packet it is a fragment.
    pub piece: Option<Piece>,
    /// The downstream node's word for the Interest.
    pub pit_token: Option<PitToken>,
    /// Of a Nack, with the Interest that it refuses: the reason.
    pub nack: Option<u64>,
    /// To an application that asked for it: the face from which the packet came.
    pub incoming_face: Option<u64>,
    /// From an application that may say so: the face to send the Interest to.
    pub next_hop_face: Option<u64>,
    /// Above zero: a queue on the way was too long.
    pub congestion_mark: Option<u64>,
    /// MIRCC's fields.
    pub mircc: Mircc,
}

impl Header {
    /// The same without what only the faces of this host's applications may say.
    #[must_use]
    pub fn without_local_fields(self) -> Header {
        Header { incoming_face: None, next_hop_face: None, ..self }
    }

    /// The fields of an LpPacket and, if it is no IDLE packet, its fragment.
    pub(super) fn get(value: &[u8]) -> Result<(Header, Option<&[u8]>), Error> {
        let (mut header, mut reader) = (Header::default(), Reader::new(value));
        let (mut sequence, mut index, mut count) = (None, None, None);
        let mut fragment = None;
        while let Some(element) = reader.element()? {
            // It is the last.
            if fragment.is_some() {
                return Err(Error::Element(element.kind));
            }
            let twice = match element.kind {
                FRAGMENT => set(&mut fragment, element.value),
                SEQUENCE => set(&mut sequence, u64::from_be_bytes(element.array()?)),
                FRAG_INDEX => set(&mut index, element.number()?),
                FRAG_COUNT => set(&mut count, element.number()?),
                _ => header.field(element)?,
            };
            if twice {
                return Err(Error::Element(element.kind));
            }
        }
        header.piece = piece(sequence, index.unwrap_or(0), count.unwrap_or(1))?;
        // A fragment without bytes is none.
        Ok((header, fragment.filter(|bytes| !bytes.is_empty())))
    }

    /// Reads one field; whether it was there already.
    fn field(&mut self, element: Element<'_>) -> Result<bool, Error> {
        Ok(match element.kind {
            PIT_TOKEN => set(&mut self.pit_token, PitToken::of(element.value).ok_or(Error::Value(PIT_TOKEN))?),
            NACK => set(&mut self.nack, nack_reason(element.value)?),
            INCOMING_FACE => set(&mut self.incoming_face, element.number()?),
            NEXT_HOP_FACE => set(&mut self.next_hop_face, element.number()?),
            CONGESTION_MARK => set(&mut self.congestion_mark, element.number()?),
            kind if !self.mircc.field(element)? && !ignorable(kind) => return Err(Error::Element(kind)),
            _ => false,
        })
    }

    /// Writes a packet, or a fragment of one, with this around it: bare if there is nothing to say.
    pub fn wrap(&self, packet: &[u8], out: &mut Vec<u8>) {
        if *self == Header::default() {
            return out.extend_from_slice(packet);
        }
        let mut fields = Vec::with_capacity(192);
        self.put_fields(&mut fields);
        put_var(u64::from(FRAGMENT), &mut fields);
        put_var(packet.len() as u64, &mut fields);
        put_var(u64::from(LP_PACKET), out);
        put_var((fields.len() + packet.len()) as u64, out);
        out.extend_from_slice(&fields);
        out.extend_from_slice(packet);
    }

    /// Writes an IDLE packet: these fields and no packet.
    pub fn idle(&self, out: &mut Vec<u8>) {
        put_nested(LP_PACKET, out, |out| self.put_fields(out));
    }

    /// The fields in rising order of their types.
    fn put_fields(&self, out: &mut Vec<u8>) {
        if let Some(piece) = self.piece {
            put(SEQUENCE, &piece.sequence.to_be_bytes(), out);
            put_number(FRAG_INDEX, piece.index, out);
            put_number(FRAG_COUNT, piece.count, out);
        }
        self.pit_token.iter().for_each(|token| put(PIT_TOKEN, token.bytes(), out));
        self.nack.iter().for_each(|reason| {
            put_nested(NACK, out, |out| {
                // NDNLPv2: no reason is none given.
                if *reason != reason::NONE {
                    put_number(NACK_REASON, *reason, out);
                }
            });
        });
        self.incoming_face.iter().for_each(|face| put_number(INCOMING_FACE, *face, out));
        self.next_hop_face.iter().for_each(|face| put_number(NEXT_HOP_FACE, *face, out));
        self.congestion_mark.iter().for_each(|mark| put_number(CONGESTION_MARK, *mark, out));
        self.mircc.put(out);
    }
}

/// A packet in one piece says nothing of fragments, or that it is one of one.
fn piece(sequence: Option<u64>, index: u64, count: u64) -> Result<Option<Piece>, Error> {
    match sequence {
        _ if index >= count => Err(Error::Fragment),
        _ if count == 1 => Ok(None),
        Some(sequence) => Ok(Some(Piece { sequence, index, count })),
        None => Err(Error::Missing(SEQUENCE)),
    }
}

fn nack_reason(value: &[u8]) -> Result<u64, Error> {
    let mut reader = Reader::new(value);
    let mut reason = None;
    while let Some(element) = reader.element()? {
        let twice = match element.kind {
            NACK_REASON => set(&mut reason, element.number()?),
            kind => !ignorable(kind),
        };
        if twice {
            return Err(Error::Element(element.kind));
        }
    }
    Ok(reason.unwrap_or(reason::NONE))
}
