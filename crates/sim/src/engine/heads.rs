//! When the first packet on each link arrives, and how a node with thousands of links finds the few
//! that bring something.

use std::ops::Range;

use midpath_core::cache::fetch;
use midpath_core::units::Time;

/// Links in a row: so many times lie in a line of the cache.
const ROW: usize = 8;

/// Links in a block, which has a line of rows' bounds.
const BLOCK: usize = ROW * ROW;

/// From more links than this on, a node is looked through by bounds: for few it would save nothing.
pub(crate) const MANY: usize = 4 * BLOCK;

/// For each link, when its first packet arrives; [`Time::MAX`] where it brings none. Those of a
/// node lie side by side.
#[derive(Default)]
pub(super) struct Heads {
    times: Vec<Time>,
    /// No time of the row is before this. Empty until [`Heads::index`].
    rows: Vec<Time>,
    /// No bound of the block's rows is before this.
    blocks: Vec<Time>,
}

#[inline]
fn earliest(times: &[Time]) -> Time {
    times.iter().min().copied().unwrap_or(Time::MAX)
}

/// The pieces of `size` that have any of `range`.
#[inline]
const fn pieces(range: &Range<usize>, size: usize) -> Range<usize> {
    range.start / size..range.end.div_ceil(size)
}

impl Heads {
    /// So many links that bring nothing.
    pub fn new(links: usize) -> Heads {
        Heads { times: vec![Time::MAX; links], ..Heads::default() }
    }

    /// Keeps bounds from now on, for nodes with so many links that looking at all of them is most
    /// of the work.
    pub fn index(&mut self) {
        self.rows = self.times.chunks(ROW).map(earliest).collect();
        self.blocks = self.rows.chunks(ROW).map(earliest).collect();
    }

    #[inline]
    pub fn of(&self, link: u32) -> Time {
        self.times[link as usize]
    }

    /// Those of the links from `first` to before `last`.
    #[inline]
    pub fn all(&self, first: u32, last: u32) -> &[Time] {
        &self.times[first as usize..last as usize]
    }

    /// Has the cache fetch those of the links from `first` to before `last`, if they are not too many
    /// to look at.
    #[inline]
    pub fn fetch(&self, first: u32, last: u32) {
        let all = &self.times[first as usize..last as usize];
        if all.len() <= MANY {
            all.iter().step_by(ROW).for_each(fetch);
        }
    }

    /// The link's first packet arrives at `at` now, which is earlier.
    #[inline]
    pub fn sooner(&mut self, link: u32, at: Time) {
        self.times[link as usize] = at;
        if !self.rows.is_empty() {
            self.lower(link as usize, at);
        }
    }

    #[inline(never)]
    fn lower(&mut self, link: usize, at: Time) {
        let (row, block) = (&mut self.rows[link / ROW], &mut self.blocks[link / BLOCK]);
        (*row, *block) = (at.min(*row), at.min(*block));
    }

    /// The link's first packet arrives at `at` now, which is later. Bounds stay as they are until
    /// [`Heads::earliest_from`].
    #[inline]
    pub fn later(&mut self, link: u32, at: Time) {
        self.times[link as usize] = at;
    }

    /// Shows, in order, the links of a node that bring something before `horizon`.
    #[inline]
    pub fn each_before(&self, first: u32, last: u32, horizon: Time, mut each: impl FnMut(u32, Time)) {
        let links = first as usize..last as usize;
        for block in pieces(&links, BLOCK) {
            if self.blocks[block] >= horizon {
                continue;
            }
            for row in self.rows_of(block) {
                if self.rows[row] >= horizon {
                    continue;
                }
                for link in self.links_of(row) {
                    if self.times[link] < horizon && links.contains(&link) {
                        each(link as u32, self.times[link]);
                    }
                }
            }
        }
    }

    /// When the first packet arrives on any of a node's links, after those before `horizon` have
    /// been taken. Brings the bounds up to date of what is this node's alone.
    pub fn earliest_from(&mut self, first: u32, last: u32, horizon: Time) -> Time {
        let links = first as usize..last as usize;
        let own = links.start.div_ceil(BLOCK)..links.end / BLOCK;
        if own.is_empty() {
            return self.part_from(links, horizon);
        }
        let before = self.part_from(links.start..own.start * BLOCK, horizon);
        let behind = self.part_from(own.end * BLOCK..links.end, horizon);
        let mut found = before.min(behind);
        for block in own {
            // Else nothing was taken from it.
            if self.blocks[block] < horizon {
                self.blocks[block] = self.part_from(block * BLOCK..(block + 1) * BLOCK, horizon);
            }
            found = found.min(self.blocks[block]);
        }
        found
    }

    /// The same of a few links.
    fn part_from(&mut self, links: Range<usize>, horizon: Time) -> Time {
        let own = links.start.div_ceil(ROW)..links.end / ROW;
        if own.is_empty() {
            return earliest(&self.times[links]);
        }
        let (before, behind) = (links.start..own.start * ROW, own.end * ROW..links.end);
        let mut found = earliest(&self.times[before]).min(earliest(&self.times[behind]));
        for row in own {
            if self.rows[row] < horizon {
                self.rows[row] = earliest(&self.times[self.links_of(row)]);
            }
            found = found.min(self.rows[row]);
        }
        found
    }

    #[inline]
    fn rows_of(&self, block: usize) -> Range<usize> {
        block * ROW..((block + 1) * ROW).min(self.rows.len())
    }

    #[inline]
    fn links_of(&self, row: usize) -> Range<usize> {
        row * ROW..((row + 1) * ROW).min(self.times.len())
    }

    pub fn memory(&self) -> usize {
        (self.times.len() + self.rows.len() + self.blocks.len()) * size_of::<Time>()
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
        /// what a look at all its links shows, and so is the earliest after it.
        #[test]
        fn bounds_show_what_a_look_at_all_links_shows(
            (first, last) in (0..LINKS, 1..=LINKS).prop_map(|(a, b)| (a.min(b - 1), b)),
            turns in prop::collection::vec((prop::collection::vec((0..LINKS, 0u64..100), 0..20), 0u64..60), 1..30),
        ) {
            let mut heads = Heads::new(LINKS as usize);
            heads.index();
            // What is on the way, by link and time.
            let mut wires: BTreeMap<u32, Vec<Time>> = BTreeMap::new();
            let mut now = 0;
            for (arrivals, window) in turns {
                for (link, delay) in arrivals {
                    let wire = wires.entry(link).or_default();
                    let at = wire.last().copied().unwrap_or_default().max(Time(now + delay));
                    if wire.is_empty() {
                        heads.sooner(link, at);
                    }
                    wire.push(at);
                }
                now += window;
                let horizon = Time(now);
                let mut shown = Vec::new();
                heads.each_before(first, last, horizon, |link, at| shown.push((link, at)));
                let all = (first..).zip(heads.all(first, last).to_vec());
                prop_assert_eq!(shown, all.filter(|h| h.1 < horizon).collect::<Vec<_>>());
                // Other nodes take theirs, too, and look at no bounds.
                for (link, wire) in &mut wires {
                    wire.retain(|at| *at >= horizon);
                    heads.later(*link, wire.first().copied().unwrap_or(Time::MAX));
                }
                wires.retain(|_, wire| !wire.is_empty());
                let expected = earliest(heads.all(first, last));
                prop_assert_eq!(heads.earliest_from(first, last, horizon), expected);
            }
        }
    }
}
