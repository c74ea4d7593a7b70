//! The network as the simulator sees it: nodes, links between them, and each node's ports in a
//! fixed order.

use rustc_hash::{FxBuildHasher, FxHashMap};

use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::adjacency::Adjacency;
pub use crate::adjacency::Port;

/// Most nodes that a topology may have. Our choice: ten times the largest router-level map with
/// hosts that we know of.
pub const MAX_NODES: usize = 1_000_000;
/// Most links that a topology may have.
pub const MAX_LINKS: usize = 2_000_000;
/// Most links at one node, so that a port number fits in 16 bits.
pub const MAX_DEGREE: usize = 65_535;
/// The MTU of a link that names none: Ethernet's.
pub const DEFAULT_MTU: u32 = 1500;

/// The smallest MTU of a link: IPv4's (RFC 791).
pub const MIN_MTU: u32 = 68;
/// The largest MTU of a link: the longest packet that IPv4 can state (RFC 791).
pub const MAX_MTU: u32 = 65_535;
/// The lowest rate of a link. Our choice: a queue of 2 GB still drains before the clock's 213 days
/// are over.
pub const MIN_RATE: Rate = Rate(1_000);
/// The highest rate of a link. Our choice: the rates of [`MAX_DEGREE`] links add up in 64 bits.
pub const MAX_RATE: Rate = Rate::from_gbps(100_000);
/// The longest delay of a link. Our choice: those of 18,446 links in a row add up in 64 bits, and
/// packets cross 64 at most.
pub const MAX_DELAY: Time = Time::from_secs(1_000);

/// What a node does with packets that are not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Router,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeInfo {
    /// Unique within the topology.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
    /// A role that rules may refer to: `edge`, `gateway`, `backbone`, `core`, …
    pub class: Option<String>,
    /// Where it is: longitude and latitude in degrees, or x and y of a drawing.
    pub pos: Option<(f64, f64)>,
    /// What a drawing may show instead of the name: a city.
    pub label: Option<String>,
    /// How many people it serves, where the source says so.
    pub population: Option<f64>,
    /// Rates of its links to other routers, added up, as the source has them: links taken out of it
    /// count.
    pub trunk: Rate,
}

impl NodeInfo {
    /// A node of this name and kind, without class or position.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> NodeInfo {
        let name = name.into();
        NodeInfo { name, kind, class: None, pos: None, label: None, population: None, trunk: Rate::ZERO }
    }
}

/// One link: both directions between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkInfo {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Rate from `a` to `b`, and back unless `rate_back` is given.
    pub rate: Rate,
    /// Propagation delay, either way; above zero.
    pub delay: Time,
    /// Rate from `b` to `a`.
    pub rate_back: Option<Rate>,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Cost for routing by weight.
    pub weight: f64,
    /// Probability that a packet is lost on the wire.
    pub corruption: f64,
    /// Name of the queue that its ports use, where it differs from the scenario's.
    pub queue: Option<String>,
}

impl LinkInfo {
    /// A loss-free link of weight 1 and MTU 1500.
    pub fn new(a: usize, b: usize, rate: Rate, delay: Time) -> LinkInfo {
        LinkInfo { a, b, rate, delay, rate_back: None, mtu: DEFAULT_MTU, weight: 1.0, corruption: 0.0, queue: None }
    }

    /// The rate at which `from`, one of its ends, transmits.
    pub fn rate_from(&self, from: usize) -> Rate {
        if from == self.b { self.rate_back.unwrap_or(self.rate) } else { self.rate }
    }
}

/// A checked network: indices in range, names unique, rates and delays above zero.
///
/// It is not necessarily connected: a map as measured may have several parts.
/// [`crate::spec::build`] refuses those.
#[derive(Debug, Clone)]
pub struct Topology {
    nodes: Vec<NodeInfo>,
    links: Vec<LinkInfo>,
    adjacency: Adjacency,
    by_name: FxHashMap<String, usize>,
    unused: Vec<String>,
}

