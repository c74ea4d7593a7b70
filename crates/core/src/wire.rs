//! Packets as bytes: IPv4 and TCP as they stand on a real wire, for captures now and real packets later.
//!
//! Nodes have addresses in 10.0.0.0/8 by number, flows have ports by number, and the byte space starts at 1, after
//! the SYN. A packet that is no TCP segment is an IPv4 datagram of protocol 253 (for experiments, RFC 3692) whose
//! first bytes are kind, path, header tag, flow and the scheme's header.

use crate::packet::{Ecn, Flags, FlowId, Interfaces, Kind, MAX_SACK, NodeId, Packet, SackBlock};
use crate::units::Time;

const IP: usize = 20;
const TCP: usize = 20;
const PROTO_TCP: u8 = 6;
const PROTO_EXPERIMENT: u8 = 253;
/// Window scale that every SYN announces (RFC 7323, §2.3): windows up to 16 MB, in steps of 256 bytes.
const WINDOW_SCALE: u8 = 8;
/// A tick of the timestamp clock (RFC 7323, §5.4): 1 µs.
const TICK: u64 = 1_000_000;

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than the headers say.
    #[error("the packet is shorter than its headers say")]
    Short,
    /// Not IPv4, or a header length that cannot be.
    #[error("not an IPv4 header")]
    Ip,
    /// A checksum that doesn't match.
    #[error("the {0} header's checksum is wrong")]
    Checksum(&'static str),
    /// A protocol that Midpath doesn't speak.
    #[error("protocol {0} is neither TCP nor Midpath's")]
    Protocol(u8),
    /// An address or port that no node or flow has.
    #[error("an address or port outside Midpath's ranges")]
    Address,
    /// TCP options that cannot be.
    #[error("malformed TCP options")]
    Options,
}

/// The Internet checksum (RFC 1071) of `parts`, laid end to end; all but the last of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn address(node: NodeId) -> [u8; 4] {
    (0x0a00_0000 | (node.0 & 0x00ff_ffff)).to_be_bytes()
}

fn node_of(bytes: [u8; 4]) -> Result<NodeId, WireError> {
    if bytes[0] == 10 { Ok(NodeId(u32::from_be_bytes(bytes) & 0x00ff_ffff)) } else { Err(WireError::Address) }
}

/// The ports of a flow: the lower-numbered node's first. 15 bits in one, 14 in the other.
fn ports(flow: FlowId) -> (u16, u16) {
    (0x8000 | (flow.0 & 0x7fff) as u16, 0x1400 + ((flow.0 >> 15) & 0x3fff) as u16)
}

fn flow_of(low: u16, high: u16) -> Result<FlowId, WireError> {
    let upper = high.checked_sub(0x1400).filter(|u| *u <= 0x3fff && low & 0x8000 != 0).ok_or(WireError::Address)?;
    Ok(FlowId(u32::from(low & 0x7fff) | u32::from(upper) << 15))
}

/// Writes a packet's headers (not its payload, which is zeros). The IP length says the packet's whole size.
pub fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    let tcp = packet.kind == Kind::Segment;
    out.extend_from_slice(&[0x45, packet.ecn as u8]);
    let size = u16::try_from(packet.size).unwrap_or(u16::MAX);
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0x40, 0]); // no identification, don't fragment
    out.extend_from_slice(&[packet.hops, if tcp { PROTO_TCP } else { PROTO_EXPERIMENT }, 0, 0]);
    out.extend_from_slice(&address(packet.src));
    out.extend_from_slice(&address(packet.dst));
    let sum = checksum(&[&out[start..start + IP]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    if tcp {
        encode_tcp(packet, out, start);
    } else {
        encode_experiment(packet, out);
    }
}

fn encode_tcp(packet: &Packet, out: &mut Vec<u8>, ip: usize) {
    let start = out.len();
    let (low, high) = ports(packet.flow);
    let (from, to) = if packet.src < packet.dst { (low, high) } else { (high, low) };
    let syn = packet.flags.has(Flags::SYN);
    // The SYN takes the number before the first byte (RFC 9293, §3.4): on the wire, byte n has number n + 1.
    let seq = if syn { 0 } else { packet.seq as u32 }.wrapping_add(u32::from(!syn));
    let ack = if packet.flags.has(Flags::ACK) { (packet.ack as u32).wrapping_add(1) } else { 0 };
    let scale = if syn { 0 } else { WINDOW_SCALE };
    let window = u16::try_from(packet.window >> scale).unwrap_or(u16::MAX);
    out.extend_from_slice(&from.to_be_bytes());
    out.extend_from_slice(&to.to_be_bytes());
    out.extend_from_slice(&seq.to_be_bytes());
    out.extend_from_slice(&ack.to_be_bytes());
    out.extend_from_slice(&[0, packet.flags.0 as u8]);
    out.extend_from_slice(&window.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0]);
    encode_options(packet, syn, ack, out);
    // The ninth flag, AE, stands beside the header's length (RFC 9768, figure 3).
    out[start + 12] = (((out.len() - start) / 4) << 4) as u8 | (packet.flags.0 >> 8 & 1) as u8;
    let length = (packet.size as usize).saturating_sub(IP) as u16;
    let pseudo = [&out[ip + 12..ip + 20], &[0, PROTO_TCP], &length.to_be_bytes()].concat();
    // The payload is zeros and adds nothing.
    let sum = checksum(&[&pseudo, &out[start..]]);
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
}

