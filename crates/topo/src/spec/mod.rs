//! The `[topology]` table of a scenario, and the topology that it describes.

mod attach;
mod build;
mod check;
mod delay;
mod fill;
mod generated;
mod source;
mod without;

use midpath_core::units::{Rate, Ratio, Time};
use serde::{Deserialize, Serialize};

pub use build::{MAX_ROUTERS, build};
pub use delay::DelaySpec;
pub use source::read_path;
pub use without::{links_between, parts};

use crate::format::Format;
use crate::generate::LinkParams;
use crate::graph::NodeKind;

/// The network. Exactly one of `builtin`, `generate`, `file` and `links` says where it comes from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TopologySpec {
    /// Built-in network: `abilene`, `geant` or `nobel-germany`.
    #[schemars(extend("examples" = ["abilene"]))]
    pub builtin: Option<String>,
    /// Generator. Errors list its parameters.
    pub generate: Option<Generator>,
    /// Topology file, relative to the scenario.
    #[schemars(extend("examples" = ["maps/3257.r0.cch"]))]
    pub file: Option<String>,
    /// File format; default detected.
    pub format: Option<Format>,
    /// Unit of capacities without a unit (SNDlib, topohub, bare GraphML numbers), such as "1 Mbps".
    /// Without it they are ignored.
    pub capacity_unit: Option<Rate>,
    /// Links. Nodes not in `nodes` are hosts if they have one link, else routers.
    pub links: Option<Vec<LinkSpec>>,
    /// Kind, class or position of nodes. Their order is the order in results.
    pub nodes: Option<Vec<NodeSpec>>,

    /// `generate`: host pairs of a dumbbell, hosts per end of a chain; default 1.
    #[schemars(extend("examples" = [3]))]
    pub pairs: Option<usize>,
    /// `generate`: routers of a chain, ring, waxman, or dumbbell (default 2); hosts of a star;
    /// bottlenecks of a parking-lot; servers of a rail fabric.
    #[schemars(extend("examples" = [4]))]
    pub n: Option<usize>,
    /// `generate = "fat-tree"`: switch ports, even; k³/4 hosts.
    #[schemars(extend("examples" = [8]))]
    pub k: Option<usize>,
    /// `generate = "fat-tree"`: times k/2 hosts at an edge switch; default 1.
    #[schemars(extend("examples" = [4]))]
    pub oversubscription: Option<usize>,
    /// `generate`: leaves of a leaf-spine, or of a dragonfly+'s group.
    #[schemars(extend("examples" = [32]))]
    pub leaves: Option<usize>,
    /// `generate`: spines of a leaf-spine, of a rail fabric, or of a dragonfly+'s group.
    #[schemars(extend("examples" = [16]))]
    pub spines: Option<usize>,
    /// `generate`: hosts of a leaf; of a rail fabric servers (default all).
    #[schemars(extend("examples" = [32]))]
    pub per_leaf: Option<usize>,
    /// `generate`: so many fabrics alike, with the same hosts: each has a NIC for each; default 1.
    #[schemars(extend("examples" = [2]))]
    pub planes: Option<usize>,
    /// `generate = "rail"`: GPUs of a server; default 8.
    #[schemars(extend("examples" = [8]))]
    pub rails: Option<usize>,
    /// `generate = "rail"`: links between GPUs and their server's switch.
    pub nvlink: Option<LinkParams>,
    /// `generate = "rail"`: where traffic to another rail crosses; default `spine`.
    pub cross: Option<Cross>,
    /// `generate = "dragonfly-plus"`: groups.
    #[schemars(extend("examples" = [9]))]
    pub groups: Option<usize>,
    /// `generate = "dragonfly-plus"`: a spine's links to other groups; each two groups have equally many.
    #[schemars(extend("examples" = [4]))]
    pub global_ports: Option<usize>,
    /// `generate = "dragonfly-plus"`: links between groups; default as `link`.
    pub global: Option<LinkParams>,
    /// `generate = "torus"`: routers along each dimension.
    #[schemars(extend("examples" = [[4, 4, 4]]))]
    pub dims: Option<Vec<usize>>,
    /// `generate`: router–router links (dumbbell: except the bottleneck; default: `access`).
    pub link: Option<LinkParams>,
    /// `generate`: host–router links; default as `link`.
    pub access: Option<LinkParams>,
    /// `generate = "dumbbell"`: bottleneck link.
    pub bottleneck: Option<LinkParams>,
    /// `generate = "dumbbell"`: delays of the senders' access links, in turn.
    #[schemars(extend("examples" = [["5 ms", "50 ms"]]))]
    pub access_delays: Option<Vec<Time>>,
    /// `generate = "waxman"`: link reach as a share of the largest distance; default 0.1.
    #[schemars(extend("examples" = [0.2]))]
    pub alpha: Option<f64>,
    /// `generate = "waxman"`: link density; default 0.4.
    #[schemars(extend("examples" = [0.4]))]
    pub beta: Option<f64>,
    /// `generate = "waxman"`: side in km; default 1000.
    #[schemars(extend("examples" = [500.0]))]
    pub size_km: Option<f64>,
    /// `generate = "waxman"`: join separate parts; default true.
    pub connected: Option<bool>,
    /// `generate = "waxman"`: seed; default the scenario's.
    #[schemars(extend("examples" = [7]))]
    pub seed: Option<u64>,

    /// Rate of every link, over the file's. Rules have precedence.
    pub rate: Option<Rate>,
    /// Delay of every link, over the file's: a time, or "distance". Rules have precedence; links
    /// without positions take `default_delay`, if a time.
    pub delay: Option<DelaySpec>,
    /// Rate of links without one.
    pub default_rate: Option<Rate>,
    /// Delay of links without one: a time, or "distance" (default): the file's length, or else
    /// the great circle, at 2/3 of the speed of light.
    pub default_delay: Option<DelaySpec>,
    /// Minimum link delay; default 1 us.
    pub min_delay: Option<Time>,
    /// Rates and delays by class of the ends. The first match that sets a value decides.
    pub rules: Vec<RuleSpec>,
    /// Classifies routers: `edge` with fewer router links than this, else `gateway` if linked to an
    /// edge router, else `backbone`; default 3, as in the INRPP paper, §IV-D.
    #[schemars(extend("examples" = [3]))]
    pub edge_degree: Option<usize>,
    /// Remove links between edge routers, as ndnSIM's Rocketfuel reader; `component = "largest"`
    /// removes what they alone connect; default false.
    pub drop_edge_links: Option<bool>,
    /// What to keep of a disconnected network.
    pub component: Option<Component>,
    /// Rocketfuel: maximum distance from the ISP (`r0`, `r1`, …); default 0, its own.
    #[schemars(extend("examples" = [1]))]
    pub radius: Option<u32>,
    /// Hosts to attach; by default, one per router if there are none.
    pub hosts: Option<HostsSpec>,
    /// Links to remove, by their ends, with parallel ones. Drawn flows stay the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[["r0", "r1"], ["r4", "r5"]]]))]
    pub without: Vec<[String; 2]>,
}

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// Senders `s0`… and receivers `d0`… on two sides of a bottleneck. Takes `bottleneck`,
    /// `access`, `pairs`, `n`, `link`, `access_delays`.
    Dumbbell,
    /// Routers `r0`… in a line, hosts `s0`… and `d0`… at its ends. Takes `n`, `link`, `access`,
    /// `pairs`.
    Chain,
    /// A line of bottlenecks, crossed whole by `s0`→`d0` and one each by `s1`→`d1`, …. Takes `n`,
    /// `link`, `access`.
    ParkingLot,
    /// Hosts `h0`… around a switch. Takes `n`, `access`.
    Star,
    /// Routers `r0`… in a ring. Takes `n`, `link`, `access`, `hosts`.
    Ring,
    /// A k-ary fat-tree. Takes `k`, `oversubscription`, `link`, `access`, `planes`.
    FatTree,
    /// Leaves `l0`… linked to all spines `s0`…, with hosts `h0`…. Takes `leaves`, `spines`, `per_leaf`, `link`, `access`,
    /// `planes`.
    LeafSpine,
    /// Rail-optimised: GPU g of a server is the host `h{server·rails+g}`, with a NIC at leaf `l{block}.{g}` and a link to its
    /// server's switch `v{server}`. Takes `n`, `rails`, `per_leaf`, `spines`, `cross`, `link`, `access`, `nvlink`, `planes`.
    Rail,
    /// Dragonfly+: groups of leaves `l{group}.{i}` and spines `s{group}.{i}`, which have links to other groups. Takes `groups`,
    /// `leaves`, `spines`, `per_leaf`, `global_ports`, `link`, `global`, `access`, `planes`.
    DragonflyPlus,
    /// Routers `r0`… in a torus. Takes `dims`, `link`, `access`, `hosts`.
    Torus,
    /// A random network after Waxman. Takes `n`, `link`, `access`, `hosts`, `alpha`, `beta`,
    /// `size_km`, `connected`, `seed`.
    Waxman,
}

