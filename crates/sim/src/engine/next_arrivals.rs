//! Next arrival per link, and how a node with many links finds the active ones.

use std::ops::Range;

use midpath_core::cache::fetch;
use midpath_core::units::Time;

/// Times in a line of the cache.
const LINE: usize = 8;

/// Links in a block: one bit each.
const BLOCK: usize = u64::BITS as usize;

/// Up to this many links of a node all are scanned, which is faster than an index.
pub(super) const FEW: usize = 32;

/// From more links than this on no one goes through them before a node runs, and what brings
/// something is fetched together when it does.
pub(crate) const MANY: usize = 4 * BLOCK;

/// For each link, when its first packet arrives; [`Time::MAX`] where it brings none. Those of a
/// node lie side by side.
#[derive(Default)]
pub(super) struct NextArrivals {
    times: Vec<Time>,
    /// Empty until [`NextArrivals::index`].
    blocks: Vec<Block>,
}

/// What is known of so many links that lie side by side.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// A bit for each link that brings something. Those of links that no longer do are cleared by the next
    /// scan.
    busy: u64,
    /// None of them brings anything before this.
    bound: Time,
}

/// The bits of a block that are those of `links`.
#[inline]
const fn mask(block: usize, links: &Range<usize>) -> u64 {
    let from = links.start.saturating_sub(block * BLOCK);
    let behind = ((block + 1) * BLOCK).saturating_sub(links.end);
    (u64::MAX << from) & (u64::MAX >> behind)
}

/// The places of the bits that are set, lowest first.
#[inline]
fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (place < u64::BITS).then_some(place as usize)
    })
}

impl NextArrivals {
    /// So many links that bring nothing.
    pub fn new(links: usize) -> NextArrivals {
        NextArrivals { times: vec![Time::MAX; links], blocks: Vec::new() }
    }

    /// Keeps an index of the links that bring something from now on, for nodes with so many links
    /// that scanning all of them is most of the work.
    pub fn index(&mut self) {
        let of = |times: &[Time]| {
            let busy = times.iter().rev().fold(0, |bits, at| bits << 1 | u64::from(*at != Time::MAX));
            Block { busy, bound: times.iter().min().copied().unwrap_or(Time::MAX) }
        };
        self.blocks = self.times.chunks(BLOCK).map(of).collect();
    }

    #[inline]
    pub fn of(&self, link: u32) -> Time {
        self.times[link as usize]
    }

    /// Those of the links from `first` to before `last`.
    #[cfg(test)]
    pub fn all(&self, first: u32, last: u32) -> &[Time] {
        &self.times[first as usize..last as usize]
    }

    /// Has the cache fetch those of the links from `first` to before `last`, if they are not too many
    /// to scan.
    #[inline]
    pub fn fetch(&self, first: u32, last: u32) {
        let all = &self.times[first as usize..last as usize];
        if all.len() <= MANY {
            all.iter().step_by(LINE).for_each(fetch);
        }
    }

    /// The link's first packet arrives at `at` now, which is earlier.
    #[inline]
    pub fn decrease_key(&mut self, link: u32, at: Time) {
        self.times[link as usize] = at;
        if !self.blocks.is_empty() {
            self.index_arrival(link, at);
        }
    }

    /// Notes that a link brings something at `at`, where there is an index.
    #[inline]
    pub fn index_arrival(&mut self, link: u32, at: Time) {
        let (block, place) = (link as usize / BLOCK, link as usize % BLOCK);
        if let Some(block) = self.blocks.get_mut(block) {
            block.busy |= 1 << place;
            block.bound = block.bound.min(at);
        }
    }

    /// The link's first packet arrives at `at` now, which is later. Whoever has taken the
    /// first one notes when the link's next one comes: [`NextArrivals::lower`].
    #[inline]
    pub fn postpone(&mut self, link: u32, at: Time) {
        self.times[link as usize] = at;
    }

    /// Shows, in order, the links of a node that bring something before `horizon`.
    #[inline]
    pub fn each_before(&self, first: u32, last: u32, horizon: Time, mut each: impl FnMut(u32)) {
        let links = first as usize..last as usize;
        if links.len() <= FEW {
            let times = (first..).zip(&self.times[links]);
            return times.filter(|(_, at)| **at < horizon).for_each(|(link, _)| each(link));
        }
        for number in links.start / BLOCK..links.end.div_ceil(BLOCK) {
            let block = self.blocks[number];
            if block.bound < horizon {
                for link in places(block.busy & mask(number, &links)).map(|place| number * BLOCK + place) {
                    if self.times[link] < horizon {
                        each(link as u32);
                    }
                }
            }
        }
    }

