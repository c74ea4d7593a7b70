//! The hosts that flows run between, and the rates that an offered load refers to.

use crate::suggest::unknown;
use midpath_core::units::Rate;
use rustc_hash::FxHashMap;

/// A node that may send and receive.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Name in the topology.
    pub name: String,
    /// Node index in the topology.
    pub node: u32,
    /// Rate of its access: what it can send at most, all its links together.
    pub access: Rate,
    /// Its part of the people whom its router serves, where the map says how many.
    pub population: Option<f64>,
    /// Its part of the rates of its router's links to other routers, added up.
    pub trunk: Rate,
}

impl Host {
    /// A host of which no more is known.
    pub fn new(name: impl Into<String>, node: u32, access: Rate) -> Host {
        Host { name: name.into(), node, access, population: None, trunk: Rate::ZERO }
    }
}

/// All hosts of a topology, by name, by the place where they are (their router) and by node index.
#[derive(Debug, Clone, Default)]
pub struct HostTable {
    hosts: Vec<Host>,
    by_name: FxHashMap<String, usize>,
    by_node: FxHashMap<u32, usize>,
    /// The hosts of each place. Places keep their order, so that suggestions do.
    places: Vec<(String, Vec<usize>)>,
    by_place: FxHashMap<String, usize>,
}

impl HostTable {
    /// A table of `hosts`; their order is the order of matrices. Of two with one name or node the
    /// first counts.
    pub fn new(hosts: impl IntoIterator<Item = Host>) -> HostTable {
        let mut table = HostTable::default();
        for host in hosts {
            if !table.by_name.contains_key(&host.name) && !table.by_node.contains_key(&host.node) {
                table.by_name.insert(host.name.clone(), table.hosts.len());
                table.by_node.insert(host.node, table.hosts.len());
                table.hosts.push(host);
            }
        }
        table
    }

    /// The same with places: names of routers, each with the nodes of its hosts. A host's name goes
    /// before a place's.
    #[must_use]
    pub fn with_places(mut self, places: impl IntoIterator<Item = (String, Vec<u32>)>) -> HostTable {
        for (name, nodes) in places {
            if !self.by_name.contains_key(&name) && !self.by_place.contains_key(&name) {
                let hosts = nodes.iter().filter_map(|n| self.by_node.get(n).copied()).collect();
                self.by_place.insert(name.clone(), self.places.len());
                self.places.push((name, hosts));
            }
        }
        self
    }

    /// The hosts in order.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The host called `name`, else the one host of the place of that name, else the one whose node
    /// index it is in decimal.
    pub fn get(&self, name: &str) -> Option<&Host> {
        self.find(name).ok()
    }

    /// The place where a host is.
    pub(crate) fn place_of(&self, host: &Host) -> Option<&str> {
        let index = self.by_node.get(&host.node)?;
        self.places.iter().find(|(_, hosts)| hosts.contains(index)).map(|(name, _)| name.as_str())
    }

    /// The host at node `node`.
    pub fn at(&self, node: u32) -> Option<&Host> {
        self.by_node.get(&node).map(|&i| &self.hosts[i])
    }

    /// The hosts that `pattern` names: one name, a place, or a prefix and `*`. Says what is known
    /// when there are none.
    pub(crate) fn matching(&self, pattern: &str) -> Result<Vec<&Host>, String> {
        let Some(prefix) = pattern.strip_suffix('*') else {
            return self.all(pattern);
        };
        let found: Vec<&Host> = self.hosts.iter().filter(|h| h.name.starts_with(prefix)).collect();
        if found.is_empty() { Err(unknown("host like", pattern, self.names())) } else { Ok(found) }
    }

    /// The host called `name`, or all hosts of the place of that name, or the one whose node index it
    /// is in decimal; at least one.
    pub(crate) fn all(&self, name: &str) -> Result<Vec<&Host>, String> {
        let known = self.by_name.contains_key(name) || self.by_place.contains_key(name);
        let by_index = name.parse().ok().filter(|_| !known).and_then(|n: u32| self.at(n));
        by_index.map_or_else(|| self.named(name), |host| Ok(vec![host]))
    }