impl TopologySpec {
    /// Whether the scenario's seed decides any of it.
    pub fn is_stochastic(&self) -> bool {
        let homes = self.hosts.as_ref().and_then(|hosts| hosts.homes).unwrap_or(1);
        homes > 1 || self.generate == Some(Generator::Waxman) && self.seed.is_none()
    }
}

/// Where traffic between two rails of a rail fabric crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cross {
    /// At a spine: a GPU reaches its own NIC alone.
    #[default]
    Spine,
    /// Inside a server, over NVLink and the NIC of another GPU (NCCL's PXN): NICs are nodes `n{server}.{g}`.
    Nvlink,
}

/// Which parts of a network to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// All; a network that is not connected is an error.
    #[default]
    All,
    /// The largest connected part.
    Largest,
}

/// A node written in the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Unique name.
    #[schemars(extend("examples" = ["r0"]))]
    pub name: String,
    /// Default: host if it has one link, else router.
    pub kind: Option<NodeKind>,
    /// Class for rules.
    #[schemars(extend("examples" = ["edge"]))]
    pub class: Option<String>,
    /// Longitude in degrees, or x.
    #[schemars(extend("examples" = [8.55]))]
    pub x: Option<f64>,
    /// Latitude in degrees, or y.
    #[schemars(extend("examples" = [47.37]))]
    pub y: Option<f64>,
    /// Population for gravity traffic; a file's node attribute `population`.
    #[schemars(extend("examples" = [420000.0]))]
    pub population: Option<f64>,
}

