//! The shim: scheme headers between IP and transport.
//!
//! Next protocol (1), length in words of four bytes (1), zeros (2); then tag (1), length (1) and
//! body of each header, outermost first; then zeros up to a whole word.

use super::WireError;
use crate::packet::{Packet, TCP_OPTION};

/// Bytes in front of the headers.
const HEAD: usize = 4;

/// Whether a packet has headers for the shim.
pub(super) fn has_any(packet: &Packet) -> bool {
    packet.entries().any(|e| e.0 < TCP_OPTION)
}

pub(super) fn encode(packet: &Packet, next: u8, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[next, 0, 0, 0]);
    for (tag, from, to) in packet.entries().filter(|e| e.0 < TCP_OPTION) {
        // Tag and length stand in front of the body as they are kept.
        debug_assert_eq!(packet.headers()[from - 2], tag);
        out.extend_from_slice(&packet.headers()[from - 2..to]);
    }
    while !(out.len() - start).is_multiple_of(4) {
        out.push(0);
    }
    out[start + 1] = ((out.len() - start) / 4) as u8;
}

/// Reads the headers; says which protocol follows, and gives what is left.
pub(super) fn decode<'a>(bytes: &'a [u8], stack: &mut Vec<(u8, &'a [u8])>) -> Result<(u8, &'a [u8]), WireError> {
    let [next, words, 0, 0, ..] = *bytes else { return Err(WireError::Shim) };
    let length = usize::from(words) * 4;
    let (mut shim, rest) = bytes.split_at_checked(length).ok_or(WireError::Short)?;
    shim = shim.get(HEAD..).ok_or(WireError::Shim)?;
    while let [tag, after @ ..] = shim {
        if *tag == 0 {
            break;
        }
        let [len, after @ ..] = after else { return Err(WireError::Shim) };
        let (body, after) = after.split_at_checked(usize::from(*len)).ok_or(WireError::Shim)?;
        if *tag >= TCP_OPTION {
            return Err(WireError::Shim);
        }
        stack.push((*tag, body));
        shim = after;
    }
    // One encoding: something is there, and padding is zeros and less than a word.
    if stack.is_empty() || shim.len() > 3 || shim.iter().any(|b| *b != 0) {
        return Err(WireError::Shim);
    }
    Ok((next, rest))
}
