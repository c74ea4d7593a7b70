//! Cheap counters: no traces, constant memory.

use crate::units::Time;

/// A histogram of durations with at most 6 % relative error per value: 16 buckets per doubling,
/// from 1 ns up.
///
/// Zeros are counted apart. Count, mean and maximum are exact. Of the others the first `ALL` go
/// into buckets one by one; after that every `STRIDE`th stands for as many, for a bucket is a cache
/// miss and a hop has few of those to give away. Memory is taken with the first value above zero,
/// for the doublings between the least and the largest, and a byte for each bucket until one is full: a network has a
/// histogram for each port, and most see few delays.
///
/// Laid out by use: what packets that have not waited touch comes first.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct DelayHistogram {
    zero: u64,
    above: u64,
    sum: u128,
    max: Time,
    /// Counts of one byte each, or of four where they are wide.
    buckets: Box<[u8]>,
    /// The index of the first of the buckets.
    first: u32,
    wide: bool,
}

/// Bytes of a wide count.
const WIDE: usize = size_of::<u32>();

/// Values above zero that are counted one by one.
const ALL: u64 = 8192;
/// Then one in this many. A prime, so that no rhythm of packets falls in step with it.
const STRIDE: u64 = 7;

const SUB_BITS: u32 = 4;
/// The bits of an index that say which bucket of its doubling it is.
const DOUBLING: usize = (1 << SUB_BITS) - 1;
/// Values below 2^10 ps (about 1 ns) share the first bucket.
const FLOOR_BITS: u32 = 10;

impl DelayHistogram {
    #[inline]
    fn index(ps: u64) -> usize {
        let v = (ps >> FLOOR_BITS) | 1;
        let exp = 63 - v.leading_zeros();
        let sub = if exp >= SUB_BITS { (v >> (exp - SUB_BITS)) & 15 } else { (v << (SUB_BITS - exp)) & 15 };
        ((exp << SUB_BITS) | sub as u32) as usize
    }

    /// The middle of a bucket, in picoseconds.
    fn value(index: usize) -> f64 {
        let (exp, sub) = ((index >> SUB_BITS) as i32, (index & 15) as f64);
        2f64.powi(exp) * (1.0 + (sub + 0.5) / 16.0) * f64::from(1 << FLOOR_BITS)
    }

    /// Counts one duration. For each hop: a call costs 15 instructions.
    #[inline(always)]
    pub fn add(&mut self, t: Time) {
        if t.is_zero() {
            self.zero += 1;
            return;
        }
        self.above += 1;
        self.sum += u128::from(t.0);
        self.max = self.max.max(t);
        if self.above <= ALL {
            self.put(t, 1);
        } else if self.above.is_multiple_of(STRIDE) {
            self.put(t, STRIDE as u32);
        }
    }

    #[inline]
    fn put(&mut self, t: Time, weight: u32) {
        let i = Self::index(t.0);
        // What lies before the first bucket is far beyond the last.
        if !self.count_up(i.wrapping_sub(self.first as usize), weight) {
            self.make_room(i, weight);
        }
    }

