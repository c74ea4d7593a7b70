//! Names as they stand in packets: the value of a Name element, one component after the other.
//!
//! There is one encoding of a name, so these bytes are as good as the name: two names are equal if
//! their bytes are, one is a prefix of another if its bytes are, and their order is the canonical
//! one. [`NameView`] is such bytes that were checked.

use midpath_ndn::NameView;
use midpath_ndn::name::GENERIC;
use midpath_ndn::name_view::{IMPLICIT_DIGEST, PARAMETERS_DIGEST};
use midpath_ndn::tlv::{self, Element};

/// A keyword that applications have agreed on.
const KEYWORD: u32 = 0x20;
/// A segment's number.
pub const SEGMENT: u32 = 0x32;
/// A version.
pub const VERSION: u32 = 0x36;

/// A name that is known to be one: it was checked when it came.
pub fn view(name: &[u8]) -> NameView<'_> {
    NameView::of(name).unwrap_or_default()
}

/// What the `metadata` keyword marks is not the object: its content names it (NDN's protocol for realtime data
/// retrieval).
pub fn is_metadata(component: Element<'_>) -> bool {
    component.kind == KEYWORD && component.value == b"metadata"
}

/// How many components a name has.
pub fn count(name: NameView<'_>) -> usize {
    name.components().count()
}

/// Of a full name, that of the Data and the digest of its bytes.
pub fn full(name: NameView<'_>) -> Option<(&[u8], &[u8])> {
    let digest = name.last().filter(|last| last.kind == IMPLICIT_DIGEST)?;
    Some((name.parent().bytes(), digest.value))
}

/// Adds a component to a name.
pub fn push(name: &mut Vec<u8>, kind: u32, value: &[u8]) {
    tlv::put(kind, value, name);
}

/// Adds a number to a name, as segments and versions are.
pub fn push_number(name: &mut Vec<u8>, kind: u32, number: u64) {
    tlv::put_number(kind, number, name);
}

/// A name of generic components.
pub fn of(components: &[&str]) -> Vec<u8> {
    let mut name = Vec::new();
    components.iter().for_each(|text| push(&mut name, u32::from(GENERIC), text.as_bytes()));
    name
}

/// Types of components by the names that URIs have for them (NDN's registry of naming conventions). The
/// value is a number, but for digests: hexadecimal digits.
const TYPES: [(&str, u32, Form); 7] = [
    ("sha256digest", IMPLICIT_DIGEST, Form::Digest),
    ("params-sha256", PARAMETERS_DIGEST, Form::Digest),
    ("seg", SEGMENT, Form::Number),
    ("off", 0x34, Form::Number),
    ("v", VERSION, Form::Number),
    ("t", 0x38, Form::Number),
    ("seq", 0x3A, Form::Number),
];

#[derive(Debug, Clone, Copy)]
enum Form {
    Digest,
    Number,
}

/// The name that a URI says: components between slashes, `%` with two hexadecimal digits for any
/// byte, `number=` or a name for it (`seg=5`) before one of another type.
pub fn parse(uri: &str) -> Result<Vec<u8>, String> {
    let text = uri.strip_prefix("ndn:").unwrap_or(uri);
    let text = text.strip_prefix('/').ok_or("a name must begin with `/`")?;
    let mut name = Vec::new();
    for part in text.split('/').filter(|part| !part.is_empty()) {
        push_part(&mut name, part)?;
    }
    NameView::of(&name).map_err(|e| e.to_string())?;
    Ok(name)
}

