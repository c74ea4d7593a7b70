//! The time series p(·) of a link's prices: what a packet that was told a price one round trip ago
//! has paid.

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

/// Prices over the longest round-trip time that has been asked for, twice that far back.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Oldest first, from `first` on; what stands before that is forgotten. Since when, the price, and
    /// the least of those that were too close for entries of their own.
    entries: Vec<(Time, f64, f64)>,
    first: usize,
    /// Which one was asked for last.
    last: usize,
    /// How far back is kept.
    span: Time,
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
        let gap = self.gap();
        let close = |entry: &(Time, f64, f64)| now.0 - entry.0.0 < gap;
        match &mut self.entries[self.first..] {
            [.., before, newest] if close(before) => *newest = (now, price, at_most(price, newest.2)),
            kept => {
                let least = match kept {
                    [.., newest] if close(newest) => at_most(price, newest.1),
                    _ => price,
                };
                if kept.len() >= ENTRIES {
                    self.first += 1;
                }
                self.make_room();
                self.entries.push((now, price, least));
            }
        }
        let edge = now.saturating_sub(self.span);
        // The last entry before the edge still holds at the edge.
        while matches!(self.entries[self.first..], [_, next, _, ..] if next.0 <= edge) {
            self.first += 1;
        }
    }

    /// Before the entries would be moved to a larger place, forgets what it no longer needs if that
    /// is as much as it needs.
    #[inline]
    fn make_room(&mut self) {
        if self.entries.len() == self.entries.capacity() && 2 * self.first >= self.entries.len() {
            self.forget();
        }
    }

    #[inline(never)]
    fn forget(&mut self) {
        self.entries.drain(..self.first);
        self.last = self.last.saturating_sub(self.first);
        self.first = 0;
    }

    /// The price at `at`: that of the last change until then; before all that is remembered, the
    /// oldest.
    #[inline]
    pub fn at(&mut self, at: Time, now: Time) -> Option<f64> {
        // Twice the age, so that round-trip times may grow.
        self.span = self.span.max(Time(now.0.saturating_sub(at.0) * 2));
        if self.first >= self.entries.len() {
            return None;
        }
        self.last = self.beside(at).unwrap_or_else(|| self.first + self.search(at).saturating_sub(1));
        Some(self.entries[self.last].1)
    }

    /// The least that may have been told when the price was what was last asked for. Of packets that
    /// come within a 4096th of the span, the last one's price is remembered for all; and a packet
    /// that takes longer onto the links before this one than the one that was told asks for a later
    /// price. The search ends at what is not above `enough`.
    #[inline]
    pub fn least(&self, enough: f64) -> Option<f64> {
        let mut here = self.last;
        let (since, _, mut least) = *self.entries.get(here)?;
        let from = since.0.saturating_sub(LATE * self.gap());
        while least > enough && here > self.first && self.entries[here].0.0 > from {
            here -= 1;
            least = least.min(self.entries[here].1);
        }
        Some(least)
    }

    /// Prices are apart at least this, every second one.
    #[inline]
    fn gap(&self) -> u64 {
        self.span.0 / ENTRIES as u64
    }

    /// Which entry holds at `at`, if that is close to the last one that was asked for: packets of
    /// one path ask one after the other.
    #[inline]
    fn beside(&self, at: Time) -> Option<usize> {
        let mut here = self.last.max(self.first);
        if self.entries.get(here)?.0 > at {
            for _ in 0..NEAR {
                if here == self.first {
                    return Some(here);
                }
                here -= 1;
                if self.entries[here].0 <= at {
                    return Some(here);
                }
            }
            return None;
        }
        for _ in 0..NEAR {
            match self.entries.get(here + 1) {
                Some(next) if next.0 <= at => here += 1,
                _ => return Some(here),
            }
        }
        None
    }

    /// How many entries are not after `at`. Prices come at a rather steady pace, so a guess in
    /// proportion is close; from there, steps that double find the bounds of a short search.
    fn search(&self, at: Time) -> usize {
        let entries = &self.entries[self.first..];
        let newest = entries.len() - 1;
        let (first, last) = (entries[0].0, entries[newest].0);
        if at >= last {
            return newest + 1;
        }
        if at < first {
            return 0;
        }
        let guess = ((at - first).0 as f64 / (last - first).0 as f64 * newest as f64) as usize;
        let (mut low, mut high, mut step) = (guess.min(newest), guess.min(newest), 1);
        while low > 0 && entries[low].0 > at {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < newest && entries[high].0 <= at {
            high = (high + step).min(newest);
            step *= 2;
        }
        while low < high {
            let middle = low.midpoint(high);
            if entries[middle].0 <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
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
}
