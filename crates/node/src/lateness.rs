//! Lateness of a thread, needed to interpret real-time results.

use midpath_core::units::Time;

/// How late things were done, in microseconds by powers of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// How often it was below 2^i µs, and not below half of that.
    pub counts: [u64; 24],
    /// All of it together.
    pub sum: Time,
    /// The latest of all.
    pub most: Time,
}

impl Lateness {
    /// Something was done so late.
    pub fn note(&mut self, late: Time) {
        let bits = 64 - (late.as_ns() / 1000).leading_zeros() as usize;
        self.counts[bits.min(self.counts.len() - 1)] += 1;
        self.sum = self.sum.saturating_add(late);
        self.most = self.most.max(late);
    }

    /// The share `q` was no later than this, in microseconds, rounded up to a power of two.
    pub fn quantile_us(&self, q: f64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let mut below = 0;
        let place = self.counts.iter().position(|count| {
            below += count;
            below as f64 >= q * all as f64
        });
        1 << place.unwrap_or(0)
    }

    /// The latest of all, in microseconds.
    pub fn most_us(&self) -> u64 {
        self.most.as_ns() / 1000
    }

    /// What has been counted since `before`; the latest is that of all.
    #[must_use]
    pub fn since(&self, before: &Lateness) -> Lateness {
        let mut since = *self;
        since.counts.iter_mut().zip(before.counts).for_each(|(own, less)| *own -= less);
        since.sum = since.sum.saturating_sub(before.sum);
        since
    }

    /// What both have counted.
    pub fn add(&mut self, other: &Lateness) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, more)| *own += more);
        self.sum = self.sum.saturating_add(other.sum);
        self.most = self.most.max(other.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_was_counted() {
        let mut late = Lateness::default();
        (0..98).for_each(|_| late.note(Time::from_us(40)));
        late.note(Time::from_ms(3));
        late.note(Time::from_secs(1000));
        assert_eq!([0.5, 0.98, 0.99].map(|q| late.quantile_us(q)), [64, 64, 4096]);
        assert_eq!(late.most_us(), 1_000_000_000);
        assert_eq!(late.sum, Time::from_us(98 * 40 + 3000 + 1_000_000_000));
        let before = late;
        late.note(Time::from_us(5));
        let since = late.since(&before);
        assert_eq!((since.sum, since.counts.iter().sum::<u64>()), (Time::from_us(5), 1));
        assert_eq!(Lateness::default().quantile_us(0.99), 1);
    }
}
