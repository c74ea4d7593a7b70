use midpath_core::units::{Ratio, Time};
use serde::{Deserialize, Serialize};

/// A record of what happens to packets and flows, bounded in time, place, flows and events: the table
/// `trace`. Results stay the same. A run takes several times as long as far as everything is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// When it begins; with the run unless said.
    pub from: Time,
    /// How long it lasts; to the end of the run unless said, with `around` twice as long as `before`.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Time>,
    /// In place of `from`: `"first drop"` (of the flows and at the nodes below), or `"timeouts of flow 7"`.
    /// The run is done twice: first to see when that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
    /// How long before what it is `around` it begins; 50 ms unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Time>,
    /// At which nodes: names, `hosts`, `routers`, a class, or the beginning of names (`r*`); all nodes
    /// unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// Of which flows, by number: they count from 0, in the order of their start; all, and what
    /// neighbours say to each other, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<u32>>,
    /// In place of `flows`: the share of flows that take longest from start to end, `"1 %"`. Those that do
    /// not end take longest. The run is done twice: first to see which these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Ratio>,
    /// Events at most; a million unless said. What does not fit is counted.
    pub events: u32,
}

impl Default for TraceSpec {
    fn default() -> TraceSpec {
        TraceSpec {
            from: Time::ZERO,
            length: None,
            around: None,
            before: None,
            nodes: None,
            flows: None,
            slowest: None,
            events: 1_000_000,
        }
    }
}
