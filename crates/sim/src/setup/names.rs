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
}

impl Groups {
    pub(super) fn of(flows: &[FlowInfo]) -> Groups {
        let mut names: Vec<String> = Vec::new();
        let mut known = FxHashMap::<&str, u32>::default();
        let of = flows.iter().map(|f| {
            *known.entry(&f.flow.group).or_insert_with(|| {
                names.push(f.flow.group.to_string());
                names.len() as u32 - 1
            })
        });
        Groups { of: of.collect(), names }
    }
}

/// Names of nodes are the topology's, names of groups the flows'.
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
        self.groups.names.iter().position(|n| n == name).map(|g| g as u32)
    }
    fn copies(&self) -> Vec<(Name, Vec<NodeId>)> {
        self.objects.copies()
    }
}
