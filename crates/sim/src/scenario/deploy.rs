use serde::{Deserialize, Serialize};

/// A row of the table that says which scheme runs where in the network. The last row that matches a
/// port decides; a port that none matches has the scenario's queue. Without rows the run's scheme
/// runs everywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeploySpec {
    /// Scheme; `none`: the scenario's queues and shortest paths; default the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["inrpp"]))]
    pub scheme: Option<String>,
    /// Nodes by name, class, `hosts`, `routers`, or prefix and `*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["hosts", "r*"]]))]
    pub nodes: Vec<String>,
    /// Single ports. Without `nodes` and `ports` the row applies everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["r0>r1"]]))]
    pub ports: Vec<String>,
    /// Instance; rows with the same name belong to one; default the scheme's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["west"]))]
    pub name: Option<String>,
    /// Parameters over `[schemes.NAME]`; in the first row of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    #[schemars(extend("examples" = [{ "alpha": 1.0 }]))]
    pub params: Option<serde_json::Map<String, serde_json::Value>>,
    /// TCP for tunnels between these nodes across plain routers (`inrpp`). In the first row of its
    /// name, which has `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["newreno"]))]
    pub tunnels: Option<String>,
    /// A queue of `[queues.NAME]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["deep"]))]
    pub queue: Option<String>,
}
