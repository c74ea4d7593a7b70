//! Groups of flows by number, and what names in schemes' parameters stand for.

use midpath_core::packet::{Name, NodeId};
use midpath_core::roles::Names;
use midpath_topo::Topology;
use rustc_hash::FxHashMap;

use super::{FlowInfo, Objects};

/// The groups that flows are added up in, numbered in the order of their first flows.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// Each flow's group.
    pub of: Vec<u32>,
    /// Each group's name.
    pub names: Vec<String>,
    /// The number of what each flow spends, where it says so. Numbers go on from the groups'; one
    /// that is called as a group has its number.
    pub budgets: Vec<Option<u32>>,
    /// The names of those that are no groups.
    other: Vec<String>,
}

impl Groups {
    pub(super) fn of(flows: &[FlowInfo]) -> Groups {
        let mut found = Numbers::default();
        let of = flows.iter().map(|f| found.of(&f.flow.group)).collect();
        let groups = found.names.len();
        let budgets = flows.iter().map(|f| f.flow.budget.as_deref().map(|name| found.of(name))).collect();
        let mut names = found.names;
        let other = names.split_off(groups);
        Groups { of, names, budgets, other }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.names.iter().chain(&self.other).position(|n| n == name).map(|n| n as u32)
    }
}

/// Names, numbered in the order in which they come up.
#[derive(Default)]
struct Numbers<'a> {
    names: Vec<String>,
    known: FxHashMap<&'a str, u32>,
}

impl<'a> Numbers<'a> {
    fn of(&mut self, name: &'a str) -> u32 {
        let names = &mut self.names;
        *self.known.entry(name).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        })
    }
}

/// Names of nodes are the topology's, names of groups and budgets the flows'.
pub(super) struct RunNames<'a> {
    pub topology: &'a Topology,
    pub groups: &'a Groups,
    pub objects: &'a Objects,
}

impl Names for RunNames<'_> {
    fn node(&self, name: &str) -> Option<NodeId> {
        self.topology.find(name).map(|n| NodeId(n as u32))
    }
    fn group(&self, name: &str) -> Option<u32> {
        self.groups.number(name)
    }
    fn copies(&self) -> Vec<(Name, Vec<NodeId>)> {
        self.objects.copies()
    }
}