fn encode_options(packet: &Packet, syn: bool, ack: u32, out: &mut Vec<u8>) {
    if syn {
        // MSS (1460: without options, RFC 6691), SACK permitted (RFC 2018, §2), window scale (RFC 7323, §2.2), one NOP.
        out.extend_from_slice(&[2, 4, 0x05, 0xb4, 4, 2, 3, 3, WINDOW_SCALE, 1]);
    } else {
        out.extend_from_slice(&[1, 1]);
    }
    out.extend_from_slice(&[8, 10]);
    out.extend_from_slice(&((packet.ts_val.0 / TICK) as u32).to_be_bytes());
    out.extend_from_slice(&((packet.ts_ecr.0 / TICK) as u32).to_be_bytes());
    let blocks = packet.sack_blocks();
    // A SYN has received nothing that it could report, and its own options leave no room.
    if !blocks.is_empty() && !syn {
        out.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for b in blocks {
            out.extend_from_slice(&ack.wrapping_add(b.from).to_be_bytes());
            out.extend_from_slice(&ack.wrapping_add(b.to).to_be_bytes());
        }
    }
}

fn encode_experiment(packet: &Packet, out: &mut Vec<u8>) {
    out.extend_from_slice(&[packet.kind as u8, packet.interfaces.0, 0, packet.headers().len() as u8]);
    out.extend_from_slice(&packet.flow.0.to_be_bytes());
    out.extend_from_slice(&packet.seq.to_be_bytes());
    out.extend_from_slice(packet.headers());
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], WireError> {
    bytes.get(at..at + N).and_then(|s| s.try_into().ok()).ok_or(WireError::Short)
}

/// Reads headers back. Sequence numbers are the 32 bits that the wire has; timestamps are in whole ticks.
pub fn decode(bytes: &[u8]) -> Result<Packet, WireError> {
    let header: [u8; IP] = take(bytes, 0)?;
    if header[0] != 0x45 {
        return Err(WireError::Ip);
    }
    if checksum(&[&header]) != 0 {
        return Err(WireError::Checksum("IP"));
    }
    let size = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let (src, dst) = (node_of(take(&header, 12)?)?, node_of(take(&header, 16)?)?);
    let mut packet = Packet::new(FlowId(0), src, dst, size);
    packet.hops = header[8];
    packet.ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(header[1] & 3)];
    match header[9] {
        PROTO_TCP => decode_tcp(&mut packet, &header, &bytes[IP..])?,
        PROTO_EXPERIMENT => decode_experiment(&mut packet, &bytes[IP..])?,
        other => return Err(WireError::Protocol(other)),
    }
    packet.set_interfaces(packet.interfaces);
    Ok(packet)
}

fn decode_tcp(packet: &mut Packet, ip: &[u8; IP], bytes: &[u8]) -> Result<(), WireError> {
    let head: [u8; TCP] = take(bytes, 0)?;
    let length = usize::from(head[12] >> 4) * 4;
    let options = bytes.get(TCP..length).ok_or(WireError::Short)?;
    let total = (packet.size as usize).checked_sub(IP + length).ok_or(WireError::Short)?;
    let tcp_length = (packet.size as usize - IP) as u16;
    let pseudo = [&ip[12..20], &[0, PROTO_TCP], &tcp_length.to_be_bytes()].concat();
    if checksum(&[&pseudo, &head, options]) != 0 {
        return Err(WireError::Checksum("TCP"));
    }
    let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (from, to) = (port(0), port(2));
    packet.flow = if packet.src < packet.dst { flow_of(from, to)? } else { flow_of(to, from)? };
    packet.flags = Flags(u16::from(head[12] & 1) << 8 | u16::from(head[13]));
    let syn = packet.flags.has(Flags::SYN);
    let (seq, ack) = (u32::from_be_bytes(take(&head, 4)?), u32::from_be_bytes(take(&head, 8)?));
    packet.seq = u64::from(seq.wrapping_sub(u32::from(!syn)));
    packet.ack = if packet.flags.has(Flags::ACK) { u64::from(ack.wrapping_sub(1)) } else { 0 };
    packet.window = u64::from(port(14)) << if syn { 0 } else { WINDOW_SCALE };
    packet.payload = u16::try_from(total).map_err(|_| WireError::Short)?;
    decode_options(packet, ack, options)
}

