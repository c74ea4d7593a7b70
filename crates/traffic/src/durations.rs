//! Times of applications: thinking, serving, computing, between writes.

use std::marker::PhantomData;

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use rand::Rng;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::sizes::{Law, exponential, log_normal, pareto};

/// How long something takes, as sizes are drawn. Drawn times are at least a picosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DurationSpec {
    /// Always the same.
    Fixed {
        /// Time.
        time: Time,
    },
    /// Exponential.
    Exponential {
        /// Mean time.
        mean: Time,
    },
    /// Pareto.
    Pareto {
        /// Mean time.
        mean: Time,
        /// Tail index, above 1.
        #[schemars(extend("examples" = [1.2]))]
        shape: f64,
    },
    /// Log-normal. Exactly one of `mean` and `median`.
    LogNormal {
        /// Mean time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Time>,
        /// Median time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median: Option<Time>,
        /// Standard deviation of the logarithm, at least 0.
        #[schemars(extend("examples" = [1.0]))]
        sigma: f64,
    },
}

/// A constant such as `"20 ms"`, or a table with a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Drawn<Q, D> {
    /// Always the same.
    Constant(Q),
    /// Drawn anew each time.
    Law(D),
}

// By what is written, so that errors are those of the one that was meant.
impl<'de, Q: Deserialize<'de>, D: Deserialize<'de>> Deserialize<'de> for Drawn<Q, D> {
    fn deserialize<R: Deserializer<'de>>(reader: R) -> Result<Drawn<Q, D>, R::Error> {
        struct Either<Q, D>(PhantomData<(Q, D)>);
        impl<'de, Q: Deserialize<'de>, D: Deserialize<'de>> Visitor<'de> for Either<Q, D> {
            type Value = Drawn<Q, D>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a quantity, or a table with the `kind` of a distribution")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Q::deserialize(de::value::StrDeserializer::new(text)).map(Drawn::Constant)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                Q::deserialize(de::value::I64Deserializer::new(number)).map(Drawn::Constant)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                Q::deserialize(de::value::U64Deserializer::new(number)).map(Drawn::Constant)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                Q::deserialize(de::value::F64Deserializer::new(number)).map(Drawn::Constant)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                D::deserialize(MapAccessDeserializer::new(map)).map(Drawn::Law)
            }
        }
        reader.deserialize_any(Either(PhantomData))
    }
}

/// A duration.
pub type Duration = Drawn<Time, DurationSpec>;

impl Duration {
    /// The distribution in picoseconds, after checking. Keys of errors are relative to this; `zero` is said of a time
    /// that is none.
    pub(crate) fn law(&self, zero: &str) -> Result<Law, SpecError> {
        let ps = |time: Time, key: &str| match time {
            Time::ZERO => Err(SpecError::new(key, zero)),
            time => Ok(time.0 as f64),
        };
        match self {
            Drawn::Constant(time) => ps(*time, "").map(Law::Fixed),
            Drawn::Law(DurationSpec::Fixed { time }) => ps(*time, "time").map(Law::Fixed),
            Drawn::Law(DurationSpec::Exponential { mean }) => exponential(ps(*mean, "mean")?).map(|(law, _)| law),
            Drawn::Law(DurationSpec::Pareto { mean, shape }) => pareto(ps(*mean, "mean")?, *shape).map(|(law, _)| law),
            Drawn::Law(DurationSpec::LogNormal { mean, median, sigma }) => {
                let [mean, median] = [(mean, "mean"), (median, "median")].map(|(t, key)| t.map(|t| ps(t, key)));
                log_normal(mean.transpose()?, median.transpose()?, *sigma).map(|(law, _)| law)
            }
        }
    }
}

/// Draws a duration.
pub(crate) fn duration(law: &Law, rng: &mut impl Rng) -> Time {
    Time((law.sample(rng).round() as u64).max(1))
}

/// A distribution of times that is ready to draw from. Without one all are zero.
pub(crate) struct Durations(Option<Law>);

impl Durations {
    /// That of the key `key`.
    pub fn new(spec: Option<&Duration>, key: &str) -> Result<Durations, SpecError> {
        let law = spec.map(|spec| spec.law("must be above zero; leave this out for no time"));
        law.transpose().map(Durations).map_err(|e| e.under(key))
    }

    pub fn sample(&self, rng: &mut impl Rng) -> Time {
        self.0.as_ref().map_or(Time::ZERO, |law| duration(law, rng))
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
            DurationSpec::LogNormal { mean: Some(mean), median: None, sigma: 0.5 },
        ];
        for kind in kinds.map(Drawn::Law) {
            let law = Durations::new(Some(&kind), "think_time").expect("valid");
            let mut rng = stream(&1.into(), Purpose::ThinkTimes, 0);
            let n = 100_000;
            let sum: f64 = (0..n).map(|_| law.sample(&mut rng).as_secs_f64()).sum();
            // Five standard errors of the widest, whose deviation is its mean.
            assert!((sum / f64::from(n) / 0.003 - 1.0).abs() < 5.0 / f64::from(n).sqrt(), "{kind:?}: {sum}");
        }
    }

    #[test]
    fn errors_name_the_key() {
        let error = |spec| Durations::new(Some(&Drawn::Law(spec)), "think_time").map(drop).expect_err("refused").key;
        assert_eq!(error(DurationSpec::Fixed { time: Time::ZERO }), "think_time.time");
        assert_eq!(error(DurationSpec::Pareto { mean: Time(5), shape: 1.0 }), "think_time.shape");
    }
}
