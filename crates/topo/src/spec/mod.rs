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
    /// A network that ships with Midpath: `abilene`, `geant` or `nobel-germany`.
    pub builtin: Option<String>,
    /// A network by rule. Each kind takes the parameters that its name suggests; an error lists
    /// them.
    pub generate: Option<Generator>,
    /// A topology file, relative to the scenario's folder.
    pub file: Option<String>,
    /// The file's format; known by its beginning (and its name, where two look alike) unless said.
    pub format: Option<Format>,
    /// What 1 is of a capacity that the file states without a unit, such as "1 Mbps": SNDlib's,
    /// topohub's, bare numbers in GraphML. Unless said, such capacities are left out.
    pub capacity_unit: Option<Rate>,
    /// Links written here. Nodes that only they name are hosts if they have one link, else routers.
    pub links: Option<Vec<LinkSpec>>,
    /// Nodes of `links` whose kind, class or position is to be said. Order here is order in
    /// results.
    pub nodes: Option<Vec<NodeSpec>>,

    /// `generate`: host pairs of a dumbbell, hosts at each end of a chain. 1 unless said.
    pub pairs: Option<usize>,
    /// `generate`: routers of a chain, ring, waxman, or dumbbell (2 unless said); hosts of a star;
    /// bottleneck links of a parking-lot.
    pub n: Option<usize>,
    /// `generate = "fat-tree"`: ports of every switch; even. There are k³/4 hosts.
    pub k: Option<usize>,
    /// `generate`: links between routers (dumbbell: those that are not the bottleneck; as `access`
    /// unless said).
    pub link: Option<LinkParams>,
    /// `generate`: links between hosts and routers; as `link` unless said.
    pub access: Option<LinkParams>,
    /// `generate = "dumbbell"`: the link in the middle.
    pub bottleneck: Option<LinkParams>,
    /// `generate = "dumbbell"`: delays of the senders' access links, in turn, for flows with
    /// different round-trip times.
    pub access_delays: Option<Vec<Time>>,
    /// `generate = "waxman"`: how far links reach, as a share of the largest distance; 0.1 unless
    /// said.
    pub alpha: Option<f64>,
    /// `generate = "waxman"`: how many links there are; 0.4 unless said.
    pub beta: Option<f64>,
    /// `generate = "waxman"`: side of the square in kilometres, for delays by distance; 1000 unless
    /// said.
    pub size_km: Option<f64>,
    /// `generate = "waxman"`: join separate parts; true unless said.
    pub connected: Option<bool>,
    /// `generate = "waxman"`: seed of the network; the scenario's unless said.
    pub seed: Option<u64>,

    /// Rate of every link, whatever the file says. Rules come first.
    pub rate: Option<Rate>,
    /// Delay of every link, whatever the file says: a time, or "distance". Rules come first; links of
    /// which an end has no position take `default_delay`, if that is a time.
    pub delay: Option<DelaySpec>,
    /// Rate of the links for which nothing else says one.
    pub default_rate: Option<Rate>,
    /// Delay of the links for which nothing else says one: a time, or "distance" (unless said): the
    /// length that the file gives, or else the great circle between the ends' positions, at 2/3 of
    /// the speed of light.
    pub default_delay: Option<DelaySpec>,
    /// The delay of a link that has none (zero or a shorter distance); 1 us unless said.
    pub min_delay: Option<Time>,
    /// Rates and delays by the class of the two ends. The first rule that matches a link and states
    /// a thing decides it.
    pub rules: Vec<RuleSpec>,
    /// Routers without a class become `edge` if they have fewer links to other routers than this,
    /// `gateway` if they have as many or more and one of them is to an edge router, else
    /// `backbone`; 3 unless said, as in the INRPP paper, §IV-D.
    pub edge_degree: Option<usize>,
    /// Leave out links between two edge routers, as the reader of Rocketfuel maps in ndnSIM does;
    /// what they alone connect falls away with `component = "largest"`. false unless said.
    pub drop_edge_links: Option<bool>,
    /// Which parts of a network that is not connected to keep.
    pub component: Option<Component>,
    /// Rocketfuel maps: routers up to this distance from the ISP (`r0`, `r1`, …); 0, its own,
    /// unless said.
    pub radius: Option<u32>,
    /// Hosts to attach to routers. Unless said, a network that has no hosts gets one at every
    /// router.
    pub hosts: Option<HostsSpec>,
    /// Links that are taken out, each by the names of its two ends. Both directions, and all of
    /// several links between the two. Nodes and hosts stay as they are with these links, so the
    /// same flows are drawn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    /// A k-ary fat-tree. Takes `k`, `link`, `access`.
    FatTree,
    /// A random network after Waxman. Takes `n`, `link`, `access`, `hosts`, `alpha`, `beta`,
    /// `size_km`, `connected`, `seed`.
    Waxman,
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
    pub name: String,
    /// Host or router; unless said, a host if it has one link, else a router.
    pub kind: Option<NodeKind>,
    /// A role that rules may refer to.
    pub class: Option<String>,
    /// Longitude in degrees, or x of a drawing.
    pub x: Option<f64>,
    /// Latitude in degrees, or y of a drawing.
    pub y: Option<f64>,
    /// How many people it serves, for traffic by gravity. A file says it as the attribute
    /// `population` of a node.
    pub population: Option<f64>,
}

