//! Interest and Data where they stand: checked, without a copy, for who sends their bytes on.

use sha2::{Digest, Sha256};

use crate::name_view::{IMPLICIT_DIGEST, NameView, PARAMETERS_DIGEST, check_component};
use crate::packet::kind::*;
use crate::tlv::{Element, Error, MAX_PACKET, Ordered, Reader, is_critical, put};

/// A packet of the network layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a> {
    /// An Interest.
    Interest(InterestView<'a>),
    /// Data.
    Data(DataView<'a>),
}

impl<'a> View<'a> {
    /// Checks a packet, all of whose bytes these are.
    pub fn of(wire: &'a [u8]) -> Result<View<'a>, Error> {
        if wire.len() > MAX_PACKET {
            return Err(Error::Bounds);
        }
        let element = Reader::only(wire)?;
        match element.kind {
            INTEREST => InterestView::get(wire, element.value).map(View::Interest),
            DATA => DataView::get(wire, element.value).map(View::Data),
            other => Err(Error::Element(other)),
        }
    }

    /// What it is about.
    pub fn name(&self) -> NameView<'a> {
        match self {
            View::Interest(interest) => interest.name,
            View::Data(data) => data.name,
        }
    }
}

/// An Interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterestView<'a> {
    /// All of its bytes.
    pub wire: &'a [u8],
    /// What it asks for; it has a component.
    pub name: NameView<'a>,
    /// Whether Data with a longer name will do.
    pub can_be_prefix: bool,
    /// Whether only fresh Data will do.
    pub must_be_fresh: bool,
    /// ForwardingHint's value: one name or more, see [`InterestView::hints`].
    hints: &'a [u8],
    /// Tells it from others in the same name.
    pub nonce: Option<u32>,
    /// How long it is pending, ms; 4,000 unless said.
    pub lifetime: Option<u64>,
    /// Hops left.
    pub hop_limit: Option<u8>,
    /// Of ApplicationParameters the value.
    pub parameters: Option<&'a [u8]>,
    /// From ApplicationParameters to the end: what the digest in the name covers.
    digested: &'a [u8],
    /// The value of InterestSignatureInfo.
    pub signature_info: Option<&'a [u8]>,
    /// The signature.
    pub signature: Option<&'a [u8]>,
    /// From ApplicationParameters to the signature: what it covers besides the name.
    signed: &'a [u8],
    /// Where in `wire` the value begins, what precedes a nonce ends, and HopLimit's byte stands.
    value_at: usize,
    nonce_at: usize,
    hop_limit_at: Option<usize>,
    /// Where the nonce's four bytes begin, if it has one.
    nonce_value_at: Option<usize>,
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

impl<'a> InterestView<'a> {
    fn get(wire: &'a [u8], value: &'a [u8]) -> Result<InterestView<'a>, Error> {
        let value_at = wire.len() - value.len();
        let (name, mut elements) = named(value, INTEREST_ORDER)?;
        // Packet specification, *Interest*: the name has a component.
        if name.is_empty() {
            return Err(Error::Missing(NAME));
        }
        let mut interest = InterestView {
            wire,
            name,
            can_be_prefix: false,
            must_be_fresh: false,
            hints: &[],
            nonce: None,
            lifetime: None,
            hop_limit: None,
            parameters: None,
            digested: &[],
            signature_info: None,
            signature: None,
            signed: &[],
            value_at,
            nonce_at: value_at + elements.span().end,
            hop_limit_at: None,
            nonce_value_at: None,
        };
        while let Some(element) = elements.next_known()? {
            let span = elements.span();
            if [CAN_BE_PREFIX, MUST_BE_FRESH, FORWARDING_HINT].contains(&element.kind) {
                interest.nonce_at = value_at + span.end;
            }
            match element.kind {
                CAN_BE_PREFIX => interest.can_be_prefix = element.flag()?,
                MUST_BE_FRESH => interest.must_be_fresh = element.flag()?,
                FORWARDING_HINT => interest.hints = hints(element)?,
                NONCE => {
                    interest.nonce = Some(u32::from_be_bytes(element.array()?));
                    interest.nonce_value_at = Some(value_at + span.end - 4);
                }
                LIFETIME => interest.lifetime = Some(element.number()?),
                HOP_LIMIT => {
                    interest.hop_limit = Some(element.array::<1>()?[0]);
                    interest.hop_limit_at = Some(value_at + span.end - 1);
                }
                PARAMETERS => {
                    interest.parameters = Some(element.value);
                    interest.digested = &value[span.start..];
                    interest.signed = interest.digested;
                }
                INTEREST_SIGNATURE => interest.signature_info = Some(element.value),
                _ => {
                    interest.signature = Some(element.value);
                    let before = interest.digested.len() - (value.len() - span.start).min(interest.digested.len());
                    interest.signed = &interest.digested[..before];
                }
            }
        }
        // *Parameters Digest Component*: it must be in the name if there are parameters.
        if interest.parameters.is_some() && interest.parameters_digest().is_none() {
            return Err(Error::Missing(PARAMETERS_DIGEST));
        }
        Ok(interest)
    }

    /// Names through which the Data can be had, in the sender's order.
    pub fn hints(&self) -> impl Iterator<Item = NameView<'a>> {
        let mut reader = Reader::new(self.hints);
        let elements = std::iter::from_fn(move || reader.element().ok()?);
        elements.filter(|e| e.kind == NAME).filter_map(|e| NameView::of(e.value).ok())
    }

    /// The digest of parameters that its name has.
    pub fn parameters_digest(&self) -> Option<&'a [u8]> {
        self.name.components().find(|c| c.kind == PARAMETERS_DIGEST).map(|c| c.value)
    }

    /// Whether that is the digest of its parameters. Producers ask; forwarders need not.
    pub fn parameters_are_right(&self) -> bool {
        let digest = self.parameters_digest();
        self.parameters.is_none() || digest == Some(Sha256::digest(self.digested).as_slice())
    }

    /// What its signature covers, in two pieces: the name's components without the digest, which a
    /// signed Interest has at its end, and what precedes the signature.
    pub fn signed(&self) -> [&'a [u8]; 2] {
        let digest = |c: Element<'_>| c.kind == PARAMETERS_DIGEST;
        let name = if self.name.last().is_some_and(digest) { self.name.parent() } else { self.name };
        [name.bytes(), self.signed]
    }

    /// The same with this nonce, whatever it has: who sends an Interest again says so, or it would be
    /// taken for one that came round.
    pub fn forward_again(&self, nonce: u32, out: &mut Vec<u8>) {
        let start = out.len();
        self.forward(nonce, out);
        if let Some(at) = self.nonce_value_at {
            out[start + at..start + at + 4].copy_from_slice(&nonce.to_be_bytes());
        }
    }

    /// Writes the bytes to send on: those that came, HopLimit lower by one (not below zero), and
    /// with a nonce, this one, if they have none.
    pub fn forward(&self, nonce: u32, out: &mut Vec<u8>) {
        let start = out.len();
        if self.nonce.is_some() {
            out.extend_from_slice(self.wire);
        } else {
            let (before, after) = self.wire.split_at(self.nonce_at);
            let mut value = before[self.value_at..].to_vec();
            put(NONCE, &nonce.to_be_bytes(), &mut value);
            value.extend_from_slice(after);
            put(INTEREST, &value, out);
        }
        if let Some(at) = self.hop_limit_at {
            // A nonce goes before HopLimit: counted from behind, its place is the same.
            let place = out.len() - (self.wire.len() - at);
            debug_assert!(place > start);
            out[place] = out[place].saturating_sub(1);
        }
    }
}

