//! Addresses: a multihomed host has one per port.

use midpath_core::packet::{Interfaces, MAX_INTERFACES, Packet, PortId};

/// Most addresses of a host: what a packet can name. Further ports are no addresses.
pub const MAX_ADDRESSES: usize = MAX_INTERFACES;

/// A source's and a destination's address, by their ports. The way back has them swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair(Interfaces);

impl Pair {
    /// The pair of these ports, both below [`MAX_ADDRESSES`].
    pub const fn new(source: u8, destination: u8) -> Pair {
        Pair(Interfaces::between(PortId(source as u16), PortId(destination as u16)))
    }
    /// What a packet is between; `None` if it doesn't name both ends' addresses.
    pub fn of(packet: &Packet) -> Option<Pair> {
        let named = packet.interfaces.source().is_some() && packet.interfaces.destination().is_some();
        named.then_some(Pair(packet.interfaces))
    }
    /// As a packet says it.
    pub const fn interfaces(self) -> Interfaces {
        self.0
    }
    /// The source's port.
    pub fn source(self) -> PortId {
        self.0.source().unwrap_or_default()
    }
    /// The destination's port.
    pub fn destination(self) -> PortId {
        self.0.destination().unwrap_or_default()
    }
    /// The same pair seen from the other end.
    #[must_use]
    pub const fn reversed(self) -> Pair {
        Pair(self.0.reversed())
    }
}

/// How many addresses a host with this many ports has.
pub fn count(ports: usize) -> u8 {
    ports.clamp(1, MAX_ADDRESSES) as u8
}

/// All pairs: first those that share no address as far as there are such, so that few subflows
/// share few links. Ours.
pub fn pairs(sources: u8, destinations: u8) -> impl Iterator<Item = Pair> {
    // With more sources than destinations, source s meets destination s modulo their number in the
    // first round.
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
        for (s, d) in [(1u8, 1u8), (2, 1), (1, 3), (2, 2), (3, 2), (2, 3), (4, 4), (15, 15)] {
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
        assert_eq!((count(0), count(2), count(40)), (1, 2, 15));
    }
}
