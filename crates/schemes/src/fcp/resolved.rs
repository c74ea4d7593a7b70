//! The parameters checked, and with their names resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::NodeId;
use midpath_core::roles::{FlowSpec, Names};
use midpath_core::spec::SpecError;

use super::header::MAX_PRICE;
use super::params::{Additions, Domains, FcpParams, GroupParams, HostParams, check_domains};
use super::policy;
use super::price::Rule;
use crate::params::require;
use crate::transport::params::DelayedAck;

/// The number of the flows of which the parameters say nothing.
const UNNAMED: u32 = u32::MAX;

/// The parameters with their names resolved: what endpoints and ports look things up in.
#[derive(Clone)]
pub struct Resolved {
    /// The parameters.
    pub given: FcpParams,
    hosts: BTreeMap<NodeId, HostParams>,
    groups: BTreeMap<u32, Arc<GroupParams>>,
    domains: Domains,
    /// Of multicast groups, the hosts that receive.
    trees: BTreeMap<u32, Vec<NodeId>>,
    default_group: Arc<GroupParams>,
    /// Policies from outside.
    pub custom: policy::CustomPolicies,
}

impl FcpParams {
    /// Checks everything that can be checked without the network.
    pub fn resolve(self, custom: policy::CustomPolicies) -> Result<Resolved, SpecError> {
        policy::check(&self.policy, "policy", &custom)?;
        let positive = |x: f64| x > 0.0 && x <= MAX_PRICE;
        require(positive(self.budget), "budget", "above zero and at most 1e15 $/s")?;
        require((0.0..=100.0).contains(&self.alpha), "alpha", "from 0 to 100")?;
        require((0.5..=100.0).contains(&self.window), "window", "from 0.5 to 100 round-trip times")?;
        require(
            self.minimum_price > 0.0 && self.minimum_price <= 1e-3,
            "minimum_price",
            "above zero and at most 1e-3 $/byte",
        )?;
        require(self.background_share > 0.0 && self.background_share < 1.0, "background_share", "between 0 and 1")?;
        let each = self.tcp.delayed_ack == DelayedAck(1);
        require(each, "delayed_ack", "false: each packet needs its own ACK to return the price")?;
        let named =
            |name: &Option<String>, key: String| name.as_ref().map_or(Ok(()), |n| policy::check(n, &key, &custom));
        self.network.check().map_err(|e| e.under("network"))?;
        check_domains(&self.domains).map_err(|e| e.under("domains"))?;
        for (name, host) in &self.hosts {
            let key = format!("hosts.{name}.budget");
            require(host.budget.is_none_or(positive), &key, "above zero and at most 1e15 $/s")?;
            named(&host.policy, format!("hosts.{name}.policy"))?;
        }
        for (name, group) in &self.groups {
            group.check().map_err(|e| e.under(&format!("groups.{name}")))?;
            named(&group.policy, format!("groups.{name}.policy"))?;
        }
        Ok(Resolved {
            given: self,
            hosts: BTreeMap::new(),
            groups: BTreeMap::new(),
            trees: BTreeMap::new(),
            domains: Domains::default(),
            default_group: Arc::default(),
            custom,
        })
    }
}

impl Resolved {
    /// The same with the names of hosts and groups resolved.
    pub fn bind(&self, names: &dyn Names) -> Result<Resolved, SpecError> {
        let mut bound = Resolved { domains: Domains::bind(&self.given.domains, names)?, ..self.clone() };
        for (name, host) in &self.given.hosts {
            let message = || SpecError::new(format!("hosts.{name}"), "there is no node of this name");
            bound.hosts.insert(names.node(name).ok_or_else(message)?, host.clone());
        }
        for (name, group) in &self.given.groups {
            let message = || {
                SpecError::new(format!("groups.{name}"), "no flow has this `budget`, and no group of flows this name")
            };
            let number = names.group(name).ok_or_else(message)?;
            bound.groups.insert(number, Arc::new(group.clone()));
            let message =
                |host: &str| SpecError::new(format!("groups.{name}.multicast"), format!("there is no node `{host}`"));
            let receivers: Result<Vec<_>, _> =
                group.multicast.iter().map(|h| names.node(h).ok_or_else(|| message(h))).collect();
            let receivers = receivers?;
            if !receivers.is_empty() {
                bound.trees.insert(number, receivers);
            }
        }
        Ok(bound)
    }

    /// The hosts that each flow of a multicast group goes to besides its destination; none for
    /// other groups.
    pub fn receivers(&self, group: u32) -> &[NodeId] {
        self.trees.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Whether any group is multicast.
    pub fn multicasts(&self) -> bool {
        !self.trees.is_empty()
    }

    /// Who belongs to which domain.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// The constants of the pricing.
    pub fn rule(&self) -> Rule {
        let FcpParams { alpha, window, minimum_price: minimum, .. } = self.given;
        Rule { alpha, window, minimum, additions: self.additions() }
    }

    /// What of ours is on.
    pub fn additions(&self) -> Additions {
        self.given.additions
    }

    /// A host's budget, $/s.
    pub fn budget(&self, host: NodeId) -> f64 {
        self.hosts.get(&host).and_then(|h| h.budget).unwrap_or(self.given.budget)
    }

    /// Which group's budget a flow spends: what its own key `budget` names, else its group's where
    /// `groups` speaks of that. All other flows of a host spend together, whatever they are called
    /// in results.
    pub fn group_of(&self, flow: &FlowSpec) -> u32 {
        flow.budget.unwrap_or(if self.groups.contains_key(&flow.group) { flow.group } else { UNNAMED })
    }

    /// What is said of a group.
    pub fn group(&self, group: u32) -> &Arc<GroupParams> {
        self.groups.get(&group).unwrap_or(&self.default_group)
    }

    /// How `host` splits the budget of `group`.
    pub fn policy(&self, host: NodeId, group: u32) -> &str {
        let of_host = self.hosts.get(&host).and_then(|h| h.policy.as_deref());
        self.group(group).policy.as_deref().or(of_host).unwrap_or(&self.given.policy)
    }
}
