//! Interest and Data (packet specification 0.3).

use crate::name::{NAME, Name};
use crate::tlv::{Element, Error, Reader, is_critical, put, put_nested, put_number};

const INTEREST: u32 = 0x05;
const DATA: u32 = 0x06;
const CAN_BE_PREFIX: u32 = 0x21;
const MUST_BE_FRESH: u32 = 0x12;
const FORWARDING_HINT: u32 = 0x1E;
const NONCE: u32 = 0x0A;
const LIFETIME: u32 = 0x0C;
const HOP_LIMIT: u32 = 0x22;
const PARAMETERS: u32 = 0x24;
const INTEREST_SIGNATURE: u32 = 0x2C;
const INTEREST_SIGNATURE_VALUE: u32 = 0x2E;
const META_INFO: u32 = 0x14;
const CONTENT: u32 = 0x15;
const SIGNATURE_INFO: u32 = 0x16;
const SIGNATURE_VALUE: u32 = 0x17;
const FRESHNESS: u32 = 0x19;
const CONTENT_TYPE: u32 = 0x18;
const FINAL_BLOCK: u32 = 0x1A;
const SIGNATURE_TYPE: u32 = 0x1B;

/// The signature of nobody, without a value.
pub const NULL_SIGNATURE: u64 = 200;

/// An Interest. What it may have besides is read over, if whoever does not know it may: forwarding
/// hints, parameters, signatures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interest {
    /// What it asks for.
    pub name: Name,
    /// Whether Data with a longer name will do.
    pub can_be_prefix: bool,
    /// Whether only fresh Data will do.
    pub must_be_fresh: bool,
    /// Tells it from others in the same name.
    pub nonce: Option<u32>,
    /// How long it is pending, ms; 4,000 unless said.
    pub lifetime: Option<u64>,
    /// Hops left.
    pub hop_limit: Option<u8>,
}

/// Data. What the signature covers is kept as it came: nobody here makes or checks one. Elements
/// that are read over are not kept, so who forwards Data sends the bytes that came
/// ([`LpPacket::network_part`](crate::LpPacket::network_part)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// What it is.
    pub name: Name,
    /// What it says of itself, as it came: the value of MetaInfo.
    pub meta: Option<Vec<u8>>,
    /// The content, if there is any.
    pub content: Option<Vec<u8>>,
    /// How it is signed, as it came: the value of SignatureInfo.
    pub signature_info: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

impl Data {
    /// Data of nobody's signature.
    pub fn unsigned(name: Name, content: Vec<u8>) -> Data {
        let mut signature_info = Vec::new();
        put_number(SIGNATURE_TYPE, NULL_SIGNATURE, &mut signature_info);
        Data { name, meta: None, content: Some(content), signature_info, signature: Vec::new() }
    }

    /// The same, fresh for so many milliseconds.
    #[must_use]
    pub fn fresh_for(self, ms: u64) -> Data {
        let mut meta = Vec::new();
        put_number(FRESHNESS, ms, &mut meta);
        Data { meta: Some(meta), ..self }
    }

    /// How long it is fresh, ms.
    pub fn freshness(&self) -> Option<u64> {
        self.meta.as_deref().and_then(|meta| freshness(meta).ok()?)
    }

    /// The kind of signature.
    pub fn signature_type(&self) -> Option<u64> {
        signature_type(&self.signature_info).ok()
    }
}

/// A packet of the network layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// An Interest.
    Interest(Interest),
    /// Data.
    Data(Data),
}

/// The elements of a packet, whose types come in this order, each once.
struct Ordered<'a> {
    order: &'static [u32],
    reader: Reader<'a>,
    /// How many of `order` may not come any more.
    past: usize,
}

impl<'a> Ordered<'a> {
    fn new(value: &'a [u8], order: &'static [u32]) -> Ordered<'a> {
        Ordered { order, reader: Reader::new(value), past: 0 }
    }

    /// The next one that is known. Unknown ones are read over unless they are critical.
    fn next(&mut self) -> Result<Option<Element<'a>>, Error> {
        while let Some(element) = self.reader.element()? {
            match self.order.iter().position(|kind| *kind == element.kind) {
                Some(place) if place >= self.past => {
                    self.past = place + 1;
                    return Ok(Some(element));
                }
                None if !is_critical(element.kind) => {}
                _ => return Err(Error::Element(element.kind)),
            }
        }
        Ok(None)
    }
}

