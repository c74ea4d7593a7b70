//! The time series p(·) of a link's prices: what a packet with a price of one round trip ago has paid.

use midpath_core::units::Time;

use crate::fcp::equations::at_most;

/// Entries at most. Ours: 96 kB a port; a price each for the last 4096 packets, or for every 4096th
/// of the span.
const ENTRIES: usize = 4096;

/// Prices that are looked at beside the last one that was asked for, before they are searched.
const NEAR: usize = 8;

/// How much later than it was told a packet may ask, in 4096ths of the span: about a 64th of a round
/// trip. Ours: a full packet takes 120 µs onto a link of 100 Mbps, a SYN 8.
const LATE: u64 = 16;

/// A price: since when it holds, what it is, and the least of those that were too close for entries of
/// their own.
type Entry = (Time, f64, f64);

/// Prices over the longest round-trip time that has been asked for, twice that far back.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Oldest first, from `first` on; what stands before that is forgotten.
    entries: Vec<Entry>,
    first: usize,
    /// Which one was asked for last.
    last: usize,
    /// How far back is kept.
    span: Time,
    /// What ended before this is forgotten, too, though it may still have its entry: those go when room is
    /// needed.
    edge: Time,
}

impl History {
    /// Nothing yet; prices will be asked for that are up to `span` old.
    pub fn new(span: Time) -> History {
        History { span, ..History::default() }
    }

    /// How old a price may be asked for, twice over.
    pub fn span(&self) -> Time {
        self.span
    }

    /// The price is `price` from `now` on. Closer than a 4096th of the span, the newer price takes
    /// the older one's place.
    #[inline(always)]
    pub fn push(&mut self, now: Time, price: f64) {
        let close = self.entries.last().is_some_and(|newest| now.0 - newest.0.0 < self.gap());
        if close {
            self.push_close(now, price);
        } else {
            self.append((now, price, price));
        }
        self.edge = self.edge.max(now.saturating_sub(self.span));
    }

    /// The same less than a gap after the newest price.
    #[inline(never)]
    fn push_close(&mut self, now: Time, price: f64) {
        let gap = self.gap();
        match self.entries.last_chunk_mut() {
            Some([before, newest]) if now.0 - before.0.0 < gap => *newest = (now, price, at_most(price, newest.2)),
            _ => {
                let least = self.entries.last().map_or(price, |newest| at_most(price, newest.1));
                self.append((now, price, least));
            }
        }
    }

    #[inline(always)]
    fn append(&mut self, entry: Entry) {
        if self.entries.len() == self.entries.capacity() || self.entries.len() - self.first >= ENTRIES {
            self.make_room();
        }
        self.entries.push(entry);
    }

    /// Sees to it that there is room for one more: before the entries would be moved to a larger place,
    /// forgets what it no longer needs if that is as much as it needs.
    #[inline(never)]
    fn make_room(&mut self) {
        // The last entry before the edge still holds at the edge.
        while matches!(self.entries[self.first..], [_, next, _, ..] if next.0 <= self.edge) {
            self.first += 1;
        }
        if self.entries.len() - self.first >= ENTRIES {
            self.first += 1;
        }
        self.last = self.last.max(self.first);
        if self.entries.len() == self.entries.capacity() && 2 * self.first >= self.entries.len() {
            self.entries.drain(..self.first);
            (self.last, self.first) = (self.last - self.first, 0);
        }
    }

    /// The price at `at`: that of the last change until then; before all that is remembered, the
    /// oldest.
    #[inline(always)]
    pub fn at(&mut self, at: Time, now: Time) -> Option<f64> {
        // Twice the age, so that round-trip times may grow.
        self.span = self.span.max(Time(now.0.saturating_sub(at.0) * 2));
        let at = at.max(self.edge);
        let (mut here, mut entry) = (self.last, *self.entries.get(self.last)?);
        if entry.0 > at {
            return self.sought(at);
        }
        // Packets of one path ask one after the other.
        for _ in 0..NEAR {
            match self.entries.get(here + 1) {
                Some(next) if next.0 <= at => (here, entry) = (here + 1, *next),
                _ => {
                    self.last = here;
                    return Some(entry.1);
                }
            }
        }
        self.sought(at)
    }

