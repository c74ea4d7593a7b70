//! Packets as bytes: each packet has exactly one encoding, whose length is its `size`.
//! `docs/wire.md` has it byte by byte.
//!
//! IPv4, then (if it carries scheme headers) a shim of them, then TCP, UDP or an ICN header, then
//! the payload. TCP is standard: an unmodified host's segment is the same type. Nodes have
//! addresses in 10.0.0.0/8 by number and interface, flows have ports by number.

mod checksum;
mod options;
mod shim;
mod transport;

use std::net::SocketAddrV4;
use std::ops::Range;

use crate::packet::{ENTROPY, Ecn, FlowId, HEADER_ROOM, Interfaces, Kind, NodeId, Packet, Trim};
use checksum::checksum;

/// Bytes of the IPv4 header: no options.
const IP: usize = 20;

/// Protocol numbers (IANA): 59 is "nothing follows"; 253 and 254 are for experiments (RFC 3692).
const TCP: u8 = 6;
const UDP: u8 = 17;
const NOTHING: u8 = 59;
const SHIM: u8 = 253;
const ICN: u8 = 254;

/// Nodes that addresses can name: 20 bits of 10.0.0.0/8; four bits name the interface.
pub const MAX_NODES: usize = 1 << 20;

/// Flows that ports can name: 15 bits in one, 14 in the other.
pub const MAX_FLOWS: usize = 1 << 29;

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than the headers say.
    #[error("the packet is shorter than its headers say")]
    Short,
    /// More or fewer bytes than the IP header says.
    #[error("the packet's length is not that of its IP header")]
    Length,
    /// Not IPv4, or a header length that cannot be.
    #[error("not an IPv4 header")]
    Ip,
    /// A checksum that doesn't match.
    #[error("the {0} header's checksum is wrong")]
    Checksum(&'static str),
    /// A protocol that Midpath doesn't speak.
    #[error("protocol {0} is neither TCP nor UDP nor Midpath's")]
    Protocol(u8),
    /// An address or port that no node or flow has.
    #[error("an address or port outside Midpath's ranges")]
    Address,
    /// TCP options that cannot be.
    #[error("malformed TCP options")]
    Options,
    /// A shim that cannot be, or that has more than a packet has room for.
    #[error("malformed scheme headers")]
    Shim,
}

/// The address of a node's interface: its port plus one, or 0 for any.
pub fn address(node: NodeId, interface: u8) -> [u8; 4] {
    (0x0a00_0000 | (node.0 << 4 & 0x00ff_fff0) | u32::from(interface)).to_be_bytes()
}

fn node_of(bytes: [u8; 4]) -> Result<(NodeId, u8), WireError> {
    let number = u32::from_be_bytes(bytes);
    if bytes[0] == 10 {
        Ok((NodeId((number & 0x00ff_ffff) >> 4), (number & 0xf) as u8))
    } else {
        Err(WireError::Address)
    }
}

/// The ports of a flow: the lower-numbered node's first.
fn ports(flow: FlowId) -> (u16, u16) {
    (0x8000 | (flow.0 & 0x7fff) as u16, 0x1400 + ((flow.0 >> 15) & 0x3fff) as u16)
}

fn flow_of(low: u16, high: u16) -> Result<FlowId, WireError> {
    let upper = high.checked_sub(0x1400).filter(|u| *u <= 0x3fff && low & 0x8000 != 0).ok_or(WireError::Address)?;
    Ok(FlowId(u32::from(low & 0x7fff) | u32::from(upper) << 15))
}

/// The address and port of `flow`'s end at `node`, whose other end is at `peer`.
pub fn socket_address(flow: FlowId, node: NodeId, peer: NodeId) -> SocketAddrV4 {
    let (low, high) = ports(flow);
    SocketAddrV4::new(address(node, 0).into(), if node < peer { low } else { high })
}

/// Source's and destination's port of a packet.
fn ports_of(packet: &Packet) -> (u16, u16) {
    let (low, high) = ports(packet.flow);
    if packet.src < packet.dst { (low, high) } else { (high, low) }
}

/// The flow that a packet with these ports belongs to.
fn flow_between(packet: &Packet, from: u16, to: u16) -> Result<FlowId, WireError> {
    if packet.src < packet.dst { flow_of(from, to) } else { flow_of(to, from) }
}

/// What follows the IP header and the shim.
fn protocol(kind: Kind) -> u8 {
    match kind {
        Kind::Segment => TCP,
        Kind::Datagram => UDP,
        Kind::Interest | Kind::Data | Kind::Nack => ICN,
        Kind::Control => NOTHING,
    }
}

/// Writes a packet's headers. The payload, which is zeros, is not written; the IP length counts it.
pub fn encode(packet: &Packet, out: &mut Vec<u8>) {
    headers(packet, &[], out);
}

/// Writes a packet with the bytes that it carries. The transport's checksum covers them.
///
/// # Panics
/// If the packet says that it carries more or fewer.
pub fn encode_with(packet: &Packet, payload: &[u8], out: &mut Vec<u8>) {
    assert_eq!(payload.len(), usize::from(packet.payload), "a packet says how many bytes it carries");
    headers(packet, payload, out);
    out.extend_from_slice(payload);
}

/// Writes a packet with its payload if it carries one, else its headers.
pub fn encode_carried(packet: &Packet, payload: Option<&[u8]>, out: &mut Vec<u8>) {
    match payload {
        Some(payload) => encode_with(packet, payload, out),
        None => encode(packet, out),
    }
}

