//! The inner format of a neighbour's datagram.
//!
//! | kind | bytes after it |
//! |---|---|
//! | 1 packet | number (4, of this link, from 0, wraps); the packet |
//! | 2 report | highest number and one (8); packets (8); their bytes (8); when the highest came by the receiver's
//! clock, in µs (8); the largest datagram since the last report (2) |
//! | 3 probe | number (4); zeros |
//! | 4 probed | number (4); size of the datagram (2) |
//! | 5 part | number (4, as a packet's); which part (1, from 0) of how many (1); its bytes. The parts of a packet
//! have numbers in a row |
//!
//! Numbers are big-endian. Other kinds are ignored: a later version may have them.

use super::rate_controller::Report;

/// Bytes of a packet's frame besides the packet.
pub const PACKET: usize = 5;
/// Bytes of a part's frame besides the part.
pub const FRAGMENT: usize = 7;
/// The most parts of a packet. Ours: 9,000 B over a path of 576 B are 19.
pub const FRAGMENTS: usize = 20;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A packet between nodes.
    Packet {
        /// The lower half of its number.
        number: u32,
        /// As `midpath_core::wire` writes it.
        packet: &'a [u8],
    },
    /// Part of a packet that the path does not carry whole.
    Fragment {
        /// The lower half of its number.
        number: u32,
        /// Its place, from 0.
        index: u8,
        /// How many there are: 2 to [`FRAGMENTS`].
        count: u8,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// What has arrived.
    Report(Report),
    /// Does a datagram of this size come through?
    Probe(u32),
    /// One did.
    Probed {
        /// The probe's.
        number: u32,
        /// Bytes of the datagram that carried it.
        size: u16,
    },
}

impl Frame<'_> {
    /// Reads one; `None` for other kinds and lengths.
    pub fn read(bytes: &[u8]) -> Option<Frame<'_>> {
        let (kind, rest) = bytes.split_first()?;
        let word = || Some(u32::from_be_bytes(rest.get(..4)?.try_into().ok()?));
        match (kind, rest.len()) {
            (1, 4..) => Some(Frame::Packet { number: word()?, packet: &rest[4..] }),
            (2, 34) => {
                let long = |i: usize| u64::from_be_bytes(rest[8 * i..8 * i + 8].try_into().expect("eight bytes"));
                let (next, packets, bytes, clock) = (long(0), long(1), long(2), long(3));
                let largest = u16::from_be_bytes([rest[32], rest[33]]);
                Some(Frame::Report(Report { next, packets, bytes, clock, largest }))
            }
            (3, 4..) => Some(Frame::Probe(word()?)),
            (5, FRAGMENT..) if rest[4] < rest[5] && (2..=FRAGMENTS).contains(&rest[5].into()) => {
                Some(Frame::Fragment { number: word()?, index: rest[4], count: rest[5], bytes: &rest[6..] })
            }
            (4, 6) => Some(Frame::Probed { number: word()?, size: u16::from_be_bytes([rest[4], rest[5]]) }),
            _ => None,
        }
    }

    /// Appends it. A probe is filled up to `size` bytes.
    pub fn write(&self, size: usize, out: &mut Vec<u8>) {
        match self {
            Frame::Packet { number, packet } => {
                out.push(1);
                out.extend(number.to_be_bytes());
                out.extend(*packet);
            }
            Frame::Fragment { number, index, count, bytes } => {
                out.push(5);
                out.extend(number.to_be_bytes());
                out.extend([*index, *count]);
                out.extend(*bytes);
            }
            Frame::Report(report) => {
                out.push(2);
                [report.next, report.packets, report.bytes, report.clock]
                    .iter()
                    .for_each(|n| out.extend(n.to_be_bytes()));
                out.extend(report.largest.to_be_bytes());
            }
            Frame::Probe(number) => {
                let begin = out.len();
                out.push(3);
                out.extend(number.to_be_bytes());
                out.resize(out.len().max(begin + size), 0);
            }
            Frame::Probed { number, size } => {
                out.push(4);
                out.extend(number.to_be_bytes());
                out.extend(size.to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let report = Report { next: 9, packets: 8, bytes: 1 << 40, clock: 7, largest: 1400 };
        let frames = [
            Frame::Packet { number: 3, packet: b"abc" },
            Frame::Fragment { number: 3, index: 1, count: 2, bytes: b"abc" },
            Frame::Report(report),
            Frame::Probe(7),
            Frame::Probed { number: 7, size: 1400 },
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.write(100, &mut bytes);
            assert_eq!(Frame::read(&bytes), Some(frame));
            assert!(!matches!(frame, Frame::Probe(_)) || bytes.len() == 100);
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(bytes in prop::collection::vec(any::<u8>(), 0..60), kind in 0u8..7) {
            let bytes = [&[kind][..], &bytes].concat();
            if let Some(frame) = Frame::read(&bytes) {
                let mut again = Vec::new();
                frame.write(bytes.len(), &mut again);
                // A probe's filling says nothing.
                prop_assert!(again == bytes || matches!(frame, Frame::Probe(_)));
            }
        }
    }
}
