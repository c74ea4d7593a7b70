//! A sum over the last second, in constant space: the unit time of invariant (1).

use midpath_core::units::Time;

/// Parts of a second. Ours: a window that is 1 to 2 % short errs in the host's favour by as much.
const PARTS: usize = 64;

/// Sums of what was added during the last second, the oldest 64th of it not counted.
pub type Second = Recent<PARTS>;

/// The same over an eighth more than a second: a host's second is not its edge's.
pub type LongSecond = Recent<{ PARTS + PARTS / 8 }>;

/// Sums of what was added during the last `N` 64ths of a second, the oldest of these not counted.
#[derive(Debug, Clone)]
pub struct Recent<const N: usize> {
    parts: [f64; N],
    sum: f64,
    /// The 64th of a second that is now.
    at: u64,
}

impl<const N: usize> Default for Recent<N> {
    fn default() -> Recent<N> {
        Recent { parts: [0.0; N], sum: 0.0, at: 0 }
    }
}

impl<const N: usize> Recent<N> {
    /// The sum now.
    #[inline]
    pub fn sum(&mut self, now: Time) -> f64 {
        let at = now.0 / (Time::from_secs(1).0 / PARTS as u64);
        if at != self.at {
            for part in (self.at + 1..=at).rev().take(N) {
                self.parts[(part % N as u64) as usize] = 0.0;
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
        self.parts[(self.at % N as u64) as usize] += x;
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