/// Data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataView<'a> {
    /// All of its bytes.
    pub wire: &'a [u8],
    /// What it is.
    pub name: NameView<'a>,
    /// The value of MetaInfo.
    pub meta: Option<&'a [u8]>,
    /// What kind of content; 0, bytes of applications, unless said.
    pub content_type: Option<u64>,
    /// How long it is fresh, ms.
    pub freshness_period: Option<u64>,
    /// The last component of the last segment's name, where it is known.
    pub final_block: Option<Element<'a>>,
    /// The content.
    pub content: Option<&'a [u8]>,
    /// The value of SignatureInfo.
    pub signature_info: &'a [u8],
    /// The kind of signature.
    pub signature_type: u64,
    /// The signature.
    pub signature: &'a [u8],
    /// What it covers.
    pub signed: &'a [u8],
}

impl<'a> DataView<'a> {
    fn get(wire: &'a [u8], value: &'a [u8]) -> Result<DataView<'a>, Error> {
        let (name, mut elements) = named(value, &[NAME, META_INFO, CONTENT, SIGNATURE_INFO, SIGNATURE_VALUE])?;
        let (mut meta, mut content, mut info, mut sealed) = (None, None, None, None);
        while let Some(element) = elements.next_known()? {
            match element.kind {
                META_INFO => meta = Some(element.value),
                CONTENT => content = Some(element.value),
                SIGNATURE_INFO => info = Some(element.value),
                _ => sealed = Some((element.value, elements.span().start)),
            }
        }
        let signature_info = info.ok_or(Error::Missing(SIGNATURE_INFO))?;
        let (signature, end) = sealed.ok_or(Error::Missing(SIGNATURE_VALUE))?;
        let said = Meta::of(meta.unwrap_or_default())?;
        Ok(DataView {
            wire,
            name,
            meta,
            content_type: said.content_type,
            freshness_period: said.freshness_period,
            final_block: said.final_block,
            content,
            signature_info,
            signature_type: signature_type(signature_info)?,
            signature,
            signed: &value[..end],
        })
    }

    /// The digest of all its bytes, which ends its full name.
    pub fn implicit_digest(&self) -> [u8; 32] {
        Sha256::digest(self.wire).into()
    }

    /// Whether its name answers this one (packet specification, *CanBePrefix*).
    pub fn answers(&self, name: NameView<'_>, can_be_prefix: bool) -> bool {
        if name == self.name || (can_be_prefix && name.is_prefix_of(self.name)) {
            return true;
        }
        let digest = name.last().filter(|c| c.kind == IMPLICIT_DIGEST);
        digest.is_some_and(|c| name.parent() == self.name && c.value == self.implicit_digest())
    }
}

