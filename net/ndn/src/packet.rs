//! Interest and Data (packet specification 0.3).

use crate::name::Name;
use crate::tlv::{Error, put, put_nested, put_number};
use crate::view::{DataView, InterestView, Meta, View, signature_type};
use kind::*;

/// Types of elements (packet specification, *TLV Type Registry*).
pub(crate) mod kind {
    pub(crate) use crate::name::NAME;
    pub(crate) const INTEREST: u32 = 0x05;
    pub(crate) const DATA: u32 = 0x06;
    pub(crate) const CAN_BE_PREFIX: u32 = 0x21;
    pub(crate) const MUST_BE_FRESH: u32 = 0x12;
    pub(crate) const FORWARDING_HINT: u32 = 0x1E;
    pub(crate) const NONCE: u32 = 0x0A;
    pub(crate) const LIFETIME: u32 = 0x0C;
    pub(crate) const HOP_LIMIT: u32 = 0x22;
    pub(crate) const PARAMETERS: u32 = 0x24;
    pub(crate) const INTEREST_SIGNATURE: u32 = 0x2C;
    pub(crate) const INTEREST_SIGNATURE_VALUE: u32 = 0x2E;
    pub(crate) const META_INFO: u32 = 0x14;
    pub(crate) const CONTENT: u32 = 0x15;
    pub(crate) const SIGNATURE_INFO: u32 = 0x16;
    pub(crate) const SIGNATURE_VALUE: u32 = 0x17;
    pub(crate) const FRESHNESS: u32 = 0x19;
    pub(crate) const CONTENT_TYPE: u32 = 0x18;
    pub(crate) const FINAL_BLOCK: u32 = 0x1A;
    pub(crate) const SIGNATURE_TYPE: u32 = 0x1B;
    pub(crate) const KEY_LOCATOR: u32 = 0x1C;
}

/// The signature of nobody, without a value.
pub const NULL_SIGNATURE: u64 = 200;

/// An Interest to write, without forwarding hints, parameters and signature. Who forwards one sends
/// on what came: [`InterestView::forward`].
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

/// Data to write. Who forwards Data sends on the bytes that came: [`DataView::wire`].
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
    pub fn freshness_period(&self) -> Option<u64> {
        Meta::of(self.meta.as_deref()?).ok()?.freshness_period
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

impl Interest {
    /// A copy of what a forwarder looks at.
    pub fn of(view: &InterestView<'_>) -> Interest {
        Interest {
            name: view.name.to_name(),
            can_be_prefix: view.can_be_prefix,
            must_be_fresh: view.must_be_fresh,
            nonce: view.nonce,
            lifetime: view.lifetime,
            hop_limit: view.hop_limit,
        }
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
    /// A copy.
    pub fn of(view: &DataView<'_>) -> Data {
        Data {
            name: view.name.to_name(),
            meta: view.meta.map(<[u8]>::to_vec),
            content: view.content.map(<[u8]>::to_vec),
            signature_info: view.signature_info.to_vec(),
            signature: view.signature.to_vec(),
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

impl Network {
    /// Reads a packet.
    pub fn get(wire: &[u8]) -> Result<Network, Error> {
        Ok(match View::of(wire)? {
            View::Interest(view) => Network::Interest(Interest::of(&view)),
            View::Data(view) => Network::Data(Data::of(&view)),
        })
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
        Network::get(bytes)
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