/// Writes the headers; their checksums are over `payload`, of which zeros may be left out.
fn headers(packet: &Packet, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let next = protocol(packet.kind);
    let has_shim = shim::has_any(packet);
    out.extend_from_slice(&[0x45, packet.trim.dscp() << 2 | packet.ecn as u8]);
    let size = u16::try_from(packet.size).unwrap_or(u16::MAX);
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0x40, 0]); // no identification, don't fragment
    out.extend_from_slice(&[packet.hops, if has_shim { SHIM } else { next }, 0, 0]);
    out.extend_from_slice(&address(packet.src, packet.interfaces.0 >> 4));
    out.extend_from_slice(&address(packet.dst, packet.interfaces.0 & 0xf));
    let sum = checksum(&[&out[start..start + IP]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    if has_shim {
        shim::encode(packet, next, out);
    }
    transport::encode(packet, start, payload, out);
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], WireError> {
    bytes.get(at..at + N).and_then(|s| s.try_into().ok()).ok_or(WireError::Short)
}

fn short(bytes: &[u8], at: usize) -> Result<u16, WireError> {
    take(bytes, at).map(u16::from_be_bytes)
}

fn long(bytes: &[u8], at: usize) -> Result<u32, WireError> {
    take(bytes, at).map(u32::from_be_bytes)
}

/// Reads a packet back whose payload is zeros, which may be missing; its length is the IP header's.
pub fn decode(bytes: &[u8]) -> Result<Packet, WireError> {
    parse(bytes, false)
}

/// Reads a packet that came with the bytes that it carries, and says where they are. Its checksum
/// is over them, too. `bytes` has nothing else.
pub fn read(bytes: &[u8]) -> Result<(Packet, Range<usize>), WireError> {
    let packet = parse(bytes, true)?;
    let payload = bytes.len() - usize::from(packet.payload)..bytes.len();
    Ok((packet, payload))
}

/// Reads a packet; `whole` if its payload is there.
fn parse(bytes: &[u8], whole: bool) -> Result<Packet, WireError> {
    let header: [u8; IP] = take(bytes, 0)?;
    let size = u32::from(short(&header, 2)?);
    if header[0] != 0x45 || size < IP as u32 {
        return Err(WireError::Ip);
    }
    if checksum(&[&header]) != 0 {
        return Err(WireError::Checksum("IP"));
    }
    if whole && bytes.len() != size as usize {
        return Err(WireError::Length);
    }
    let ((src, from), (dst, to)) = (node_of(take(&header, 12)?)?, node_of(take(&header, 16)?)?);
    let mut packet = Packet::new(FlowId::NONE, src, dst, size);
    packet.interfaces = Interfaces(from << 4 | to);
    packet.hops = header[8];
    packet.ecn = Ecn::from_bits(header[1]);
    packet.trim = Trim::of_dscp(header[1] >> 2);
    let (mut next, mut rest) = (header[9], &bytes[IP..]);
    let mut stack = Vec::new();
    if next == SHIM {
        (next, rest) = shim::decode(rest, &mut stack)?;
    }
    transport::decode(&mut packet, next, &header, rest, whole, &mut stack)?;
    // The stack is put on last, so that nothing else makes the size.
    if stack.iter().map(|(_, body)| body.len() + 2).sum::<usize>() > HEADER_ROOM {
        return Err(WireError::Shim);
    }
    for (tag, body) in stack.into_iter().rev() {
        if !packet.push_raw(tag, body) {
            return Err(WireError::Shim);
        }
    }
    packet.size = size;
    packet.set_interfaces(packet.interfaces);
    if let Some(entropy) = packet.body(ENTROPY).and_then(|body| body.first_chunk()) {
        packet.set_entropy(u16::from_be_bytes(*entropy));
    }
    match packet.wire_size() {
        own if own == size => Ok(packet),
        // A stranger's options that packets have no place for: it goes on without them.
        own if whole && own < size => {
            packet.measure();
            Ok(packet)
        }
        _ => Err(WireError::Short),
    }
}

/// Sends a packet over a link of bytes: it comes out as its bytes say, with its payload if it carries one. Only what no
/// header says is kept: when it came to the port, and what its application has stamped into the payload. `bytes` is
/// where it is written.
///
/// # Panics
/// If a packet cannot be read back, or is not as long as its bytes: such packets are a mistake of
/// ours.
pub fn cross(packet: &mut Packet, payload: Option<&[u8]>, bytes: &mut Vec<u8>) {
    bytes.clear();
    encode_carried(packet, payload, bytes);
    let left_out = if payload.is_none() { usize::from(packet.payload) } else { 0 };
    assert_eq!(bytes.len() + left_out, packet.size as usize, "a packet is not as long as its bytes: {packet:?}");
    let read_back = match payload {
        None => decode(bytes),
        Some(payload) => read(bytes).map(|(packet, at)| {
            assert_eq!(&bytes[at], payload, "a payload comes out as it went in");
            packet
        }),
    };
    match read_back {
        Ok(mut read) => {
            read.queued = packet.queued;
            if let Some(sent) = packet.stamped() {
                read.stamp(packet.seq, sent);
            }
            *packet = read;
        }
        Err(error) => panic!("a packet's bytes cannot be read back: {error}: {packet:?}"),
    }
}

#[cfg(test)]
mod tests;
