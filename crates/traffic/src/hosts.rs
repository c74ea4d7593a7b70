//! The hosts that flows run between, and the rates that an offered load refers to.

use crate::suggest::unknown;
use midpath_core::units::Rate;
use std::collections::HashMap;

/// A node that may send and receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name in the topology.
    pub name: String,
    /// Node index in the topology.
    pub node: u32,
    /// Rate of its access: what it can send at most, all its links together.
    pub access: Rate,
}

/// All hosts of a topology, by name and by node index.
#[derive(Debug, Clone, Default)]
pub struct HostTable {
    hosts: Vec<Host>,
    by_name: HashMap<String, usize>,
    by_node: HashMap<u32, usize>,
}

impl HostTable {
    /// A table of `hosts`; their order is the order of matrices. Of two with one name or node the first counts.
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

    /// The hosts in order.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The host called `name`, or, where no host has that name, the one whose node index it is in decimal.
    pub fn get(&self, name: &str) -> Option<&Host> {
        let by_index = || self.by_node.get(&name.parse().ok()?).copied();
        self.by_name.get(name).copied().or_else(by_index).map(|i| &self.hosts[i])
    }

    /// The host at node `node`.
    pub fn at(&self, node: u32) -> Option<&Host> {
        self.by_node.get(&node).map(|&i| &self.hosts[i])
    }

    /// The hosts that `pattern` names: one name, or a prefix and `*`. Says what is known when there are none.
    pub(crate) fn matching(&self, pattern: &str) -> Result<Vec<&Host>, String> {
        let Some(prefix) = pattern.strip_suffix('*') else {
            return Ok(vec![self.find(pattern)?]);
        };
        let found: Vec<&Host> = self.hosts.iter().filter(|h| h.name.starts_with(prefix)).collect();
        if found.is_empty() { Err(unknown("host like", pattern, self.names())) } else { Ok(found) }
    }

    /// As [`HostTable::get`], with a message when there is no such host.
    pub(crate) fn find(&self, name: &str) -> Result<&Host, String> {
        self.get(name).ok_or_else(|| unknown("host", name, self.names()))
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.hosts.iter().map(|h| h.name.as_str())
    }
}

/// Looks up the rate of a link; the topology implements it.
pub trait LinkRates {
    /// Called when a load refers to the link from node `from` to its neighbour `to`; `None` if there is no such link.
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
        let host = |name: &str, node| Host { name: name.into(), node, access: Rate::from_gbps(1) };
        let table = HostTable::new([host("7", 3), host("h1", 7), host("h2", 9)]);
        assert_eq!(table.get("7").map(|h| h.node), Some(3));
        assert_eq!(table.get("9").map(|h| h.node), Some(9));
        assert_eq!(table.at(7).map(|h| h.name.as_str()), Some("h1"));
        assert_eq!(table.matching("h*").map(|v| v.len()), Ok(2));
        assert!(table.matching("x*").is_err());
        assert!(table.find("h3").is_err_and(|m| m.contains("did you mean `h1`?")));
    }
}
