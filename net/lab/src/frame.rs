//! Frames as bytes: what the emulator reads of them, cutting super-frames, and CE marks.

use std::hash::Hasher as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustc_hash::FxHasher;

/// Bytes of Ethernet's header, which a link's rate does not count: links have the sizes of IP packets.
pub const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Protocols behind the IP header.
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
/// Bits of TCP's flags: only the last segment of a super-frame has FIN and PSH, only the first CWR.
const FIN_PSH: u8 = 0x09;
const FIN_RST: u8 = 0x05;
const SYN: u8 = 0x02;
const CWR: u8 = 0x80;

/// Bytes of [`Offload`] before each frame of a packet socket (`linux/virtio_net.h`).
pub const OFFLOAD: usize = 10;

/// What hardware was to do to a frame, as the kernel says it (`struct virtio_net_hdr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// Bit 0: the checksum is to be finished.
    pub flags: u8,
    /// What sort of super-frame it is: 0 none, 1 TCP over IPv4; bit 7: with CWR in the first only.
    pub gso_type: u8,
    /// Bytes of headers.
    pub header_len: u16,
    /// Payload of each of its segments.
    pub gso_size: u16,
    /// Where the checksum's bytes begin, and its own place from there on.
    pub checksum: (u16, u16),
}

impl Offload {
    const TCP_V4: u8 = 1;
    const ECN: u8 = 0x80;

    /// From its bytes, which are in the machine's order.
    pub fn read(bytes: &[u8; OFFLOAD]) -> Offload {
        let pair = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Offload {
            flags: bytes[0],
            gso_type: bytes[1],
            header_len: pair(2),
            gso_size: pair(4),
            checksum: (pair(6), pair(8)),
        }
    }

    /// Its bytes.
    pub fn write(self) -> [u8; OFFLOAD] {
        let mut bytes = [0; OFFLOAD];
        (bytes[0], bytes[1]) = (self.flags, self.gso_type);
        let pairs = [self.header_len, self.gso_size, self.checksum.0, self.checksum.1];
        bytes[2..].chunks_exact_mut(2).zip(pairs).for_each(|(two, value)| two.copy_from_slice(&value.to_ne_bytes()));
        bytes
    }
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// When it came, by the monotonic clock, in ns.
    pub at_ns: u64,
    /// What is left to be done to it.
    pub offload: Offload,
    /// Its bytes, from Ethernet's header on.
    pub data: Vec<u8>,
}

/// Two addresses with their ports: whose packet it is. Of fragments and protocols without ports, these are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conversation {
    /// The protocol behind the IP header.
    pub protocol: u8,
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
}

impl Conversation {
    /// The same seen from the other end.
    #[must_use]
    pub fn reversed(self) -> Conversation {
        Conversation { from: self.to, to: self.from, ..self }
    }
}

/// What a packet carries for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carries {
    /// Bytes behind the headers of TCP or UDP.
    pub payload: u64,
    /// Of TCP that brings bytes or begins: the sequence number behind its last byte. A FIN's own does not count.
    pub end: Option<u32>,
    /// A TCP connection begins.
    pub begins: bool,
    /// It sends no more in this direction.
    pub ends: bool,
}

impl Frame {
    /// Bytes of the IP packet.
    pub fn size(&self) -> usize {
        self.data.len().saturating_sub(ETHERNET)
    }

    fn is(&self, kind: [u8; 2]) -> bool {
        self.data.get(12..ETHERNET) == Some(kind.as_slice()) && self.data.len() >= ETHERNET + 20
    }

    /// Where the header behind IP's begins. Extension headers of IPv6 are not followed.
    fn transport(&self) -> Option<usize> {
        if self.is(IPV6) {
            return (self.data.len() >= ETHERNET + 40).then_some(ETHERNET + 40);
        }
        let length = self.is(IPV4).then(|| usize::from(self.data[ETHERNET] & 0xf) * 4)?;
        (length >= 20).then_some(ETHERNET + length)
    }

    /// The protocol behind the IP header.
    fn protocol(&self) -> u8 {
        self.data[ETHERNET + if self.is(IPV6) { 6 } else { 9 }]
    }

    /// Whose it is, where that is IP's.
    pub fn conversation(&self) -> Option<Conversation> {
        let at = self.transport()?;
        let protocol = self.protocol();
        let whole = self.is(IPV6) || self.data[ETHERNET + 6] & 0x1f == 0 && self.data[ETHERNET + 7] == 0;
        let ported = whole && matches!(protocol, TCP | UDP) && self.data.len() >= at + 4;
        let port = |at: usize| if ported { u16::from_be_bytes([self.data[at], self.data[at + 1]]) } else { 0 };
        let end = |n: usize, port: u16| SocketAddr::new(self.address(n), port);
        Some(Conversation { protocol, from: end(0, port(at)), to: end(1, port(at + 2)) })
    }

