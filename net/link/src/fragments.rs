//! Packets above the path MTU are fragmented, and the neighbour reassembles them: no packet is lost for
//! its size, whatever the scheme, and no end needs to know the MTU of all hops.
//!
//! The price: headers of each fragment, and one lost fragment loses the packet.

use std::collections::VecDeque;

use super::frame::{FRAGMENT, FRAGMENTS, PACKET};

/// The largest packet that is put together. Ours: Ethernet's jumbo frames.
pub const LARGEST: usize = 9_000;
/// Packets of which parts are missing. Ours: parts leave in a row, so that what comes between them is reordering.
const WAITING: usize = 32;

/// How many frames of at most `room` bytes a packet takes: one if it fits whole.
pub fn count(packet: usize, room: usize) -> usize {
    if packet + PACKET <= room { 1 } else { packet.div_ceil(room.saturating_sub(FRAGMENT).max(1)) }
}

/// A packet in so many parts of nearly one size, at most [`FRAGMENTS`]; none if they were more.
pub fn split(packet: &[u8], count: usize) -> impl Iterator<Item = (u8, &[u8])> {
    let count = if count <= FRAGMENTS { count } else { 0 };
    (0..).zip(packet.chunks(packet.len().div_ceil(count.max(1)).max(1))).take(count)
}

/// A packet of which parts are missing.
#[derive(Debug)]
struct Partial {
    /// The number of its first part.
    first: u32,
    parts: Vec<Option<Box<[u8]>>>,
}

impl Partial {
    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.len()).sum()
    }
}

/// Puts the packets of one link together. It holds at most 32 of 9,000 B each: the oldest go first.
#[derive(Debug, Default)]
pub struct Reassembly {
    partial: VecDeque<Partial>,
}

impl Reassembly {
    /// Takes a part, which [`Frame::read`](crate::Frame::read) has checked: the packet once no part is missing.
    pub fn on_part(&mut self, number: u32, (index, count): (u8, u8), bytes: &[u8]) -> Option<Vec<u8>> {
        let first = number.wrapping_sub(index.into());
        let count = usize::from(count);
        let same = |partial: &Partial| partial.first == first && partial.parts.len() == count;
        let at = self.partial.iter().position(same).unwrap_or_else(|| {
            if self.partial.len() == WAITING {
                self.partial.pop_front();
            }
            self.partial.push_back(Partial { first, parts: vec![None; count] });
            self.partial.len() - 1
        });
        let partial = &mut self.partial[at];
        partial.parts.get_mut(usize::from(index))?.get_or_insert_with(|| bytes.into());
        let (whole, held) = (partial.parts.iter().all(Option::is_some), partial.bytes());
        if !whole && held <= LARGEST {
            return None;
        }
        let parts = self.partial.remove(at)?.parts;
        (held <= LARGEST).then(|| parts.into_iter().flatten().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_that_fits_is_whole_and_one_byte_more_is_two_parts() {
        assert_eq!((count(100, 105), count(101, 105), count(196, 105), count(197, 105)), (1, 2, 2, 3));
        assert!(split(&[0; LARGEST], FRAGMENTS + 1).next().is_none());
    }

    proptest! {
        /// Parts come in any order, some twice, some never, those of a few packets between each other: a packet comes
        /// once if none of its parts is missing, and as it was.
        #[test]
        fn what_was_cut_is_put_together(
            sizes in prop::collection::vec(2usize..LARGEST, 1..20),
            room in 480usize..1500,
            first: u32,
            order in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..100),
            lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let (mut sent, mut number) = (Vec::new(), first);
            let packets: Vec<Vec<u8>> =
                sizes.iter().enumerate().map(|(i, size)| (0..*size).map(|at| (at + 7 * i) as u8).collect()).collect();
            for (which, packet) in packets.iter().enumerate() {
                let count = count(packet.len(), room).max(2);
                for (index, part) in split(packet, count) {
                    prop_assert!(part.len() + FRAGMENT <= room);
                    sent.push((which, number, (index, count as u8), part));
                    number = number.wrapping_add(1);
                }
            }
            for (a, b) in order {
                let (a, b) = (a.index(sent.len()), b.index(sent.len()));
                sent.swap(a, b);
            }
            let mut missing = vec![false; packets.len()];
            for at in lost {
                if sent.len() > 1 {
                    missing[sent.remove(at.index(sent.len())).0] = true;
                }
            }
            let mut link = Reassembly::default();
            let mut come = vec![0; packets.len()];
            for (which, number, place, part) in sent {
                if let Some(packet) = link.on_part(number, place, part) {
                    prop_assert_eq!(&packet, &packets[which]);
                    come[which] += 1;
                }
            }
            for (come, missing) in come.iter().zip(missing) {
                prop_assert_eq!(*come, u32::from(!missing));
            }
        }

        /// Whatever a neighbour sends, it holds no more than its bound.
        #[test]
        fn it_is_bounded(parts in prop::collection::vec((any::<u32>(), 0u8..20, 1u8..20, 0usize..9000), 0..200)) {
            let mut link = Reassembly::default();
            for (number, index, more, size) in parts {
                let _ = link.on_part(number, (index.min(19), index.min(19).saturating_add(more).clamp(2, 20)), &vec![0; size]);
                let held: usize = link.partial.iter().map(Partial::bytes).sum();
                prop_assert!(link.partial.len() <= WAITING && held <= WAITING * LARGEST);
            }
        }
    }
}
