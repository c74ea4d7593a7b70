//! A set of byte ranges: a receiver's out-of-order data, a sender's SACKed data.

use std::collections::VecDeque;

/// Disjoint, non-touching half-open ranges in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
    total: u64,
}

impl RangeSet {
    /// The empty set.
    pub const fn new() -> RangeSet {
        RangeSet { ranges: VecDeque::new(), total: 0 }
    }
    /// Whether nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// How many separate ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// How many bytes in all.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.total
    }
    /// The ranges in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }
    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }
    /// The highest range.
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }
    /// The range that holds `at`.
    pub fn containing(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.first_beyond(at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }

    /// The first contiguous part of `[from, to)` that is in the set.
    #[inline]
    pub fn overlap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let (a, b) = self.ranges.get(self.first_beyond(from)).copied().filter(|r| r.0 < to)?;
        Some((a.max(from), b.min(to)))
    }

    /// The position of the first range that ends after `at`. Mostly it is at one of the ends, or
    /// there is none.
    #[inline]
    fn first_beyond(&self, at: u64) -> usize {
        let len = self.ranges.len();
        match (self.ranges.front(), self.ranges.back()) {
            (_, None) => 0,
            (_, Some(last)) if last.1 <= at => len,
            (Some(first), _) if first.1 > at => 0,
            _ if self.ranges[len - 2].1 <= at => len - 1,
            _ => self.ranges.partition_point(|r| r.1 <= at),
        }
    }

    /// Adds `[from, to)`; returns how many bytes are new.
    pub fn insert(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        // Ranges i..j touch or overlap the new one and are merged into it.
        let i = if from == 0 { 0 } else { self.first_beyond(from - 1) };
        let mut j = i;
        let (mut lo, mut hi, mut had) = (from, to, 0);
        while let Some(&(a, b)) = self.ranges.get(j) {
            if a > to {
                break;
            }
            (lo, hi, had) = (lo.min(a), hi.max(b), had + (b - a));
            j += 1;
        }
        if j == i {
            self.ranges.insert(i, (lo, hi));
        } else {
            self.ranges[i] = (lo, hi);
            self.ranges.drain(i + 1..j);
        }
        let new = (hi - lo) - had;
        self.total += new;
        debug_assert!(self.is_apart(i), "ranges are in order and do not touch");
        new
    }

    /// Forgets everything below `edge`; returns how many bytes that was.
    pub fn remove_below(&mut self, edge: u64) -> u64 {
        let before = self.total;
        while let Some(r) = self.ranges.front_mut() {
            if r.0 >= edge {
                break;
            }
            let cut = r.1.min(edge) - r.0;
            self.total -= cut;
            if r.1 <= edge {
                self.ranges.pop_front();
            } else {
                r.0 = edge;
                break;
            }
        }
        debug_assert_eq!(self.total == 0, self.ranges.is_empty(), "bytes are those of the ranges");
        before - self.total
    }

    /// Takes `[from, to)` out; returns how many bytes of it were in the set.
    pub fn remove(&mut self, from: u64, to: u64) -> u64 {
        let mut gone = 0;
        let mut i = self.first_beyond(from);
        while let Some(&(a, b)) = self.ranges.get(i).filter(|r| r.0 < to) {
            gone += b.min(to) - a.max(from);
            match (a < from, to < b) {
                (true, true) => {
                    self.ranges[i].1 = from;
                    self.ranges.insert(i + 1, (to, b));
                    i += 1;
                }
                (true, false) => self.ranges[i].1 = from,
                (false, true) => self.ranges[i].0 = to,
                (false, false) => {
                    self.ranges.remove(i);
                    continue;
                }
            }
            i += 1;
        }
        self.total -= gone;
        debug_assert_eq!(self.total == 0, self.ranges.is_empty(), "bytes are those of the ranges");
        gone
    }

    /// Whether the range at a position touches neither neighbour.
    fn is_apart(&self, i: usize) -> bool {
        let (from, to) = self.ranges[i];
        i.checked_sub(1).is_none_or(|before| self.ranges[before].1 < from)
            && self.ranges.get(i + 1).is_none_or(|next| to < next.0)
    }

    /// The parts of `[from, to)` that are not in the set, in order.
    pub fn missing(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut ranges = self.ranges.range(self.first_beyond(from)..);
        let mut at = from;
        std::iter::from_fn(move || {
            while let Some(&(begins, ends)) = ranges.next().filter(|r| r.0 < to) {
                let gap = (at, begins);
                at = ends;
                if gap.0 < gap.1 {
                    return Some(gap);
                }
            }
            let last = (at < to).then_some((at, to));
            at = to;
            last
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn merges_neighbours_and_finds_gaps() {
        let mut s = RangeSet::new();
        assert_eq!(s.insert(10, 20), 10);
        assert_eq!(s.insert(30, 40), 10);
        assert_eq!(s.insert(20, 25), 5);
        assert_eq!(s.iter().collect::<Vec<_>>(), [(10, 25), (30, 40)]);
        assert_eq!(s.missing(0, 40).next(), Some((0, 10)));
        assert_eq!(s.missing(12, 40).next(), Some((25, 30)));
        assert_eq!(s.missing(25, 40).next(), Some((25, 30)));
        assert_eq!(s.missing(33, 40).next(), None);
        assert_eq!(s.containing(24), Some((10, 25)));
        assert_eq!(s.containing(25), None);
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_integers(ops in prop::collection::vec((0u64..60, 1u64..12, any::<bool>()), 1..60)) {
            let (mut s, mut oracle) = (RangeSet::new(), BTreeSet::new());
            for (at, n, cut) in ops {
                let missing: Vec<u64> = s.missing(at, at + n).flat_map(|(a, b)| a..b).collect();
                prop_assert_eq!(missing, (at..at + n).filter(|x| !oracle.contains(x)).collect::<Vec<_>>());
                let held = (at..at + n).skip_while(|x| !oracle.contains(x)).take_while(|x| oracle.contains(x));
                let held: Vec<u64> = held.collect();
                let ends = held.first().map(|first| (*first, first + held.len() as u64));
                prop_assert_eq!(s.overlap(at, at + n), ends);
                if cut && n > 8 {
                    let gone = oracle.iter().filter(|x| **x < at).count() as u64;
                    prop_assert_eq!(s.remove_below(at), gone);
                    oracle.retain(|x| *x >= at);
                } else if cut && n > 4 {
                    let gone = (at..at + n).filter(|x| oracle.remove(x)).count() as u64;
                    prop_assert_eq!(s.remove(at, at + n), gone);
                } else {
                    let new = (at..at + n).filter(|x| oracle.insert(*x)).count() as u64;
                    prop_assert_eq!(s.insert(at, at + n), new);
                }
                prop_assert_eq!(s.bytes(), oracle.len() as u64);
                let flat: Vec<u64> = s.iter().flat_map(|(a, b)| a..b).collect();
                prop_assert_eq!(flat, oracle.iter().copied().collect::<Vec<_>>());
                let r: Vec<_> = s.iter().collect();
                prop_assert!(r.windows(2).all(|w| w[0].1 < w[1].0), "touching ranges stay unmerged: {:?}", r);
            }
        }
    }
}
