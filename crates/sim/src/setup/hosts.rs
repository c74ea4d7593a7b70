//! Hosts that take time to take in what arrives: the rows of `[[host]]`, resolved.

use std::collections::BTreeMap;

use midpath_core::node::Host;
use midpath_core::spec::SpecError;
use midpath_topo::Topology;

use super::Setup;
use super::deploy::select_some;
use crate::scenario::HostSpec;

/// What each host that a row matches is like, by node.
pub(super) fn hosts(rows: &[HostSpec], topology: &Topology) -> Result<BTreeMap<usize, Host>, SpecError> {
    let mut found = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        let under = |e: SpecError| e.under(&format!("host[{i}]"));
        for n in matching(row, topology).map_err(under)? {
            let mtus = topology.ports(n).iter().map(|port| topology.links()[port.link as usize].mtu);
            found.insert(n, row.host(mtus.max().unwrap_or_default()).map_err(under)?);
        }
    }
    Ok(found)
}

/// The hosts that a row names. A router takes in nothing.
fn matching(row: &HostSpec, topology: &Topology) -> Result<Vec<usize>, SpecError> {
    let mut all = Vec::new();
    for (i, selector) in row.nodes.iter().enumerate() {
        let found = select_some(i, selector, topology)?;
        let before = all.len();
        all.extend(found.into_iter().filter(|n| topology.is_host(*n)));
        if all.len() == before {
            let message = format!("no host is among `{selector}`; name hosts, such as \"hosts\" or \"d*\"");
            return Err(SpecError::new(format!("nodes[{i}]"), message));
        }
    }
    if row.nodes.is_empty() {
        all.extend(topology.hosts());
    }
    Ok(all)
}

impl Setup {
    /// Refuses `[[host]]` outside the simulator: there the hosts are what they are.
    pub fn refuse_hosts(&self) -> Result<(), SpecError> {
        let message = "is supported in the simulator only: elsewhere hosts take the time that they take";
        if self.hosts.is_empty() { Ok(()) } else { Err(SpecError::new("host", message)) }
    }
}
