//! Objects of flows by name: which flows move the same object, and which hosts have it.

use std::collections::BTreeMap;

use midpath_core::packet::{Name, NodeId};
use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use rustc_hash::FxHashMap;

use super::{AllFlows, FlowInfo};

/// The objects of a run. An object's name is that of the first flow that moves it: the node where
/// that one's data come from, and its number.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// The objects of flows that move what an earlier one moves. All others' are their own.
    shared: FxHashMap<u32, Name>,
    /// The smallest MTU of the flows that share an object: its segments are cut once.
    mtus: FxHashMap<Name, u32>,
    /// Who has an object that several nodes have.
    copies: BTreeMap<Name, Vec<NodeId>>,
}

impl Objects {
    /// Those of these flows.
    pub(super) fn of(flows: &AllFlows, node: impl Fn(NodeId) -> String) -> Result<Objects, SpecError> {
        let mut objects = Objects::default();
        let mut known = FxHashMap::<&str, (Name, Option<Bytes>)>::default();
        let mut holders = BTreeMap::<Name, Vec<NodeId>>::new();
        for (i, FlowInfo { flow, mtu, .. }) in flows.iter().enumerate() {
            let own = Name { prefix: NodeId(flow.src), object: i as u32 };
            let (name, size) = match flow.terms.object.as_deref() {
                Some(word) => *known.entry(word).or_insert((own, flow.size)),
                None => (own, flow.size),
            };
            if size != flow.size {
                let size = |size: Option<Bytes>| size.map_or("no size".to_owned(), |s| s.to_string());
                let word = flow.object.as_deref().unwrap_or_default();
                let message = format!(
                    "flows of the object `{word}` have {} and {}; give them one",
                    size(known[word].1),
                    size(flow.size)
                );
                return Err(SpecError::new("flow", message));
            }
            if name != own {
                objects.shared.insert(i as u32, name);
            }
            if flow.object.is_some() || flow.replicas.is_some() {
                let least = objects.mtus.entry(name).or_insert(mtu);
                *least = (*least).min(mtu);
                let has = holders.entry(name).or_default();
                has.push(NodeId(flow.src));
                has.extend(flow.replicas.iter().flat_map(|r| r.iter()).map(|n| NodeId(*n)));
            }
        }
        for has in holders.values_mut() {
            has.sort_unstable();
            has.dedup();
        }
        for (i, FlowInfo { flow, .. }) in flows.iter().enumerate() {
            let dst = NodeId(flow.dst);
            if !holders.is_empty()
                && holders.get(&objects.name(i as u32, flow.src)).is_some_and(|has| has.contains(&dst))
            {
                let message = format!(
                    "`{}` already has the object that it would fetch, as a flow of the same object \
                        starts there",
                    node(dst)
                );
                return Err(SpecError::new("flow", message));
            }
        }
        holders.retain(|_, has| has.len() > 1);
        objects.copies = holders;
        Ok(objects)
    }

    /// What flow `i` from the node `src` moves.
    #[inline]
    pub fn name(&self, i: u32, src: u32) -> Name {
        self.shared.get(&i).copied().unwrap_or(Name { prefix: NodeId(src), object: i })
    }

    /// The MTU that a flow's data are cut by, if others share its object.
    pub fn mtu(&self, name: Name) -> Option<u32> {
        self.mtus.get(&name).copied()
    }

    /// Whether one of several nodes that have this object is that one.
    pub fn has_copy(&self, name: Name, node: NodeId) -> bool {
        self.copies.get(&name).is_some_and(|has| has.contains(&node))
    }

    /// The objects that several nodes have.
    pub fn copies(&self) -> Vec<(Name, Vec<NodeId>)> {
        self.copies.iter().map(|(name, has)| (*name, has.clone())).collect()
    }
}