fn decode_options(packet: &mut Packet, ack: u32, mut options: &[u8]) -> Result<(), WireError> {
    while let [kind, rest @ ..] = options {
        match kind {
            0 => break,
            1 => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let length = usize::from(*rest.first().ok_or(WireError::Options)?);
        let body = options.get(2..length).ok_or(WireError::Options)?;
        match kind {
            8 if length == 10 => {
                packet.ts_val = Time(u64::from(u32::from_be_bytes(take(body, 0)?)) * TICK);
                packet.ts_ecr = Time(u64::from(u32::from_be_bytes(take(body, 4)?)) * TICK);
            }
            5 if body.len().is_multiple_of(8) && body.len() / 8 <= MAX_SACK => {
                packet.sack_len = (body.len() / 8) as u8;
                for (i, b) in body.chunks_exact(8).enumerate() {
                    let edge = |at| Ok::<u32, WireError>(u32::from_be_bytes(take(b, at)?).wrapping_sub(ack));
                    packet.sack[i] = SackBlock { from: edge(0)?, to: edge(4)? };
                }
            }
            5 | 8 => return Err(WireError::Options),
            _ => {}
        }
        options = &options[length..];
    }
    Ok(())
}

fn decode_experiment(packet: &mut Packet, bytes: &[u8]) -> Result<(), WireError> {
    packet.kind = match bytes.first().ok_or(WireError::Short)? {
        1 => Kind::Datagram,
        2 => Kind::Interest,
        3 => Kind::Data,
        4 => Kind::Nack,
        5 => Kind::Control,
        _ => return Err(WireError::Protocol(PROTO_EXPERIMENT)),
    };
    packet.interfaces = Interfaces(*bytes.get(1).ok_or(WireError::Short)?);
    packet.flow = FlowId(u32::from_be_bytes(take(bytes, 4)?));
    packet.seq = u64::from_be_bytes(take(bytes, 8)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment() -> impl Strategy<Value = Packet> {
        let who = (0u32..1 << 24, 0u32..1 << 24, 0u32..1 << 29).prop_filter("two ends", |w| w.0 != w.1);
        let numbers = (any::<u32>(), any::<u32>(), 0u64..1 << 24, any::<u32>(), any::<u32>());
        let sack = prop::collection::vec((0u32..1 << 20, 0u32..1 << 20), 0..=MAX_SACK);
        (who, numbers, sack, 0u16..512, 0usize..4, 0u16..1400).prop_map(|(w, n, sack, flags, ecn, payload)| {
            let mut p = Packet::new(FlowId(w.2), NodeId(w.0), NodeId(w.1), 0);
            p.flags = Flags(flags);
            let syn = p.flags.has(Flags::SYN);
            p.seq = if syn { 0 } else { u64::from(n.0) };
            p.ack = if p.flags.has(Flags::ACK) { u64::from(n.1) } else { 0 };
            p.window = if syn { n.2 & 0xffff } else { n.2 & !0xff };
            (p.ts_val, p.ts_ecr) = (Time(u64::from(n.3) * TICK), Time(u64::from(n.4) * TICK));
            p.ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn];
            let sack = if syn { Vec::new() } else { sack };
            p.sack_len = sack.len() as u8;
            sack.iter().enumerate().for_each(|(i, s)| p.sack[i] = SackBlock { from: s.0, to: s.1 });
            let mut bytes = Vec::new();
            encode(&p, &mut bytes);
            p.payload = payload;
            p.size = bytes.len() as u32 + u32::from(payload);
            p
        })
    }

    proptest! {
        #[test]
        fn segments_round_trip(p in segment()) {
            let mut bytes = Vec::new();
            encode(&p, &mut bytes);
            bytes.resize(p.size as usize, 0);
            prop_assert_eq!(decode(&bytes), Ok(p));
        }

        #[test]
        fn hostile_bytes_are_errors_not_panics(p in segment(), at in 0usize..120, with in any::<u8>(), cut in 0usize..120, noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&noise);
            let mut bytes = Vec::new();
            encode(&p, &mut bytes);
            let _ = decode(&bytes[..cut.min(bytes.len())]);
            let at = at % bytes.len();
            bytes[at] = with;
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of RFC 1071, §3: sum ddf2, checksum its complement.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }
}
