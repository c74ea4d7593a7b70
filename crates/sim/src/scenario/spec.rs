use std::collections::BTreeMap;

use midpath_core::roles::{Balancing, Ecmp};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_topo::Metric;
use midpath_topo::spec::TopologySpec;
use midpath_traffic::{ClientSpec, ExplicitFlow, JobSpec, WorkloadSpec};
use serde::{Deserialize, Serialize};

use super::{DeploySpec, FaultSpec, HostSpec, PfcSpec, QueueTable, TraceSpec, VarySpec};

/// A run, whole: what the network is, who sends what over it by which scheme, what goes wrong, what
/// is measured.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Scenario format. A change after which a scenario runs differently, or is refused, makes it
    /// 2; default 1.
    #[serde(default = "format", deserialize_with = "known_format", skip_serializing_if = "is_present_format")]
    #[schemars(range(min = 1, max = 1))]
    #[schemars(extend("examples" = [1]))]
    pub format: u32,
    /// Title of reports.
    #[serde(default)]
    #[schemars(extend("examples" = ["Buffers on Abilene"]))]
    pub title: String,
    /// Seed of all random streams.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [7]))]
    pub seed: u64,
    /// Latest end; default: the last flow's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Default scheme of flows. `cubic+rpm` is CUBIC over a network that runs RPM, `cubic@fq_codel`
    /// CUBIC over that queue.
    #[serde(default = "default_scheme")]
    #[schemars(extend("examples" = ["cubic"]))]
    pub scheme: String,
    /// What the run is called where that is not its scheme: of `cubic+rpm@pie` the scheme is `cubic`.
    #[serde(skip)]
    pub called: Option<String>,
    /// Programs use the network: it may have no flows.
    #[serde(skip)]
    pub flows_optional: bool,
    /// Messages are sent while it runs ([`Session`](crate::Session)), between any two hosts.
    #[serde(skip)]
    pub messages: bool,
    /// The network.
    pub topology: TopologySpec,
    /// Routing.
    #[serde(default)]
    pub routing: RoutingSpec,
    /// The queue of every port.
    #[serde(default)]
    pub queue: QueueTable,
    /// Queue of hosts' ports, if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_queue: Option<QueueTable>,
    /// Random delay of each packet that a host sends, up to this, in order. A tenth of a packet
    /// time breaks phase effects. Links with `[[vary]]` `jitter` keep that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["12 us"]))]
    pub host_jitter: Option<Time>,
    /// Hosts that take time to take in what arrives; default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostSpec>,
    /// Lossless classes by priority-based flow control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<PfcSpec>,
    /// Named queues for links, rules and deployments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, QueueTable>,
    /// Scheme parameters. A `queue` table replaces `[queue]` where the scheme runs in the network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    #[schemars(extend("examples" = [{ "dctcp": { "g": 0.0625 } }]))]
    pub schemes: BTreeMap<String, serde_json::Value>,
    /// Which scheme runs where in the network; default the run's everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<DeploySpec>,
    /// Single flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<ExplicitFlow>,
    /// Random flows, or a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workload: Vec<WorkloadSpec>,
    /// Clients that ask servers in a closed loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<ClientSpec>,
    /// Collective communication in iterations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job: Vec<JobSpec>,
    /// Faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<FaultSpec>,
    /// Varying links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<VarySpec>,
    /// Series and captures.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// Packet and flow trace; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSpec>,
    /// Named tables of changed keys, for `midpath compare` and `midpath run --variant`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("examples" = [{ "link out": { "topology.without": [["r0", "r1"]] } }]))]
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

/// Routing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoutingSpec {
    /// Path metric.
    pub metric: Metric,
    /// Use of equal-cost paths.
    pub ecmp: Ecmp,
    /// All nodes reroute this long after a link changes state, at once for what is down at the start. Default: static routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconverge: Option<Time>,
    /// `ecmp = "letflow"`: a flow that was silent for longer may take another path; default 500 us (CONGA's). Above the
    /// paths' difference in delay order is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flowlet_gap: Option<Time>,
    /// `ecmp = "drill"`: queues drawn per packet, d; default 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [2]))]
    pub drill_samples: Option<u32>,
    /// `ecmp = "drill"`: queues remembered, m; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1]))]
    pub drill_memory: Option<u32>,
}

impl RoutingSpec {
    /// How nodes use equal-cost paths.
    pub fn balancing(&self) -> Result<Balancing, SpecError> {
        let of = [
            ("flowlet_gap", self.flowlet_gap.is_some(), Ecmp::LetFlow, "letflow"),
            ("drill_samples", self.drill_samples.is_some(), Ecmp::Drill, "drill"),
            ("drill_memory", self.drill_memory.is_some(), Ecmp::Drill, "drill"),
        ];
        if let Some((key, _, _, name)) = of.into_iter().find(|(_, given, ecmp, _)| *given && self.ecmp != *ecmp) {
            return Err(SpecError::new(key, format!("applies to ecmp = \"{name}\"; set that, or leave it out")));
        }
        let default = Balancing::from(self.ecmp);
        let (samples, memory) =
            (self.drill_samples.unwrap_or(default.samples), self.drill_memory.unwrap_or(default.memory));
        if samples == 0 {
            return Err(SpecError::new("drill_samples", "at least 1"));
        }
        Ok(Balancing { flowlet_gap: self.flowlet_gap.unwrap_or(default.flowlet_gap), samples, memory, ..default })
    }
}

/// Series and captures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Record time series: queues and throughput of the busiest ports, goodput of the first 1,000 groups, windows of
    /// the first flows.
    pub series: bool,
    /// Sampling interval; default a 500th of `stop`, 10 ms without `stop`. It doubles when a
    /// series is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Maximum points per series; default 1000.
    #[schemars(extend("examples" = [2000]))]
    pub points: u32,
    /// Ports with series, the busiest; default 16.
    #[schemars(extend("examples" = [4]))]
    pub ports: u32,
    /// Flows with series, the first ones; default 16.
    #[schemars(extend("examples" = [4]))]
    pub flows: u32,
    /// Packet captures (pcapng).
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
    /// Sending node.
    #[schemars(extend("examples" = ["r0"]))]
    pub from: String,
    /// Receiving neighbour.
    #[schemars(extend("examples" = ["r1"]))]
    pub to: String,
    /// Maximum packets; default 100,000.
    #[serde(default = "hundred_thousand")]
    #[schemars(extend("examples" = [1000]))]
    pub packets: u32,
    /// Include dropped packets, with the reason as comment; default false.
    #[serde(default)]
    pub drops: bool,
}

fn hundred_thousand() -> u32 {
    100_000
}
