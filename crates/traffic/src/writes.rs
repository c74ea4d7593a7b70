//! What a flow's application writes, and when: `write`, `interval`, `on` and `off` of a `[[flow]]`.

use crate::durations::{Drawn, Duration, duration};
use crate::sizes::{Law, SizeSampler, SizeSpec};
use crate::stream::{Purpose, Seed, Stream, stream};
use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use std::sync::Arc;

/// Bytes of a write.
pub type WriteSize = Drawn<Bytes, SizeSpec>;

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
        let law = |key: &str, time: &Duration| time.law("must be above zero").map_err(|e| e.under(key));
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
    pub fn new(laws: Arc<WriteLaws>, seed: &Seed, flow: u32) -> Writes {
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

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
        Writes::new(laws, &seed.into(), 3)
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
