//! The largest value within a window.

use midpath_core::fifo::Fifo;

/// UpdateWindowedMaxFilter. The draft lets implementations choose; this one is exact: it keeps the
/// values that may still become the largest, one of each time, which only fall.
#[derive(Debug, Clone, Default)]
pub struct MaxFilter(Fifo<(u64, f64)>);

impl MaxFilter {
    /// Takes a value at `time`; returns the largest of those younger than `window`.
    pub fn update(&mut self, value: f64, time: u64, window: u64) -> f64 {
        while self.0.back().is_some_and(|last| last.1 <= value) {
            self.0.pop_back();
        }
        // As long as a larger one of its time counts, it does not.
        if self.0.back().is_none_or(|last| last.0 < time) {
            self.0.push((time, value));
        }
        while self.0.front().is_some_and(|first| first.0 + window <= time) {
            self.0.skip(1);
        }
        self.0.front().map_or(value, |first| first.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the definition.
        #[test]
        fn it_is_the_largest_of_the_window(values in proptest::collection::vec((0u64..3, 0u32..50), 1..80), window in 1u64..12) {
            let (mut filter, mut all, mut time) = (MaxFilter::default(), Vec::new(), 0);
            for (step, value) in values {
                time += step;
                all.push((time, f64::from(value)));
                let expected = all.iter().filter(|v| v.0 + window > time).map(|v| v.1).fold(0.0, f64::max);
                prop_assert_eq!(filter.update(f64::from(value), time, window), expected);
            }
        }
    }
}
