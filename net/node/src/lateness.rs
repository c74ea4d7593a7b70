//! Lateness of a thread, needed to interpret real-time results.

use midpath_core::units::Time;

/// Buckets for each doubling, so that one is an eighth wide at most, and doublings: eight seconds.
const PARTS: usize = 8;
const BUCKETS: usize = PARTS * 21;
/// Doublings from a microsecond on, for who wants no more: below 2^i µs, and not below half of that.
pub const DOUBLINGS: usize = 24;

/// How late things were done, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    /// The last one has all that was later.
    counts: [u64; BUCKETS],
    /// All of it together.
    pub sum: Time,
    /// The latest of all.
    most: Time,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: [0; BUCKETS], sum: Time::ZERO, most: Time::ZERO }
    }
}

/// The bucket of so many microseconds. The first eight are one wide.
fn bucket(us: u64) -> usize {
    let doubling = (us | 1).ilog2() as usize;
    let place = if us < PARTS as u64 { us as usize } else { PARTS * (doubling - 3) + (us >> (doubling - 3)) as usize };
    place.min(BUCKETS - 1)
}

/// From how many microseconds on a bucket counts.
fn lower(bucket: usize) -> u64 {
    let doubling = (bucket / PARTS).saturating_sub(1);
    ((bucket - PARTS * doubling) as u64) << doubling
}

impl Lateness {
    /// Something was done so late.
    pub fn note(&mut self, late: Time) {
        self.counts[bucket(late.as_ns() / 1000)] += 1;
        self.sum = self.sum.saturating_add(late);
        self.most = self.most.max(late);
    }

    /// The share `q` was no later than this, in microseconds, an eighth too much at most; none if nothing was done.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let wanted = ((self.counts.iter().sum::<u64>() as f64 * q).ceil() as u64).max(1);
        let mut below = 0;
        let place = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        })?;
        Some(if place == BUCKETS - 1 { self.most_us() } else { lower(place + 1) })
    }

    /// The latest of all, in microseconds.
    pub fn most_us(&self) -> u64 {
        self.most.as_ns() / 1000
    }

    /// Buckets that count something: from how many microseconds on, and how many.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = self.counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        all.map(|(place, count)| (lower(place), count))
    }

    /// By powers of two; the last one has all that was later.
    pub fn doublings(&self) -> [u64; DOUBLINGS] {
        let mut doublings = [0; DOUBLINGS];
        for (from, count) in self.filled() {
            let bits = 64 - from.leading_zeros() as usize;
            doublings[bits.min(DOUBLINGS - 1)] += count;
        }
        doublings
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
        assert_eq!(late.quantile_us(0.99), None);
        (0..98).for_each(|_| late.note(Time::from_us(40)));
        late.note(Time::from_ms(3));
        late.note(Time::from_secs(1000));
        assert_eq!([0.5, 0.98, 0.99, 1.0].map(|q| late.quantile_us(q)), [44, 44, 3072, 1_000_000_000].map(Some));
        assert_eq!(late.most_us(), 1_000_000_000);
        assert_eq!(late.sum, Time::from_us(98 * 40 + 3000 + 1_000_000_000));
        assert_eq!(late.filled().take(2).collect::<Vec<_>>(), [(40, 98), (2816, 1)]);
        let doublings = late.doublings();
        assert_eq!([6, 12, DOUBLINGS - 1].map(|i| doublings[i]), [98, 1, 1]);
        let before = late;
        late.note(Time::from_us(5));
        let since = late.since(&before);
        assert_eq!((since.sum, since.filled().collect::<Vec<_>>()), (Time::from_us(5), vec![(5, 1)]));
    }

    #[test]
    fn each_bucket_begins_where_the_one_before_ends_and_is_an_eighth_wide_at_most() {
        for place in 0..BUCKETS - 1 {
            let (from, to) = (lower(place), lower(place + 1));
            assert!(from < to && (to - from == 1 || 8 * (to - from) <= from), "{place}: {from} to {to}");
            assert_eq!((bucket(from), bucket(to - 1)), (place, place), "{from} to {to}");
        }
    }
}
