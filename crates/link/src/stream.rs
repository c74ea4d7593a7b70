//! Neighbours that are reached by streams (TCP connections) in place of datagrams: the same datagrams, each preceded
//! by its length in two bytes (RFC 4571, §2).
//!
//! Sessions know where a neighbour is by an address. A stream's address is one of the block that no
//! packet comes from (RFC 6666): a stream of ours to the neighbour at a port, or one that somebody
//! else has opened. So datagrams are never taken for a stream's, nor the other way round.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// 100::/64.
const DISCARD: [u16; 4] = [0x100, 0, 0, 0];

/// Bytes of the length before a datagram.
pub const LENGTH: usize = 2;

/// Our own stream to the neighbour of this number.
pub fn ours(neighbour: u32) -> SocketAddr {
    address(0, neighbour)
}

/// The stream of this number that somebody has opened to us.
pub fn theirs(number: u32) -> SocketAddr {
    address(1, number)
}

fn address(side: u16, number: u32) -> SocketAddr {
    let [d0, d1, d2, d3] = DISCARD;
    let ip = Ipv6Addr::new(d0, d1, d2, d3, 0, side, (number >> 16) as u16, number as u16);
    SocketAddr::new(IpAddr::V6(ip), 0)
}

/// Whether this is the address of a stream.
pub fn is_stream(address: SocketAddr) -> bool {
    matches!(address.ip(), IpAddr::V6(ip) if ip.segments()[..4] == DISCARD)
}

/// The neighbour that a stream of ours leads to.
pub fn neighbour(address: SocketAddr) -> Option<u32> {
    let IpAddr::V6(ip) = address.ip() else { return None };
    let [.., side, high, low] = ip.segments();
    (is_stream(address) && side == 0).then_some(u32::from(high) << 16 | u32::from(low))
}

/// Hands out the datagrams that a stream begins with; where the rest begins. An error if one is longer
/// than `longest`: nothing that follows can be read.
pub fn datagrams<'a>(stream: &'a [u8], longest: usize, mut each: impl FnMut(&'a [u8])) -> Result<usize, TooLong> {
    let mut at = 0;
    while let Some((length, rest)) = stream[at..].split_first_chunk::<LENGTH>() {
        let length = usize::from(u16::from_be_bytes(*length));
        if length > longest {
            return Err(TooLong);
        }
        let Some(datagram) = rest.get(..length) else { break };
        each(datagram);
        at += LENGTH + length;
    }
    Ok(at)
}

/// A datagram that is longer than any that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a datagram that is longer than any")]
pub struct TooLong;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_say_whose_stream_it_is() {
        assert_eq!(neighbour(ours(70_000)), Some(70_000));
        assert_eq!(neighbour(theirs(7)), None);
        assert_ne!(ours(7), theirs(7));
        assert!(is_stream(theirs(u32::MAX)) && !is_stream("[100:0:0:1::]:0".parse().unwrap()));
        assert!(!is_stream("192.0.2.1:1".parse().unwrap()));
    }

    proptest! {
        /// Wherever reads end, the same datagrams come out; whatever comes, nothing panics.
        #[test]
        fn datagrams_come_out_as_they_went_in(
            sizes in prop::collection::vec(0usize..1500, 0..20), cut in 1usize..4000, junk in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let sent: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(i, size)| vec![i as u8; *size]).collect();
            let mut bytes = Vec::new();
            for datagram in &sent {
                bytes.extend((datagram.len() as u16).to_be_bytes());
                bytes.extend(datagram);
            }
            let (mut came, mut kept) = (Vec::new(), Vec::new());
            for piece in bytes.chunks(cut) {
                kept.extend_from_slice(piece);
                let rest = datagrams(&kept, 1500, |datagram| came.push(datagram.to_vec())).unwrap();
                kept.drain(..rest);
            }
            prop_assert_eq!(came, sent);
            prop_assert!(kept.is_empty());
            let mut total = 0;
            if let Ok(rest) = datagrams(&junk, 100, |datagram| total += datagram.len()) {
                prop_assert!(total <= rest && rest <= junk.len());
            }
        }
    }
}
