//! Group numbers of flows, and resolution of names in schemes' parameters.

use midpath_core::packet::{Name, NodeId};
use midpath_core::roles::Names;
use midpath_core::units::Time;
use midpath_topo::Topology;
use midpath_traffic::Flow;
use rustc_hash::FxHashMap;

use super::{AllFlows, Objects};

/// The groups that flows are added up in, numbered in the order of their first flows.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// Each group's name.
    pub names: Vec<String>,
    /// The group of flows on each of the run's terms, and the number of what they spend, where they say
    /// so. Numbers of the latter go on from the groups'; one that is called as a group has its number.
    of_terms: Vec<(u32, Option<u32>)>,
    /// The names of those that are no groups.
    other: Vec<String>,
}

impl Groups {
    pub(super) fn new(flows: &AllFlows) -> Groups {
        let (mut found, mut order) = (Numbers::default(), Vec::new());
        let mut seen = vec![false; flows.terms().len()];
        for number in flows.iter().map(|f| f.flow.terms_number as usize) {
            if !std::mem::replace(&mut seen[number], true) {
                order.push(number);
            }
        }
        let mut of_terms = vec![(0, None); seen.len()];
        for number in &order {
            of_terms[*number].0 = found.of(&flows.terms()[*number].group);
        }
        let groups = found.names.len();
        for number in order {
            of_terms[number].1 = flows.terms()[number].budget.as_deref().map(|name| found.of(name));
        }
        let mut names = found.names;
        let other = names.split_off(groups);
        Groups { names, of_terms, other }
    }

    /// A flow's group, and the number of what it spends, if it says so.
    #[inline]
    pub fn of(&self, flow: &Flow<'_>) -> (u32, Option<u32>) {
        self.of_terms[flow.terms_number as usize]
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