    /// The same where the price is not beside the one that was asked for last.
    #[inline(never)]
    fn sought(&mut self, at: Time) -> Option<f64> {
        self.last = self.before(at).unwrap_or_else(|| self.first + self.search(at).saturating_sub(1));
        Some(self.entries[self.last].1)
    }

    /// Which entry holds at `at`, if that is a little before the last one that was asked for.
    fn before(&self, at: Time) -> Option<usize> {
        let from = self.last.saturating_sub(NEAR).max(self.first);
        let near = self.entries.get(from..=self.last)?;
        near.iter().rposition(|entry| entry.0 <= at).map(|i| from + i).filter(|i| *i < self.last)
    }

    /// Whether what was last asked for, the price at `at`, is remembered: else it was the oldest.
    #[inline]
    pub fn found(&self, at: Time) -> bool {
        self.entries.get(self.last).is_some_and(|entry| entry.0 <= at)
    }

    /// The least that may have been told when the price was what was last asked for. Of packets that
    /// come within a 4096th of the span, the last one's price is remembered for all; and a packet
    /// that takes longer onto the links before this one than the one that was told asks for a later
    /// price. The search ends at what is not above `enough`.
    #[inline]
    pub fn least(&self, enough: f64) -> Option<f64> {
        let (since, _, mut least) = *self.entries.get(self.last)?;
        let from = self.edge.max(Time(since.0.saturating_sub(LATE * self.gap())));
        let (mut later, kept) = (since, self.entries.get(self.first..self.last).unwrap_or_default());
        for entry in kept.iter().rev() {
            if least <= enough || later <= from {
                break;
            }
            (least, later) = (at_most(entry.1, least), entry.0);
        }
        Some(least)
    }

    /// Prices are apart at least this, every second one.
    #[inline]
    fn gap(&self) -> u64 {
        self.span.0 / ENTRIES as u64
    }