/// The name that a packet begins with, and what follows it. Nothing may precede it, known or not.
fn named<'a>(value: &'a [u8], order: &'static [u32]) -> Result<(NameView<'a>, Ordered<'a>), Error> {
    let mut elements = Ordered::new(value, order);
    let first = elements.next_known()?.filter(|e| e.kind == NAME && elements.span().start == 0);
    Ok((NameView::of(first.ok_or(Error::Missing(NAME))?.value)?, elements))
}

/// ForwardingHint has names, at least one.
fn hints(hint: Element<'_>) -> Result<&[u8], Error> {
    let (mut reader, mut count) = (Reader::new(hint.value), 0);
    while let Some(element) = reader.element()? {
        if element.kind == NAME {
            NameView::of(element.value)?;
            count += 1;
        } else if is_critical(element.kind) {
            return Err(Error::Element(element.kind));
        }
    }
    if count == 0 { Err(Error::Value(FORWARDING_HINT)) } else { Ok(hint.value) }
}

/// What a Data says of itself.
#[derive(Default)]
pub(crate) struct Meta<'a> {
    content_type: Option<u64>,
    pub(crate) freshness_period: Option<u64>,
    final_block: Option<Element<'a>>,
}

impl<'a> Meta<'a> {
    pub(crate) fn of(value: &'a [u8]) -> Result<Meta<'a>, Error> {
        let mut elements = Ordered::new(value, &[CONTENT_TYPE, FRESHNESS, FINAL_BLOCK]);
        let mut meta = Meta::default();
        while let Some(element) = elements.next_known()? {
            match element.kind {
                CONTENT_TYPE => meta.content_type = Some(element.number()?),
                FRESHNESS => meta.freshness_period = Some(element.number()?),
                _ => {
                    let component = Reader::only(element.value)?;
                    check_component(component)?;
                    meta.final_block = Some(component);
                }
            }
        }
        Ok(meta)
    }
}

/// Key locators and what else a signature says of itself are not looked at.
pub(crate) fn signature_type(info: &[u8]) -> Result<u64, Error> {
    let first = Ordered::new(info, &[SIGNATURE_TYPE, KEY_LOCATOR]).next_known()?;
    first.filter(|e| e.kind == SIGNATURE_TYPE).ok_or(Error::Missing(SIGNATURE_TYPE))?.number()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME_A: [u8; 5] = [7, 3, 8, 1, b'a'];

    fn packet(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
        let value = parts.concat();
        let mut out = Vec::new();
        put(u32::from(kind), &value, &mut out);
        out
    }

    fn interest(wire: &[u8]) -> Result<InterestView<'_>, Error> {
        match View::of(wire)? {
            View::Interest(view) => Ok(view),
            View::Data(_) => panic!("it is no Data"),
        }
    }