    /// Whether there is such a bucket, and room in it.
    #[inline]
    fn count_up(&mut self, at: usize, weight: u32) -> bool {
        if self.wide {
            let bucket = self.buckets.as_chunks_mut().0.get_mut(at);
            bucket.map(|n| *n = u32::from_le_bytes(*n).saturating_add(weight).to_le_bytes()).is_some()
        } else {
            let sum = self.buckets.get(at).and_then(|n| n.checked_add(u8::try_from(weight).ok()?));
            sum.map(|sum| self.buckets[at] = sum).is_some()
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, i: usize, weight: u32) {
        if i.wrapping_sub(self.first as usize) >= self.len() {
            self.widen(i, i + 1);
        }
        let at = i - self.first as usize;
        if !self.count_up(at, weight) {
            self.make_wide();
            self.count_up(at, weight);
        }
    }

    fn make_wide(&mut self) {
        let bytes = self.buckets.iter().flat_map(|n| u32::from(*n).to_le_bytes());
        (self.buckets, self.wide) = (bytes.collect(), true);
    }

    /// Buckets.
    fn len(&self) -> usize {
        self.buckets.len() / self.width()
    }

    /// Bytes of a count.
    fn width(&self) -> usize {
        if self.wide { WIDE } else { 1 }
    }

    /// Makes room for the buckets from `from` to before `to`, by whole doublings.
    #[cold]
    fn widen(&mut self, from: usize, to: usize) {
        let (mut from, mut to) = (from & !DOUBLING, (to + DOUBLING) & !DOUBLING);
        let own = self.first as usize;
        if !self.buckets.is_empty() {
            (from, to) = (from.min(own), to.max(own + self.len()));
        }
        let each = self.width();
        let mut wider = vec![0; (to - from) * each].into_boxed_slice();
        if let Some(same) = wider.get_mut(own.wrapping_sub(from).wrapping_mul(each)..) {
            same[..self.buckets.len()].copy_from_slice(&self.buckets);
        }
        (self.first, self.buckets) = (from as u32, wider);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.zero + self.above
    }
    /// The largest, exactly.
    pub fn max(&self) -> Time {
        self.max
    }
    /// The exact mean in seconds; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / 1e12 / self.count() as f64)
    }
    /// The `q`-quantile in seconds to within a bucket; `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count() == 0 {
            return None;
        }
        let rank = ((self.count() as f64 * q).ceil() as u64).clamp(1, self.count());
        if rank <= self.zero {
            return Some(0.0);
        }
        let found = match self.wide {
            false => self.find(rank - self.zero, &self.buckets, |n| u64::from(*n)),
            true => self.find(rank - self.zero, self.buckets.as_chunks().0, |n| u64::from(u32::from_le_bytes(*n))),
        };
        Some(found.map_or(self.max.as_secs_f64(), |i| (Self::value(i) / 1e12).min(self.max.as_secs_f64())))
    }

    /// The bucket of the value of this rank among those above zero: doubling by doubling.
    fn find<T>(&self, rank: u64, counts: &[T], count: impl Fn(&T) -> u64 + Copy) -> Option<usize> {
        // In the weights of the buckets.
        let weight: u64 = counts.iter().map(count).sum();
        let rank = (rank as f64 * weight as f64 / self.above as f64).ceil() as u64;
        let (mut first, mut below) = (self.first as usize, 0);
        for doubling in counts.chunks(DOUBLING + 1) {
            let here: u64 = doubling.iter().map(count).sum();
            if below + here >= rank {
                let reaches = |n: &T| {
                    below += count(n);
                    below >= rank
                };
                return doubling.iter().position(reaches).map(|i| first + i);
            }
            (first, below) = (first + doubling.len(), below + here);
        }
        None
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &DelayHistogram) {
        self.zero += other.zero;
        self.above += other.above;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        if other.buckets.is_empty() {
            return;
        }
        let (from, to) = (other.first as usize, other.first as usize + other.len());
        if self.buckets.is_empty() || from < self.first as usize || to > self.first as usize + self.len() {
            self.widen(from, to);
        }
        if !self.wide {
            self.make_wide();
        }
        let own = self.buckets.as_chunks_mut().0[from - self.first as usize..].iter_mut();
        let add = |(own, n): (&mut [u8; WIDE], u32)| *own = u32::from_le_bytes(*own).saturating_add(n).to_le_bytes();
        match other.wide {
            false => own.zip(other.buckets.iter().map(|n| u32::from(*n))).for_each(add),
            true => own.zip(other.buckets.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n))).for_each(add),
        }
    }
}