impl Topology {
    /// Checks and indexes a network. The error's key is `nodes[i]…` or `links[i]…` by position in
    /// the arguments.
    pub fn new(nodes: Vec<NodeInfo>, links: Vec<LinkInfo>) -> Result<Topology, SpecError> {
        check_sizes(nodes.len(), links.len())?;
        let by_name = index_names(&nodes)?;
        for (i, link) in links.iter().enumerate() {
            check_link(link, &nodes).map_err(|e| e.under(&format!("links[{i}]")))?;
        }
        let adjacency = Adjacency::new(nodes.len(), links.iter().map(|l| (l.a, l.b)));
        if let Some(n) = (0..nodes.len()).find(|&n| adjacency.degree(n) > MAX_DEGREE) {
            let (name, degree) = (&nodes[n].name, adjacency.degree(n));
            let message = format!("`{name}` has {degree} links; a node may have {MAX_DEGREE}");
            return Err(SpecError::new(format!("nodes[{n}]"), message));
        }
        Ok(Topology { nodes, links, adjacency, by_name, unused: Vec::new() })
    }

    /// With what its source states and nothing uses, a sentence each.
    pub fn with_unused(self, unused: Vec<String>) -> Topology {
        Topology { unused, ..self }
    }

    /// What its source states and nothing uses, a sentence each.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// The same network with more links, behind those that it has: ports keep their numbers.
    pub fn with_links(self, more: impl IntoIterator<Item = LinkInfo>) -> Result<Topology, SpecError> {
        let Topology { nodes, links, unused, .. } = self;
        let whole = Topology::new(nodes, links.into_iter().chain(more).collect())?;
        Ok(whole.with_unused(unused))
    }

    /// All nodes; a node's index is its position here.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// All links; a link's index is its position here.
    pub fn links(&self) -> &[LinkInfo] {
        &self.links
    }

    /// Gives a link another rate from its end `a` (`direction` 0) or `b` (1).
    ///
    /// # Panics
    /// If the rate is not one that a link can have.
    pub fn set_rate(&mut self, link: usize, direction: usize, rate: Rate) {
        check_rate("rate", Some(rate)).expect("a link's rate");
        let link = &mut self.links[link];
        let mut rates = [link.rate, link.rate_back.unwrap_or(link.rate)];
        rates[direction] = rate;
        (link.rate, link.rate_back) = (rates[0], (rates[1] != rates[0]).then_some(rates[1]));
    }

    /// Gives a link another delay.
    ///
    /// # Panics
    /// If the delay is not one that a link can have.
    pub fn set_delay(&mut self, link: usize, delay: Time) {
        check_delay("delay", delay).expect("a link's delay");
        self.links[link].delay = delay;
    }

    /// The node of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The same with a message that suggests a name if there is none of this one.
    pub fn named(&self, name: &str) -> Result<usize, String> {
        let names = self.nodes.iter().map(|n| n.name.as_str());
        self.find(name).ok_or_else(|| crate::suggest::unknown("node", name, names))
    }

