//! `[[workload]]`: flows that are drawn.

use crate::arrivals::ArrivalSpec;
use crate::list::ListSpec;
use crate::matrix::MatrixSpec;
use crate::objects::ObjectSpec;
use crate::sizes::SizeSpec;
use midpath_core::units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stream of generated flows: `arrivals` say when, `sizes` how much, `matrix` who to whom. Or a
/// `list` of flows from a file, which says all three.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Name under which results are added up; "workload" and its number, counted from 0, unless
    /// said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What the flows spend, for schemes with budgets: a name that their parameters speak of
    /// (`schemes.fcp.groups`). Unless said, that of their group where they speak of that, else what
    /// all others of the host spend. Results are added up by `group`, whatever stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Scheme that carries the flows, instead of the run's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The flows' weight among others, where the scheme or the ideal has weights; 1 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// When flows start. Exactly one of `arrivals` and `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalSpec>,
    /// How much each flow moves. PPBP arrivals and lists bring their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeSpec>,
    /// Who sends to whom; all-to-all unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixSpec>,
    /// The hosts that the matrix is over: names, names of routers for all their hosts, or a prefix
    /// and `*`; all of them unless said. Not beside a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Flows read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListSpec>,
    /// When arrivals begin (a list's times count from here); at once unless said.
    #[serde(default)]
    pub start: Time,
    /// No flow starts at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// No flow starts this long after `start`, or later: another way to say `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// How many flows at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// What flows move, if some are to move the same; each its own unless said. Goes with `sizes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectSpec>,
}
