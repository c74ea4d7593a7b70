//! Addresses: a multihomed host has one per port.

use midpath_core::packet::PortId;

/// Most addresses of a host: what half of [`midpath_core::packet::Packet::path`] can name. Further ports are no addresses.
pub const MAX_ADDRESSES: usize = 16;

/// A source's and a destination's address as they stand in a packet's `path`: the source's port in the upper half, the destination's
/// in the lower. The way back has them swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair(pub u8);

impl Pair {
    /// The pair of these ports, both below [`MAX_ADDRESSES`].
    pub const fn new(source: u8, destination: u8) -> Pair {
        Pair(source << 4 | destination & 0xf)
    }
    /// The source's port.
    pub const fn source(self) -> PortId {
        PortId((self.0 >> 4) as u16)
    }
    /// The destination's port.
    pub const fn destination(self) -> PortId {
        PortId((self.0 & 0xf) as u16)
    }
    /// The same pair seen from the other end.
    pub const fn reversed(self) -> Pair {
        Pair(self.0.rotate_left(4))
    }
}

/// How many addresses a host with this many ports has.
pub fn count(ports: usize) -> u8 {
    ports.clamp(1, MAX_ADDRESSES) as u8
}

/// All pairs: first those that share no address as far as there are such, so that few subflows share few links. Ours.
pub fn pairs(sources: u8, destinations: u8) -> impl Iterator<Item = Pair> {
    // With more sources than destinations, source s meets destination s modulo their number in the first round.
    let rounds = (0..destinations).flat_map(move |shift| (0..sources).map(move |s| (s, (s + shift) % destinations)));
    let (longer, shorter) = (destinations > sources, sources);
    let turned = (0..shorter).flat_map(move |shift| (0..destinations).map(move |d| ((d + shift) % shorter, d)));
    let rounds = rounds.filter(move |_| !longer);
    let turned = turned.filter(move |_| longer);
    rounds.chain(turned).map(|(s, d)| Pair::new(s, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_comes_once_and_disjoint_ones_come_first() {
        for (s, d) in [(1u8, 1u8), (2, 1), (1, 3), (2, 2), (3, 2), (2, 3), (4, 4), (16, 16)] {
            let all: Vec<Pair> = pairs(s, d).collect();
            let mut sorted = all.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!((all.len(), sorted.len()), (usize::from(s) * usize::from(d), all.len()), "{s} × {d}");
            let first = &all[..usize::from(s.min(d))];
            for (i, a) in first.iter().enumerate() {
                let alone = first[..i].iter().all(|b| a.source() != b.source() && a.destination() != b.destination());
                assert!(alone, "{s} × {d}: {first:?}");
            }
            assert_eq!(all[0], Pair::new(0, 0));
        }
    }

    #[test]
    fn the_way_back_is_swapped() {
        let pair = Pair::new(3, 12);
        assert_eq!((pair.source(), pair.destination()), (PortId(3), PortId(12)));
        assert_eq!(pair.reversed(), Pair::new(12, 3));
        assert_eq!((count(0), count(2), count(40)), (1, 2, 16));
    }
}
