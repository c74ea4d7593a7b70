//! Times of applications: thinking, serving, computing.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sizes::{SizeSampler, SizeSpec};
use crate::stream::Stream;

/// How long something takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DurationSpec {
    /// Always the same.
    Fixed {
        /// How long.
        time: Time,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Time,
    },
    /// Pareto, as of sizes.
    Pareto {
        /// Mean.
        mean: Time,
        /// Tail index, above 1.
        #[schemars(extend("examples" = [1.2]))]
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Mean.
        mean: Time,
        /// Standard deviation of the logarithm, at least 0.
        #[schemars(extend("examples" = [1.0]))]
        sigma: f64,
    },
}

/// A distribution of times that is ready to draw from: the law of sizes, in picoseconds. Without one all are zero.
pub(crate) struct Durations(Option<SizeSampler>);

impl Durations {
    /// That of the key `key`.
    pub fn new(spec: Option<&DurationSpec>, key: &str) -> Result<Durations, SpecError> {
        let Some(spec) = spec else { return Ok(Durations(None)) };
        let picoseconds = |time: Time, name: &str| match time {
            Time::ZERO => {
                Err(SpecError::new(format!("{key}.{name}"), "must be above zero; leave this out for no time"))
            }
            Time(ps) => Ok(Bytes(ps)),
        };
        let law = match *spec {
            DurationSpec::Fixed { time } => SizeSpec::Fixed { size: picoseconds(time, "time")? },
            DurationSpec::Exponential { mean } => SizeSpec::Exponential { mean: picoseconds(mean, "mean")? },
            DurationSpec::Pareto { mean, shape } => SizeSpec::Pareto { mean: picoseconds(mean, "mean")?, shape },
            DurationSpec::LogNormal { mean, sigma } => {
                SizeSpec::LogNormal { mean: Some(picoseconds(mean, "mean")?), median: None, sigma }
            }
        };
        law.sampler("".into()).map(Some).map(Durations).map_err(|e| e.under(key))
    }

    pub fn sample(&self, rng: &mut Stream) -> Time {
        self.0.as_ref().map_or(Time::ZERO, |law| Time(law.sample(rng).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    #[test]
    fn means_are_those_that_were_asked_for() {
        let mean = Time::from_ms(3);
        let kinds = [
            DurationSpec::Fixed { time: mean },
            DurationSpec::Exponential { mean },
            DurationSpec::Pareto { mean, shape: 3.0 },
            DurationSpec::LogNormal { mean, sigma: 0.5 },
        ];
        for kind in kinds {
            let law = Durations::new(Some(&kind), "think_time").expect("valid");
            let mut rng = stream(1, Purpose::ThinkTimes, 0);
            let n = 100_000;
            let sum: f64 = (0..n).map(|_| law.sample(&mut rng).as_secs_f64()).sum();
            // Five standard errors of the widest, whose deviation is its mean.
            assert!((sum / f64::from(n) / 0.003 - 1.0).abs() < 5.0 / f64::from(n).sqrt(), "{kind:?}: {sum}");
        }
    }

    #[test]
    fn errors_name_the_key() {
        let error = |spec| Durations::new(Some(&spec), "think_time").map(drop).expect_err("refused").key;
        assert_eq!(error(DurationSpec::Fixed { time: Time::ZERO }), "think_time.time");
        assert_eq!(error(DurationSpec::Pareto { mean: Time(5), shape: 1.0 }), "think_time.shape");
    }
}
