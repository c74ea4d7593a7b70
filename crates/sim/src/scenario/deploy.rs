use serde::{Deserialize, Serialize};

/// A row of the table that says which scheme runs where in the network. The last row that matches a
/// port decides; a port that none matches has the scenario's queue. Without rows the run's scheme
/// runs everywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeploySpec {
    /// The scheme; the run's unless said. `none` is the scenario's queues and shortest paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Whose ports: nodes by name or class, `hosts`, `routers`, or the beginning of names and `*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Single ports, as the node and its neighbour. Without `nodes` and `ports` the row is for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// The instance's name; the scheme's unless said. Rows of one name are one instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Parameters of this instance, over those of `[schemes.NAME]`; in the first row of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub params: Option<serde_json::Map<String, serde_json::Value>>,
    /// The TCP, by name, of tunnels between these nodes where plain routers lie between two of them:
    /// `inrpp` sends through tunnels. In the first row of its name, which has `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnels: Option<String>,
    /// The queue of these ports, of `[queues.NAME]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}
