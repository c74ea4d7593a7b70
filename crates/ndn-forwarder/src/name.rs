//! Names as they stand in packets: the value of a Name element, one component after the other.
//!
//! There is one encoding of a name, so these bytes are as good as the name: two names are equal if
//! their bytes are, one is a prefix of another if its bytes are, and their order is the canonical
//! one. [`NameView`] is such bytes that were checked.

use midpath_ndn::name::GENERIC;
use midpath_ndn::name_view::IMPLICIT_DIGEST;
use midpath_ndn::{NameView, tlv};

/// A segment's number.
pub const SEGMENT: u32 = 0x32;
/// A version.
pub const VERSION: u32 = 0x36;

/// A name that is known to be one: it was checked when it came.
pub fn view(name: &[u8]) -> NameView<'_> {
    NameView::of(name).unwrap_or_default()
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

/// The name that a URI says: components between slashes, `%` with two hexadecimal digits for any
/// byte, `number=` before one of another type.
pub fn parse(uri: &str) -> Result<Vec<u8>, String> {
    let text = uri.strip_prefix("ndn:").unwrap_or(uri);
    let text = text.strip_prefix('/').ok_or("a name begins with `/`")?;
    let mut name = Vec::new();
    for part in text.split('/').filter(|part| !part.is_empty()) {
        let (kind, value) = match part.split_once('=') {
            Some((kind, value)) => {
                (kind.parse().map_err(|_| format!("`{kind}` is no type of components; write a number"))?, value)
            }
            None => (u32::from(GENERIC), part),
        };
        let value = unescape(value)?;
        // Three dots more than it has.
        let dots = value.iter().all(|byte| *byte == b'.');
        let value = if dots && value.len() >= 3 { &value[3..] } else { &value };
        push(&mut name, kind, value);
    }
    NameView::of(&name).map_err(|e| e.to_string())?;
    Ok(name)
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
        let (high, low) = high.zip(low).ok_or("after `%` stand two hexadecimal digits")?;
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
    use super::*;

    #[test]
    fn uris_are_read_as_they_are_written() {
        for uri in ["/", "/a", "/a%20b/50=%01%2C", "/.../....", "/a/v%2F"] {
            assert_eq!(show(&parse(uri).expect("a name")), uri);
        }
        assert_eq!(parse("ndn:/a"), parse("/a"));
        assert_eq!(parse("/a//b/"), parse("/a/b"));
        for wrong in ["a", "/%4", "/%zz", "/x=1", "/1=short"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
