//! Neighbours that are reached by streams (TCP connections) in place of datagrams: the same datagrams, each preceded
//! by its length in two bytes (RFC 4571, §2).

/// Bytes of the length before a datagram.
pub const LENGTH: usize = 2;

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
