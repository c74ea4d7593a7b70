//! Domains: membership, and budgets of neighbours (§4.3).

use std::collections::BTreeMap;

use midpath_core::packet::NodeId;
use midpath_core::roles::Names;
use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use crate::params::require;

/// One domain: an administration that assigns budgets in a currency of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DomainParams {
    /// Its nodes by name, hosts and routers. All nodes that no domain names are one domain
    /// together.
    pub nodes: Vec<String>,
    /// What comes in over one link from a neighbouring domain is worth this much here, $/s of this
    /// domain's currency: 1 unless said, as much as a host of §6.1.
    pub weights: BTreeMap<String, f64>,
}

/// Checks what can be checked without the network.
pub fn check(domains: &BTreeMap<String, DomainParams>) -> Result<(), SpecError> {
    for (name, domain) in domains {
        let key = format!("{name}.weights");
        require(domain.weights.values().all(|w| (1e-6..=1e6).contains(w)), &key, "from 1e-6 to 1e6 $/s each")?;
        if let Some(other) = domain.weights.keys().find(|other| !domains.contains_key(*other)) {
            return Err(SpecError::new(key, format!("there is no domain `{other}`")));
        }
    }
    Ok(())
}

/// Domains with their names resolved.
#[derive(Debug, Clone, Default)]
pub struct Domains {
    of: BTreeMap<NodeId, usize>,
    /// By domain, then by neighbour.
    weights: Vec<BTreeMap<usize, f64>>,
}

impl Domains {
    /// Resolves names. A node can be in one domain only.
    pub fn bind(domains: &BTreeMap<String, DomainParams>, names: &dyn Names) -> Result<Domains, SpecError> {
        let number: BTreeMap<&str, usize> = domains.keys().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let mut bound = Domains::default();
        for (name, domain) in domains {
            let error = |what: String| SpecError::new(format!("domains.{name}.nodes"), what);
            for node in &domain.nodes {
                let id = names.node(node).ok_or_else(|| error(format!("there is no node `{node}`")))?;
                if bound.of.insert(id, number[name.as_str()]).is_some() {
                    return Err(error(format!("`{node}` is in a domain already")));
                }
            }
            bound.weights.push(domain.weights.iter().map(|(other, w)| (number[other.as_str()], *w)).collect());
        }
        Ok(bound)
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.of.is_empty()
    }

    /// What is worth here, $/s, what comes to `node` over a link from `peer`; `None` inside a
    /// domain.
    pub fn border(&self, node: NodeId, peer: NodeId) -> Option<f64> {
        let (here, there) = (self.of.get(&node), self.of.get(&peer));
        let weight = || Some(*self.weights[*here?].get(there?)?);
        (here != there).then(|| weight().unwrap_or(1.0))
    }
}