    fn forwarded(wire: &[u8]) -> Vec<u8> {
        let mut out = vec![9];
        interest(wire).unwrap().forward(0x0102_0304, &mut out);
        out.split_off(1)
    }

    /// A hint, an unknown element, parameters and a signature: all of it goes on.
    #[test]
    fn only_the_hop_limit_changes() {
        let digest = [0u8; 32];
        let name = [&[7, 37, 8, 1, b'a', 2, 32][..], &digest].concat();
        let hint: &[u8] = &[0x1E, 5, 7, 3, 8, 1, b'h'];
        let nonce: &[u8] = &[0x0A, 4, 1, 2, 3, 4];
        let rest: &[u8] = &[0xF0, 1, 9, 0x24, 1, 7, 0x2C, 3, 0x1B, 1, 0, 0x2E, 1, 5];
        let whole = packet(5, &[&name, &[0x21, 0], hint, nonce, &[0x22, 1, 9], rest]);
        assert_eq!(forwarded(&whole), packet(5, &[&name, &[0x21, 0], hint, nonce, &[0x22, 1, 8], rest]));
        let view = interest(&whole).unwrap();
        assert_eq!(view.hints().map(|n| n.to_string()).collect::<Vec<_>>(), ["/h"]);
        assert_eq!((view.parameters, view.signature_info), (Some(&[7][..]), Some(&[0x1B, 1, 0][..])));
        assert_eq!(view.signed(), [&[8, 1, b'a'][..], &rest[3..11]]);
        assert!(!view.parameters_are_right());
        let right: [u8; 32] = Sha256::digest(&rest[3..]).into();
        let name = [&[7, 37, 8, 1, b'a', 2, 32][..], &right].concat();
        let whole = packet(5, &[&name, hint, rest]);
        assert!(interest(&whole).unwrap().parameters_are_right());
        // Packet specification, *Interest*: who forwards it gives it a nonce, before lifetime and hops.
        let after = packet(5, &[&name, hint, nonce, rest]);
        assert_eq!(forwarded(&whole), after);
        assert!(interest(&after).unwrap().parameters_are_right());
    }

