//! What a flow's application writes, and when: `write`, `interval`, `on` and `off` of a `[[flow]]`.

use crate::sizes::{Law, SizeSampler, SizeSpec, exponential, log_normal, pareto};
use crate::stream::{Purpose, Stream, stream};
use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use rand::Rng;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::sync::Arc;

/// How long something takes. Drawn times are at least a picosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TimeSpec {
    /// Exponential.
    Exponential {
        /// Mean time.
        mean: Time,
    },
    /// Pareto: P(time > x) = (x_m / x)^shape, with x_m = mean · (shape − 1) / shape.
    Pareto {
        /// Mean time.
        mean: Time,
        /// Tail index, above 1; infinite variance below 2.
        #[schemars(extend("examples" = [1.2]))]
        shape: f64,
    },
    /// Log-normal: ln(time) is normal with deviation `sigma`. Exactly one of `mean` and `median`.
    LogNormal {
        /// Mean time, exp(µ + sigma²/2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Time>,
        /// Median time, exp(µ).
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

/// Bytes of a write.
pub type WriteSize = Drawn<Bytes, SizeSpec>;
/// A duration.
pub type Duration = Drawn<Time, TimeSpec>;

impl WriteSize {
    fn sampler(&self, files: Files<'_>) -> Result<SizeSampler, SpecError> {
        match self {
            Drawn::Constant(size) => {
                SizeSpec::Fixed { size: *size }.sampler(files).map_err(|e| SpecError::new("", e.message))
            }
            Drawn::Law(law) => law.sampler(files),
        }
    }
}

impl Duration {
    /// The distribution, after checking. Keys of errors are relative to the table.
    fn law(&self) -> Result<Law, SpecError> {
        let ps = |time: Time, key| match time {
            Time::ZERO => Err(SpecError::new(key, "must be above zero")),
            time => Ok(time.0 as f64),
        };
        match self {
            Drawn::Constant(time) => ps(*time, "").map(Law::Fixed),
            Drawn::Law(TimeSpec::Exponential { mean }) => exponential(ps(*mean, "mean")?).map(|(law, _)| law),
            Drawn::Law(TimeSpec::Pareto { mean, shape }) => pareto(ps(*mean, "mean")?, *shape).map(|(law, _)| law),
            Drawn::Law(TimeSpec::LogNormal { mean, median, sigma }) => {
                let [mean, median] = [(mean, "mean"), (median, "median")].map(|(t, key)| t.map(|t| ps(t, key)));
                log_normal(mean.transpose()?, median.transpose()?, *sigma).map(|(law, _)| law)
            }
        }
    }
}

/// What an application writes, ready to draw from.
#[derive(Debug)]
pub struct WriteLaws {
    size: SizeSampler,
    interval: Law,
    /// How long it is on and off.
    periods: Option<(Law, Law)>,
}

/// Each entry's are its own.
impl PartialEq for WriteLaws {
    fn eq(&self, other: &WriteLaws) -> bool {
        std::ptr::eq(self, other)
    }
}

impl WriteLaws {
    /// What these keys of a flow say; `None` without `write`.
    pub(crate) fn of(
        write: Option<&WriteSize>,
        [interval, on, off]: [Option<&Duration>; 3],
        files: Files<'_>,
    ) -> Result<Option<Arc<WriteLaws>>, SpecError> {
        let law = |key: &str, time: &Duration| time.law().map_err(|e| e.under(key));
        let (size, interval) = match (write, interval) {
            (Some(size), Some(interval)) => (size, interval),
            (Some(_), None) => return Err(SpecError::new("write", "needs an `interval`, the time between writes")),
            (None, Some(_)) => return Err(SpecError::new("interval", "needs a `write`, the bytes of each write")),
            (None, None) => {
                let given = [("on", on), ("off", off)].into_iter().find(|(_, given)| given.is_some());
                let message = "applies to an application that writes; give `write` and `interval`, too";
                return given.map_or(Ok(None), |(key, _)| Err(SpecError::new(key, message)));
            }
        };
        let periods = match (on, off) {
            (None, None) => None,
            (Some(on), Some(off)) => Some((law("on", on)?, law("off", off)?)),
            (Some(_), None) => return Err(SpecError::new("on", "needs `off`, the time between on periods")),
            (None, Some(_)) => return Err(SpecError::new("off", "needs `on`, how long writes go on")),
        };
        let size = size.sampler(files).map_err(|e| e.under("write"))?;
        Ok(Some(Arc::new(WriteLaws { size, interval: law("interval", interval)?, periods })))
    }
}

/// The writes of one flow, in order: when after its start, and how many bytes. It begins with an on period and a write.
#[derive(Debug)]
pub struct Writes {
    laws: Arc<WriteLaws>,
    sizes: Stream,
    times: Stream,
    /// When the next write is.
    at: Time,
    /// When the on period ends.
    until: Time,
}

impl Writes {
    /// Those of flow number `flow` under the run's `seed`.
    pub fn new(laws: Arc<WriteLaws>, seed: u64, flow: u32) -> Writes {
        let of = |purpose| stream(seed, purpose, flow as usize);
        let (sizes, mut times) = (of(Purpose::WriteSizes), of(Purpose::WriteTimes));
        let until = laws.periods.as_ref().map_or(Time::MAX, |(on, _)| duration(on, &mut times));
        Writes { laws, sizes, times, at: Time::ZERO, until }
    }
}

impl Iterator for Writes {
    type Item = (Time, Bytes);
    fn next(&mut self) -> Option<(Time, Bytes)> {
        let write = (self.at, self.laws.size.sample(&mut self.sizes));
        self.at = self.at.saturating_add(duration(&self.laws.interval, &mut self.times));
        if let Some((on, off)) = self.laws.periods.as_ref().filter(|_| self.at >= self.until) {
            self.at = self.until.saturating_add(duration(off, &mut self.times));
            self.until = self.at.saturating_add(duration(on, &mut self.times));
        }
        Some(write)
    }
}

fn duration(law: &Law, rng: &mut impl Rng) -> Time {
    Time((law.sample(rng).round() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(keys: &str, seed: u64) -> Writes {
        #[derive(Deserialize)]
        struct Keys {
            write: WriteSize,
            interval: Duration,
            on: Option<Duration>,
            off: Option<Duration>,
        }
        let keys: Keys = serde_json::from_str(keys).expect("keys");
        let times = [Some(&keys.interval), keys.on.as_ref(), keys.off.as_ref()];
        let laws = WriteLaws::of(Some(&keys.write), times, Files::from(".")).expect("valid").expect("writes");
        Writes::new(laws, seed, 3)
    }

    #[test]
    fn constant_periods_have_the_writes_that_fit() {
        let keys = r#"{"write": "160 B", "interval": "20 ms", "on": "50 ms", "off": "100 ms"}"#;
        let times: Vec<u64> = drawn(keys, 1).take(7).map(|(at, _)| at.0 / 1_000_000_000).collect();
        assert_eq!(times, [0, 20, 40, 150, 170, 190, 300]);
        assert!(drawn(keys, 1).take(7).all(|(_, size)| size == Bytes(160)));
    }

    /// The mean of n exponential times lies within four standard errors, and streams are of the seed.
    #[test]
    fn drawn_times_and_sizes_have_their_means() {
        let keys = r#"{"write": {"kind": "exponential", "mean": "1 kB"}, "interval": {"kind": "exponential", "mean": "10 ms"}}"#;
        let n = 40_000;
        let writes: Vec<_> = drawn(keys, 7).take(n).collect();
        let bound = 4.0 / (n as f64).sqrt();
        let mean = writes[n - 1].0.as_secs_f64() / n as f64;
        assert!((mean / 0.01 - 1.0).abs() < bound, "{mean}");
        let bytes = writes.iter().map(|(_, size)| size.0).sum::<u64>() as f64 / n as f64;
        assert!((bytes / 1000.0 - 1.0).abs() < bound, "{bytes}");
        assert!(writes.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_ne!(writes[..9], drawn(keys, 8).take(9).collect::<Vec<_>>()[..]);
    }
}
