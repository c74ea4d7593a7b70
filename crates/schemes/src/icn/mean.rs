//! Moving averages.

/// An EWMA that the first sample sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    value: Option<f64>,
    weight: f64,
}

impl Mean {
    /// An average in which a sample weighs `weight`, from 0 to 1.
    pub fn new(weight: f64) -> Mean {
        Mean { value: None, weight }
    }

    /// Takes a sample in.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.value = Some(self.value.map_or(x, |mean| (1.0 - self.weight) * mean + self.weight * x));
    }

    /// The same with a whole sample below 2⁴⁸, where a sample weighs a power of two from 1/32 on: one that
    /// is the average leaves it as it is, without rounding. Says whether it was another.
    #[inline]
    pub fn add_whole(&mut self, x: f64) -> bool {
        let same = self.value == Some(x);
        if !same {
            self.add(x);
        }
        !same
    }

    /// The average, if there was a sample.
    #[inline]
    pub fn get(self) -> Option<f64> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever has come before: as [`Mean::add`], to the bit.
        #[test]
        fn a_whole_sample_that_is_the_average_changes_nothing(
            samples in prop::collection::vec((prop_oneof![1..9u64, 1..(1u64 << 48)], 1..200u32), 1..20), shift in 1..6i32,
        ) {
            let (mut mean, mut plain) = (Mean::new(0.5f64.powi(shift)), Mean::new(0.5f64.powi(shift)));
            for (x, times) in samples {
                for _ in 0..times {
                    let before = mean;
                    prop_assert_eq!(mean.add_whole(x as f64), before.get() != Some(x as f64));
                    plain.add(x as f64);
                    prop_assert_eq!(mean, plain);
                }
            }
        }
    }

    #[test]
    fn the_first_sample_sets_and_later_ones_weigh() {
        let mut mean = Mean::new(0.25);
        assert_eq!(mean.get(), None);
        mean.add(8.0);
        mean.add(16.0);
        // 0.75 · 8 + 0.25 · 16.
        assert_eq!(mean.get(), Some(10.0));
    }
}
