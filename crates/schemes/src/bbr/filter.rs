//! The largest value within a window.

use midpath_core::fifo::Fifo;

use super::constants::MAX_BW_FILTER_LEN;

/// What [`CycleFilter`] is made for.
const _: () = assert!(MAX_BW_FILTER_LEN == 2);

/// A value and its time, without a gap between them: both filters of a flow are of a few.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
struct Timed {
    value: f64,
    time: u32,
}

/// UpdateWindowedMaxFilter. The draft lets implementations choose; this one is exact: it keeps the
/// values that may still become the largest, one of each time, which only fall.
#[derive(Debug, Clone, Default)]
pub struct MaxFilter(Fifo<Timed>);

impl MaxFilter {
    /// Takes a value at `time`, and forgets those that are not younger than `window`.
    #[inline]
    pub fn update(&mut self, value: f64, time: u32, window: u32) {
        let mut last = self.0.back();
        while last.is_some_and(|last| last.value <= value) {
            self.0.pop_back();
            last = self.0.back();
        }
        // As long as a larger one of its time counts, it does not.
        if last.is_none_or(|last| last.time < time) {
            self.0.push(Timed { value, time });
        }
        while self.0.front().is_some_and(|first| first.time + window <= time) {
            self.0.skip(1);
        }
    }

    /// The largest of those that it has not forgotten; 0 where there are none.
    pub fn largest(&self) -> f64 {
        self.0.front().map_or(0.0, |first| first.value)
    }
}

/// The same where the window is of [`MAX_BW_FILTER_LEN`] cycles, which begin one by one, and values are positive:
/// there are two that may be the largest, the second of which is of the cycle after the first's.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct CycleFilter {
    largest: f64,
    /// 0: there is none.
    second: f64,
    /// Cycles since that of the largest began.
    age: u32,
}

impl CycleFilter {
    /// Takes a value of this cycle, and forgets those that are not younger than the window.
    pub fn update(&mut self, value: f64) {
        debug_assert!(value > 0.0, "{value}");
        let second = self.second;
        *self = match self.age {
            _ if value >= self.largest => CycleFilter { largest: value, second: 0.0, age: 0 },
            // As long as a larger one of its cycle counts, it does not.
            0 => return,
            1 if second > value => return,
            1 => CycleFilter { second: value, ..*self },
            2 if second > value => CycleFilter { largest: second, second: value, age: 1 },
            _ => CycleFilter { largest: value, second: 0.0, age: 0 },
        };
    }

    /// Another cycle begins.
    pub fn advance(&mut self) {
        self.age = self.age.saturating_add(1);
    }

    /// The largest of those that it has not forgotten; 0 where there are none.
    pub fn largest(&self) -> f64 {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By definition.
    fn largest(all: &[(u32, f64)], time: u32, window: u32) -> f64 {
        all.iter().filter(|v| v.0 + window > time).map(|v| v.1).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn it_is_the_largest_of_the_window(values in proptest::collection::vec((0u32..3, 0u32..50), 1..80), window in 1u32..12) {
            let (mut filter, mut all, mut time) = (MaxFilter::default(), Vec::new(), 0);
            for (step, value) in values {
                time += step;
                all.push((time, f64::from(value)));
                filter.update(f64::from(value), time, window);
                prop_assert_eq!(filter.largest(), largest(&all, time, window));
            }
        }

        /// Cycles may bring nothing: what was the largest then stays it.
        #[test]
        fn it_is_the_largest_of_two_cycles(values in proptest::collection::vec((0u32..4, 1u32..9), 1..80)) {
            let (mut filter, mut all, mut time) = (CycleFilter::default(), Vec::new(), 0);
            for (step, value) in values {
                let before = filter.largest();
                (0..step).for_each(|_| filter.advance());
                prop_assert_eq!(filter.largest(), before);
                time += step;
                all.push((time, f64::from(value)));
                filter.update(f64::from(value));
                prop_assert_eq!(filter.largest(), largest(&all, time, MAX_BW_FILTER_LEN));
            }
        }
    }
}