    /// The sender's (0) or the receiver's (1) address.
    fn address(&self, n: usize) -> IpAddr {
        if self.is(IPV6) {
            let at = ETHERNET + 8 + 16 * n;
            return Ipv6Addr::from(<[u8; 16]>::try_from(&self.data[at..at + 16]).unwrap_or_default()).into();
        }
        let at = ETHERNET + 12 + 4 * n;
        Ipv4Addr::from(<[u8; 4]>::try_from(&self.data[at..at + 4]).unwrap_or_default()).into()
    }

    /// What it carries for programs; nothing that is not TCP's or UDP's.
    pub fn carries(&self) -> Carries {
        let Some((at, protocol)) = self.transport().map(|at| (at, self.protocol())) else { return Carries::default() };
        match (protocol, self.data.get(at..at + 20)) {
            (TCP, Some(tcp)) => {
                let headers = at + usize::from(tcp[12] >> 4) * 4;
                let payload = self.data.len().saturating_sub(headers) as u64;
                let (begins, ends) = (tcp[13] & SYN != 0, tcp[13] & FIN_RST != 0);
                let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(u32::from(begins));
                let end = (payload > 0 || begins).then_some(seq.wrapping_add(payload as u32));
                Carries { payload, end, begins, ends }
            }
            (UDP, _) => Carries { payload: self.data.len().saturating_sub(at + 8) as u64, ..Carries::default() },
            _ => Carries::default(),
        }
    }

    /// What a router leaves as it is: all of a packet but its TTL, its ECN field and its checksums, whatever it
    /// carries. Two packets of a conversation that are in a router at a time differ in it.
    pub fn identity(&self) -> u64 {
        let ip = ETHERNET + 2..ETHERNET + 6; // length, identification
        let transport = self.transport().unwrap_or(ETHERNET + 20);
        let places = [ip, transport..transport + 16, transport + 18..transport + 60];
        let mut hasher = FxHasher::default();
        for place in places {
            let end = place.end.min(self.data.len());
            hasher.write(self.data.get(place.start..end).unwrap_or_default());
        }
        hasher.finish()
    }

    /// The ECN field: 0 not capable, 3 CE.
    pub fn ecn(&self) -> u8 {
        match () {
            () if self.is(IPV4) => self.data[ETHERNET + 1] & 3,
            () if self.is(IPV6) => self.data[ETHERNET + 1] >> 4 & 3,
            () => 0,
        }
    }

    /// Sets the ECN field, and mends IPv4's checksum (RFC 1624, equation 3).
    pub fn set_ecn(&mut self, field: u8) {
        if self.is(IPV6) {
            self.data[ETHERNET + 1] = self.data[ETHERNET + 1] & !0x30 | field << 4;
        } else if self.is(IPV4) {
            let before = u16::from_be_bytes([self.data[ETHERNET], self.data[ETHERNET + 1]]);
            self.data[ETHERNET + 1] = self.data[ETHERNET + 1] & !3 | field;
            let after = u16::from_be_bytes([self.data[ETHERNET], self.data[ETHERNET + 1]]);
            let place = ETHERNET + 10..ETHERNET + 12;
            let checksum = u16::from_be_bytes([self.data[place.start], self.data[place.start + 1]]);
            let mended = !fold(u32::from(!checksum) + u32::from(!before) + u32::from(after));
            self.data[place].copy_from_slice(&mended.to_be_bytes());
        }
    }

    /// The packets that a network card would make of it: itself, unless it is a super-frame of TCP over
    /// IPv4. One that cannot be cut goes on whole.
    pub fn cut(self) -> Vec<Frame> {
        let size = usize::from(self.offload.gso_size);
        let headers = match self.tcp_headers() {
            Some(headers) if size > 0 && self.data.len() > headers + size => headers,
            _ => return vec![self],
        };
        let pieces = self.data[headers..].chunks(size).enumerate();
        let last = (self.data.len() - headers).div_ceil(size) - 1;
        pieces.map(|(i, payload)| self.piece(headers, i, i == last, payload)).collect()
    }

    /// Bytes of all headers, if it is a super-frame of TCP over IPv4.
    fn tcp_headers(&self) -> Option<usize> {
        let (at, kind) = (self.transport()?, self.offload.gso_type & !Offload::ECN);
        let offset = usize::from(*self.data.get(at + 12)? >> 4) * 4;
        (kind == Offload::TCP_V4 && self.is(IPV4) && self.protocol() == TCP && offset >= 20).then_some(at + offset)
    }

