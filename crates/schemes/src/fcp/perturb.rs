//! Deliberately wrong prices, to test whether they recover (§6.1.2, figure 8).

use midpath_core::rng::{Stream, below};
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

/// When, for how long and by how much every port's price is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Perturbation {
    /// When the first one begins.
    pub from: Time,
    /// Time from the beginning of one to that of the next.
    pub every: Time,
    /// How long each lasts.
    pub lasting: Time,
    /// The largest share by which the price is too high or too low; each perturbation draws its
    /// own.
    pub size: f64,
}

/// One port's perturbations.
#[derive(Debug, Clone, Copy)]
pub struct Perturbed {
    params: Perturbation,
    /// The present one's number, and what it multiplies the price by.
    present: Option<(u64, f64)>,
}

impl Perturbed {
    /// None has begun.
    pub fn new(params: Perturbation) -> Perturbed {
        Perturbed { params, present: None }
    }

    /// What the price is multiplied by at `now`.
    pub fn factor(&mut self, now: Time, rng: &mut Stream) -> f64 {
        let Some(since) = now.0.checked_sub(self.params.from.0) else { return 1.0 };
        let (number, into) = (since / self.params.every.0, since % self.params.every.0);
        if into >= self.params.lasting.0 {
            return 1.0;
        }
        match self.present {
            Some((present, factor)) if present == number => factor,
            _ => {
                // §6.1.2: "off from the correct price by a random fraction".
                let share = below(rng, 1 << 32) as f64 / f64::from(u32::MAX);
                let factor = 1.0 + self.params.size * (2.0 * share - 1.0);
                self.present = Some((number, factor));
                factor
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::rng::{Purpose, stream};

    #[test]
    fn each_perturbation_has_one_factor() {
        let (from, every, lasting) = (Time::from_secs(2), Time::from_secs(1), Time::from_ms(100));
        let mut perturbed = Perturbed::new(Perturbation { from, every, lasting, size: 0.3 });
        let mut rng = stream(1, Purpose::Ports, 0);
        let mut at = |ms| perturbed.factor(Time::from_ms(ms), &mut rng);
        assert_eq!((at(1999), at(2100), at(2999)), (1.0, 1.0, 1.0));
        let (first, same, next) = (at(3000), at(3099), at(4050));
        assert!(first == same && first != next && first != 1.0);
        assert!([first, next].iter().all(|f| (0.7..=1.3).contains(f)));
    }
}