const INTEREST_ORDER: &[u32] = &[
    NAME,
    CAN_BE_PREFIX,
    MUST_BE_FRESH,
    FORWARDING_HINT,
    NONCE,
    LIFETIME,
    HOP_LIMIT,
    PARAMETERS,
    INTEREST_SIGNATURE,
    INTEREST_SIGNATURE_VALUE,
];

impl Interest {
    fn get(value: &[u8]) -> Result<Interest, Error> {
        let mut elements = Ordered::new(value, INTEREST_ORDER);
        let (mut interest, mut named) = (Interest::default(), false);
        while let Some(element) = elements.next()? {
            match element.kind {
                NAME => (interest.name, named) = (Name::get(element.value)?, true),
                CAN_BE_PREFIX => interest.can_be_prefix = element.flag()?,
                MUST_BE_FRESH => interest.must_be_fresh = element.flag()?,
                NONCE => interest.nonce = Some(u32::from_be_bytes(element.array()?)),
                LIFETIME => interest.lifetime = Some(element.number()?),
                HOP_LIMIT => interest.hop_limit = Some(element.array::<1>()?[0]),
                _ => {}
            }
        }
        // A name has at least one component.
        if !named || interest.name.0.is_empty() { Err(Error::Missing(NAME)) } else { Ok(interest) }
    }

    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_nested(INTEREST, out, |out| {
            self.name.put(out);
            [(CAN_BE_PREFIX, self.can_be_prefix), (MUST_BE_FRESH, self.must_be_fresh)]
                .iter()
                .filter(|(_, given)| *given)
                .for_each(|(kind, _)| put(*kind, &[], out));
            self.nonce.iter().for_each(|nonce| put(NONCE, &nonce.to_be_bytes(), out));
            self.lifetime.iter().for_each(|ms| put_number(LIFETIME, *ms, out));
            self.hop_limit.iter().for_each(|hops| put(HOP_LIMIT, &[*hops], out));
        });
    }
}

impl Data {
    fn get(value: &[u8]) -> Result<Data, Error> {
        let mut elements = Ordered::new(value, &[NAME, META_INFO, CONTENT, SIGNATURE_INFO, SIGNATURE_VALUE]);
        let (name, signature_info, signature) = (Name::default(), Vec::new(), Vec::new());
        let mut data = Data { name, meta: None, content: None, signature_info, signature };
        let (mut named, mut signed, mut sealed) = (false, false, false);
        while let Some(element) = elements.next()? {
            match element.kind {
                NAME => (data.name, named) = (Name::get(element.value)?, true),
                META_INFO => {
                    freshness(element.value)?;
                    data.meta = Some(element.value.to_vec());
                }
                CONTENT => data.content = Some(element.value.to_vec()),
                SIGNATURE_INFO => {
                    signature_type(element.value)?;
                    (data.signature_info, signed) = (element.value.to_vec(), true);
                }
                _ => (data.signature, sealed) = (element.value.to_vec(), true),
            }
        }
        let needed = [(NAME, named), (SIGNATURE_INFO, signed), (SIGNATURE_VALUE, sealed)];
        match needed.iter().find(|(_, there)| !there) {
            Some((kind, _)) => Err(Error::Missing(*kind)),
            None => Ok(data),
        }
    }

    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_nested(DATA, out, |out| {
            self.name.put(out);
            self.meta.iter().for_each(|meta| put(META_INFO, meta, out));
            self.content.iter().for_each(|content| put(CONTENT, content, out));
            put(SIGNATURE_INFO, &self.signature_info, out);
            put(SIGNATURE_VALUE, &self.signature, out);
        });
    }
}