fn push_part(name: &mut Vec<u8>, part: &str) -> Result<(), String> {
    let (kind, text) = part.split_once('=').unwrap_or(("8", part));
    if let Some((_, kind, form)) = TYPES.iter().find(|(named, ..)| *named == kind) {
        match form {
            Form::Number => push_number(name, *kind, text.parse().map_err(|_| format!("`{part}`: not a number"))?),
            Form::Digest => push(name, *kind, &hexadecimal(text).ok_or(format!("`{part}`: write hexadecimal digits"))?),
        }
        return Ok(());
    }
    let known = || TYPES.map(|(named, ..)| named).join(", ");
    let kind = kind.parse().map_err(|_| format!("`{kind}` is not a component type; write a number, or {}", known()))?;
    let value = unescape(text)?;
    if value.iter().any(|byte| *byte != b'.') {
        push(name, kind, &value);
        return Ok(());
    }
    // Three dots more than it has.
    let value = value.get(3..).ok_or(format!(
        "`{part}`: an empty component is written as three dots, and one of only \
            dots with three more"
    ))?;
    push(name, kind, value);
    Ok(())
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let (mut bytes, mut out) = (text.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        let (high, low) = (digit(bytes.next()), digit(bytes.next()));
        let (high, low) = high.zip(low).ok_or("`%` must be followed by two hexadecimal digits")?;
        out.push((high << 4 | low) as u8);
    }
    Ok(out)
}

/// The URI of a name.
pub fn show(name: &[u8]) -> String {
    NameView::of(name).map_or_else(|_| "(no name)".to_owned(), |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn uris_are_read_as_they_are_written() {
        for uri in ["/", "/a", "/a%20b/50=%01%2C", "/.../....", "/a/v%2F"] {
            assert_eq!(show(&parse(uri).expect("a name")), uri);
        }
        assert_eq!(parse("ndn:/a"), parse("/a"));
        assert_eq!(parse("/a//b/"), parse("/a/b"));
        for wrong in ["a", "/%4", "/%zz", "/x=1", "/1=short", "/0=a", "/65536=a", "/.", "/..", "/8=", "/seg=x", "/v="] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in
            ["/sha256digest=12", "/sha256digest=x", "/params-sha256=", "/=a", "/-1=a", "/seg=18446744073709551616"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn types_have_names() {
        let digest = "0123456789abcdef".repeat(4);
        let escaped =
            hexadecimal(&digest).expect("digits").iter().fold(String::new(), |all, byte| all + &format!("%{byte:02X}"));
        for (short, long) in [
            ("/a/seg=300".to_owned(), "/a/50=%01%2C".to_owned()),
            ("/a/off=0".to_owned(), "/a/52=%00".to_owned()),
            ("/v=65536/t=4294967296".to_owned(), "/54=%00%01%00%00/56=%00%00%00%01%00%00%00%00".to_owned()),
            ("/seq=5/32=metadata".to_owned(), "/58=%05/32=metadata".to_owned()),
            (format!("/a/sha256digest={digest}"), format!("/a/1={escaped}")),
            (format!("/params-sha256={digest}/b"), format!("/2={escaped}/b")),
            ("/8=.../253=.../65535=a".to_owned(), "/.../253=.../65535=a".to_owned()),
        ] {
            assert_eq!(parse(&short), parse(&long), "{short}");
            assert!(parse(&short).is_ok(), "{short}: {:?}", parse(&short));
        }
    }

    proptest! {
        /// Of each type, and of any bytes, none and dots alone among them.
        #[test]
        fn each_name_has_a_uri(
            parts in prop::collection::vec(
                (prop::sample::select(KINDS.to_vec()), any::<u16>(), prop_oneof![prop::collection::vec(any::<u8>(), 0..33), prop::collection::vec(Just(b'.'), 0..6)]),
                0..12,
            ),
        ) {
            let mut name = Vec::new();
            for (kind, any, mut value) in parts {
                let kind = if kind == 0 { u32::from(any).max(3) } else { kind };
                if kind <= PARAMETERS_DIGEST {
                    value.resize(32, 7);
                }
                push(&mut name, kind, &value);
            }
            prop_assert_eq!(parse(&show(&name)), Ok(name));
        }

        #[test]
        fn no_text_makes_it_panic(text in "/?[a-z0-9=%./é]{0,40}") {
            if let Ok(name) = parse(&text) {
                prop_assert_eq!(parse(&show(&name)), Ok(name));
            }
        }
    }

    /// Those of the specification; 0 stands for any.
    const KINDS: [u32; 12] = [1, 2, 8, 32, 50, 52, 54, 56, 58, 253, 65_535, 0];
}
