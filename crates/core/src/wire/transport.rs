//! TCP (RFC 9293), UDP (RFC 768), and an ICN packet's name.

use super::checksum::checksum;
use super::{ICN, IP, NOTHING, TCP, UDP, WireError, flow_between, long, options, ports_of, short, take};
use crate::packet::{Flags, FlowId, ICN_HEADER, Kind, Packet, TCP_HEADER, UDP_HEADER};

/// Bytes without options.
const TCP_BYTES: usize = TCP_HEADER as usize;
const UDP_BYTES: usize = UDP_HEADER as usize;
const ICN_BYTES: usize = ICN_HEADER as usize;

/// The checksum of a transport's header, its payload and the pseudo-header. Zeros add nothing, so
/// of the `length` bytes of a payload any zeros at the end may be missing. The shim is left out, so
/// that routers may change it. A header has whole words.
fn transport_checksum(addresses: &[u8], protocol: u8, header: &[u8], payload: &[u8], length: u16) -> u16 {
    let length = (header.len() as u16).wrapping_add(length).to_be_bytes();
    checksum(&[addresses, &[0, protocol], &length, header, payload])
}

/// `ip` is where the IP header begins in `out`.
pub(super) fn encode(packet: &Packet, ip: usize, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let addresses: [u8; 8] = out[ip + 12..ip + 20].try_into().unwrap_or_default();
    match packet.kind {
        Kind::Segment => {
            segment(packet, out);
            let sum = transport_checksum(&addresses, TCP, &out[start..], payload, packet.payload);
            out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
        }
        Kind::Datagram => {
            let (from, to) = ports_of(packet);
            let length = (UDP_HEADER as u16).wrapping_add(packet.payload);
            [from, to, length, 0].iter().for_each(|n| out.extend_from_slice(&n.to_be_bytes()));
            let sum = transport_checksum(&addresses, UDP, &out[start..], payload, packet.payload);
            // RFC 768: zero stands for none.
            out[start + 6..start + 8].copy_from_slice(&if sum == 0 { u16::MAX } else { sum }.to_be_bytes());
        }
        Kind::Interest | Kind::Data | Kind::Nack => {
            out.extend_from_slice(&[packet.kind as u8, 0, 0, 0]);
            let fields = [packet.seq, packet.ack, packet.ts_val, packet.flow.0];
            fields.iter().for_each(|n| out.extend_from_slice(&n.to_be_bytes()));
        }
        Kind::Control => {}
    }
}

fn segment(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    let (from, to) = ports_of(packet);
    out.extend_from_slice(&from.to_be_bytes());
    out.extend_from_slice(&to.to_be_bytes());
    out.extend_from_slice(&packet.seq.to_be_bytes());
    out.extend_from_slice(&packet.ack.to_be_bytes());
    out.extend_from_slice(&[0, packet.flags.0 as u8]);
    out.extend_from_slice(&packet.window.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0]);
    options::encode(packet, out);
    // The ninth flag, AE, stands beside the header's length (RFC 9768, figure 3).
    out[start + 12] = (((out.len() - start) / 4) << 4) as u8 | (packet.flags.0 >> 8 & 1) as u8;
}

/// `whole` if `bytes` has the payload, too.
pub(super) fn decode<'a>(
    packet: &mut Packet,
    protocol: u8,
    ip: &[u8; IP],
    bytes: &'a [u8],
    whole: bool,
    stack: &mut Vec<(u8, &'a [u8])>,
) -> Result<(), WireError> {
    // What the shim has is not on the packet yet, but its bytes have been counted.
    let shim: usize = stack.iter().map(|(_, body)| body.len() + 2).sum();
    let shim = if stack.is_empty() { 0 } else { (4 + shim).next_multiple_of(4) };
    let room = (packet.size as usize).checked_sub(IP + shim).ok_or(WireError::Short)?;
    let header = match protocol {
        TCP => decode_segment(packet, ip, bytes, room, whole, stack)?,
        UDP => decode_datagram(packet, ip, bytes, room, whole)?,
        ICN => decode_icn(packet, bytes)?,
        NOTHING => {
            (packet.kind, packet.flow) = (Kind::Control, FlowId::NONE);
            0
        }
        other => return Err(WireError::Protocol(other)),
    };
    let payload = room.checked_sub(header).ok_or(WireError::Short)?;
    packet.payload = u16::try_from(payload).map_err(|_| WireError::Short)?;
    Ok(())
}

/// The payload behind a header, or nothing in the place of zeros.
fn data(bytes: &[u8], header: usize, payload: usize, whole: bool) -> Result<&[u8], WireError> {
    let end = if whole { header + payload } else { header };
    bytes.get(header..end).ok_or(WireError::Short)
}

fn decode_segment<'a>(
    packet: &mut Packet,
    ip: &[u8; IP],
    bytes: &'a [u8],
    room: usize,
    whole: bool,
    stack: &mut Vec<(u8, &'a [u8])>,
) -> Result<usize, WireError> {
    let head: [u8; TCP_BYTES] = take(bytes, 0)?;
    let length = usize::from(head[12] >> 4) * 4;
    let header = bytes.get(..length).filter(|_| length >= TCP_BYTES).ok_or(WireError::Short)?;
    let payload = room.checked_sub(length).ok_or(WireError::Short)?;
    let data = data(bytes, length, payload, whole)?;
    if transport_checksum(&ip[12..20], TCP, header, data, payload as u16) != 0 {
        return Err(WireError::Checksum("TCP"));
    }
    packet.flow = flow_between(packet, short(&head, 0)?, short(&head, 2)?)?;
    (packet.seq, packet.ack) = (long(&head, 4)?, long(&head, 8)?);
    packet.flags = Flags(u16::from(head[12] & 1) << 8 | u16::from(head[13]));
    packet.window = short(&head, 14)?;
    options::decode(packet, &header[TCP_BYTES..], stack)?;
    Ok(length)
}

fn decode_datagram(
    packet: &mut Packet,
    ip: &[u8; IP],
    bytes: &[u8],
    room: usize,
    whole: bool,
) -> Result<usize, WireError> {
    let head: [u8; UDP_BYTES] = take(bytes, 0)?;
    let (length, sum) = (usize::from(short(&head, 4)?), short(&head, 6)?);
    if length != room || length < UDP_BYTES {
        return Err(WireError::Short);
    }
    let payload = room - UDP_BYTES;
    let data = data(bytes, UDP_BYTES, payload, whole)?;
    if sum != 0 && transport_checksum(&ip[12..20], UDP, &head, data, payload as u16) != 0 {
        return Err(WireError::Checksum("UDP"));
    }
    packet.kind = Kind::Datagram;
    packet.flow = flow_between(packet, short(&head, 0)?, short(&head, 2)?)?;
    Ok(UDP_BYTES)
}

fn decode_icn(packet: &mut Packet, bytes: &[u8]) -> Result<usize, WireError> {
    let head: [u8; ICN_BYTES] = take(bytes, 0)?;
    packet.kind = match head[..4] {
        [2, 0, 0, 0] => Kind::Interest,
        [3, 0, 0, 0] => Kind::Data,
        [4, 0, 0, 0] => Kind::Nack,
        _ => return Err(WireError::Protocol(ICN)),
    };
    (packet.seq, packet.ack, packet.ts_val) = (long(&head, 4)?, long(&head, 8)?, long(&head, 12)?);
    packet.flow = FlowId(long(&head, 16)?);
    Ok(ICN_BYTES)
}
