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

    /// The average, if there was a sample.
    #[inline]
    pub fn get(self) -> Option<f64> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