/// A link written in the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name of one end.
    #[schemars(extend("examples" = ["r0"]))]
    pub a: String,
    /// Name of the other end.
    #[schemars(extend("examples" = ["r1"]))]
    pub b: String,
    /// Rate from `a` to `b`, and back unless `rate_back` is given.
    pub rate: Option<Rate>,
    /// Rate from `b` to `a`.
    pub rate_back: Option<Rate>,
    /// Propagation delay: a time, or "distance".
    pub delay: Option<DelaySpec>,
    /// MTU in bytes; default 1500.
    #[schemars(extend("examples" = [9000]))]
    pub mtu: Option<u32>,
    /// Routing weight; default 1.
    #[schemars(extend("examples" = [10.0]))]
    pub weight: Option<f64>,
    /// Loss probability on the wire; default 0.
    pub corruption: Option<Ratio>,
    /// Named queue of its ports.
    #[schemars(extend("examples" = ["deep"]))]
    pub queue: Option<String>,
}

/// Rates and delays by class. A rule holds for links between `from` and `to`, whichever way round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// A class, `host`, `router`, or `*` (any; default).
    #[serde(default = "any_class")]
    #[schemars(extend("examples" = ["edge"]))]
    pub from: String,
    /// A class, `host`, `router`, or `*` (any; default).
    #[serde(default = "any_class")]
    #[schemars(extend("examples" = ["gateway"]))]
    pub to: String,
    /// Rate.
    pub rate: Option<Rate>,
    /// Delay: a time, or "distance".
    pub delay: Option<DelaySpec>,
    /// Routing weight.
    #[schemars(extend("examples" = [10.0]))]
    pub weight: Option<f64>,
    /// MTU.
    #[schemars(extend("examples" = [9000]))]
    pub mtu: Option<u32>,
    /// Loss on the wire.
    pub corruption: Option<Ratio>,
    /// Named queue of its ports.
    #[schemars(extend("examples" = ["deep"]))]
    pub queue: Option<String>,
}

fn any_class() -> String {
    "*".into()
}

/// Hosts to attach to routers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostsSpec {
    /// Hosts per router; default 1 without `total`; 0 for none.
    #[schemars(extend("examples" = [1]))]
    pub per_node: Option<usize>,
    /// Total hosts, assigned to routers in turn.
    #[schemars(extend("examples" = [100]))]
    pub total: Option<usize>,
    /// Routers: `all` (default) or a class (`edge`, `gateway`, …).
    #[schemars(extend("examples" = ["edge"]))]
    pub on: Option<String>,
    /// Access rate; default that of the fastest link in the network.
    pub rate: Option<Rate>,
    /// Delay of the access links; default `min_delay`.
    pub delay: Option<Time>,
    /// Routers per host: the first in turn, others at random; default 1.
    #[schemars(extend("examples" = [2]))]
    pub homes: Option<usize>,
    /// Name prefix, followed by a number from 0; default `h`.
    #[schemars(extend("examples" = ["server"]))]
    pub prefix: Option<String>,
    /// Access MTU in bytes; default 1500.
    #[schemars(extend("examples" = [9000]))]
    pub mtu: Option<u32>,
    /// Named queue of the access links.
    #[schemars(extend("examples" = ["deep"]))]
    pub queue: Option<String>,
}

#[cfg(test)]
mod tests;
