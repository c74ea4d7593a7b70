use std::collections::BTreeMap;

use midpath_core::roles::Ecmp;
use midpath_core::units::Time;
use midpath_topo::Metric;
use midpath_topo::spec::TopologySpec;
use midpath_traffic::{ExplicitFlow, WorkloadSpec};
use serde::{Deserialize, Serialize};

use super::{DeploySpec, FaultSpec, PfcSpec, QueueTable, TraceSpec, VarySpec};

/// A run, whole: what the network is, who sends what over it by which scheme, what goes wrong, what
/// is measured.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The version of what a scenario's keys mean; 1 unless said. A change after which a scenario runs
    /// differently, or no longer, makes it 2, which this version refuses.
    #[serde(default = "format", deserialize_with = "known_format", skip_serializing_if = "is_present_format")]
    #[schemars(range(min = 1, max = 1))]
    pub format: u32,
    /// What a reader of the report sees first.
    #[serde(default)]
    pub title: String,
    /// Every random stream derives from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// When the run ends at the latest; without it, it ends with its last flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// The scheme of all flows that name none. `cubic+rpm` is CUBIC over a network that runs RPM, `cubic@fq_codel`
    /// CUBIC over a `[queue]` of that name with the same memory.
    #[serde(default = "default_scheme")]
    pub scheme: String,
    /// What the run is called where that is not its scheme: of `cubic+rpm@pie` the scheme is `cubic`.
    #[serde(skip)]
    pub called: Option<String>,
    /// The network.
    pub topology: TopologySpec,
    /// How packets find their way.
    #[serde(default)]
    pub routing: RoutingSpec,
    /// The queue of every port.
    #[serde(default)]
    pub queue: QueueTable,
    /// The queue of hosts' ports, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_queue: Option<QueueTable>,
    /// Each packet that a host sends arrives up to this much later, drawn at random for each, in
    /// order: a tenth of a packet's time and more breaks phase effects, where which flow a queue hits
    /// depends on less than a packet's time. Links to which `[[vary]]` gives `jitter` keep that. None
    /// unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_jitter: Option<Time>,
    /// Priority-based flow control: routers have neighbours pause, and lose nothing for want of room. None
    /// unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<PfcSpec>,
    /// Further queues by name, for links and rules whose `queue` names one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, QueueTable>,
    /// Parameters of schemes by name. A `queue` table among them replaces `[queue]` where that
    /// scheme runs in the network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub schemes: BTreeMap<String, serde_json::Value>,
    /// Which scheme runs where in the network; the run's everywhere unless said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<DeploySpec>,
    /// Flows one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<ExplicitFlow>,
    /// Flows drawn at random or read from a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workload: Vec<WorkloadSpec>,
    /// What goes wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<FaultSpec>,
    /// Links that vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<VarySpec>,
    /// What is measured besides the tables of flows and ports.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// A record of what happens to packets and flows; none unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSpec>,
    /// Variants of this scenario by name, each a table of changed keys: `today`, `upgrade`.
    /// `midpath compare` runs them side by side, `midpath run --variant` one of them; without that,
    /// nothing of them counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

/// The format of scenarios that this version reads.
pub const FORMAT: u32 = 1;

fn format() -> u32 {
    FORMAT
}

fn is_present_format(format: &u32) -> bool {
    *format == FORMAT
}

fn known_format<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let format = u32::deserialize(from)?;
    if format == FORMAT { Ok(format) } else { Err(serde::de::Error::custom(other_format(format.into()))) }
}

/// Why a scenario of another format is refused.
pub(super) fn other_format(format: i64) -> String {
    format!("is {format}; this version of Midpath reads format {FORMAT}")
}

fn one() -> u64 {
    1
}

fn default_scheme() -> String {
    midpath_schemes::DEFAULT.to_owned()
}

/// How packets find their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoutingSpec {
    /// What a shortest path is shortest in.
    pub metric: Metric,
    /// How equal-cost paths are used.
    pub ecmp: Ecmp,
    /// When a link goes down or comes back, all nodes route by what is left this much later:
    /// detection, flooding and computation in one. Unless said, routes stay as they are at the
    /// beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconverge: Option<Time>,
}

/// What is measured besides the tables of flows and ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Record time series: queues and throughput of the busiest ports, goodput by group, windows of
    /// the first flows.
    pub series: bool,
    /// Time between samples; a 500th of `stop` unless said, 10 ms without `stop`. When a series is
    /// full, neighbours are joined and the interval doubles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Points that a series may have; 1000 unless said.
    pub points: u32,
    /// How many ports get series: those that carried most; 16 unless said.
    pub ports: u32,
    /// How many flows get series of their own: the first ones; 16 unless said.
    pub flows: u32,
    /// Packet captures (pcapng) of single ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pcap: Vec<PcapSpec>,
}

impl Default for MeasureSpec {
    fn default() -> MeasureSpec {
        MeasureSpec { series: false, interval: None, points: 1000, ports: 16, flows: 16, pcap: Vec::new() }
    }
}

/// A capture of what one port sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcapSpec {
    /// The node that sends.
    pub from: String,
    /// Its neighbour.
    pub to: String,
    /// Packets captured at most; 100,000 unless said.
    #[serde(default = "hundred_thousand")]
    pub packets: u32,
    /// Packets that are dropped at the port as well, each with the reason in a comment; false unless said.
    #[serde(default)]
    pub drops: bool,
}

fn hundred_thousand() -> u32 {
    100_000
}