/// What one port has done. What every packet touches comes first, then what those touch that have
/// waited.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct PortCounters {
    /// Packets put onto the wire.
    pub packets: u64,
    /// Bytes put onto the wire.
    pub bytes: u64,
    /// Sojourn times: from being routed here to starting onto the wire.
    pub delay: DelayHistogram,
    /// Byte-picoseconds waited: the time integral of the queue, by Little's law.
    pub waited: u128,
    /// Most bytes that ever waited.
    pub max_bytes: u64,
    /// Packets marked CE here.
    pub marks: u64,
    /// Packets whose payload was cut off here.
    pub trims: u64,
    /// Packets refused for want of room.
    pub drops_queue: u64,
    /// Packets chosen by active queue management.
    pub drops_aqm: u64,
    /// Packets lost to faults.
    pub drops_fault: u64,
    /// Packets refused by a scheme's policy.
    pub drops_policy: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_do_not_go_back() {
        let mut last = 0;
        for e in 0..44 {
            for ps in [1u64 << e, (1 << e) + (1 << e) / 3, (1 << e) + (1 << e) / 2] {
                let i = DelayHistogram::index(ps);
                assert!(i >= last, "{ps}: {i} < {last}");
                last = i;
            }
        }
    }

    #[test]
    fn sampled_quantiles_stay_close() {
        let mut h = DelayHistogram::default();
        let n = 100_000u64;
        (0..n).for_each(|i| h.add(Time(1_000_000 + (i * 7_919 % n) * 1_000)));
        (0..n).for_each(|_| h.add(Time::ZERO));
        assert_eq!((h.count(), h.max()), (2 * n, Time(1_000_000 + (n - 1) * 1_000)));
        for q in [0.6, 0.75, 0.9, 0.99] {
            let truth = (1e6 + (q - 0.5) * 2.0 * n as f64 * 1e3) / 1e12;
            let got = h.quantile(q).unwrap();
            assert!((got / truth - 1.0).abs() < 0.08, "{q}: {got} against {truth}");
        }
        assert_eq!(h.quantile(0.5), Some(0.0));
    }

    proptest! {
        /// Held to one that has all buckets from the start, and counts that are never full.
        #[test]
        fn buckets_grow_either_way_and_merge(
            v in prop::collection::vec(0u32..44, 0..60), w in prop::collection::vec(0u32..44, 0..60), often in 1usize..300,
        ) {
            let spread = |shifts: &[u32]| -> Vec<u64> { shifts.iter().map(|s| (1u64 << s) + (3 << s) / 7).collect() };
            let (v, w) = (spread(&v), spread(&w));
            // One of them more often than a byte can say.
            let v: Vec<u64> = v.iter().copied().chain(v.last().map(|last| vec![*last; often]).into_iter().flatten()).collect();
            let (mut a, mut b) = (DelayHistogram::default(), DelayHistogram::default());
            v.iter().for_each(|x| a.add(Time(*x)));
            w.iter().for_each(|x| b.add(Time(*x)));
            a.merge(&b);
            let mut all = vec![0u32; DelayHistogram::index(u64::MAX) + 1];
            v.iter().chain(&w).for_each(|x| all[DelayHistogram::index(*x)] += 1);
            let mut grown = vec![0u32; a.first as usize];
            grown.extend(match a.wide {
                false => a.buckets.iter().map(|n| u32::from(*n)).collect::<Vec<_>>(),
                true => a.buckets.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect(),
            });
            prop_assert_eq!(a.first % 16, 0);
            prop_assert!(grown.len() <= all.len());
            grown.resize(all.len(), 0);
            prop_assert_eq!(grown, all);
        }

        #[test]
        fn quantiles_are_within_a_bucket_of_the_truth(mut v in prop::collection::vec(1u64..1_000_000_000_000, 1..300), q in 0.0..1.0f64) {
            let mut h = DelayHistogram::default();
            v.iter().for_each(|x| h.add(Time(*x)));
            v.sort_unstable();
            let rank = ((v.len() as f64 * q).ceil() as usize).clamp(1, v.len());
            let truth = v[rank - 1] as f64 / 1e12;
            let got = h.quantile(q).unwrap();
            prop_assert!((got - truth).abs() <= 0.07 * truth + 2e-9, "{got} against {truth}");
            let mean = v.iter().sum::<u64>() as f64 / v.len() as f64 / 1e12;
            prop_assert!((h.mean().unwrap() - mean).abs() < 1e-9);
        }
    }
}
