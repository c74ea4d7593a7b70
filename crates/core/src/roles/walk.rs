//! Following a path hop by hop.

use crate::packet::{NodeId, PortId};

/// One hop of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The node that sends.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// The node behind that port.
    pub next: NodeId,
}

/// The path from `from` to `to` along the ports that `pick` chooses; `peer` says who is behind a
/// port. `None` where either has no answer, and where the path has more than `limit` hops.
pub fn walk(
    (from, to): (NodeId, NodeId),
    limit: usize,
    mut pick: impl FnMut(NodeId) -> Option<PortId>,
    peer: impl Fn(NodeId, PortId) -> Option<NodeId>,
) -> Option<Vec<Step>> {
    let (mut steps, mut node) = (Vec::new(), from);
    while node != to {
        if steps.len() == limit {
            return None;
        }
        let port = pick(node)?;
        let next = peer(node, port)?;
        steps.push(Step { node, port, next });
        node = next;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around a ring of five nodes; port 0 leads to the next one.
    fn around(to: u32, limit: usize) -> Option<Vec<Step>> {
        let next = |node: NodeId, port: PortId| (port.0 == 0).then_some(NodeId((node.0 + 1) % 5));
        walk((NodeId(3), NodeId(to)), limit, |node| (node.0 != 2).then_some(PortId(0)), next)
    }

    #[test]
    fn a_path_ends_at_its_destination() {
        let nodes = |steps: Vec<Step>| steps.iter().map(|s| (s.node.0, s.next.0)).collect::<Vec<_>>();
        assert_eq!(around(1, 64).map(nodes), Some(vec![(3, 4), (4, 0), (0, 1)]));
        assert_eq!(around(3, 64), Some(Vec::new()));
    }

    #[test]
    fn there_is_none_beyond_a_node_without_a_port_or_beyond_the_limit() {
        assert_eq!(around(9, 64), None);
        assert_eq!((around(1, 2), around(1, 3).map(|s| s.len())), (None, Some(3)));
    }
}