/// A link written in the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Rate from `a` to `b`, and back unless `rate_back` says otherwise.
    pub rate: Option<Rate>,
    /// Rate from `b` to `a`, where it differs.
    pub rate_back: Option<Rate>,
    /// Propagation delay, either way: a time, or "distance".
    pub delay: Option<DelaySpec>,
    /// Largest packet in bytes; 1500 unless said.
    pub mtu: Option<u32>,
    /// Cost for routing by weight; 1 unless said.
    pub weight: Option<f64>,
    /// Probability that a packet is lost on the wire; 0 unless said.
    pub corruption: Option<Ratio>,
    /// Name of the queue of its ports, where it differs from the scenario's.
    pub queue: Option<String>,
}

/// Rates and delays by class. A rule holds for links between `from` and `to`, whichever way round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// A class, `host`, `router`, or `*` (unless said) for any node.
    #[serde(default = "any_class")]
    pub from: String,
    /// A class, `host`, `router`, or `*` (unless said) for any node.
    #[serde(default = "any_class")]
    pub to: String,
    /// Rate of such a link.
    pub rate: Option<Rate>,
    /// Delay of such a link: a time, or "distance".
    pub delay: Option<DelaySpec>,
    /// Routing weight of such a link.
    pub weight: Option<f64>,
    /// MTU of such a link.
    pub mtu: Option<u32>,
    /// Loss on the wire of such a link.
    pub corruption: Option<Ratio>,
    /// Name of the queue of such a link's ports.
    pub queue: Option<String>,
}

fn any_class() -> String {
    "*".into()
}

/// Hosts to attach to routers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostsSpec {
    /// This many at each router; 1 if neither this nor `total` is said, and 0 for none at all.
    pub per_node: Option<usize>,
    /// This many altogether, dealt out to the routers in turn.
    pub total: Option<usize>,
    /// Which routers: `all` (unless said) or a class, such as `edge` or `gateway`.
    pub on: Option<String>,
    /// Rate of the access links; that of the fastest link in the network unless said.
    pub rate: Option<Rate>,
    /// Delay of the access links; `min_delay` unless said.
    pub delay: Option<Time>,
    /// To how many routers each host is linked: the first in turn, further ones at random among the
    /// same. 1 unless said.
    pub homes: Option<usize>,
    /// Hosts are called this and a number from 0; `h` unless said.
    pub prefix: Option<String>,
    /// Largest packet on the access links in bytes; 1500 unless said.
    pub mtu: Option<u32>,
    /// Name of the queue of the access links' ports, where it differs from the scenario's.
    pub queue: Option<String>,
}

#[cfg(test)]
mod tests;
