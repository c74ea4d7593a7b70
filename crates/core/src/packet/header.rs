//! Scheme headers: length-prefixed, stacked, and stored in wire format.

use super::{Kind, Packet, shim_size};

/// Bytes of headers that a packet has room for, tags and lengths included. Ours: INRPP's around
/// FCP's around another of forty bytes; TCP's options have forty at most.
pub const HEADER_ROOM: usize = 104;

/// Bytes in front of each header's body: its tag and its length.
pub(crate) const PREFIX: usize = 2;

/// Tags from here on stand for TCP options (RFC 9293, §3.1): the option's kind, plus this.
pub const TCP_OPTION: u8 = 128;

/// Headers with this tag begin with two bytes of entropy, which stand for UDP's source port where paths are chosen:
/// [`Packet::set_entropy`].
pub const ENTROPY: u8 = 12;

/// A scheme's header. On the wire it stands in the shim between IP and transport, or among TCP's
/// options.
///
/// A port that doesn't know the header forwards it untouched.
pub trait Header: Copy {
    /// Tells headers apart on the wire. 0 is padding; 1–63 are Midpath's own; outside schemes take
    /// from 64 to 127. [`TCP_OPTION`] and above are TCP options by kind.
    const TAG: u8;
    /// Bytes of its body.
    fn body_len(&self) -> usize;
    /// Writes its body: `out` has [`Header::body_len`] bytes.
    fn put(&self, out: &mut [u8]);
    /// Reads it back. `None` when the bytes are no valid header: peers are hostile until
    /// authenticated.
    fn get(body: &[u8]) -> Option<Self>;
}

/// A header's body, for tests and for what is signed.
pub fn body_of<H: Header>(header: &H) -> Vec<u8> {
    let mut out = vec![0; header.body_len()];
    header.put(&mut out);
    out
}

/// The headers of one packet, outermost first: tag, length, body, one after the other.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Stack(pub [u8; HEADER_ROOM]);

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(Entries { bytes: &self.0, at: 0 }.take_while(|e| e.0 != 0)).finish()
    }
}

impl Stack {
    pub const EMPTY: Stack = Stack([0; HEADER_ROOM]);
}

/// The headers in `bytes`: tag, where the body begins, where it ends.
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Entries<'_> {
    type Item = (u8, usize, usize);
    #[inline]
    fn next(&mut self) -> Option<(u8, usize, usize)> {
        let (tag, len) = (*self.bytes.get(self.at)?, *self.bytes.get(self.at + 1)?);
        let from = self.at + PREFIX;
        self.at = from + usize::from(len);
        (self.at <= self.bytes.len()).then_some((tag, from, self.at))
    }
}

/// The header `H` among headers as [`Packet::headers`] gives them, if there is one that is valid.
#[inline]
pub fn header_among<H: Header>(headers: &[u8]) -> Option<H> {
    // The usual case: it is outermost.
    if let [tag, len, rest @ ..] = headers
        && *tag == H::TAG
        && let Some(outermost) = rest.get(..usize::from(*len)).and_then(H::get)
    {
        return Some(outermost);
    }
    let bodies = Entries { bytes: headers, at: 0 }.filter(|e| e.0 == H::TAG);
    bodies.map(|(_, from, to)| &headers[from..to]).find_map(H::get)
}

/// Changes the header `H` among headers as [`Packet::headers`] gives them, if there is one that is valid. Its length stays.
pub fn change_among<H: Header>(headers: &mut [u8], change: impl FnOnce(H) -> H) {
    let mut bodies = Entries { bytes: headers, at: 0 }.filter(|e| e.0 == H::TAG);
    if let Some((old, body)) = bodies.find_map(|(_, from, to)| Some((H::get(&headers[from..to])?, from..to))) {
        let new = change(old);
        assert_eq!(new.body_len(), body.len(), "a header changes in its place");
        new.put(&mut headers[body]);
    }
}