    /// The host called `name`, or all hosts of the place of that name; at least one.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<&Host>, String> {
        if let Some(&i) = self.by_name.get(name) {
            return Ok(vec![&self.hosts[i]]);
        }
        if let Some(&place) = self.by_place.get(name) {
            return match &self.places[place].1[..] {
                [] => Err(format!("`{name}` is a router without hosts; flows begin and end at hosts")),
                hosts => Ok(hosts.iter().map(|&i| &self.hosts[i]).collect()),
            };
        }
        Err(unknown("host", name, self.names()))
    }

    /// The one host that `name` names, with a message when there is none, or more than one.
    pub(crate) fn find(&self, name: &str) -> Result<&Host, String> {
        match self.all(name)?[..] {
            [host] => Ok(host),
            ref more => Err(format!(
                "`{name}` is a router with {} hosts; name one of them, such as `{}`",
                more.len(),
                more[0].name
            )),
        }
    }

    /// The host of this number, counted from 0 in the network's order.
    pub(crate) fn nth(&self, number: &str) -> Result<&Host, String> {
        let host = number.parse().ok().and_then(|n: usize| self.hosts.get(n));
        host.ok_or_else(|| format!("host {number}, counted from 0; the network has {} hosts", self.hosts.len()))
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.hosts.iter().map(|h| h.name.as_str()).chain(self.places.iter().map(|p| p.0.as_str()))
    }
}

/// Looks up the rate of a link; the topology implements it.
pub trait LinkRates {
    /// Called when a load refers to the link from node `from` to its neighbour `to`; `None` if
    /// there is no such link.
    fn link_rate(&self, from: &str, to: &str) -> Option<Rate>;
}

/// A topology without links that loads may refer to.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLinks;

impl LinkRates for NoLinks {
    fn link_rate(&self, _: &str, _: &str) -> Option<Rate> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_before_a_node_index() {
        let host = |name: &str, node| Host::new(name, node, Rate::from_gbps(1));
        let table = HostTable::new([host("7", 3), host("h1", 7), host("h2", 9)]);
        assert_eq!(table.get("7").map(|h| h.node), Some(3));
        assert_eq!(table.get("9").map(|h| h.node), Some(9));
        assert_eq!(table.at(7).map(|h| h.name.as_str()), Some("h1"));
        assert_eq!(table.matching("h*").map(|v| v.len()), Ok(2));
        assert!(table.matching("x*").is_err());
        assert_eq!(table.nth("2").map(|h| h.node), Ok(9));
        assert!(table.nth("3").is_err_and(|m| m.contains("the network has 3 hosts")));
        assert!(table.find("h3").is_err_and(|m| m.contains("there is no host `h3`; there are ")));
    }

    #[test]
    fn a_place_stands_for_its_hosts() {
        let hosts = (0..3).map(|i| Host::new(format!("h{i}"), i, Rate::from_gbps(1)));
        let places = [("Bern", vec![0]), ("Basel", vec![1, 2]), ("Chur", vec![]), ("h0", vec![2])];
        let table = HostTable::new(hosts).with_places(places.map(|(name, nodes)| (name.to_owned(), nodes)));
        let nodes = |name: &str| table.matching(name).map(|v| v.iter().map(|h| h.node).collect::<Vec<_>>());
        assert_eq!(table.find("Bern").map(|h| h.node), Ok(0));
        assert_eq!(nodes("Basel"), Ok(vec![1, 2]));
        assert_eq!(nodes("h0"), Ok(vec![0]));
        assert!(table.find("Basel").is_err_and(|m| m.contains("2 hosts; name one of them, such as `h1`")));
        assert!(table.find("Chur").is_err_and(|m| m.contains("without hosts")));
        assert!(table.find("Brn").is_err_and(|m| m.contains("did you mean `Bern`?")));
    }
}
