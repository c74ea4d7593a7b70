//! Options of a subflow's handshake: MP_CAPABLE and MP_JOIN (RFC 8684, figures 4 to 7), and why a
//! subflow is refused (§3.6).

use midpath_core::packet::{Header, Packet};
use midpath_core::roles::EndpointCtx;

use super::header::Dss;
use crate::transport::segment::reset;

/// Subtypes in the upper half of an octet, MP_CAPABLE's with the version in the lower (§3.1).
const MP_CAPABLE: u8 = 1;
const MP_JOIN: u8 = 1 << 4;
const MP_TCPRST: u8 = 8 << 4;

/// MP_CAPABLE's flags (§3.1): A asks for checksums, B for an extension; H is HMAC-SHA256.
const CHECKSUMS: u8 = 0x80;
const EXTENSION: u8 = 0x40;
const SHA256: u8 = 0x01;

/// What a packet of a handshake says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hello {
    /// MP_CAPABLE on the SYN of the first subflow.
    Capable,
    /// MP_CAPABLE on its SYN-ACK: the listener's key.
    Listener(u64),
    /// MP_CAPABLE from then on until the listener has shown that it has both: the initiator's key,
    /// the listener's, and with the first data how many bytes.
    Keys {
        /// The initiator's.
        own: u64,
        /// The listener's.
        peer: u64,
        /// Bytes of payload; this is their mapping, too.
        data: Option<u16>,
    },
    /// MP_JOIN on the SYN of a further subflow.
    Join {
        /// The number of the initiator's address.
        address: u8,
        /// Which connection: what follows from the listener's key.
        token: u32,
        /// The initiator's.
        nonce: u32,
    },
    /// MP_JOIN on its SYN-ACK.
    Joined {
        /// The number of the listener's address.
        address: u8,
        /// That the listener has the keys.
        proof: [u8; 8],
        /// The listener's.
        nonce: u32,
    },
    /// MP_JOIN on the third packet: that the initiator has the keys.
    Proof([u8; 20]),
}

impl Header for Hello {
    const TAG: u8 = Dss::TAG;

    fn body_len(&self) -> usize {
        match self {
            Hello::Capable => 2,
            Hello::Listener(_) | Hello::Join { .. } => 10,
            Hello::Joined { .. } => 14,
            Hello::Keys { data: None, .. } => 18,
            Hello::Keys { data: Some(_), .. } => 20,
            Hello::Proof(_) => 22,
        }
    }

    fn put(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&match self {
            Hello::Capable | Hello::Listener(_) | Hello::Keys { .. } => [MP_CAPABLE, SHA256],
            Hello::Join { address, .. } | Hello::Joined { address, .. } => [MP_JOIN, *address],
            Hello::Proof(_) => [MP_JOIN, 0],
        });
        match self {
            Hello::Capable => {}
            Hello::Listener(key) => out[2..].copy_from_slice(&key.to_be_bytes()),
            Hello::Keys { own, peer, data } => {
                out[2..10].copy_from_slice(&own.to_be_bytes());
                out[10..18].copy_from_slice(&peer.to_be_bytes());
                data.iter().for_each(|n| out[18..].copy_from_slice(&n.to_be_bytes()));
            }
            Hello::Join { token, nonce, .. } => {
                out[2..6].copy_from_slice(&token.to_be_bytes());
                out[6..].copy_from_slice(&nonce.to_be_bytes());
            }
            Hello::Joined { proof, nonce, .. } => {
                out[2..10].copy_from_slice(proof);
                out[10..].copy_from_slice(&nonce.to_be_bytes());
            }
            Hello::Proof(proof) => out[2..].copy_from_slice(proof),
        }
    }

    fn get(body: &[u8]) -> Option<Hello> {
        let (head, rest) = body.split_first_chunk::<2>()?;
        // What is reserved is not looked at, nor is the flag for backups.
        match head {
            [MP_CAPABLE, flags] if flags & (CHECKSUMS | EXTENSION | SHA256) == SHA256 => capable(rest),
            [kind, address] if kind & 0xf0 == MP_JOIN => join(*address, rest),
            _ => None,
        }
    }
}

fn capable(rest: &[u8]) -> Option<Hello> {
    let key = |at: usize| Some(u64::from_be_bytes(*rest.get(at..)?.first_chunk()?));
    Some(match rest.len() {
        0 => Hello::Capable,
        8 => Hello::Listener(key(0)?),
        16 => Hello::Keys { own: key(0)?, peer: key(8)?, data: None },
        18 => Hello::Keys { own: key(0)?, peer: key(8)?, data: Some(u16::from_be_bytes([rest[16], rest[17]])) },
        _ => return None,
    })
}

fn join(address: u8, rest: &[u8]) -> Option<Hello> {
    let word = |at: usize| Some(u32::from_be_bytes(*rest.get(at..)?.first_chunk()?));
    Some(match rest.len() {
        8 => Hello::Join { address, token: word(0)?, nonce: word(4)? },
        12 => Hello::Joined { address, proof: *rest.first_chunk()?, nonce: word(8)? },
        20 => Hello::Proof(*rest.first_chunk()?),
        _ => return None,
    })
}

/// MP_TCPRST (§3.6): why a reset was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(u8);

impl Refused {
    /// "MPTCP-specific error": what a join with a wrong token or HMAC is told (§3.2).
    const MPTCP: Refused = Refused(1);

    /// Says why, if a reset answers a handshake of ours.
    pub fn explain(reset: &mut Packet, refused: &Packet) {
        if refused.header::<Hello>().is_some() {
            reset.set_header(&Refused::MPTCP);
        }
    }
}

impl Header for Refused {
    const TAG: u8 = Dss::TAG;

    fn body_len(&self) -> usize {
        2
    }

    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&[MP_TCPRST, self.0]);
    }

    fn get(body: &[u8]) -> Option<Refused> {
        match body {
            [kind, reason] if kind & 0xf0 == MP_TCPRST => Some(Refused(*reason)),
            _ => None,
        }
    }
}

/// Answers a segment of a subflow that isn't there, so that its sender stops: RFC 9293, §3.10.7.1.
pub(super) fn refuse(packet: &Packet, ctx: &mut EndpointCtx<'_>) {
    let Some(mut reset) = reset(packet) else { return };
    Refused::explain(&mut reset, packet);
    match reset.interfaces.source().filter(|port| usize::from(port.0) < ctx.links.len()) {
        Some(port) => ctx.send_via(port, reset),
        None => ctx.send(reset),
    }
}