    fn piece(&self, headers: usize, i: usize, is_last: bool, payload: &[u8]) -> Frame {
        let mut data = Vec::with_capacity(headers + payload.len());
        data.extend_from_slice(&self.data[..headers]);
        data.extend_from_slice(payload);
        let length = (data.len() - ETHERNET) as u16;
        data[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
        let id = u16::from_be_bytes([data[ETHERNET + 4], data[ETHERNET + 5]]).wrapping_add(i as u16);
        data[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&id.to_be_bytes());
        let tcp = self.transport().unwrap_or(headers);
        data[ETHERNET + 10..ETHERNET + 12].fill(0);
        let checksum = !sum(&data[ETHERNET..tcp]);
        data[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
        let from = tcp + 4..tcp + 8;
        let seq = u32::from_be_bytes(data[from.clone()].try_into().unwrap_or_default());
        data[from].copy_from_slice(&seq.wrapping_add(i as u32 * u32::from(self.offload.gso_size)).to_be_bytes());
        data[tcp + 13] &= !(if is_last { 0 } else { FIN_PSH } | if i == 0 { 0 } else { CWR });
        // What is left to be summed up begins with the pseudo-header, which has the length (RFC 9293, §3.1).
        let pseudo = [&data[ETHERNET + 12..ETHERNET + 20], &[0, TCP], &((data.len() - tcp) as u16).to_be_bytes()];
        let pseudo = sum(&pseudo.concat());
        data[tcp + 16..tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
        let offload = Offload { flags: 1, checksum: (tcp as u16, 16), ..Offload::default() };
        Frame { at_ns: self.at_ns, offload, data }
    }
}

/// The one's complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], *two.get(1).unwrap_or(&0)])));
    fold(words.sum())
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A TCP segment of `payload` bytes from 10.77.0.1:1000 to 10.77.0.2:2000 with ECT(0).
    pub fn segment(payload: usize) -> Frame {
        let mut data = vec![0u8; ETHERNET + 52];
        data[12..ETHERNET].copy_from_slice(&IPV4);
        data[ETHERNET..ETHERNET + 2].copy_from_slice(&[0x45, 2]);
        data[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&((52 + payload) as u16).to_be_bytes());
        (data[ETHERNET + 8], data[ETHERNET + 9]) = (64, TCP);
        data[ETHERNET + 12..ETHERNET + 20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        let checksum = !sum(&data[ETHERNET..ETHERNET + 20]);
        data[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
        let tcp = ETHERNET + 20;
        data[tcp..tcp + 4].copy_from_slice(&[3, 232, 7, 208]);
        data[tcp + 4..tcp + 8].copy_from_slice(&u32::MAX.to_be_bytes());
        (data[tcp + 12], data[tcp + 13]) = (0x80, 0x10 | FIN_PSH | CWR);
        data.extend((0..payload).map(|i| i as u8));
        Frame { at_ns: 7, offload: Offload::default(), data }
    }

    fn super_frame(payload: usize) -> Frame {
        let offload = Offload { flags: 1, gso_type: 0x81, header_len: 66, gso_size: 1448, checksum: (34, 16) };
        Frame { offload, ..segment(payload) }
    }

    #[test]
    fn a_super_frame_is_cut_as_a_card_would() {
        let whole = super_frame(64_000);
        let pieces = whole.clone().cut();
        assert_eq!(pieces.len(), 45);
        let payload: Vec<u8> = pieces.iter().flat_map(|p| p.data[66..].to_vec()).collect();
        assert_eq!(payload, whole.data[66..]);
        let tcp = ETHERNET + 20;
        for (i, piece) in pieces.iter().enumerate() {
            assert_eq!(sum(&piece.data[ETHERNET..tcp]), 0xffff, "IPv4's checksum");
            assert_eq!(usize::from(u16::from_be_bytes([piece.data[16], piece.data[17]])), piece.size());
            let seq = u32::from_be_bytes(piece.data[tcp + 4..tcp + 8].try_into().unwrap());
            assert_eq!(seq, u32::MAX.wrapping_add(1448 * i as u32));
            let flags = piece.data[tcp + 13];
            assert_eq!((flags & FIN_PSH != 0, flags & CWR != 0), (i == 44, i == 0));
            // Finished as the kernel does it, it is right.
            let mut finished = piece.clone();
            let rest = !sum(&finished.data[tcp..]);
            finished.data[tcp + 16..tcp + 18].copy_from_slice(&rest.to_be_bytes());
            let length = ((finished.data.len() - tcp) as u16).to_be_bytes();
            let pseudo = [&finished.data[ETHERNET + 12..ETHERNET + 20], &[0, TCP], &length].concat();
            assert_eq!(fold(u32::from(sum(&pseudo)) + u32::from(sum(&finished.data[tcp..]))), 0xffff);
            assert_eq!((piece.offload.gso_type, piece.offload.checksum), (0, (34, 16)));
        }
    }

    #[test]
    fn what_is_no_super_frame_stays_whole() {
        assert_eq!(segment(1448).cut(), [segment(1448)]);
        assert_eq!(super_frame(1000).cut(), [super_frame(1000)]);
        let odd = Frame { data: vec![8, 0, 1], ..super_frame(0) };
        assert_eq!(odd.clone().cut(), [odd]);
        let udp = Frame { offload: Offload { gso_type: 5, ..super_frame(9000).offload }, ..super_frame(9000) };
        assert_eq!(udp.clone().cut().len(), 1);
    }

    #[test]
    fn a_mark_mends_the_checksum_and_a_conversation_is_read() {
        let mut frame = segment(100);
        assert_eq!(frame.ecn(), 2);
        frame.set_ecn(3);
        assert_eq!((frame.ecn(), sum(&frame.data[ETHERNET..ETHERNET + 20])), (3, 0xffff));
        let found = frame.conversation().unwrap();
        assert_eq!((found.from, found.to), ends("10.77.0.1:1000", "10.77.0.2:2000"));
        assert_eq!(found.reversed().reversed(), found);
        frame.data[ETHERNET + 7] = 9;
        assert_eq!(frame.conversation().unwrap().from.port(), 0, "a later fragment has no ports");
        frame.data[12] = 0x86;
        assert_eq!(frame.conversation(), None);
    }

    fn ends(from: &str, to: &str) -> (SocketAddr, SocketAddr) {
        (from.parse().unwrap(), to.parse().unwrap())
    }

    /// A UDP datagram of `payload` bytes over IPv6 from fd77::1 port 1000 to fd77::2 port 2000 with ECT(0).
    pub fn datagram(payload: usize) -> Frame {
        let mut data = vec![0u8; ETHERNET + 48];
        data[12..ETHERNET].copy_from_slice(&IPV6);
        data[ETHERNET..ETHERNET + 2].copy_from_slice(&[0x60, 0x20]);
        data[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
        (data[ETHERNET + 6], data[ETHERNET + 7]) = (UDP, 64);
        for (n, last) in [1, 2].into_iter().enumerate() {
            let at = ETHERNET + 8 + 16 * n;
            data[at..at + 16].copy_from_slice(&Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, last).octets());
        }
        data[ETHERNET + 40..ETHERNET + 44].copy_from_slice(&[3, 232, 7, 208]);
        data.extend((0..payload).map(|i| i as u8));
        Frame { at_ns: 7, offload: Offload::default(), data }
    }

    #[test]
    fn ipv6_has_conversations_marks_and_an_identity_as_well() {
        let mut frame = datagram(100);
        let found = frame.conversation().unwrap();
        assert_eq!((found.from, found.to), ends("[fd77::1]:1000", "[fd77::2]:2000"));
        assert_eq!(found.protocol, UDP);
        assert_eq!(frame.carries(), Carries { payload: 100, ..Carries::default() });
        let (before, other) = (frame.identity(), datagram(101).identity());
        frame.data[ETHERNET + 7] -= 1;
        frame.set_ecn(3);
        assert_eq!((frame.ecn(), frame.identity()), (3, before), "a router changes the hop limit and ECN");
        assert_ne!(before, other);
        // Cut anywhere, it is read without a panic.
        for length in 0..frame.data.len() {
            let cut = Frame { data: frame.data[..length].to_vec(), ..frame.clone() };
            let _ = (cut.conversation(), cut.carries(), cut.identity(), cut.ecn());
        }
    }

    #[test]
    fn what_segments_carry_is_read() {
        let frame = segment(100);
        assert_eq!(frame.carries(), Carries { payload: 100, end: Some(99), begins: false, ends: true });
        let mut opens = segment(0);
        opens.data[ETHERNET + 33] = SYN;
        assert_eq!(opens.carries(), Carries { payload: 0, end: Some(0), begins: true, ends: false });
        // Junk of any length, with headers that claim more than there is.
        for length in 0..120usize {
            for first in [0x45u8, 0x4f, 0x40, 0x60] {
                let mut data: Vec<u8> = (0..length).map(|i| (i * 37) as u8 | 0xf0).collect();
                if length > ETHERNET {
                    data[12..ETHERNET].copy_from_slice(if first == 0x60 { &IPV6 } else { &IPV4 });
                    data[ETHERNET] = first;
                }
                for protocol in [TCP, UDP] {
                    [9, 6]
                        .into_iter()
                        .filter(|at| length > ETHERNET + at)
                        .for_each(|at| data[ETHERNET + at] = protocol);
                    let junk = Frame { data: data.clone(), ..frame.clone() };
                    let _ = (junk.conversation(), junk.carries(), junk.identity(), junk.clone().cut());
                }
            }
        }
    }

    #[test]
    fn an_offload_header_is_the_kernel_s() {
        let offload = super_frame(9000).offload;
        assert_eq!(Offload::read(&offload.write()), offload);
    }
}