    /// The hosts, in order of index.
    pub fn hosts(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// The routers, in order of index.
    pub fn routers(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(NodeKind::Router)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().enumerate().filter(move |(_, n)| n.kind == kind).map(|(i, _)| i)
    }

    /// Whether node `n` is a host.
    pub fn is_host(&self, n: usize) -> bool {
        self.nodes[n].kind == NodeKind::Host
    }

    /// The ports of node `n`: port number = position = order of its links in [`Topology::links`].
    pub fn ports(&self, n: usize) -> &[Port] {
        self.adjacency.ports(n)
    }

    /// The number of links at node `n`.
    pub fn degree(&self, n: usize) -> usize {
        self.adjacency.degree(n)
    }

    /// The first port of `from` that leads to `to`.
    pub fn port_to(&self, from: usize, to: usize) -> Option<u16> {
        self.ports(from).iter().position(|p| p.peer as usize == to).map(|p| p as u16)
    }

    /// The port number of `link` at node `n`, one of its ends.
    pub fn port_of_link(&self, n: usize, link: usize) -> Option<u16> {
        self.ports(n).binary_search_by_key(&(link as u32), |p| p.link).ok().map(|p| p as u16)
    }

    /// The neighbourhood structure alone.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// Whether every node reaches every other.
    pub fn is_connected(&self) -> bool {
        self.adjacency.components().len() <= 1
    }

    /// The longest shortest path in hops, hosts included; `None` if not connected or empty.
    pub fn diameter(&self) -> Option<u32> {
        self.adjacency.diameter()
    }
}

fn check_sizes(nodes: usize, links: usize) -> Result<(), SpecError> {
    if nodes == 0 {
        return Err(SpecError::new("nodes", "the topology has no nodes"));
    }
    if nodes > MAX_NODES {
        return Err(SpecError::new("nodes", format!("{nodes} nodes; at most {MAX_NODES} are accepted")));
    }
    if links > MAX_LINKS {
        return Err(SpecError::new("links", format!("{links} links; at most {MAX_LINKS} are accepted")));
    }
    Ok(())
}

fn index_names(nodes: &[NodeInfo]) -> Result<FxHashMap<String, usize>, SpecError> {
    let mut by_name = FxHashMap::with_capacity_and_hasher(nodes.len(), FxBuildHasher);
    for (i, node) in nodes.iter().enumerate() {
        let key = || format!("nodes[{i}].name");
        if node.name.is_empty() {
            return Err(SpecError::new(key(), "a node needs a name"));
        }
        if let Some(first) = by_name.insert(node.name.clone(), i) {
            let message = format!("`{}` is already the name of nodes[{first}]; names are unique", node.name);
            return Err(SpecError::new(key(), message));
        }
    }
    Ok(by_name)
}

fn check_link(link: &LinkInfo, nodes: &[NodeInfo]) -> Result<(), SpecError> {
    let err = |key: &str, message: String| Err(SpecError::new(key, message));
    for (key, end) in [("a", link.a), ("b", link.b)] {
        if end >= nodes.len() {
            return err(key, format!("no node has the index {end}; there are {}", nodes.len()));
        }
    }
    if link.a == link.b {
        return err("b", format!("`{}` is linked to itself; a link joins two nodes", nodes[link.a].name));
    }
    check_rate("rate", Some(link.rate))?;
    check_rate("rate_back", link.rate_back)?;
    check_delay("delay", link.delay)?;
    check_mtu("mtu", Some(link.mtu))?;
    check_weight("weight", Some(link.weight))?;
    check_corruption("corruption", Some(link.corruption))
}

/// A rate that a link can have.
pub fn check_rate(key: &str, rate: Option<Rate>) -> Result<(), SpecError> {
    match rate {
        Some(Rate::ZERO) => Err(SpecError::new(key, "a link needs a rate above zero, such as \"10 Mbps\"")),
        Some(rate) if rate < MIN_RATE => Err(SpecError::new(key, format!("{rate} is below the minimum, {MIN_RATE}"))),
        Some(rate) if rate > MAX_RATE => Err(SpecError::new(key, format!("{rate} is above the maximum, {MAX_RATE}"))),
        _ => Ok(()),
    }
}

/// A delay that a link can have.
pub fn check_delay(key: &str, delay: Time) -> Result<(), SpecError> {
    match delay {
        Time::ZERO => Err(SpecError::new(key, "a link needs a delay above zero, such as \"1 us\"")),
        delay if delay > MAX_DELAY => Err(SpecError::new(key, format!("{delay} is above the maximum, {MAX_DELAY}"))),
        _ => Ok(()),
    }
}

/// A delay that is not too long; zero is the least delay that there is.
pub(crate) fn check_longest(key: &str, delay: Option<Time>) -> Result<(), SpecError> {
    delay.filter(|d| !d.is_zero()).map_or(Ok(()), |delay| check_delay(key, delay))
}

/// An MTU that a link can have.
pub(crate) fn check_mtu(key: &str, mtu: Option<u32>) -> Result<(), SpecError> {
    match mtu {
        Some(mtu) if mtu < MIN_MTU => {
            Err(SpecError::new(key, format!("{mtu} bytes is below the smallest MTU, {MIN_MTU}; Ethernet's is 1500")))
        }
        Some(mtu) if mtu > MAX_MTU => {
            Err(SpecError::new(key, format!("{mtu} bytes is above the largest MTU, {MAX_MTU}")))
        }
        _ => Ok(()),
    }
}

/// A routing weight that a link can have.
pub(crate) fn check_weight(key: &str, weight: Option<f64>) -> Result<(), SpecError> {
    match weight {
        Some(w) if !(w.is_finite() && w > 0.0 && w <= 1e9) => {
            Err(SpecError::new(key, format!("{w} is not a weight; write a number above 0 and at most 1e9")))
        }
        _ => Ok(()),
    }
}

/// A loss probability that a link can have.
pub(crate) fn check_corruption(key: &str, corruption: Option<f64>) -> Result<(), SpecError> {
    match corruption {
        Some(p) if !(0.0..1.0).contains(&p) => {
            Err(SpecError::new(key, format!("{} % is out of range; accepted is 0 to below 100 %", 100.0 * p)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NodeKind::{Host, Router};

    fn line() -> (Vec<NodeInfo>, Vec<LinkInfo>) {
        let nodes = vec![NodeInfo::new("h0", Host), NodeInfo::new("r0", Router), NodeInfo::new("h1", Host)];
        let link = |a, b| LinkInfo::new(a, b, Rate::from_mbps(10), Time::from_ms(1));
        (nodes, vec![link(0, 1), link(1, 2)])
    }

    fn refused(change: impl FnOnce(&mut Vec<NodeInfo>, &mut Vec<LinkInfo>)) -> String {
        let (mut nodes, mut links) = line();
        change(&mut nodes, &mut links);
        Topology::new(nodes, links).expect_err("must be refused").to_string()
    }

    #[test]
    fn ports_follow_the_order_of_links() {
        let (nodes, links) = line();
        let t = Topology::new(nodes, links).expect("valid");
        assert_eq!(t.ports(1), &[Port { link: 0, peer: 0 }, Port { link: 1, peer: 2 }]);
        assert_eq!(t.port_to(1, 2), Some(1));
        assert_eq!(t.port_of_link(2, 1), Some(0));
        assert_eq!(t.hosts().collect::<Vec<_>>(), [0, 2]);
        assert_eq!((t.degree(1), t.diameter(), t.is_connected()), (2, Some(2), true));
    }

    #[test]
    fn bad_networks_name_the_key() {
        assert!(refused(|n, _| n[2].name = "h0".into()).starts_with("nodes[2].name: `h0` is already"));
        assert!(refused(|_, l| l[1].b = 1).starts_with("links[1].b: `r0` is linked to itself"));
        assert!(refused(|_, l| l[1].b = 9).starts_with("links[1].b: no node has the index 9"));
        assert!(refused(|_, l| l[0].rate = Rate::ZERO).starts_with("links[0].rate"));
        assert!(refused(|_, l| l[0].delay = Time::ZERO).starts_with("links[0].delay"));
        assert!(refused(|_, l| l[0].weight = f64::NAN).starts_with("links[0].weight"));
        assert!(refused(|_, l| l[0].corruption = f64::NAN).starts_with("links[0].corruption"));
        assert!(refused(|n, _| n.clear()).starts_with("nodes: "));
    }
}
