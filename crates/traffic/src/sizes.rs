//! Flow sizes.

use crate::cdf::EmpiricalCdf;
use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp, LogNormal, Pareto};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How large flows are. Drawn sizes are rounded to whole bytes, at least one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizeSpec {
    /// All the same.
    Fixed {
        /// Payload of each flow.
        size: Bytes,
    },
    /// Pareto: P(size > x) = (x_m / x)^shape, with x_m = mean · (shape − 1) / shape.
    Pareto {
        /// Mean size.
        mean: Bytes,
        /// Tail index, above 1; infinite variance below 2.
        #[schemars(extend("examples" = [1.2]))]
        shape: f64,
    },
    /// Pareto cut off at both ends: F(x) = (1 − (min/x)^shape) / (1 − (min/max)^shape).
    BoundedPareto {
        /// Tail index, above 0.
        #[schemars(extend("examples" = [1.2]))]
        shape: f64,
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
    /// Exponential.
    Exponential {
        /// Mean size.
        mean: Bytes,
    },
    /// Log-normal: ln(size) is normal with deviation `sigma`. Exactly one of `mean` and `median`.
    LogNormal {
        /// Mean size, exp(µ + sigma²/2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Bytes>,
        /// Median size, exp(µ).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median: Option<Bytes>,
        /// Standard deviation of the logarithm, at least 0.
        #[schemars(extend("examples" = [1.0]))]
        sigma: f64,
    },
    /// Empirical distribution, linear in size between points. Exactly one of `name` and `file`.
    Cdf {
        /// Built-in: web-search, data-mining, hadoop or ali-storage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["web-search"]))]
        name: Option<String>,
        /// File of lines `size_bytes percent`, relative to the scenario. A mean may come first
        /// (Homa); three columns (ns-2, pFabric) need `unit`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["sizes.txt"]))]
        file: Option<String>,
        /// `file`: unit of sizes, such as "1460 B" for packets; default a byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["1460 B"]))]
        unit: Option<Bytes>,
    },
}

/// A size distribution that is ready to draw from.
#[derive(Debug, Clone)]
pub struct SizeSampler {
    law: Law,
    mean: f64,
}

/// A distribution of positive numbers.
#[derive(Debug, Clone)]
pub(crate) enum Law {
    Fixed(f64),
    Pareto(Pareto<f64>),
    BoundedPareto { shape: f64, min: f64, max: f64 },
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
    Cdf(EmpiricalCdf),
}

impl SizeSpec {
    /// The sampler, after checking; files are looked for in `files`. Keys of errors are relative
    /// to the table.
    pub fn sampler(&self, files: Files<'_>) -> Result<SizeSampler, SpecError> {
        let (law, mean) = match self {
            SizeSpec::Fixed { size } => positive(*size, "size").map(|s| (Law::Fixed(s), s))?,
            SizeSpec::Pareto { mean, shape } => pareto(positive(*mean, "mean")?, *shape)?,
            SizeSpec::BoundedPareto { shape, min, max } => bounded_pareto(*shape, *min, *max)?,
            SizeSpec::Exponential { mean } => exponential(positive(*mean, "mean")?)?,
            SizeSpec::LogNormal { mean, median, sigma } => {
                let [mean, median] = [(mean, "mean"), (median, "median")].map(|(s, key)| s.map(|s| positive(s, key)));
                log_normal(mean.transpose()?, median.transpose()?, *sigma)?
            }
            SizeSpec::Cdf { name, file, unit } => {
                let cdf = cdf(name.as_deref(), file.as_deref(), *unit, files)?;
                let mean = cdf.mean();
                (Law::Cdf(cdf), mean)
            }
        };
        Ok(SizeSampler { law, mean })
    }
}

fn positive(size: Bytes, key: &str) -> Result<f64, SpecError> {
    if size == Bytes::ZERO { Err(SpecError::new(key, "must be at least 1 B")) } else { Ok(size.as_f64()) }
}

/// `value` if it is finite and above `low`.
pub(crate) fn above(value: f64, low: f64, key: &str) -> Result<f64, SpecError> {
    if value.is_finite() && value > low {
        return Ok(value);
    }
    Err(SpecError::new(key, format!("{value} is not a finite number above {low}")))
}

fn refused(error: impl std::fmt::Display) -> SpecError {
    SpecError::new("", error.to_string())
}

/// The law, and its mean.
pub(crate) fn pareto(mean: f64, shape: f64) -> Result<(Law, f64), SpecError> {
    let shape = above(shape, 1.0, "shape")?;
    let smallest = mean * (shape - 1.0) / shape;
    Ok((Law::Pareto(Pareto::new(smallest, shape).map_err(refused)?), mean))
}

fn bounded_pareto(shape: f64, min: Bytes, max: Bytes) -> Result<(Law, f64), SpecError> {
    let (shape, min) = (above(shape, 0.0, "shape")?, positive(min, "min")?);
    let max = max.as_f64();
    if max <= min {
        return Err(SpecError::new("max", "must be larger than `min`"));
    }
    let mean = if (shape - 1.0).abs() < 1e-9 {
        min * max / (max - min) * (max / min).ln()
    } else {
        // ∫ x f(x) dx with f(x) = shape · min^shape · x^(−shape−1) / (1 − (min/max)^shape).
        let cut = 1.0 - (min / max).powf(shape);
        shape / (shape - 1.0) * min * (1.0 - (min / max).powf(shape - 1.0)) / cut
    };
    Ok((Law::BoundedPareto { shape, min, max }, mean))
}

/// The law, and its mean.
pub(crate) fn exponential(mean: f64) -> Result<(Law, f64), SpecError> {
    Ok((Law::Exponential(Exp::new(1.0 / mean).map_err(refused)?), mean))
}

/// The law, and its mean.
pub(crate) fn log_normal(mean: Option<f64>, median: Option<f64>, sigma: f64) -> Result<(Law, f64), SpecError> {
    // Our bound: at 10 one deviation is a factor of 22,000 in size; more is a slip.
    if !(0.0..=10.0).contains(&sigma) {
        return Err(SpecError::new("sigma", format!("{sigma} is not from 0 to 10")));
    }
    let half_variance = sigma * sigma / 2.0;
    let mu = match (mean, median) {
        (Some(mean), None) => mean.ln() - half_variance,
        (None, Some(median)) => median.ln(),
        _ => return Err(SpecError::new("mean", "give exactly one of `mean` and `median`")),
    };
    Ok((Law::LogNormal(LogNormal::new(mu, sigma).map_err(refused)?), (mu + half_variance).exp()))
}

fn cdf(
    name: Option<&str>,
    file: Option<&str>,
    unit: Option<Bytes>,
    files: Files<'_>,
) -> Result<EmpiricalCdf, SpecError> {
    if unit.is_some_and(|unit| file.is_none() || unit.0 == 0) {
        return Err(SpecError::new("unit", "must be above zero"));
    }
    match (name, file) {
        (Some(name), None) => EmpiricalCdf::built_in(name).map_err(|m| SpecError::new("name", m)),
        (None, Some(file)) => {
            let error = |e: &dyn std::fmt::Display| SpecError::new("file", format!("{file}: {e}"));
            let text = crate::file::read_text(files, file).map_err(|e| error(&e))?;
            EmpiricalCdf::parse_in(&text, unit.map(|u| u.0 as f64)).map_err(|e| error(&e))
        }
        _ => Err(SpecError::new("name", "give exactly one of `name` and `file`")),
    }
}

impl SizeSampler {
    /// The mean of the distribution in bytes, before rounding to whole bytes.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Draws a size: the nearest whole number of bytes, at least one.
    pub fn sample(&self, rng: &mut impl Rng) -> Bytes {
        Bytes((self.law.sample(rng).round() as u64).max(1))
    }
}

impl Law {
    pub(crate) fn sample(&self, rng: &mut impl Rng) -> f64 {
        match self {
            Law::Fixed(value) => *value,
            Law::Pareto(law) => law.sample(rng),
            Law::BoundedPareto { shape, min, max } => bounded_quantile(rng.random(), *shape, *min, *max),
            Law::Exponential(law) => law.sample(rng),
            Law::LogNormal(law) => law.sample(rng),
            Law::Cdf(cdf) => cdf.sample(rng),
        }
    }
}

/// The inverse of F(x) = (1 − (min/x)^shape) / (1 − (min/max)^shape).
fn bounded_quantile(u: f64, shape: f64, min: f64, max: f64) -> f64 {
    let cut = 1.0 - (min / max).powf(shape);
    (min * (1.0 - u * cut).powf(-1.0 / shape)).clamp(min, max)
}
