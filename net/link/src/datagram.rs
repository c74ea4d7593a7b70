//! The outer format: a datagram before its sender is authenticated.
//!
//! | kind | bytes |
//! |---|---|
//! | 1 hello | version, 1, two zeros; sender's index (4); Noise message 1 (108); mac (16); cookie (16): 148 |
//! | 2 welcome | version, 2, two zeros; sender's index (4); receiver's index (4); Noise message 2 (56): 68 |
//! | 3 data | version, 3, two zeros; receiver's index (4); counter (8); sealed bytes, 16 more than inside |
//! | 4 retry | version, 4, two zeros; receiver's index (4); cookie (16): 24 |
//! | 5 versions | 0, 5, how many; one byte each |
//!
//! Numbers are big-endian. No reply before the end of a handshake is longer than its request. A hello of another
//! version is as long as ours or longer, and gets kind 5.

/// The version that is spoken here.
pub const VERSION: u8 = 1;
/// Bytes of a hello.
pub const HELLO: usize = 148;
/// Bytes of a welcome.
pub const WELCOME: usize = 68;
/// Bytes of a retry.
pub const RETRY: usize = 24;
/// Bytes that data have around what is inside.
pub const OVERHEAD: usize = DATA_HEADER + TAG;
/// Bytes of a cookie, and of a mac.
pub const COOKIE: usize = 16;

const DATA_HEADER: usize = 16;
const TAG: usize = 16;
pub(crate) const MESSAGE_1: usize = 108;
pub(crate) const MESSAGE_2: usize = 56;

/// A cookie, or a mac.
pub type Cookie = [u8; COOKIE];

/// What a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// Somebody begins.
    Hello {
        /// Where answers to it go.
        sender: u32,
        /// Noise's first message.
        message: &'a [u8; MESSAGE_1],
        /// Says that the sender knows whom it talks to.
        mac: Cookie,
        /// Says that it is where it says; zeros unless asked for.
        cookie: Cookie,
        /// What the mac is over.
        signed: &'a [u8],
    },
    /// The answer.
    Welcome {
        /// Where data go.
        sender: u32,
        /// The hello's.
        receiver: u32,
        /// Noise's second message.
        message: &'a [u8; MESSAGE_2],
    },
    /// Sealed bytes.
    Data {
        /// Whose session.
        receiver: u32,
        /// Which one of it.
        counter: u64,
        /// The bytes, and their tag.
        sealed: &'a [u8],
    },
    /// Say hello again with this cookie.
    Retry {
        /// The hello's.
        receiver: u32,
        /// Proves the address.
        cookie: Cookie,
    },
    /// A hello of a version that is not spoken here.
    Other(u8),
    /// What the other side speaks.
    Versions(&'a [u8]),
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Datagram<'_> {
    /// Reads one; `None` if it is none of these, to the byte.
    pub fn read(bytes: &[u8]) -> Option<Datagram<'_>> {
        let [version, kind, third, fourth, ..] = *bytes else { return None };
        if version == 0 {
            let known = kind == 5 && third > 0 && usize::from(third) == bytes.len() - 3;
            return known.then(|| Datagram::Versions(&bytes[3..]));
        }
        if version != VERSION {
            return (kind == 1 && bytes.len() >= HELLO).then_some(Datagram::Other(version));
        }
        if (third, fourth) != (0, 0) {
            return None;
        }
        match (kind, bytes.len()) {
            (1, HELLO) => Some(Datagram::Hello {
                sender: word(bytes, 4)?,
                message: bytes[8..8 + MESSAGE_1].try_into().ok()?,
                mac: bytes[116..132].try_into().ok()?,
                cookie: bytes[132..].try_into().ok()?,
                signed: &bytes[..116],
            }),
            (2, WELCOME) => Some(Datagram::Welcome {
                sender: word(bytes, 4)?,
                receiver: word(bytes, 8)?,
                message: bytes[12..].try_into().ok()?,
            }),
            (3, OVERHEAD..) => Some(Datagram::Data {
                receiver: word(bytes, 4)?,
                counter: u64::from_be_bytes(bytes[8..DATA_HEADER].try_into().ok()?),
                sealed: &bytes[DATA_HEADER..],
            }),
            (4, RETRY) => Some(Datagram::Retry { receiver: word(bytes, 4)?, cookie: bytes[8..].try_into().ok()? }),
            _ => None,
        }
    }
}

fn begin(kind: u8, index: u32) -> Vec<u8> {
    let mut out = vec![VERSION, kind, 0, 0];
    out.extend(index.to_be_bytes());
    out
}

/// A hello's first 116 bytes, which its mac is over.
pub(crate) fn hello(sender: u32, message: &[u8]) -> Vec<u8> {
    let mut out = begin(1, sender);
    out.extend(message);
    out
}

pub(crate) fn welcome(sender: u32, receiver: u32, message: &[u8]) -> Vec<u8> {
    let mut out = begin(2, sender);
    out.extend(receiver.to_be_bytes());
    out.extend(message);
    out
}

pub(crate) fn retry(receiver: u32, cookie: &Cookie) -> Vec<u8> {
    let mut out = begin(4, receiver);
    out.extend(cookie);
    out
}

pub(crate) fn versions() -> Vec<u8> {
    vec![0, 5, 1, VERSION]
}

/// The header of data.
pub(crate) fn data(receiver: u32, counter: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend([VERSION, 3, 0, 0]);
    out.extend(receiver.to_be_bytes());
    out.extend(counter.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = hello(7, &[9; MESSAGE_1]);
        bytes.extend([1; 16]);
        bytes.extend([2; 16]);
        let Some(Datagram::Hello { sender, message, mac, cookie, signed }) = Datagram::read(&bytes) else { panic!() };
        assert_eq!((sender, message, mac, cookie), (7, &[9; MESSAGE_1], [1; 16], [2; 16]));
        assert_eq!(signed, &bytes[..116]);
        assert_eq!(bytes.len(), HELLO);
        let bytes = welcome(1, 2, &[3; MESSAGE_2]);
        assert_eq!(bytes.len(), WELCOME);
        assert_eq!(
            Datagram::read(&bytes),
            Some(Datagram::Welcome { sender: 1, receiver: 2, message: &[3; MESSAGE_2] })
        );
        let bytes = retry(5, &[6; 16]);
        assert_eq!(Datagram::read(&bytes), Some(Datagram::Retry { receiver: 5, cookie: [6; 16] }));
        assert_eq!(Datagram::read(&versions()), Some(Datagram::Versions(&[VERSION])));
        let mut bytes = Vec::new();
        data(4, 1 << 40, &mut bytes);
        bytes.extend([0; TAG]);
        assert_eq!(Datagram::read(&bytes), Some(Datagram::Data { receiver: 4, counter: 1 << 40, sealed: &[0; TAG] }));
    }

    #[test]
    fn answers_before_a_handshake_are_no_longer_than_what_asked() {
        assert!(WELCOME <= HELLO && RETRY <= HELLO && versions().len() <= HELLO);
        let mut other = vec![9; HELLO];
        other[1] = 1;
        assert_eq!(Datagram::read(&other), Some(Datagram::Other(9)));
        assert_eq!(Datagram::read(&other[..HELLO - 1]), None, "a short one gets no answer");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..7) {
            if bytes.len() > 4 {
                bytes[..4].copy_from_slice(&[VERSION, kind, 0, 0]);
            }
            if let Some(Datagram::Data { sealed, .. }) = Datagram::read(&bytes) {
                prop_assert!(sealed.len() >= TAG);
            }
        }
    }
}
