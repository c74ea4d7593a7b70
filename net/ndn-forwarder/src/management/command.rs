//! A command, and whether it is signed.
//!
//! Two forms are in use. A signed Interest of the packet specification has parameters, their digest
//! in the name, and a signature. The older form has a time, a nonce and the signature in the name.
//! A digest signature only shows that the bytes are intact; other signatures need keys that a forwarder does not
//! have. So access is decided by the command's face.

use midpath_ndn::name_view::PARAMETERS_DIGEST;
use midpath_ndn::tlv::{Element, Reader};
use midpath_ndn::{InterestView, NameView};

/// The signature by a digest (packet specification, *DigestSha256*).
const DIGEST_SHA256: u64 = 0;
const SIGNATURE_INFO: u32 = 0x16;
const SIGNATURE_VALUE: u32 = 0x17;
const SIGNATURE_TYPE: u32 = 0x1B;

/// What somebody asks of management.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its whole name.
    pub name: NameView<'a>,
    /// What it is about: `rib`.
    pub module: &'a [u8],
    /// What to do: `register`.
    pub verb: &'a [u8],
    /// The component behind, unless that is a digest.
    pub parameters: Option<&'a [u8]>,
    /// Whether it is signed, and whole.
    pub signed: Signed,
}

/// Whether a command is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It is.
    Whole,
    /// Its digest is not that of its bytes.
    Broken,
    /// It is not.
    No,
}

impl<'a> Command<'a> {
    /// The command that an Interest below management's names is.
    pub fn of(interest: &InterestView<'a>) -> Option<Command<'a>> {
        let mut components = interest.name.components().skip(2);
        let (module, verb) = (components.next()?.value, components.next()?.value);
        let parameters = components.next().filter(|c| c.kind != PARAMETERS_DIGEST).map(|c| c.value);
        Some(Command { name: interest.name, module, verb, parameters, signed: signed(interest) })
    }
}

fn signed(interest: &InterestView<'_>) -> Signed {
    let whole = match (interest.signature_info, interest.signature) {
        (Some(info), Some(signature)) if interest.parameters.is_some() => {
            interest.parameters_are_right() && is_right(info, signature, &interest.signed())
        }
        _ => match in_name(interest.name) {
            Some((info, signature)) => is_right(info, signature, &[interest.name.parent().bytes()]),
            None => return Signed::No,
        },
    };
    if whole { Signed::Whole } else { Signed::Broken }
}

/// Signature and what it says of itself, in the last components of the older form: parameters, time,
/// nonce, these two.
fn in_name<'a>(name: NameView<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let components: Vec<Element<'a>> = name.components().collect();
    let [.., time, nonce, info, value] = &components[..] else { return None };
    let inner = |component: &Element<'a>, kind| -> Option<&'a [u8]> {
        Reader::only(component.value).ok().filter(|e| e.kind == kind).map(|e| e.value)
    };
    (time.value.len() == 8 && nonce.value.len() == 8).then_some(())?;
    Some((inner(info, SIGNATURE_INFO)?, inner(value, SIGNATURE_VALUE)?))
}

/// Whether a signature is that of the bytes, as far as can be known without keys.
fn is_right(info: &[u8], signature: &[u8], bytes: &[&[u8]]) -> bool {
    let kind = Reader::new(info).element().ok().flatten().filter(|e| e.kind == SIGNATURE_TYPE);
    match kind.and_then(|kind| kind.number().ok()) {
        Some(DIGEST_SHA256) => crate::digest(bytes)[..] == *signature,
        Some(_) => !signature.is_empty(),
        None => false,
    }
}
