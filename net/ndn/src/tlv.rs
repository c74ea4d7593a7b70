//! Types, lengths and numbers (packet specification, *TLV encoding*).

/// The longest packet, all of its bytes. 8,800: NDN's practical limit, which its forwarders and
/// libraries share.
pub const MAX_PACKET: usize = 8800;

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// They end too early.
    Short,
    /// There are bytes left over.
    Long,
    /// A type or length is not written in the fewest bytes, or a type is zero or above 32 bits.
    Number,
    /// A value of this type is not what the specification allows.
    Value(u32),
    /// An element of this type stands twice, or in the wrong place, or is critical and unknown.
    Element(u32),
    /// An element of this type is missing.
    Missing(u32),
    /// More than [`MAX_PACKET`] bytes, or a name beyond its bounds.
    Bounds,
    /// A fragment of a packet: putting them together is the link's to do.
    Fragment,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Short => write!(f, "truncated"),
            Error::Long => write!(f, "trailing bytes"),
            Error::Number => write!(f, "a type or length is not in its shortest form"),
            Error::Value(t) => write!(f, "the value of type {t:#x} is not allowed"),
            Error::Element(t) => write!(f, "an element of type {t:#x} is not allowed here"),
            Error::Missing(t) => write!(f, "an element of type {t:#x} is missing"),
            Error::Bounds => write!(f, "the packet or its name is too long"),
            Error::Fragment => write!(f, "this is a fragment"),
        }
    }
}

impl std::error::Error for Error {}

/// Whether who does not know this type must not ignore it, in a packet of the network layer.
pub fn is_critical(kind: u32) -> bool {
    kind <= 31 || kind & 1 == 1
}

/// One element: its type and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The type.
    pub kind: u32,
    /// The value's bytes.
    pub value: &'a [u8],
}

/// Reads elements one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Over these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Whether all have been read.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// How many bytes have been read: where the next element begins.
    pub fn at(&self) -> usize {
        self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let head = self.bytes[self.at..].get(..count).ok_or(Error::Short)?;
        self.at += count;
        Ok(head)
    }

    /// A type or a length: 1, 3, 5 or 9 bytes, as few as possible.
    fn var_number(&mut self) -> Result<u64, Error> {
        let (bytes, least) = match self.take(1)?[0] {
            255 => (8, 1 << 32),
            254 => (4, 1 << 16),
            253 => (2, 253),
            small => return Ok(u64::from(small)),
        };
        Some(big_endian(self.take(bytes)?)).filter(|n| *n >= least).ok_or(Error::Number)
    }

    /// The next element; `None` after the last.
    pub fn element(&mut self) -> Result<Option<Element<'a>>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let (kind, length) = self.type_and_length()?;
        Ok(Some(Element { kind, value: self.take(length)? }))
    }

    /// The type and the length that the next element begins with.
    pub fn type_and_length(&mut self) -> Result<(u32, usize), Error> {
        let kind = u32::try_from(self.var_number()?).ok().filter(|kind| *kind > 0).ok_or(Error::Number)?;
        let length = usize::try_from(self.var_number()?).unwrap_or(usize::MAX);
        Ok((kind, length))
    }

    /// The one element that the bytes are.
    pub fn only(bytes: &'a [u8]) -> Result<Element<'a>, Error> {
        let mut reader = Reader::new(bytes);
        let element = reader.element()?.ok_or(Error::Short)?;
        if reader.is_empty() { Ok(element) } else { Err(Error::Long) }
    }
}

/// Reads the elements of a packet, whose types come in an order, each at most once.
#[derive(Debug)]
pub struct Ordered<'a> {
    order: &'static [u32],
    reader: Reader<'a>,
    /// How many of `order` may not come any more.
    past: usize,
    /// Where the element that came last begins.
    start: usize,
}

