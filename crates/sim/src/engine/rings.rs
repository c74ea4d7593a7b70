//! Packets on wires: for each link a ring of them, first to arrive first, and how a node finds its
//! next one.

use midpath_core::fifo::Fifo;
use midpath_core::packet::{Kind, Pkt, Pool};
use midpath_core::units::Time;

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
    /// Looks at the packet, so that it is in the cache when its turn comes.
    #[inline]
    pub fn warm(self, pool: &Pool) {
        pool.warm(self.0 & !CORRUPT);
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

/// Rings in a block.
const BLOCK: usize = 64;

/// From more links than this on, a node is looked through by blocks: for two or three blocks it
/// would save nothing.
pub(crate) const MANY: usize = 4 * BLOCK;

fn earliest(heads: &[Time]) -> Time {
    heads.iter().min().copied().unwrap_or(Time::MAX)
}

/// The blocks that have rings from `first` to before `last`.
fn blocks(first: u32, last: u32) -> std::ops::Range<usize> {
    first as usize / BLOCK..(last as usize).div_ceil(BLOCK)
}

/// The rings of a block that lie from `first` to before `last`.
fn block_of(block: usize, first: usize, last: usize) -> std::ops::Range<usize> {
    (block * BLOCK).max(first)..((block + 1) * BLOCK).min(last)
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
/// The times of the first ones lie side by side, for looking at them all is most of what choosing
/// the next event costs.
#[derive(Default)]
pub(crate) struct Rings {
    heads: Vec<Time>,
    /// For blocks of [`BLOCK`] rings: no head of the block is before this. Empty until
    /// [`Rings::index`].
    bounds: Vec<Time>,
    rings: Vec<Ring>,
}

impl Rings {
    /// Adds the ring of one port.
    pub fn add(&mut self) {
        self.heads.push(Time::MAX);
        self.rings.push(Ring::default());
    }

    /// Adds a packet; says whether it is the only one, so that its arrival is news to the receiving
    /// node.
    #[inline]
    pub fn push(&mut self, ring: u32, at: Time, entry: Entry) -> bool {
        let ring = ring as usize;
        let queue = &mut self.rings[ring].queue;
        debug_assert!(queue.back().is_none_or(|b| b.0 <= at), "a link keeps its order");
        queue.push((at, entry));
        let first = self.heads[ring] == Time::MAX;
        if first {
            self.heads[ring] = at;
            self.lower(ring, at);
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
            self.heads[ring as usize] = at;
            self.lower(ring as usize, at);
        }
        place == 0
    }

    #[inline]
    fn lower(&mut self, ring: usize, at: Time) {
        if let Some(bound) = self.bounds.get_mut(ring / BLOCK) {
            *bound = (*bound).min(at);
        }
    }

    /// Keeps bounds from now on, for nodes with so many links that looking at all of them is most
    /// of the work.
    pub fn index(&mut self) {
        self.bounds = self.heads.chunks(BLOCK).map(earliest).collect();
    }

    /// Whether a node with these rings is looked through block by block; needs [`Rings::index`].
    #[inline]
    pub fn by_blocks(&self, first: u32, last: u32) -> bool {
        (last - first) as usize > MANY
    }

    /// The heads of a node's rings by block, as far as any may be before `horizon`.
    pub fn blocks_before(&self, first: u32, last: u32, horizon: Time) -> impl Iterator<Item = (u32, &[Time])> {
        let part = move |block: usize| block_of(block, first as usize, last as usize);
        let near = move |block: &usize| self.bounds[*block] < horizon;
        blocks(first, last).filter(near).map(move |block| (part(block).start as u32, &self.heads[part(block)]))
    }

    /// When the first packet arrives on any of a node's rings, after those before `horizon` have
    /// been taken. Brings the bounds of their blocks up to date.
    pub fn earliest_from(&mut self, first: u32, last: u32, horizon: Time) -> Time {
        let mut found = Time::MAX;
        for block in blocks(first, last) {
            let whole = block_of(block, 0, self.heads.len());
            if self.bounds[block] < horizon {
                self.bounds[block] = earliest(&self.heads[whole.clone()]);
            }
            let own = block_of(block, first as usize, last as usize);
            found = found.min(if own == whole { self.bounds[block] } else { earliest(&self.heads[own]) });
        }
        found
    }

    /// When the first packets of some rings arrive; [`Time::MAX`] where there is none.
    #[inline]
    pub fn heads(&self, first: u32, last: u32) -> &[Time] {
        &self.heads[first as usize..last as usize]
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

    /// Takes the first packet of a ring that has one. Looks at the next one, so that it is in the
    /// cache when its turn comes.
    #[inline]
    pub fn pop(&mut self, ring: u32, pool: &Pool) -> Option<Entry> {
        let queue = &mut self.rings[ring as usize].queue;
        let (_, entry) = queue.pop()?;
        self.heads[ring as usize] = match queue.front() {
            Some((at, next)) => {
                next.warm(pool);
                at
            }
            None => Time::MAX,
        };
        Some(entry)
    }

    /// When the first packet of a ring arrives; [`Time::MAX`] if there is none.
    #[inline]
    pub fn head(&self, ring: u32) -> Time {
        self.heads[ring as usize]
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
        self.rings.iter().map(|ring| ring.queue.capacity() * 16).sum::<usize>() + self.rings.len() * 40
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId, Packet};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Blocks show every head before the horizon, and the earliest after it, whatever comes and
        /// goes.
        #[test]
        fn blocks_show_what_a_look_at_all_rings_shows(
            steps in prop::collection::vec((0u32..400, 0u64..50, any::<bool>()), 1..300),
            spans in prop::collection::vec((0u32..400, 0u32..400, 0u64..3_000), 1..40),
        ) {
            let (mut rings, mut pool, mut now) = (Rings::default(), Pool::new(), 0);
            (0..400).for_each(|_| rings.add());
            rings.index();
            let mut spans = spans.into_iter().cycle();
            for (ring, later, take) in steps {
                now += later;
                if take {
                    if let Some(entry) = rings.pop(ring, &pool) {
                        pool.take(entry.take(&pool));
                    }
                } else {
                    let packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
                    rings.push(ring, Time(now), Entry::new(pool.insert(packet), false, &pool));
                }
                let (a, b, horizon) = spans.next().expect("endless");
                let (first, last, horizon) = (a.min(b), a.max(b) + 1, Time(horizon));
                let all = rings.heads(first, last).to_vec();
                let near: Vec<(u32, Time)> = (first..).zip(&all).map(|(r, t)| (r, *t)).filter(|h| h.1 < horizon).collect();
                let shown = rings.blocks_before(first, last, horizon).flat_map(|(from, heads)| (from..).zip(heads.to_vec()));
                prop_assert_eq!(shown.filter(|h| h.1 < horizon).collect::<Vec<_>>(), near);
                // What is before the horizon stays here, so the earliest is bounded, not exact,
                // where a block had more.
                let earliest = rings.earliest_from(first, last, Time::MAX);
                prop_assert_eq!(earliest, all.into_iter().min().unwrap_or(Time::MAX));
            }
        }
    }
}
