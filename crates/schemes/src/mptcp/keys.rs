//! Keys and what follows from them: tokens, initial data sequence numbers, HMACs (RFC 8684, §3.1,
//! §3.2, §3.4.1).

use std::hash::Hasher;

use hmac::{Hmac, KeyInit, Mac};
use midpath_core::packet::Interfaces;
use midpath_core::roles::EndpointCtx;
use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;

/// One end's key, and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key as it goes over the wire.
    pub bits: u64,
    /// What names the connection to the end that has this key: the hash's first 32 bits (§3.2).
    pub token: u32,
    /// The data sequence number of the end's first byte. The initial one, the hash's last 64 bits,
    /// belongs to the SYN (§3.1).
    pub first: u64,
}

impl Key {
    /// The key with these bits.
    pub fn new(bits: u64) -> Key {
        let hash: [u8; 32] = Sha256::digest(bits.to_be_bytes()).into();
        let number = |part: &[u8]| part.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        Key { bits, token: number(&hash[..4]) as u32, first: number(&hash[24..]).wrapping_add(1) }
    }

    /// Draws a key for the flow's end on this node.
    pub fn draw(ctx: &EndpointCtx<'_>) -> Key {
        Key::new(draw(ctx, 2, Interfaces::ANY))
    }
}

/// Draws a nonce for a subflow's end on this node.
pub fn nonce(ctx: &EndpointCtx<'_>, between: Interfaces) -> u32 {
    draw(ctx, 3, between) as u32
}

/// A number that nobody else can tell, drawn as initial sequence numbers are: RFC 6528, §3. Those
/// have purposes 0 and 1.
fn draw(ctx: &EndpointCtx<'_>, purpose: u8, between: Interfaces) -> u64 {
    let mut h = SipHasher24::new_with_keys(ctx.secret[0], ctx.secret[1]);
    h.write_u8(purpose);
    h.write_u32(ctx.node.0);
    h.write_u32(ctx.flow.0);
    h.write_u8(between.0);
    h.write_u64(ctx.now.0);
    h.finish()
}

/// Both ends' keys, as one of the ends has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// This end's.
    pub own: Key,
    /// The other's.
    pub peer: Key,
}

impl Keys {
    /// What proves in an MP_JOIN that this end has the keys; the SYN-ACK has its first 64 bits, the
    /// third packet all (§3.2).
    pub fn proof(&self, own_nonce: u32, peer_nonce: u32) -> [u8; 20] {
        leftmost(join(self.own, self.peer, own_nonce, peer_nonce))
    }

    /// The same for the SYN-ACK.
    pub fn short_proof(&self, own_nonce: u32, peer_nonce: u32) -> [u8; 8] {
        leftmost(join(self.own, self.peer, own_nonce, peer_nonce))
    }

    /// Whether the peer's `proof`, of either length, is one.
    pub fn proves(&self, proof: &[u8], own_nonce: u32, peer_nonce: u32) -> bool {
        join(self.peer, self.own, peer_nonce, own_nonce).verify_truncated_left(proof).is_ok()
    }

    /// What proves in an ADD_ADDR that the address is this end's: the last 64 bits (§3.4.1).
    pub fn vouch(&self, id: u8, address: [u8; 4]) -> [u8; 8] {
        let mac: [u8; 32] = announcement(self.own, self.peer, id, address).finalize().into_bytes().into();
        std::array::from_fn(|i| mac[24 + i])
    }

    /// Whether the peer vouches for an address.
    pub fn vouched(&self, proof: [u8; 8], id: u8, address: [u8; 4]) -> bool {
        announcement(self.peer, self.own, id, address).verify_truncated_right(&proof).is_ok()
    }
}

/// §3.2: HMAC-A = HMAC(Key = Key-A + Key-B, Msg = R-A + R-B), A being the one who says it.
fn join(from: Key, to: Key, from_nonce: u32, to_nonce: u32) -> Hmac<Sha256> {
    mac(from, to).chain_update(from_nonce.to_be_bytes()).chain_update(to_nonce.to_be_bytes())
}

/// §3.4.1: the address's number, the address, and its port, which is 0 where there is none.
fn announcement(from: Key, to: Key, id: u8, address: [u8; 4]) -> Hmac<Sha256> {
    mac(from, to).chain_update([id]).chain_update(address).chain_update([0; 2])
}

fn mac(from: Key, to: Key) -> Hmac<Sha256> {
    let key: [u8; 16] = (u128::from(from.bits) << 64 | u128::from(to.bits)).to_be_bytes();
    Hmac::new_from_slice(&key).expect("HMAC takes keys of any length")
}

fn leftmost<const N: usize>(mac: Hmac<Sha256>) -> [u8; N] {
    let mac: [u8; 32] = mac.finalize().into_bytes().into();
    std::array::from_fn(|i| mac[i])
}
