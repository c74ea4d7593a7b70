//! Names (packet specification, *Name*), and those of the simulator's objects.

use crate::name_view::NameView;
use crate::tlv::{Error, number_bytes, put, put_nested};

/// The element that a name is.
pub const NAME: u32 = 0x07;
/// Kinds of components.
pub const GENERIC: u16 = 0x08;
/// A segment's number.
pub const SEGMENT: u16 = 0x32;

/// Most components of a name, and bytes of all of them with their types and lengths. Ours: NDN sets
/// no bound of its own; tables that are keyed by names need one.
pub const MAX_COMPONENTS: usize = 64;
/// The bytes.
pub const MAX_NAME: usize = 2048;

/// A part of a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Component {
    /// Its kind, above zero.
    pub kind: u16,
    /// Its bytes.
    pub value: Vec<u8>,
}

/// A name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name(pub Vec<Component>);

impl Component {
    /// One that says a text.
    pub fn generic(text: impl AsRef<[u8]>) -> Component {
        Component { kind: GENERIC, value: text.as_ref().to_vec() }
    }

    /// A segment's number.
    pub fn segment(number: u64) -> Component {
        Component { kind: SEGMENT, value: number_bytes(number) }
    }
}

impl Name {
    /// Reads the components from the value of a name's element.
    pub fn get(value: &[u8]) -> Result<Name, Error> {
        NameView::of(value).map(NameView::to_name)
    }

    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_nested(NAME, out, |out| self.0.iter().for_each(|c| put(u32::from(c.kind), &c.value, out)));
    }

    /// The name of a segment of an object of the simulator's:
    /// `/midpath/<node>/<object>/seg=<segment>`, numbers of node and object in decimal digits. The
    /// node is the prefix that routes lead to.
    pub fn of_segment(node: u32, object: u32, segment: u32) -> Name {
        let [node, object] = [node, object].map(|number| Component::generic(number.to_string()));
        Name(vec![Component::generic("midpath"), node, object, Component::segment(u64::from(segment))])
    }
}

impl std::fmt::Display for Name {
    /// The URI of the packet specification, without its short forms of kinds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return write!(f, "/");
        }
        for component in &self.0 {
            write!(f, "/")?;
            if component.kind != GENERIC {
                write!(f, "{}=", component.kind)?;
            }
            // One of dots alone gets three more.
            if component.value.iter().all(|byte| *byte == b'.') {
                write!(f, "...")?;
            }
            for byte in &component.value {
                match byte {
                    b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(*byte))?;
                    }
                    _ => write!(f, "%{byte:02X}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_one_name() {
        let name = Name::of_segment(12, 7, 300);
        assert_eq!(name.to_string(), "/midpath/12/7/50=%01%2C");
    }

    #[test]
    fn names_are_bounded() {
        let many = [8, 0].repeat(MAX_COMPONENTS + 1);
        assert_eq!(Name::get(&many), Err(Error::Bounds));
        assert_eq!(Name::get(&many[2..]).map(|n| n.0.len()), Ok(MAX_COMPONENTS));
        assert_eq!(Name::get(&vec![0; MAX_NAME + 1]), Err(Error::Bounds));
        assert_eq!(Name::get(&[1, 2, 0, 0]), Err(Error::Value(1)), "a digest has 32 bytes");
        assert_eq!(Name::get(&[0xFE, 0, 1, 0, 0, 0]), Err(Error::Element(0x1_0000)));
    }

    #[test]
    fn uris_are_escaped() {
        let name = Name(vec![Component::generic("a b/"), Component::generic(".."), Component::generic("")]);
        assert_eq!(name.to_string(), "/a%20b%2F/...../...");
        assert_eq!(Name::default().to_string(), "/");
    }
}
