//! Captures in pcapng (draft-ietf-opsawg-pcapng): one port, what it sends, headers and the bytes that
//! packets carry, times to the nanosecond. Optionally with dropped packets. With a trace, each packet has its trace number.

use midpath_core::packet::{Carried, NodeId, PortId};
use midpath_core::units::Time;
use midpath_core::wire;

/// LINKTYPE_RAW: packets begin with their IP header.
const LINKTYPE_RAW: u16 = 101;
/// Option `if_tsresol` (§4.2): 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// A capture in the making.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The port.
    pub place: (NodeId, PortId),
    /// File name.
    pub name: String,
    left: u32,
    /// Packets that are dropped there are captured, too.
    drops: bool,
    packets: Vec<Captured>,
}

/// A packet of a capture.
#[derive(Debug, Clone)]
pub struct Captured {
    /// When it started onto the wire, or was dropped.
    pub at: Time,
    /// Why it was dropped; empty for one that was sent.
    pub dropped: &'static str,
    size: u32,
    bytes: Vec<u8>,
}

impl Capture {
    /// A capture of at most `packets` packets that `place` sends.
    pub fn new(place: (NodeId, PortId), name: String, packets: u32) -> Capture {
        Capture { place, name, left: packets, drops: false, packets: Vec::new() }
    }

    /// The same, of what is dropped there as well.
    #[must_use]
    pub fn with_drops(mut self, drops: bool) -> Capture {
        self.drops = drops;
        self
    }

    /// Adds a packet that starts onto the wire at `start`.
    pub fn add(&mut self, packet: Carried<'_>, start: Time) {
        self.encode(packet, start, "");
    }

    /// Adds a packet that is dropped, if those are asked for.
    pub fn add_dropped(&mut self, packet: Carried<'_>, now: Time, why: &'static str) {
        if self.drops {
            self.encode(packet, now, why);
        }
    }

    fn encode(&mut self, (packet, payload): Carried<'_>, at: Time, dropped: &'static str) {
        if self.left > 0 {
            let mut bytes = Vec::with_capacity(80);
            wire::encode_carried(packet, payload.map(|payload| &**payload), &mut bytes);
            self.keep(Captured { at, dropped, size: packet.size, bytes });
        }
    }

    /// Adds a packet of `size` bytes that begins with these.
    pub fn add_bytes(&mut self, size: u32, bytes: &[u8], start: Time) {
        if self.left > 0 {
            self.keep(Captured { at: start, dropped: "", size, bytes: bytes.to_vec() });
        }
    }

    fn keep(&mut self, packet: Captured) {
        self.left -= 1;
        self.packets.push(packet);
    }

    /// The file.
    pub fn file(self) -> Vec<u8> {
        self.file_with(|_| None)
    }

    /// The file, with the packets' numbers in a trace.
    pub fn file_with(mut self, mut number: impl FnMut(&Captured) -> Option<u32>) -> Vec<u8> {
        // A timetable knows packets before they start, in the order of their starts already; held
        // ports too.
        self.packets.sort_by_key(|p| p.at);
        let mut out = Vec::new();
        block(&mut out, 0x0A0D_0D0A, &section_header());
        block(&mut out, 1, &interface(&self.name));
        for packet in &self.packets {
            block(&mut out, 6, &enhanced_packet(packet, number(packet)));
        }
        out
    }
}

/// A block (§3.1): type, length, body, length again.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (12 + body.len()) as u32;
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&length.to_le_bytes());
}

/// §4.1: byte-order magic, version 1.0, length unknown.
fn section_header() -> Vec<u8> {
    [&0x1A2B_3C4Du32.to_le_bytes()[..], &1u16.to_le_bytes(), &0u16.to_le_bytes(), &u64::MAX.to_le_bytes()].concat()
}

/// An option (§3.5), padded to four bytes.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut o = [&code.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), value].concat();
    o.resize(o.len().next_multiple_of(4), 0);
    o
}

/// §4.2, with the port's name and the resolution of times.
fn interface(name: &str) -> Vec<u8> {
    [
        &LINKTYPE_RAW.to_le_bytes()[..],
        &0u16.to_le_bytes(),
        &0u32.to_le_bytes(), // no snapshot length
        &option(2, name.as_bytes()),
        &option(9, &[NANOSECONDS]),
        &option(0, &[]),
    ]
    .concat()
}

/// §4.3. The number is `epb_packetid`, and with the reason of a drop in `opt_comment`, which all tools show.
fn enhanced_packet(packet: &Captured, number: Option<u32>) -> Vec<u8> {
    let (ns, size, bytes) = (packet.at.as_ns(), packet.size, &packet.bytes);
    let mut body = [
        &0u32.to_le_bytes()[..],
        &((ns >> 32) as u32).to_le_bytes(),
        &(ns as u32).to_le_bytes(),
        &(bytes.len() as u32).to_le_bytes(),
        &size.to_le_bytes(),
        &bytes[..],
    ]
    .concat();
    body.resize(body.len().next_multiple_of(4), 0);
    let known = number.map(|number| format!("packet {number}"));
    let dropped = (!packet.dropped.is_empty()).then(|| format!("dropped: {}", packet.dropped));
    let comment: Vec<String> = known.into_iter().chain(dropped).collect();
    if !comment.is_empty() {
        body.extend(option(1, comment.join("; ").as_bytes()));
        body.extend(number.map(|number| option(5, &u64::from(number).to_le_bytes())).unwrap_or_default());
        body.extend(option(0, &[]));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::{FlowId, Packet};

    #[test]
    fn blocks_are_framed_and_aligned() {
        let mut c = Capture::new((NodeId(0), PortId(0)), "r0>r1".into(), 1);
        let packet = Packet::new(FlowId(3), NodeId(0), NodeId(1), 1500);
        c.add((&packet, None), Time::from_us(5));
        c.add((&packet, None), Time::from_us(6)); // beyond the limit
        let file = c.file();
        let (mut at, mut kinds) = (0, Vec::new());
        while at < file.len() {
            let word = |i: usize| u32::from_le_bytes(file[i..i + 4].try_into().unwrap());
            let length = word(at + 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(at + length - 4) as usize, length);
            kinds.push(word(at));
            at += length;
        }
        assert_eq!(kinds, [0x0A0D_0D0A, 1, 6]);
    }
}
