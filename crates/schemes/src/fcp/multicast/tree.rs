//! The multicast tree: computed by each node alone, from link-state routing.

use std::collections::{BTreeMap, VecDeque};

use midpath_core::packet::{HOP_LIMIT, NodeId, PortId};
use midpath_core::roles::{Map, Routes, Step, walk};

/// Who is on the other end of each node's ports.
pub type Peers = BTreeMap<NodeId, Vec<NodeId>>;

/// The network around `node`, as far as links lead.
pub fn peers(node: NodeId, map: &dyn Map) -> Peers {
    let (mut all, mut next) = (Peers::new(), VecDeque::from([node]));
    while let Some(node) = next.pop_front() {
        if !all.contains_key(&node) {
            let ends: Vec<NodeId> = map.links(node).iter().map(|l| l.peer).collect();
            next.extend(ends.iter().filter(|n| !all.contains_key(*n)));
            all.insert(node, ends);
        }
    }
    all
}

/// One node's place in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The node that packets come from; none at the root, and where the tree doesn't go.
    pub parent: Option<NodeId>,
    /// The ports that lead to children, lowest first.
    pub children: Vec<PortId>,
    /// Whether the node is one of the receivers.
    pub receives: bool,
}

/// The place of `node` in the tree from `root` to `receivers`: shortest paths, always the first of
/// equal ones. A path is followed from the receiver back to where it meets those of receivers
/// before, so that it is a tree although paths may part and meet.
pub fn place(node: NodeId, root: NodeId, receivers: &[NodeId], peers: &Peers, routes: &dyn Routes) -> Place {
    let mut above: BTreeMap<NodeId, (NodeId, PortId)> = BTreeMap::new();
    for receiver in receivers.iter().filter(|r| **r != root) {
        for step in path(root, *receiver, peers, routes).into_iter().rev() {
            if above.contains_key(&step.next) {
                break;
            }
            above.insert(step.next, (step.node, step.port));
        }
    }
    let mut children: Vec<PortId> = above.values().filter(|(from, _)| *from == node).map(|(_, port)| *port).collect();
    children.sort_unstable();
    Place {
        parent: above.get(&node).map(|(from, _)| *from),
        children,
        receives: receivers.contains(&node) && node != root,
    }
}

/// The hops of a shortest path; empty if there is none.
fn path(from: NodeId, to: NodeId, peers: &Peers, routes: &dyn Routes) -> Vec<Step> {
    let first = |node| routes.next_ports(node, to).first().map(|p| PortId(*p));
    let peer = |node, port: PortId| peers.get(&node)?.get(usize::from(port.0)).copied();
    walk((from, to), usize::from(HOP_LIMIT), first, peer).unwrap_or_default()
}
