//! The time series p(·) of a link's prices: what a packet that was told a price one round trip ago
//! has paid.

use std::collections::VecDeque;

use midpath_core::units::Time;

/// Entries at most. Ours: 64 kB a port; a price each for the last 4096 packets, or for every 4096th
/// of the span.
const ENTRIES: usize = 4096;

/// Prices over the longest round-trip time that has been asked for, twice that far back.
#[derive(Debug, Clone, Default)]
pub struct History {
    entries: VecDeque<(Time, f64)>,
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
    #[inline]
    pub fn push(&mut self, now: Time, price: f64) {
        let gap = self.span.0 / ENTRIES as u64;
        match self.entries.len() {
            n if n >= 2 && now.0 - self.entries[n - 2].0.0 < gap => self.entries[n - 1] = (now, price),
            n => {
                if n >= ENTRIES {
                    self.entries.pop_front();
                }
                self.entries.push_back((now, price));
            }
        }
        let edge = now.saturating_sub(self.span);
        // The last entry before the edge still holds at the edge.
        while self.entries.len() > 2 && self.entries[1].0 <= edge {
            self.entries.pop_front();
        }
    }

    /// The price at `at`: that of the last change until then; before all that is remembered, the
    /// oldest.
    #[inline]
    pub fn at(&mut self, at: Time, now: Time) -> Option<f64> {
        // Twice the age, so that round-trip times may grow.
        self.span = self.span.max((now - at) * 2);
        let newest = self.entries.len().checked_sub(1)?;
        let after = self.search(at, newest);
        Some(self.entries[after.saturating_sub(1)].1)
    }

    /// How many entries are not after `at`. Prices come at a rather steady pace, so a guess in
    /// proportion is close; from there, steps that double find the bounds of a short search.
    #[inline]
    fn search(&self, at: Time, newest: usize) -> usize {
        let (first, last) = (self.entries[0].0, self.entries[newest].0);
        if at >= last {
            return newest + 1;
        }
        if at < first {
            return 0;
        }
        let guess = ((at - first).0 as f64 / (last - first).0 as f64 * newest as f64) as usize;
        let (mut low, mut high, mut step) = (guess.min(newest), guess.min(newest), 1);
        while low > 0 && self.entries[low].0 > at {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < newest && self.entries[high].0 <= at {
            high = (high + step).min(newest);
            step *= 2;
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.entries[middle].0 <= at {
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

    #[test]
    fn it_stays_bounded_and_close() {
        let mut history = History::default();
        history.push(Time(0), 0.0);
        history.at(Time(0), Time(10_000_000)); // a span of 2·10^7
        for t in 1..=40_000_000u64 / 100 {
            history.push(Time(100 * t), (100 * t) as f64);
        }
        assert!(history.entries.len() <= ENTRIES);
        let at = 40_000_000 - 10_000_000;
        let price = history.at(Time(at), Time(40_000_000)).unwrap_or_default();
        // Within a 4096th of the span.
        assert!((price - at as f64).abs() <= 2e7 / 4096.0 + 100.0, "{price}");
    }
}
