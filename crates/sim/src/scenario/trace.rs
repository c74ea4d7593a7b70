use midpath_core::units::{Ratio, Time};
use serde::{Deserialize, Serialize};

/// Packet and flow trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// Start; default with the run.
    #[schemars(extend("examples" = ["4.2 s"]))]
    pub from: Time,
    /// Duration; default: to the end, with `around` twice `before`.
    #[schemars(extend("examples" = ["200 ms"]))]
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Time>,
    /// Instead of `from`: `"first drop"` (of these flows and nodes), or `"timeouts of flow 7"`.
    /// Runs twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["first drop"]))]
    pub around: Option<String>,
    /// Lead before `around`; default 50 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["50 ms"]))]
    pub before: Option<Time>,
    /// Nodes: names, `hosts`, `routers`, a class, or a prefix and `*`; default all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["r1", "r2"]]))]
    pub nodes: Option<Vec<String>>,
    /// Flows by number, from 0 in order of start; default all, and messages between neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [[3, 7]]))]
    pub flows: Option<Vec<u32>>,
    /// Instead of `flows`: the slowest share, `"1 %"`, unfinished ones first. Runs twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1 %"]))]
    pub slowest: Option<Ratio>,
    /// Maximum events; the excess is counted; default a million.
    #[schemars(extend("examples" = [100000]))]
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
