//! Packets on wires: a ring per link in order of arrival, and lookup of a node's next packet.

use midpath_core::cache::fetch;
use midpath_core::fifo::Fifo;
use midpath_core::packet::{Kind, Pkt, Pool};
use midpath_core::units::Time;

use super::next_arrivals::NextArrivals;

/// A packet on a wire, as its pool's number, with a bit that says whether it arrives in one piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u32);

const CORRUPT: u32 = 1 << 31;

impl Entry {
    #[inline]
    pub fn new(pkt: Pkt, corrupt: bool, pool: &Pool) -> Entry {
        let number = pool.stow(pkt);
        debug_assert!(number < CORRUPT);
        Entry(number | if corrupt { CORRUPT } else { 0 })
    }
    /// The packet, which is off the wire now.
    #[inline]
    pub fn take(self, pool: &Pool) -> Pkt {
        pool.unstow(self.0 & !CORRUPT)
    }
    /// Has the cache fetch the packet.
    #[inline]
    pub fn fetch(self, pool: &Pool) {
        pool.fetch(self.0 & !CORRUPT);
    }
    fn is_control(self, pool: &Pool) -> bool {
        let pkt = self.take(pool);
        let control = pool[&pkt].kind == Kind::Control;
        pool.stow(pkt);
        control
    }
    #[inline]
    pub fn corrupt(self) -> bool {
        self.0 & CORRUPT != 0
    }
}

/// What is on wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Nothing,
    /// Packets between neighbours only.
    Control,
    Packets,
}

/// One link's packets. A ring lies in one line of the cache.
#[derive(Default)]
#[repr(align(32))]
struct Ring {
    queue: Fifo<(Time, Entry)>,
    /// Packets that were corrupted on the way.
    corrupted: u64,
}

/// The links that lead to a part's nodes: for each, its packets, first to arrive first.
///
/// The times of the first ones lie side by side, for comparing them is most of what choosing
/// the next event costs.
pub(crate) struct Rings {
    arrivals: NextArrivals,
    rings: Vec<Ring>,
}

impl Rings {
    /// A ring for each of so many ports.
    pub fn new(ports: usize) -> Rings {
        Rings { arrivals: NextArrivals::new(ports), rings: (0..ports).map(|_| Ring::default()).collect() }
    }

    /// Keeps an index of the links that bring something: a node with many links asks for those.
    pub fn index(&mut self) {
        self.arrivals.index();
    }

    /// Adds a packet; says whether it is the only one, so that its arrival is news to the receiving
    /// node. For each hop: a call costs 17 instructions.
    #[inline(always)]
    pub fn push(&mut self, ring: u32, at: Time, entry: Entry) -> bool {
        let queue = &mut self.rings[ring as usize].queue;
        debug_assert!(queue.back().is_none_or(|b| b.0 <= at), "a link keeps its order");
        queue.push((at, entry));
        let first = self.arrivals.of(ring) == Time::MAX;
        if first {
            self.arrivals.decrease_key(ring, at);
        }
        first
    }

    /// The same with a packet that may overtake: says whether it is the first, so that its arrival
    /// is news to the receiving node.
    pub fn insert(&mut self, ring: u32, at: Time, entry: Entry) -> bool {
        let queue = &mut self.rings[ring as usize].queue;
        // Mostly it comes last.
        let place = queue.len() - queue.iter().rev().take_while(|e| e.0 > at).count();
        queue.insert(place, (at, entry));
        if place == 0 {
            self.arrivals.decrease_key(ring, at);
        }
        place == 0
    }

    /// When the first packet arrives on each ring.
    #[inline]
    pub fn next_arrivals(&self) -> &NextArrivals {
        &self.arrivals
    }

    /// The same, to bring bounds up to date.
    #[inline]
    pub fn next_arrivals_mut(&mut self) -> &mut NextArrivals {
        &mut self.arrivals
    }

    /// What is on the wires: nothing, packets between neighbours alone, or others too.
    pub fn load(&self, pool: &Pool) -> Load {
        let mut load = Load::Nothing;
        for (_, entry) in self.rings.iter().flat_map(|ring| ring.queue.iter()) {
            if !entry.is_control(pool) {
                return Load::Packets;
            }
            load = Load::Control;
        }
        load
    }

    /// Takes the first packet of a ring that has one, and says when the next one arrives; [`Time::MAX`] if there is none.
    /// The cache fetches it meanwhile.
    #[inline]
    pub fn pop(&mut self, ring: u32, pool: &Pool) -> Option<(Entry, Time)> {
        let queue = &mut self.rings[ring as usize].queue;
        let ((_, entry), next) = queue.pop_and_look()?;
        // If there is none, a packet of old is fetched: to ask first would cost more.
        next.1.fetch(pool);
        let at = if queue.is_empty() { Time::MAX } else { next.0 };
        self.arrivals.postpone(ring, at);
        Some((entry, at))
    }

    /// Has the cache fetch a ring.
    #[inline]
    pub fn fetch_ring(&self, ring: u32) {
        fetch(&self.rings[ring as usize]);
    }

    /// Has the cache fetch the first place of a ring.
    #[inline]
    pub fn fetch_front(&self, ring: u32) {
        self.rings[ring as usize].queue.fetch_front();
    }

    /// Has the cache fetch the first packet of a ring.
    #[inline]
    pub fn fetch_packet(&self, ring: u32, pool: &Pool) {
        if let Some((_, entry)) = self.rings[ring as usize].queue.front() {
            entry.fetch(pool);
        }
    }

    /// When the first packet of a ring arrives; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_arrival(&self, ring: u32) -> Time {
        self.arrivals.of(ring)
    }

    /// One of a ring's packets was corrupted on the way.
    pub fn count_corrupted(&mut self, ring: u32) {
        self.rings[ring as usize].corrupted += 1;
    }

    /// How many were.
    pub fn corrupted(&self, ring: u32) -> u64 {
        self.rings[ring as usize].corrupted
    }

    pub fn packets(&self) -> u64 {
        self.rings.iter().map(|ring| ring.queue.len() as u64).sum()
    }

    pub fn memory(&self) -> usize {
        self.rings.iter().map(|ring| ring.queue.capacity() * 16).sum::<usize>()
            + self.rings.len() * size_of::<Ring>()
            + self.arrivals.memory()
    }
}
