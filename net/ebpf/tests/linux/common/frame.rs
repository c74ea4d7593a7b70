//! Frames, byte by byte: written for the tests alone, so that they owe nothing to what they test.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The parts of a TCP packet that tests choose.
#[derive(Debug, Clone, Copy)]
pub struct Tcp {
    pub v6: bool,
    /// The last bytes of the two addresses.
    pub hosts: (u8, u8),
    pub ports: (u16, u16),
    pub ecn: u8,
    /// Nine bits.
    pub flags: u16,
    pub payload: usize,
    pub seq: u32,
    pub ack: u32,
}

impl Tcp {
    /// The same flow, the other way.
    pub fn reversed(self) -> Tcp {
        Tcp { hosts: (self.hosts.1, self.hosts.0), ports: (self.ports.1, self.ports.0), ..self }
    }

    /// As an Ethernet frame with right checksums.
    pub fn frame(&self) -> Vec<u8> {
        ethernet(&[], if self.v6 { 0x86dd } else { 0x0800 }, &self.packet())
    }

    /// As an IP packet with right checksums.
    pub fn packet(&self) -> Vec<u8> {
        let segment = self.segment();
        if self.v6 {
            ipv6(self.hosts, self.ecn, &[], 6, &segment)
        } else {
            ipv4(self.hosts, self.ecn, &[], 0, 6, &segment)
        }
    }

    /// The TCP segment, with its checksum.
    pub fn segment(&self) -> Vec<u8> {
        let mut s = Vec::new();
        s.extend(self.ports.0.to_be_bytes());
        s.extend(self.ports.1.to_be_bytes());
        s.extend(self.seq.to_be_bytes());
        s.extend(self.ack.to_be_bytes());
        s.push(5 << 4 | (self.flags >> 8) as u8);
        s.push(self.flags as u8);
        s.extend([0x20, 0, 0, 0, 0, 0]);
        s.extend((0..self.payload).map(|i| i as u8));
        let sum = checksum(&[pseudo_header(self.v6, self.hosts, s.len()), s.clone()].concat());
        s[16..18].copy_from_slice(&sum.to_be_bytes());
        s
    }
}

/// What a TCP checksum covers beside the segment.
pub fn pseudo_header(v6: bool, hosts: (u8, u8), bytes: usize) -> Vec<u8> {
    let mut p = Vec::new();
    if v6 {
        p.extend(address6(hosts.0).octets());
        p.extend(address6(hosts.1).octets());
        p.extend((bytes as u32).to_be_bytes());
        p.extend([0, 0, 0, 6]);
    } else {
        p.extend(address4(hosts.0).octets());
        p.extend(address4(hosts.1).octets());
        p.extend([0, 6]);
        p.extend((bytes as u16).to_be_bytes());
    }
    p
}

pub fn address4(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, host)
}

pub fn address6(host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(host))
}

pub fn ethernet(tags: &[u16], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        f.extend(tag.to_be_bytes());
        f.extend([0, 7]);
    }
    f.extend(kind.to_be_bytes());
    f.extend(payload);
    f
}

/// `options`: a multiple of 4 bytes. `fragment`: the word with flags and offset.
pub fn ipv4(hosts: (u8, u8), ecn: u8, options: &[u8], fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut p = vec![0x40 | (header / 4) as u8, 0xb8 | ecn];
    p.extend(((header + payload.len()) as u16).to_be_bytes());
    p.extend([0xab, 0xcd]);
    p.extend(fragment.to_be_bytes());
    p.extend([64, protocol, 0, 0]);
    p.extend(address4(hosts.0).octets());
    p.extend(address4(hosts.1).octets());
    p.extend(options);
    let sum = checksum(&p);
    p[10..12].copy_from_slice(&sum.to_be_bytes());
    p.extend(payload);
    p
}

/// `extensions`: each its number and its body from the length byte on.
pub fn ipv6(hosts: (u8, u8), ecn: u8, extensions: &[(u8, Vec<u8>)], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let numbers: Vec<u8> = extensions.iter().map(|(number, _)| *number).chain([protocol]).collect();
    let mut rest = Vec::new();
    for ((_, body), next) in extensions.iter().zip(&numbers[1..]) {
        rest.push(*next);
        rest.extend(body);
    }
    rest.extend(payload);
    let mut p = vec![0x6b, (0x80 | ecn << 4) | 0x05, 0x43, 0x21];
    p.extend((rest.len() as u16).to_be_bytes());
    p.extend([numbers[0], 64]);
    p.extend(address6(hosts.0).octets());
    p.extend(address6(hosts.1).octets());
    p.extend(rest);
    p
}

/// RFC 1071, of bytes with a checksum field of 0; 0 of bytes whose checksum is right.
pub fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
