//! A name where it stands, in the bytes of its packet.

use crate::name::{Component, MAX_COMPONENTS, MAX_NAME, Name};
use crate::tlv::{Element, Error, Reader};

/// Type of the component that is a whole packet's digest.
pub const IMPLICIT_DIGEST: u32 = 0x01;
/// Type of the component that is the digest of an Interest's parameters.
pub const PARAMETERS_DIGEST: u32 = 0x02;

/// A name's components, each with type and length: the value of its element, which has been
/// checked. There is one encoding of a name, so these bytes are equal where names are, their order
/// is the canonical one, and tables can have them as keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NameView<'a>(&'a [u8]);

impl<'a> NameView<'a> {
    /// Checks the value of a name's element.
    pub fn of(value: &'a [u8]) -> Result<NameView<'a>, Error> {
        if value.len() > MAX_NAME {
            return Err(Error::Bounds);
        }
        let (mut reader, mut count) = (Reader::new(value), 0);
        while let Some(element) = reader.element()? {
            count += 1;
            if count > MAX_COMPONENTS {
                return Err(Error::Bounds);
            }
            check_component(element)?;
        }
        Ok(NameView(value))
    }

    /// The bytes of all components.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether it has no component.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The components in their order.
    pub fn components(self) -> impl Iterator<Item = Element<'a>> {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || reader.element().ok().flatten())
    }

    /// The last component.
    pub fn last(self) -> Option<Element<'a>> {
        self.components().last()
    }

    /// All its prefixes, the empty one first and itself last: what a lookup of the longest one
    /// tries from behind.
    pub fn prefixes(self) -> impl Iterator<Item = NameView<'a>> {
        let mut reader = Reader::new(self.0);
        std::iter::once(NameView(&[])).chain(std::iter::from_fn(move || {
            reader.element().ok().flatten()?;
            Some(NameView(&self.0[..reader.at()]))
        }))
    }

    /// Whether all of its components are the first of `other`.
    pub fn is_prefix_of(self, other: NameView<'_>) -> bool {
        // Each component says its length, so what begins with the bytes ends at a component.
        other.0.starts_with(self.0)
    }

    /// Without its last component, if there is one.
    pub fn parent(self) -> NameView<'a> {
        let length = self.prefixes().take_while(|prefix| prefix.0.len() < self.0.len()).last();
        length.unwrap_or_default()
    }

    /// A copy of one's own.
    pub fn to_name(self) -> Name {
        let component = |e: Element<'_>| Component { kind: e.kind as u16, value: e.value.to_vec() };
        Name(self.components().map(component).collect())
    }
}

impl std::fmt::Display for NameView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_name().fmt(f)
    }
}

/// Packet specification, *Name*: types from 1 to 65535; digests have 32 bytes.
pub(crate) fn check_component(element: Element<'_>) -> Result<(), Error> {
    if element.kind > 0xFFFF {
        return Err(Error::Element(element.kind));
    }
    let is_digest = [IMPLICIT_DIGEST, PARAMETERS_DIGEST].contains(&element.kind);
    if is_digest && element.value.len() != 32 { Err(Error::Value(element.kind)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &[u8] = &[8, 1, b'a', 8, 2, b'b', b'c', 0x32, 1, 3];

    #[test]
    fn prefixes_end_at_components() {
        let name = NameView::of(NAME).unwrap();
        let lengths: Vec<usize> = name.prefixes().map(|p| p.bytes().len()).collect();
        assert_eq!(lengths, [0, 3, 7, 10]);
        assert!(name.prefixes().all(|prefix| prefix.is_prefix_of(name)));
        assert_eq!(name.parent().bytes(), &NAME[..7]);
        assert_eq!(NameView::default().parent(), NameView::default());
        assert_eq!(name.last().map(|c| c.kind), Some(0x32));
        assert_eq!(name.to_string(), "/a/bc/50=%03");
    }

    #[test]
    fn a_name_is_no_prefix_of_one_with_a_longer_component() {
        let (a, ab) = (NameView::of(&[8, 1, b'a']).unwrap(), NameView::of(&[8, 2, b'a', b'b']).unwrap());
        assert!(!a.is_prefix_of(ab) && !ab.is_prefix_of(a));
        assert!(a < ab, "shorter components come first");
    }
}