    #[test]
    fn a_missing_nonce_goes_to_its_place() {
        let nonce: &[u8] = &[0x0A, 4, 1, 2, 3, 4];
        let wire = packet(5, &[&NAME_A, &[0x12, 0], &[0x0C, 1, 9], &[0x22, 1, 1]]);
        assert_eq!(forwarded(&wire), packet(5, &[&NAME_A, &[0x12, 0], nonce, &[0x0C, 1, 9], &[0x22, 1, 0]]));
        // The packet's length takes three bytes in place of one.
        let filler = [&[0xF0, 236][..], &[0; 236]].concat();
        let wire = packet(5, &[&NAME_A, &[0x22, 1, 0], &filler]);
        assert_eq!(wire.len(), 248);
        assert_eq!(forwarded(&wire), packet(5, &[&NAME_A, nonce, &[0x22, 1, 0], &filler]));
        assert_eq!(interest(&forwarded(&wire)).unwrap().hop_limit, Some(0), "not below zero");
        let mut again = vec![9];
        interest(&forwarded(&wire)).unwrap().forward_again(0x0506_0708, &mut again);
        assert_eq!(again[1..], packet(5, &[&NAME_A, &[0x0A, 4, 5, 6, 7, 8], &[0x22, 1, 0], &filler]));
    }

    #[test]
    fn what_is_out_of_order_and_may_be_ignored_is() {
        let twice = packet(5, &[&NAME_A, &[0x22, 1, 5], &[0x22, 1, 6]]);
        assert_eq!(interest(&twice).unwrap().hop_limit, Some(5));
        let back = packet(5, &[&NAME_A, &[0x24, 0], &[0x22, 1, 6]]);
        assert_eq!(interest(&back), Err(Error::Missing(PARAMETERS_DIGEST)));
        let unsigned = packet(5, &[&NAME_A, &[0x2E, 1, 6]]);
        assert_eq!(interest(&unsigned).unwrap().signed()[1], &[] as &[u8]);
        let before = packet(5, &[&[0xF0, 0], &NAME_A]);
        assert_eq!(interest(&before), Err(Error::Missing(NAME)), "nothing precedes the name");
    }

    #[test]
    fn hints_are_names() {
        let with = |hint: &[u8]| interest(&packet(5, &[&NAME_A, hint])).map(|_| ());
        assert_eq!(with(&[0x1E, 2, 7, 0]), Ok(()));
        assert_eq!(with(&[0x1E, 0]), Err(Error::Value(FORWARDING_HINT)));
        assert_eq!(with(&[0x1E, 2, 8, 0]), Err(Error::Element(8)));
        assert_eq!(with(&[0x1E, 2, 0xF0, 0]), Err(Error::Value(FORWARDING_HINT)));
        let strange = packet(5, &[&NAME_A, &[0x1E, 4, 0xF0, 0, 7, 0]]);
        assert_eq!(interest(&strange).unwrap().hints().count(), 1, "it is read over");
    }

    #[test]
    fn data_say_what_they_are_and_what_is_signed() {
        let meta: &[u8] = &[0x14, 11, 0x18, 1, 0, 0x19, 1, 7, 0x1A, 3, 0x32, 1, 9];
        let info: &[u8] = &[0x16, 3, 0x1B, 1, 0];
        let wire = packet(6, &[&NAME_A, meta, &[0x15, 1, 5], info, &[0x17, 1, 6]]);
        let Ok(View::Data(data)) = View::of(&wire) else { panic!("it is Data") };
        assert_eq!((data.content_type, data.freshness_period, data.signature_type), (Some(0), Some(7), 0));
        assert_eq!(data.final_block, Some(Element { kind: 0x32, value: &[9] }));
        assert_eq!(data.signed, &wire[2..wire.len() - 3]);
        let digest = [&[8, 1, b'a', 1, 32][..], &Sha256::digest(&wire)].concat();
        let answers = |name: &[u8], prefix| data.answers(NameView::of(name).unwrap(), prefix);
        assert!(answers(&[8, 1, b'a'], false) && answers(&[], true) && answers(&digest, false));
        assert!(!answers(&[], false) && !answers(&[8, 1, b'b'], true));
        let mut other = digest.clone();
        other[9] ^= 1;
        assert!(!answers(&other, true));
    }
}
