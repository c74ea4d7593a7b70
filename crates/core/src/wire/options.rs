//! TCP's options (RFC 9293, §3.1): those that segments have as fields, and the rest as headers.

use super::{WireError, long, short};
use crate::packet::{Flags, MAX_SACK, Options, Packet, SackBlock, TCP_OPTION};

/// Kinds (IANA): end, no operation, MSS, window scale, SACK permitted, SACK, timestamps.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// As many blocks as the options have room for (RFC 2018, §3). Packets have [`MAX_SACK`]; the first ones
/// are the newest (§4).
const MOST_BLOCKS: usize = 4;

/// The largest shift of a window (RFC 7323, §2.3).
const MAX_SCALE: u8 = 14;

pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    let (has, syn) = (|o| packet.options.has(o), packet.flags.has(Flags::SYN));
    if syn && has(Options::MSS) {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&packet.mss.to_be_bytes());
    }
    if syn && has(Options::SACK_PERMITTED) {
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if has(Options::TIMESTAMPS) {
        if !syn {
            out.extend_from_slice(&[NOP, NOP]); // RFC 7323, appendix A
        }
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&packet.ts_val.to_be_bytes());
        out.extend_from_slice(&packet.ts_ecr.to_be_bytes());
    }
    if syn && has(Options::WINDOW_SCALE) {
        out.extend_from_slice(&[WINDOW_SCALE, 3, packet.window_scale]);
    }
    pad(start, out);
    // A SYN has received nothing that it could report.
    if !syn && packet.sack_len > 0 {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * packet.sack_len.min(MAX_SACK as u8)]);
        for block in packet.sack_blocks() {
            out.extend_from_slice(&block.from.to_be_bytes());
            out.extend_from_slice(&block.to.to_be_bytes());
        }
    }
    for (tag, from, to) in packet.entries().filter(|e| e.0 >= TCP_OPTION) {
        out.extend_from_slice(&[tag - TCP_OPTION, (to - from + 2) as u8]);
        out.extend_from_slice(&packet.headers()[from..to]);
        pad(start, out);
    }
}

/// Fills up to a whole word.
fn pad(start: usize, out: &mut Vec<u8>) {
    while !(out.len() - start).is_multiple_of(4) {
        out.push(NOP);
    }
}

pub(super) fn decode<'a>(
    packet: &mut Packet,
    mut options: &'a [u8],
    stack: &mut Vec<(u8, &'a [u8])>,
) -> Result<(), WireError> {
    while let [kind, rest @ ..] = options {
        if *kind == END {
            break;
        }
        if *kind == NOP {
            options = rest;
            continue;
        }
        let length = usize::from(*rest.first().ok_or(WireError::Options)?);
        let body = options.get(2..length).ok_or(WireError::Options)?;
        one(packet, *kind, body, stack)?;
        options = &options[length..];
    }
    Ok(())
}

fn one<'a>(packet: &mut Packet, kind: u8, body: &'a [u8], stack: &mut Vec<(u8, &'a [u8])>) -> Result<(), WireError> {
    let syn = packet.flags.has(Flags::SYN);
    let option = match (kind, body.len()) {
        (MSS, 2) if syn => {
            packet.mss = short(body, 0)?;
            Options::MSS
        }
        (SACK_PERMITTED, 0) if syn => Options::SACK_PERMITTED,
        (WINDOW_SCALE, 1) if syn => {
            packet.window_scale = body[0].min(MAX_SCALE);
            Options::WINDOW_SCALE
        }
        (TIMESTAMPS, 8) => {
            (packet.ts_val, packet.ts_ecr) = (long(body, 0)?, long(body, 4)?);
            Options::TIMESTAMPS
        }
        (SACK, n) if !syn && n > 0 && n.is_multiple_of(8) && n / 8 <= MOST_BLOCKS => {
            packet.sack_len = (n / 8).min(MAX_SACK) as u8;
            for (i, b) in body.chunks_exact(8).take(MAX_SACK).enumerate() {
                packet.sack_mut()[i] = SackBlock { from: long(b, 0)?, to: long(b, 4)? };
            }
            return Ok(());
        }
        (MSS | SACK_PERMITTED | WINDOW_SCALE | TIMESTAMPS | SACK, _) => return Err(WireError::Options),
        (kind, _) if kind < TCP_OPTION => {
            stack.push((TCP_OPTION | kind, body));
            return Ok(());
        }
        _ => return Ok(()), // kinds for experiments: not ours
    };
    if packet.options.has(option) {
        return Err(WireError::Options); // twice
    }
    packet.options = packet.options.with(option);
    Ok(())
}