fn freshness(meta: &[u8]) -> Result<Option<u64>, Error> {
    let mut elements = Ordered::new(meta, &[CONTENT_TYPE, FRESHNESS, FINAL_BLOCK]);
    let mut freshness = None;
    while let Some(element) = elements.next()? {
        if element.kind == FRESHNESS {
            freshness = Some(element.number()?);
        }
    }
    Ok(freshness)
}

/// Key locators and what else a signature says of itself is not looked at.
fn signature_type(info: &[u8]) -> Result<u64, Error> {
    let first = Reader::new(info).element()?.filter(|e| e.kind == SIGNATURE_TYPE);
    first.ok_or(Error::Missing(SIGNATURE_TYPE))?.number()
}

impl Network {
    /// Reads a packet.
    pub fn get(element: Element<'_>) -> Result<Network, Error> {
        match element.kind {
            INTEREST => Interest::get(element.value).map(Network::Interest),
            DATA => Data::get(element.value).map(Network::Data),
            other => Err(Error::Element(other)),
        }
    }

    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Network::Interest(interest) => interest.put(out),
            Network::Data(data) => data.put(out),
        }
    }

    /// What it is about.
    pub fn name(&self) -> &Name {
        match self {
            Network::Interest(interest) => &interest.name,
            Network::Data(data) => &data.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Network, Error> {
        Network::get(Reader::only(bytes)?)
    }

    #[test]
    fn an_interest_byte_by_byte() {
        let interest = Interest {
            name: Name::of_segment(1, 2, 3),
            nonce: Some(0x0102_0304),
            lifetime: Some(4000),
            ..Interest::default()
        };
        let mut out = Vec::new();
        interest.put(&mut out);
        let mut expected = vec![0x05, 0x1E, 0x07, 0x12, 0x08, 0x07];
        expected.extend_from_slice(b"midpath");
        expected.extend_from_slice(&[8, 1, b'1', 8, 1, b'2', 0x32, 1, 3, 0x0A, 4, 1, 2, 3, 4, 0x0C, 2, 0x0F, 0xA0]);
        assert_eq!(out, expected);
        assert_eq!(read(&out), Ok(Network::Interest(interest)));
    }

    #[test]
    fn data_need_a_name_and_a_signature() {
        let data = Data::unsigned(Name::of_segment(1, 2, 3), vec![7; 300]);
        let mut out = Vec::new();
        data.put(&mut out);
        assert_eq!(read(&out), Ok(Network::Data(data)));
        assert_eq!(read(&[6, 2, 7, 0]), Err(Error::Missing(SIGNATURE_INFO)));
        assert_eq!(read(&[6, 7, 7, 0, 0x16, 3, 0x1B, 1, 0]), Err(Error::Missing(SIGNATURE_VALUE)));
        assert_eq!(read(&[6, 0]), Err(Error::Missing(NAME)));
    }

    #[test]
    fn unknown_elements_are_read_over_unless_they_are_critical() {
        let name = [7, 3, 8, 1, b'a'];
        let with = |extra: &[u8]| {
            let mut bytes = vec![5, (name.len() + extra.len()) as u8];
            bytes.extend_from_slice(&name);
            bytes.extend_from_slice(extra);
            read(&bytes)
        };
        assert!(with(&[0xF0, 1, 9]).is_ok());
        assert_eq!(with(&[0xF1, 1, 9]), Err(Error::Element(0xF1)));
        assert_eq!(with(&[0x1D, 0]), Err(Error::Element(0x1D)), "all below 32 are");
        assert_eq!(with(&[0x0A, 4, 0, 0, 0, 0, 0x21, 0]), Err(Error::Element(CAN_BE_PREFIX)), "out of order");
        assert_eq!(with(&[0x0A, 4, 0, 0, 0, 0, 0x0A, 4, 0, 0, 0, 0]), Err(Error::Element(NONCE)), "twice");
        assert_eq!(with(&[0x0A, 3, 0, 0, 0]), Err(Error::Value(NONCE)));
        assert_eq!(with(&[0x0C, 3, 0, 0, 0]), Err(Error::Value(LIFETIME)));
        assert_eq!(read(&[5, 2, 7, 0]), Err(Error::Missing(NAME)), "a name without components");
    }
}