    /// The same with their times, for a loop that takes all of them. Returns when the first packet
    /// arrives on any of the node's other links.
    #[inline]
    pub fn take_before(&mut self, first: u32, last: u32, horizon: Time, mut each: impl FnMut(u32, Time)) -> Time {
        let links = first as usize..last as usize;
        let mut beyond = Time::MAX;
        if links.len() <= FEW {
            for (link, at) in (first..).zip(&self.times[links]) {
                if *at < horizon {
                    each(link, *at);
                } else {
                    beyond = beyond.min(*at);
                }
            }
            return beyond;
        }
        for number in links.start / BLOCK..links.end.div_ceil(BLOCK) {
            let (block, own) = (&mut self.blocks[number], mask(number, &links));
            // Where all links are this node's, the bound is its own, too: it has all that is known.
            let whole = own == u64::MAX;
            if whole && block.bound >= horizon {
                beyond = beyond.min(block.bound);
                continue;
            }
            let mut others = Time::MAX;
            for place in places(block.busy & own) {
                let link = number * BLOCK + place;
                match self.times[link] {
                    Time::MAX => block.busy &= !(1 << place),
                    at if at < horizon => each(link as u32, at),
                    at => others = others.min(at),
                }
            }
            if whole {
                block.bound = others;
            }
            beyond = beyond.min(others);
        }
        beyond
    }

    pub fn memory(&self) -> usize {
        self.times.len() * size_of::<Time>() + self.blocks.len() * size_of::<Block>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const LINKS: u32 = 1500;

    proptest! {
        /// A node with many links among others takes what comes before each horizon. It is shown
        /// what a scan of all its links shows, and so is the earliest after it.
        #[test]
        fn the_index_shows_what_a_scan_of_all_links_shows(
            (first, last) in (0..LINKS, 1..=LINKS).prop_map(|(a, b)| (a.min(b - 1), b)),
            windows in prop::collection::vec((prop::collection::vec((0..LINKS, 0u64..100), 0..20), 0u64..60), 1..30),
        ) {
            let mut arrivals = NextArrivals::new(LINKS as usize);
            arrivals.index();
            // What is on the way, by link and time.
            let mut wires: BTreeMap<u32, Vec<Time>> = BTreeMap::new();
            let mut now = 0;
            for (sent, window) in windows {
                for (link, delay) in sent {
                    let wire = wires.entry(link).or_default();
                    let at = wire.last().copied().unwrap_or_default().max(Time(now + delay));
                    if wire.is_empty() {
                        arrivals.decrease_key(link, at);
                    }
                    wire.push(at);
                }
                now += window;
                let horizon = Time(now);
                let (mut shown, mut taken) = (Vec::new(), Vec::new());
                arrivals.each_before(first, last, horizon, |link| shown.push(link));
                let mut beyond = arrivals.take_before(first, last, horizon, |link, at| taken.push((link, at)));
                let all = (first..).zip(arrivals.all(first, last).to_vec());
                prop_assert_eq!(&taken, &all.filter(|h| h.1 < horizon).collect::<Vec<_>>());
                prop_assert_eq!(shown, taken.iter().map(|next| next.0).collect::<Vec<_>>());
                // Other nodes take theirs, too, each at its own time: here half of them.
                for (link, wire) in &mut wires {
                    let own = (first..last).contains(link);
                    if own || link % 2 == 0 {
                        wire.retain(|at| *at >= horizon);
                        let next = wire.first().copied().unwrap_or(Time::MAX);
                        arrivals.postpone(*link, next);
                        if taken.iter().any(|next| next.0 == *link) {
                            arrivals.index_arrival(*link, next);
                            beyond = beyond.min(next);
                        }
                    }
                }
                wires.retain(|_, wire| !wire.is_empty());
                prop_assert_eq!(beyond, arrivals.all(first, last).iter().min().copied().unwrap_or(Time::MAX));
            }
        }
    }
}
