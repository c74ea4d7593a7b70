//! Group numbers of flows, and resolution of names in schemes' parameters.

use std::sync::Arc;

use midpath_core::packet::{Name, NodeId};
use midpath_core::roles::Names;
use midpath_core::units::Time;
use midpath_topo::Topology;
use midpath_traffic::Flow;

use super::{AllFlows, Objects};

/// The groups that flows are added up in, numbered in the order of their first flows, and what they spend.
#[derive(Debug)]
pub struct Groups {
    flows: Arc<AllFlows>,
    groups: u32,
    /// By number of a flow's terms, the number of what it spends, if they say so. Numbers go on from the groups'; one
    /// that is called as a group has its number.
    budgets: Vec<Option<u32>>,
    /// The names of those that are no groups.
    other: Vec<String>,
}

impl Groups {
    pub(super) fn new(flows: &Arc<AllFlows>) -> Groups {
        let groups = flows.iter().map(|info| info.flow.group_number + 1).max().unwrap_or_default();
        let budgets = vec![None; flows.terms().len()];
        let mut found = Groups { flows: flows.clone(), groups, budgets, other: Vec::new() };
        if flows.terms().iter().all(|terms| terms.budget.is_none()) {
            return found; // no look at all flows where none says so
        }
        let mut seen = vec![false; flows.terms().len()];
        for flow in flows.iter().map(|info| info.flow) {
            let number = flow.terms_number as usize;
            if let Some(name) = flow.budget.as_deref().filter(|_| !std::mem::replace(&mut seen[number], true)) {
                found.budgets[number] = Some(found.number(name).unwrap_or_else(|| {
                    found.other.push(name.to_owned());
                    groups + found.other.len() as u32 - 1
                }));
            }
        }
        found
    }

    /// How many groups have flows.
    pub const fn count(&self) -> usize {
        self.groups as usize
    }

    /// The name of a group.
    pub fn name(&self, number: u32) -> &str {
        self.flows.groups().get(number)
    }

    /// A flow's group, and the number of what it spends, if it says so.
    #[inline]
    pub fn of(&self, flow: &Flow<'_>) -> (u32, Option<u32>) {
        (flow.group_number, self.budgets[flow.terms_number as usize])
    }

    /// The number of a group, or of what flows spend.
    pub fn number(&self, name: &str) -> Option<u32> {
        let group = self.flows.groups().find(name).filter(|number| *number < self.groups);
        let other = || self.other.iter().position(|n| n == name).map(|n| self.groups + n as u32);
        group.or_else(other)
    }
}

/// Names of nodes are the topology's, names of groups and budgets the flows'.
pub(super) struct RunNames<'a> {
    pub topology: &'a Topology,
    pub groups: &'a Groups,
    pub objects: &'a Objects,
    pub rtt: Time,
}

impl Names for RunNames<'_> {
    fn node(&self, name: &str) -> Option<NodeId> {
        self.topology.find(name).map(|n| NodeId(n as u32))
    }
    fn group(&self, name: &str) -> Option<u32> {
        self.groups.number(name)
    }
    fn rtt(&self) -> Time {
        self.rtt
    }
    fn copies(&self) -> Vec<(Name, Vec<NodeId>)> {
        self.objects.copies()
    }
}
