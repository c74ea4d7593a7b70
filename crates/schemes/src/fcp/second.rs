//! A sum over the last second, in constant space: the unit time of invariant (1).

use midpath_core::units::Time;

/// Parts of the second. Ours: a window that is 1 to 2 % short errs in the host's favour by as much.
const PARTS: u64 = 64;

/// Sums of what was added during the last second, the oldest 64th of it not counted.
#[derive(Debug, Clone)]
pub struct Second {
    parts: [f64; PARTS as usize],
    sum: f64,
    /// The 64th of a second that is now.
    at: u64,
}

impl Default for Second {
    fn default() -> Second {
        Second { parts: [0.0; PARTS as usize], sum: 0.0, at: 0 }
    }
}

impl Second {
    /// The sum now.
    #[inline]
    pub fn sum(&mut self, now: Time) -> f64 {
        let at = now.0 / (Time::from_secs(1).0 / PARTS);
        if at != self.at {
            for part in (self.at + 1..=at).rev().take(PARTS as usize) {
                self.parts[(part % PARTS) as usize] = 0.0;
            }
            self.at = at;
            // Anew, so that nothing is left of what was large.
            self.sum = self.parts.iter().sum();
        }
        self.sum
    }

    /// Adds `x`.
    #[inline]
    pub fn add(&mut self, now: Time, x: f64) {
        self.sum(now);
        self.parts[(self.at % PARTS) as usize] += x;
        self.sum += x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_sum_over_a_second(steps in prop::collection::vec((0u64..3_000, 0u32..1000), 1..200)) {
            let (mut second, mut now, mut all) = (Second::default(), 0, Vec::new());
            for (ms, x) in steps {
                now += ms;
                second.add(Time::from_ms(now), x.into());
                all.push((now, x));
                let over = |ms: f64| all.iter().filter(|e| (now - e.0) as f64 <= ms).map(|e| f64::from(e.1)).sum::<f64>();
                let sum = second.sum(Time::from_ms(now));
                prop_assert!(over(63.0 * 1000.0 / 64.0) <= sum && sum <= over(1000.0), "{sum}");
            }
        }
    }
}