    /// How many entries are not after `at`.
    fn search(&self, at: Time) -> usize {
        self.entries[self.first..].partition_point(|entry| entry.0 <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_price_is_that_of_the_last_change(gaps in prop::collection::vec(1u64..1000, 1..300), ages in prop::collection::vec(0u64..100_000, 1..20)) {
            let (mut history, mut now, mut all) = (History::default(), 0, Vec::new());
            // Asked for first, so that nothing is thinned out or forgotten.
            history.push(Time(0), 0.0);
            history.span = Time(400_000);
            for (i, gap) in gaps.iter().enumerate() {
                now += 100 * gap;
                history.push(Time(now), i as f64 + 1.0);
                all.push((now, i as f64 + 1.0));
            }
            for age in ages.iter().filter(|a| **a <= now) {
                let at = now - age;
                let expected = all.iter().rev().find(|e| e.0 <= at).map_or(0.0, |e| e.1);
                prop_assert_eq!(history.at(Time(at), Time(now)), Some(expected));
            }
        }
    }

    /// Of three prices the middle one is kept if the outer ones are a 4096th of the span apart.
    #[test]
    fn prices_a_gap_apart_are_kept() {
        for (gap, kept) in [(10, 2.0), (11, 1.0)] {
            let mut history = History::new(Time(gap * ENTRIES as u64));
            for (at, price) in [(0, 1.0), (5, 2.0), (10, 3.0)] {
                history.push(Time(at), price);
            }
            assert_eq!(history.at(Time(7), Time(10)), Some(kept));
        }
    }

    #[test]
    fn it_stays_bounded_and_close() {
        let mut history = History::default();
        history.push(Time(0), 0.0);
        history.at(Time(0), Time(10_000_000)); // a span of 2·10^7
        for t in 1..=40_000_000u64 / 100 {
            history.push(Time(100 * t), (100 * t) as f64);
        }
        assert!(history.entries.len() - history.first <= ENTRIES);
        let at = 40_000_000 - 10_000_000;
        let price = history.at(Time(at), Time(40_000_000)).unwrap_or_default();
        // Within a 4096th of the span.
        assert!((price - at as f64).abs() <= 2e7 / 4096.0 + 100.0, "{price}");
    }

    /// What is remembered, written plainly: prices are thinned out and forgotten as they come.
    #[derive(Default)]
    struct Plain {
        entries: Vec<Entry>,
        span: u64,
        asked: usize,
    }

    impl Plain {
        fn push(&mut self, now: u64, price: f64) {
            let gap = self.span / ENTRIES as u64;
            let close = |entry: &Entry| now - entry.0.0 < gap;
            match self.entries.as_mut_slice() {
                [.., before, newest] if close(before) => *newest = (Time(now), price, price.min(newest.2)),
                kept => {
                    let least = kept.last().filter(|e| close(e)).map_or(price, |newest| price.min(newest.1));
                    if kept.len() >= ENTRIES {
                        self.entries.remove(0);
                    }
                    self.entries.push((Time(now), price, least));
                }
            }
            while self.entries.len() > 2 && self.entries[1].0.0 <= now.saturating_sub(self.span) {
                self.entries.remove(0);
            }
        }

        fn at(&mut self, at: u64, now: u64) -> Option<f64> {
            self.span = self.span.max(2 * (now - at));
            self.asked = self.entries.iter().rposition(|e| e.0.0 <= at).unwrap_or(0);
            self.entries.get(self.asked).map(|e| e.1)
        }

        fn least(&self, enough: f64) -> Option<f64> {
            let (since, _, mut least) = *self.entries.get(self.asked)?;
            let from = since.0.saturating_sub(LATE * (self.span / ENTRIES as u64));
            let mut here = self.asked;
            while least > enough && here > 0 && self.entries[here].0.0 > from {
                here -= 1;
                least = least.min(self.entries[here].1);
            }
            Some(least)
        }
    }

    proptest! {
        /// Prices that come close together, far apart and at once, asked for by paths whose round trips grow.
        #[test]
        fn what_is_kept_too_long_shows_nowhere(
            span in 1u64..100_000,
            gaps in prop::sample::select(vec![2u64, 40, 3_000, 200_000]),
            steps in prop::collection::vec((any::<u64>(), 1u32..50, any::<u64>(), 0u32..60), 1..800),
            repeat in prop::sample::select(vec![1usize, 1, 12]),
        ) {
            let (mut history, mut plain) = (History::new(Time(span)), Plain { span, ..Plain::default() });
            let (mut now, mut longest) = (0, span);
            let all = std::iter::repeat_n(&steps, repeat).flatten();
            for (i, (later, price, age, enough)) in all.enumerate() {
                now += later % gaps;
                history.push(Time(now), f64::from(*price));
                plain.push(now, f64::from(*price));
                // Mostly of one round trip, and some of longer ones than any before.
                longest += if i % 50 == 49 { age % (longest / 4 + 1) } else { 0 };
                let at = now.saturating_sub(if i % 3 == 0 { age % longest } else { longest / 3 });
                prop_assert_eq!(history.at(Time(at), Time(now)), plain.at(at, now));
                let enough = f64::from(*enough);
                prop_assert_eq!(history.least(enough), plain.least(enough));
            }
        }
    }

    /// Where round trips are short, what is remembered takes no more room however long the link runs.
    #[test]
    fn what_is_forgotten_makes_room_for_what_comes() {
        let mut history = History::new(Time(1000));
        (0..1_000_000).for_each(|n| history.push(Time(100 * n), n as f64));
        assert!(history.entries.capacity() <= 64, "{}", history.entries.capacity());
    }
}
