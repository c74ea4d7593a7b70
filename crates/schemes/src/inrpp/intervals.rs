//! Counters of the current and the preceding intervals.

use midpath_core::units::Time;

/// Sums of the last `N` intervals of one length, the one at hand first.
#[derive(Debug, Clone, Copy)]
pub struct Intervals<const N: usize> {
    length: Time,
    /// When the one at hand began.
    since: Time,
    sums: [u64; N],
}

impl<const N: usize> Intervals<N> {
    /// Intervals of this length; nothing has happened.
    pub fn new(length: Time) -> Intervals<N> {
        Intervals { length: length.max(Time(1)), since: Time::ZERO, sums: [0; N] }
    }

    /// The interval at hand is that of `now`. Whether it is a new one.
    pub fn roll(&mut self, now: Time) -> bool {
        let passed = now.saturating_sub(self.since).0 / self.length.0;
        if passed == 0 {
            return false;
        }
        let gone = usize::try_from(passed).map_or(N, |passed| passed.min(N));
        self.sums.rotate_right(gone);
        self.sums[..gone].fill(0);
        self.since = Time(self.since.0 + passed * self.length.0);
        true
    }

    /// Adds to the interval of `now`. Whether that is a new one.
    pub fn add(&mut self, now: Time, amount: u64) -> bool {
        let new = self.roll(now);
        self.sums[0] += amount;
        new
    }

    /// Whether nothing was added in all of them.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sums.iter().all(|sum| *sum == 0)
    }

    /// The sums as they stand at `now`.
    pub fn at(mut self, now: Time) -> [u64; N] {
        self.roll(now);
        self.sums
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.sums = [0; N];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_all_intervals_is_forgotten() {
        let at = |ms| Time::from_ms(ms);
        let mut seen = Intervals::<3>::new(at(100));
        assert!(!seen.add(at(10), 1));
        assert!(seen.add(at(150), 2));
        assert!(seen.add(at(210), 4));
        assert_eq!(seen.at(at(299)), [4, 2, 1]);
        assert_eq!(seen.at(at(300)), [0, 4, 2]);
        assert_eq!(seen.at(at(450)), [0, 0, 4]);
        assert_eq!(seen.at(at(500)), [0; 3]);
        assert_eq!(seen.at(at(1_000_000)), [0; 3]);
        seen.clear();
        assert_eq!(seen.at(at(210)), [0; 3]);
    }
}