impl<'a> Ordered<'a> {
    /// Over the value of an element.
    pub fn new(value: &'a [u8], order: &'static [u32]) -> Ordered<'a> {
        Ordered { order, reader: Reader::new(value), past: 0, start: 0 }
    }

    /// The next one that is known and in its place. Others are read over unless they are critical
    /// (packet specification, *Considerations for Evolvability of TLV-Based Encoding*).
    pub fn next_known(&mut self) -> Result<Option<Element<'a>>, Error> {
        loop {
            self.start = self.reader.at();
            let Some(element) = self.reader.element()? else { return Ok(None) };
            match self.order.iter().position(|kind| *kind == element.kind) {
                Some(place) if place >= self.past => {
                    self.past = place + 1;
                    return Ok(Some(element));
                }
                _ if is_critical(element.kind) => return Err(Error::Element(element.kind)),
                _ => {}
            }
        }
    }

    /// The bytes of the value in which that element stands, with its type and length.
    pub fn span(&self) -> std::ops::Range<usize> {
        self.start..self.reader.at()
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Element<'_> {
    /// A NonNegativeInteger: 1, 2, 4 or 8 bytes. The specification wants the shortest form of those
    /// who write, and takes any.
    pub fn number(&self) -> Result<u64, Error> {
        match self.value.len() {
            1 | 2 | 4 | 8 => Ok(big_endian(self.value)),
            _ => Err(Error::Value(self.kind)),
        }
    }

    /// A value of fixed length.
    pub fn array<const N: usize>(&self) -> Result<[u8; N], Error> {
        self.value.try_into().map_err(|_| Error::Value(self.kind))
    }

    /// A value without bytes: the element says all by being there.
    pub fn flag(&self) -> Result<bool, Error> {
        if self.value.is_empty() { Ok(true) } else { Err(Error::Value(self.kind)) }
    }
}

/// Writes a type or a length.
pub fn put_var(number: u64, out: &mut Vec<u8>) {
    match number {
        0..253 => out.push(number as u8),
        253..0x1_0000 => {
            out.push(253);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(254);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(255);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Writes an element.
pub fn put(kind: u32, value: &[u8], out: &mut Vec<u8>) {
    put_var(u64::from(kind), out);
    put_var(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Writes an element whose value is written by `inner`.
pub fn put_nested(kind: u32, out: &mut Vec<u8>, inner: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    inner(&mut value);
    put(kind, &value, out);
}

/// A NonNegativeInteger in its shortest form.
pub fn number_bytes(number: u64) -> Vec<u8> {
    match number {
        0..0x100 => vec![number as u8],
        0x100..0x1_0000 => (number as u16).to_be_bytes().to_vec(),
        0x1_0000..0x1_0000_0000 => (number as u32).to_be_bytes().to_vec(),
        _ => number.to_be_bytes().to_vec(),
    }
}

/// Writes an element with a number.
pub fn put_number(kind: u32, number: u64, out: &mut Vec<u8>) {
    put(kind, &number_bytes(number), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn types_and_lengths_are_as_short_as_can_be() {
        let bytes = |number| {
            let mut out = Vec::new();
            put_var(number, &mut out);
            out
        };
        assert_eq!(bytes(252), [252]);
        assert_eq!(bytes(253), [253, 0, 253]);
        assert_eq!(bytes(0x1_0000), [254, 0, 1, 0, 0]);
        assert_eq!(bytes(1 << 32), [255, 0, 0, 0, 1, 0, 0, 0, 0]);
        for long in [&[253, 0, 252][..], &[254, 0, 0, 255, 255], &[255, 0, 0, 0, 0, 255, 255, 255, 255]] {
            assert_eq!(Reader::new(long).var_number(), Err(Error::Number));
        }
    }

    #[test]
    fn elements_end_where_they_say() {
        assert_eq!(Reader::only(&[8, 2, 1, 2]), Ok(Element { kind: 8, value: &[1, 2] }));
        assert_eq!(Reader::only(&[8, 2, 1]), Err(Error::Short));
        assert_eq!(Reader::only(&[8, 2, 1, 2, 3]), Err(Error::Long));
        assert_eq!(Reader::only(&[0, 0]), Err(Error::Number));
        assert_eq!(Reader::only(&[255, 0, 0, 0, 1, 0, 0, 0, 0, 0]), Err(Error::Number), "types have 32 bits");
        assert_eq!(Reader::only(&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255]), Err(Error::Short));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(kind in 1u32.., value in prop::collection::vec(any::<u8>(), 0..400), number: u64) {
            let mut out = Vec::new();
            put(kind, &value, &mut out);
            prop_assert_eq!(Reader::only(&out), Ok(Element { kind, value: &value }));
            let mut out = Vec::new();
            put_number(kind, number, &mut out);
            prop_assert_eq!(Reader::only(&out).unwrap().number(), Ok(number));
        }
    }
}