/// What a packet carries for schemes.
impl Packet {
    #[inline]
    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries { bytes: self.headers(), at: 0 }
    }

    /// All headers as they are kept: tag, length and body of each, outermost first.
    #[inline]
    pub fn headers(&self) -> &[u8] {
        &self.tail.stack.0[..usize::from(self.stacked)]
    }

    /// Whether it carries any header.
    #[inline]
    pub fn has_headers(&self) -> bool {
        self.stacked > 0
    }

    /// Whether it is TCP that anybody on its way can read: no scheme's header stands before TCP's.
    #[inline]
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, Kind::Segment) && (self.tag == 0 || self.tag >= TCP_OPTION)
    }

    /// The body of the outermost header with this tag.
    #[inline]
    pub fn body(&self, tag: u8) -> Option<&[u8]> {
        if self.tag == 0 {
            return None;
        }
        if self.tag == tag {
            // The usual case: it is outermost.
            let len = usize::from(self.tail.stack.0[1]);
            return self.tail.stack.0.get(PREFIX..PREFIX + len);
        }
        self.entries().find(|e| e.0 == tag).map(|(_, from, to)| &self.tail.stack.0[from..to])
    }

    /// The body of a packet's only header, if that has this tag.
    #[inline]
    pub fn only_body(&self, tag: u8) -> Option<&[u8]> {
        let end = PREFIX + usize::from(self.tail.stack.0[1]);
        let only = self.tag == tag && usize::from(self.stacked) == end;
        if only { self.tail.stack.0.get(PREFIX..end) } else { None }
    }

    /// The body of a packet's only header, if that has this tag, to be changed in place.
    #[inline]
    pub fn only_body_mut(&mut self, tag: u8) -> Option<&mut [u8]> {
        let end = PREFIX + usize::from(self.tail.stack.0[1]);
        let only = self.tag == tag && usize::from(self.stacked) == end;
        if only { self.tail.stack.0.get_mut(PREFIX..end) } else { None }
    }

    /// The same with another length: what is added is zero. The packet's size follows.
    #[inline]
    pub fn only_body_resized(&mut self, tag: u8, len: usize) -> Option<&mut [u8]> {
        let old = self.only_body_mut(tag)?.len();
        if tag >= TCP_OPTION || len > HEADER_ROOM - PREFIX {
            return None;
        }
        self.resize_only(old, len);
        self.tail.stack.0.get_mut(PREFIX..PREFIX + len)
    }

    /// The body of the outermost header with this tag, to be changed in place.
    #[inline]
    pub fn body_mut(&mut self, tag: u8) -> Option<&mut [u8]> {
        let (_, from, to) = self.entries().find(|e| e.0 == tag)?;
        Some(&mut self.tail.stack.0[from..to])
    }

    /// Whether it carries a header `H`, valid or not.
    #[inline]
    pub fn carries<H: Header>(&self) -> bool {
        self.tag == H::TAG || (self.tag != 0 && self.body(H::TAG).is_some())
    }

    /// The header `H`, if this packet carries one that is valid.
    #[inline(always)] // so that what a caller does not look at is not read
    pub fn header<H: Header>(&self) -> Option<H> {
        if self.tag == 0 {
            return None;
        }
        if self.tag == H::TAG {
            // The usual case: it is outermost.
            let len = usize::from(self.tail.stack.0[1]);
            let outermost = self.tail.stack.0.get(PREFIX..PREFIX + len).and_then(H::get);
            if outermost.is_some() {
                return outermost;
            }
        }
        self.inner_header()
    }

    fn inner_header<H: Header>(&self) -> Option<H> {
        header_among(self.headers())
    }

    /// Puts `header` on the packet: in place of another `H`, or around the headers that it has.
    /// Says whether there was room; else the packet is as it was.
    #[inline]
    pub fn set_header<H: Header>(&mut self, header: &H) -> bool {
        let len = header.body_len();
        if self.tag == H::TAG {
            let old = usize::from(self.tail.stack.0[1]);
            if old == len {
                // The usual case: what is outermost is written again.
                header.put(&mut self.tail.stack.0[PREFIX..PREFIX + len]);
                return true;
            }
            if usize::from(self.stacked) == PREFIX + old && H::TAG < TCP_OPTION && len <= HEADER_ROOM - PREFIX {
                return self.replace_only(header, old, len);
            }
        }
        if self.stacked == 0 && H::TAG < TCP_OPTION && len <= HEADER_ROOM - PREFIX {
            return self.place_first(header, len);
        }
        self.place_header(header, len)
    }

    /// Puts a header on a packet that has none.
    #[inline]
    fn place_first<H: Header>(&mut self, header: &H, len: usize) -> bool {
        let stack = &mut self.tail.stack.0;
        (stack[0], stack[1]) = (H::TAG, len as u8);
        header.put(&mut stack[PREFIX..PREFIX + len]);
        (self.tag, self.stacked) = (H::TAG, (PREFIX + len) as u8);
        self.size += shim_size(len as u32);
        true
    }

    /// Puts a header in place of a packet's only one, which has another length.
    #[inline]
    fn replace_only<H: Header>(&mut self, header: &H, old: usize, len: usize) -> bool {
        self.resize_only(old, len);
        header.put(&mut self.tail.stack.0[PREFIX..PREFIX + len]);
        true
    }

    /// Gives a packet's only header a body of another length. What is added is zero.
    #[inline]
    fn resize_only(&mut self, old: usize, len: usize) {
        let stack = &mut self.tail.stack.0;
        stack[1] = len as u8;
        if len < old {
            stack[PREFIX + len..PREFIX + old].fill(0); // so that equal packets are equal
        }
        self.stacked = (PREFIX + len) as u8;
        self.size = self.size - shim_size(old as u32) + shim_size(len as u32);
    }

    fn place_header<H: Header>(&mut self, header: &H, len: usize) -> bool {
        let old = self.entries().find(|e| e.0 == H::TAG);
        let (at, before) = old.map_or((self.place_for(H::TAG), 0), |(_, from, to)| (from - PREFIX, to - from + PREFIX));
        if !self.make_room(at, before, H::TAG, Some(len)) {
            return false;
        }
        header.put(&mut self.tail.stack.0[at + PREFIX..at + PREFIX + len]);
        true
    }

    /// Puts a header's bytes around those that it has, as they came from the wire; they are checked
    /// when they are read.
    pub fn push_raw(&mut self, tag: u8, body: &[u8]) -> bool {
        let at = self.place_for(tag);
        if tag == 0 || body.len() > HEADER_ROOM || !self.make_room(at, 0, tag, Some(body.len())) {
            return false;
        }
        self.tail.stack.0[at + PREFIX..at + PREFIX + body.len()].copy_from_slice(body);
        true
    }

    /// Takes the outermost header `H` off; says whether there was one.
    pub fn take_header<H: Header>(&mut self) -> bool {
        let Some((_, from, to)) = self.entries().find(|e| e.0 == H::TAG) else { return false };
        self.make_room(from - PREFIX, to - from + PREFIX, H::TAG, None)
    }

    /// Where a new header goes: around all others, but TCP's options stay innermost, for they are
    /// in TCP's header.
    fn place_for(&self, tag: u8) -> usize {
        let first_option = || self.entries().find(|e| e.0 >= TCP_OPTION).map_or(self.stacked.into(), |e| e.1 - PREFIX);
        if tag >= TCP_OPTION { first_option() } else { 0 }
    }

    /// Makes room for a header with a body of this length (or none at all) in place of the `before`
    /// bytes at `at`. The packet's size follows. The caller writes the body.
    fn make_room(&mut self, at: usize, before: usize, tag: u8, body: Option<usize>) -> bool {
        let after = body.map_or(0, |len| len + PREFIX);
        if before == after {
            return true;
        }
        let (end, old) = (usize::from(self.stacked), self.carried_size());
        let new_end = end - before + after;
        if new_end > HEADER_ROOM {
            return false;
        }
        self.tail.stack.0.copy_within(at + before..end, at + after);
        if new_end < end {
            self.tail.stack.0[new_end..end].fill(0); // so that equal packets are equal
        }
        self.stacked = new_end as u8;
        if let Some(len) = body {
            (self.tail.stack.0[at], self.tail.stack.0[at + 1]) = (tag, len as u8);
        }
        self.tag = if self.stacked > 0 { self.tail.stack.0[0] } else { 0 };
        self.size = self.size - old + self.carried_size();
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::{FlowId, NodeId};

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Price(f64);
    impl Header for Price {
        const TAG: u8 = 100;
        fn body_len(&self) -> usize {
            8
        }
        fn put(&self, out: &mut [u8]) {
            out.copy_from_slice(&self.0.to_be_bytes());
        }
        fn get(body: &[u8]) -> Option<Price> {
            let v = f64::from_be_bytes(body.try_into().ok()?);
            v.is_finite().then_some(Price(v))
        }
    }

    /// As many bytes as it says.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Long(u8);
    impl Header for Long {
        const TAG: u8 = 101;
        fn body_len(&self) -> usize {
            self.0.into()
        }
        fn put(&self, out: &mut [u8]) {
            out.fill(self.0);
        }
        fn get(body: &[u8]) -> Option<Long> {
            body.iter().all(|b| usize::from(*b) == body.len()).then_some(Long(body.len() as u8))
        }
    }

    fn packet() -> Packet {
        Packet::new(FlowId(0), NodeId(0), NodeId(1), 100)
    }

    #[test]
    fn a_header_round_trips_and_a_bad_one_is_none() {
        let mut p = packet();
        assert!(p.header::<Price>().is_none() && !p.carries::<Price>() && !p.has_headers());
        assert!(p.set_header(&Price(0.25)));
        assert_eq!(p.header::<Price>(), Some(Price(0.25)));
        assert!(p.set_header(&Price(f64::NAN)) && p.carries::<Price>());
        assert_eq!(p.header::<Price>(), None);
    }

    #[test]
    fn headers_stack_and_one_is_taken_from_between() {
        let mut p = packet();
        assert!(p.set_header(&Price(1.0)) && p.set_header(&Long(5)) && p.push_raw(7, &[1, 2, 3]));
        assert_eq!(p.entries().map(|e| e.0).collect::<Vec<_>>(), [7, 101, 100], "outermost first");
        assert!(p.set_header(&Long(9)), "in its place, longer");
        assert_eq!((p.header::<Long>(), p.header::<Price>()), (Some(Long(9)), Some(Price(1.0))));
        assert!(p.take_header::<Long>() && !p.take_header::<Long>());
        assert_eq!(p.headers()[..5], [7, 3, 1, 2, 3]);
        assert_eq!(p.header::<Price>(), Some(Price(1.0)));
        assert!(p.take_header::<Price>() && p.headers().len() == 5);
    }

    #[test]
    fn without_room_the_packet_stays_as_it_was() {
        let mut p = packet();
        assert!(p.set_header(&Long(95)));
        assert!(!p.set_header(&Price(1.0)) && !p.push_raw(3, &[0; 20]));
        assert_eq!((p.header::<Long>(), p.headers().len()), (Some(Long(95)), 97));
        assert!(p.set_header(&Long(102)) && !p.set_header(&Long(103)));
        assert_eq!(p.header::<Long>(), Some(Long(102)));
    }

    proptest! {
        /// Whatever is put on and taken off, each header is the last one of its kind, or not there.
        #[test]
        fn the_stack_is_what_was_put_on(steps in prop::collection::vec((0u8..5, 0u8..60), 0..40)) {
            let (mut p, mut price, mut long) = (packet(), None, None);
            for (what, n) in steps {
                match what {
                    4 => if let Some(body) = p.only_body_resized(Long::TAG, n.into()) {
                        prop_assert!(long.is_some() && price.is_none());
                        body.fill(n);
                        long = Some(Long(n));
                    } else {
                        prop_assert!(long.is_none() || price.is_some());
                    },
                    0 => if p.set_header(&Price(n.into())) { price = Some(Price(n.into())) },
                    1 => if p.set_header(&Long(n)) { long = Some(Long(n)) },
                    2 => prop_assert_eq!(p.take_header::<Price>(), price.take().is_some()),
                    _ => prop_assert_eq!(p.take_header::<Long>(), long.take().is_some()),
                }
                prop_assert_eq!((p.header::<Price>(), p.header::<Long>()), (price, long));
                prop_assert_eq!(p.headers().len(), p.entries().map(|(_, from, to)| to - from + PREFIX).sum::<usize>());
                prop_assert_eq!(p.size, packet().size + p.carried_size());
                prop_assert!(p.tail.stack.0[p.headers().len()..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
