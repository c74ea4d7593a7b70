//! When flows start.

use crate::hosts::LinkRates;
use crate::matrix::Matrix;
use crate::sizes::above;
use crate::suggest::unknown;
use midpath_core::spec::SpecError;
use midpath_core::units::{QuantityVisitor, Rate, Ratio, Time, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pattern of arrivals.
///
/// A rate is given as `rate_per_s` or as an offered `load` of the capacity `load_of`:
/// arrivals per second λ = load · capacity / (8 · mean size in bytes · flows an arrival starts).
/// `load_of` is one of
///
/// - `"hosts"` (the default): the access rates of all hosts that send, added up, so that on average
///   each is busy for a share `load` of the time;
/// - `"matrix"` (the default with a matrix from a file that has rates): these rates, added up;
/// - `"receivers"`: the same of all hosts that receive;
/// - `"link:a>b"`: the rate of the link from node a to node b, if all of the workload's flows cross
///   it;
/// - a rate such as `"10 Mbps"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Poisson: independent exponential times between arrivals.
    Poisson {
        /// Arrivals per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = [438.0]))]
        rate_per_s: Option<f64>,
        /// Offered load instead, a share of `load_of`.
        #[serde(default, deserialize_with = "load", skip_serializing_if = "Option::is_none")]
        load: Option<Ratio>,
        /// Reference of the load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["link:r0>r1"]))]
        load_of: Option<String>,
        /// Each arrival starts a flow on every pair of the matrix (incast query).
        #[serde(default)]
        rounds: bool,
    },
    /// Poisson Pareto burst process (Zukerman, Neame, Addie 2003): Poisson bursts of constant rate (UDP) with Pareto
    /// duration of shape 3 − 2 · hurst, starting empty. The INRPP paper's "PPBP" (§IV-B) is `poisson` with Pareto
    /// `sizes`.
    Ppbp {
        /// Bursts per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = [438.0]))]
        rate_per_s: Option<f64>,
        /// Offered load instead, a share of `load_of`.
        #[serde(default, deserialize_with = "load", skip_serializing_if = "Option::is_none")]
        load: Option<Ratio>,
        /// Reference of the load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["link:r0>r1"]))]
        load_of: Option<String>,
        /// Hurst parameter of the traffic, between 0.5 and 1.
        #[schemars(extend("examples" = [0.8]))]
        hurst: f64,
        /// Mean duration of a burst.
        mean_burst: Time,
        /// Rate of one burst.
        burst_rate: Rate,
    },
    /// A flow on every pair of the matrix, again after every interval.
    Periodic {
        /// Time between rounds.
        interval: Time,
        /// Random start delay, uniform up to this.
        #[serde(default)]
        jitter: Time,
    },
    /// A flow on every pair of the matrix, once.
    Once {
        /// Random start delay, uniform up to this.
        #[serde(default)]
        jitter: Time,
    },
}

/// A load, with advice to who writes a rate in its place.
struct Load(Ratio);

impl std::str::FromStr for Load {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Load, UnitError> {
        let wanted = |e| match text.parse::<Rate>() {
            Ok(_) => {
                UnitError { what: "a share of `load_of`", example: "load = \"50 %\", and the rate as `load_of`", ..e }
            }
            Err(_) => e,
        };
        text.parse().map(Load).map_err(wanted)
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn load<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Ratio>, D::Error> {
    let plain = |share| Some(Load(Ratio::from_f64(share)));
    let visitor = QuantityVisitor { wanted: "a load", example: "\"50 %\" or \"0.5\"", plain };
    d.deserialize_any(visitor).map(|load| Some(load.0))
}

/// What an offered load is a share of, read from `load_of`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadOf {
    /// Access rates of the hosts that send, added up.
    Hosts,
    /// Access rates of the hosts that receive, added up.
    Receivers,
    /// The rates of the matrix, added up.
    Matrix,
    /// The link between two neighbours, by their names.
    Link(String, String),
    /// A given rate.
    Rate(Rate),
}

impl std::str::FromStr for LoadOf {
    type Err = String;
    fn from_str(text: &str) -> Result<LoadOf, String> {
        match (text.trim(), text.trim().strip_prefix("link:").and_then(|l| l.split_once('>'))) {
            (_, Some((a, b))) => Ok(LoadOf::Link(a.trim().to_owned(), b.trim().to_owned())),
            ("hosts", None) => Ok(LoadOf::Hosts),
            ("receivers", None) => Ok(LoadOf::Receivers),
            ("matrix", None) => Ok(LoadOf::Matrix),
            (t, None) => t.parse().map(LoadOf::Rate).map_err(|_| {
                let known = ["hosts", "receivers", "matrix", "link:a>b", "a rate like \"10 Mbps\""];
                unknown("capacity", t, known)
            }),
        }
    }
}

const NO_RATES: &str = "the matrix has no rates; give a rate such as \"10 Gbps\", the total that `load` refers to";

impl LoadOf {
    /// The capacity in bits per second for flows between the pairs of `matrix`.
    pub(crate) fn capacity_bps(&self, matrix: &Matrix<'_>, links: &dyn LinkRates) -> Result<f64, SpecError> {
        let capacity = match self {
            LoadOf::Hosts => matrix.access_bps(true),
            LoadOf::Receivers => matrix.access_bps(false),
            LoadOf::Matrix => matrix.total_bps().ok_or_else(|| SpecError::new("load_of", NO_RATES))?,
            LoadOf::Rate(rate) => rate.as_f64(),
            LoadOf::Link(a, b) => {
                let message = || format!("no link from `{a}` to `{b}`; name two neighbours: \"link:a>b\"");
                links.link_rate(a, b).ok_or_else(|| SpecError::new("load_of", message()))?.as_f64()
            }
        };
        if capacity > 0.0 { Ok(capacity) } else { Err(SpecError::new("load_of", "its capacity is zero")) }
    }
}

/// How often something arrives, as the specification puts it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intensity<'a> {
    pub(crate) rate_per_s: Option<f64>,
    pub(crate) load: Option<Ratio>,
    pub(crate) load_of: Option<&'a str>,
}

impl Intensity<'_> {
    /// Arrivals per second, when each brings `bytes` on average.
    pub(crate) fn per_s(&self, bytes: f64, matrix: &Matrix<'_>, links: &dyn LinkRates) -> Result<f64, SpecError> {
        match (self.rate_per_s, self.load) {
            (Some(rate), None) if self.load_of.is_some() => Err(SpecError::new(
                "load_of",
                format!(
                    "applies to `load` only; the rate is {rate} arrivals per \
                    second"
                ),
            )),
            (Some(rate), None) => above(rate, 0.0, "rate_per_s"),
            (None, Some(load)) => {
                let default = if matrix.total_bps().is_some() { "matrix" } else { "hosts" };
                let of: LoadOf = self.load_of.unwrap_or(default).parse().map_err(|m| SpecError::new("load_of", m))?;
                // λ = load · capacity / (8 · mean size)
                above(load.as_f64() * of.capacity_bps(matrix, links)? / (8.0 * bytes), 0.0, "load")
            }
            _ => Err(SpecError::new("rate_per_s", "give exactly one of `rate_per_s` and `load`")),
        }
    }
}
