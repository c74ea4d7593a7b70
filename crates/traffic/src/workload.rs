//! `[[workload]]`: flows that are drawn.

use crate::arrivals::ArrivalSpec;
use crate::list::ListSpec;
use crate::matrix::MatrixSpec;
use crate::objects::ObjectSpec;
use crate::sizes::SizeSpec;
use midpath_core::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stream of generated flows: `arrivals` say when, `sizes` how much, `matrix` who to whom. Or a
/// `list` of flows from a file, which says all three.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Group in results; default "workload" and its number, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["web search"]))]
    pub group: Option<String>,
    /// Budget name, as in `[[flow]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gold"]))]
    pub budget: Option<String>,
    /// Scheme, over the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dctcp"]))]
    pub scheme: Option<String>,
    /// Weight, if the scheme or the ideal has weights; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [2.0]))]
    pub weight: Option<f64>,
    /// Flow arrivals. Exactly one of `arrivals` and `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalSpec>,
    /// Flow sizes. PPBP arrivals and lists have their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeSpec>,
    /// Traffic matrix; default all-to-all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixSpec>,
    /// Hosts in the matrix: names, router names for all their hosts, or a prefix and `*`. Not with
    /// a list; default all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["h0", "server*"]]))]
    pub hosts: Option<Vec<String>>,
    /// Flows read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListSpec>,
    /// Start of arrivals, and zero of a list's times; default at once.
    #[serde(default)]
    pub start: Time,
    /// As in `[[flow]]`: all times count from then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["load"]]))]
    pub after: Vec<String>,
    /// Waits for so many bytes of each of these flows, in place of their ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1 MB"]))]
    pub after_bytes: Option<Bytes>,
    /// End of arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Alternative to `until`, from `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// Maximum flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1000]))]
    pub flows: Option<u64>,
    /// Shared objects, with `sizes`; default each its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{ "count": 100, "popularity": 0.8 }]))]
    pub objects: Option<ObjectSpec>,
}
