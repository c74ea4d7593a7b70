//! Edge, gateway and backbone routers, as the INRPP paper (§IV-D) tells them apart by degree.

use crate::draft::Draft;
use crate::graph::NodeKind;

/// The paper's threshold: "edge routers (with degree less than 3)".
pub const EDGE_DEGREE: usize = 3;

/// Fewer neighbours than the threshold.
pub const EDGE: &str = "edge";
/// "Connected to an edge router, degree larger than 2".
pub const GATEWAY: &str = "gateway";
/// The rest.
pub const BACKBONE: &str = "backbone";

/// Removes links between two routers with fewer neighbours than the threshold, with a note.
///
/// That is how a network gets the levels edge, gateway, backbone with no shortcut among edges:
/// "gateway routers (*i.e.*, connected to an edge router …)". Classes are the same before and
/// after, for who loses a link here is an edge router.
pub fn drop_edge_links(draft: &mut Draft, edge_degree: usize) {
    let edge = edges(draft, edge_degree);
    let before = draft.links.len();
    draft.links.retain(|l| !(edge[l.a] && edge[l.b]));
    let dropped = before - draft.links.len();
    if dropped > 0 {
        draft.notes.push(format!("{dropped} links between edge routers removed"));
    }
}

/// Which nodes are edge routers.
fn edges(draft: &Draft, edge_degree: usize) -> Vec<bool> {
    let adjacency = draft.adjacency();
    let is_host = |n: usize| draft.nodes[n].kind == Some(NodeKind::Host);
    let degree = |n: usize| adjacency.neighbours(n).into_iter().filter(|&m| !is_host(m as usize)).count();
    (0..draft.nodes.len()).map(|n| !is_host(n) && degree(n) < edge_degree).collect()
}

/// Gives every router without a class one of the three, by its number of neighbouring routers.
pub fn assign(draft: &mut Draft, edge_degree: usize) {
    let adjacency = draft.adjacency();
    let is_host = |n: usize| draft.nodes[n].kind == Some(NodeKind::Host);
    let routers = |n: usize| adjacency.neighbours(n).into_iter().map(|m| m as usize).filter(|&m| !is_host(m));
    let edge = edges(draft, edge_degree);
    let class = |n: usize| {
        if edge[n] {
            EDGE
        } else if routers(n).any(|m| edge[m]) {
            GATEWAY
        } else {
            BACKBONE
        }
    };
    let classes: Vec<Option<&str>> = (0..draft.nodes.len()).map(|n| (!is_host(n)).then(|| class(n))).collect();
    for (node, class) in draft.nodes.iter_mut().zip(classes) {
        if node.class.is_none() {
            node.class = class.map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{DraftLink, DraftNode};

    #[test]
    fn chains_of_edge_routers_are_cut_behind_the_first() {
        // A triangle of gateways, each with a stub; behind node 3, two more in a line.
        let pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 6), (6, 7)];
        let mut d = Draft {
            nodes: (0..8).map(|i| DraftNode { name: format!("n{i}"), ..DraftNode::default() }).collect(),
            links: pairs.map(|(a, b)| DraftLink { a, b, ..DraftLink::default() }).to_vec(),
            notes: vec![],
            unused: vec![],
        };
        drop_edge_links(&mut d, EDGE_DEGREE);
        assert_eq!((d.links.len(), &d.notes[..]), (6, &["2 links between edge routers removed".to_owned()][..]));
        d.keep_largest_component();
        assign(&mut d, EDGE_DEGREE);
        let count = |class: &str| d.nodes.iter().filter(|n| n.class.as_deref() == Some(class)).count();
        assert_eq!((d.nodes.len(), count(EDGE), count(GATEWAY), count(BACKBONE)), (6, 3, 3, 0));
    }

    #[test]
    fn a_core_with_stubs() {
        // A full mesh of four; node 0 has two stubs; node 5 has a host.
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 4), (0, 5), (5, 6)];
        let mut d = Draft {
            nodes: (0..7).map(|i| DraftNode { name: format!("n{i}"), ..DraftNode::default() }).collect(),
            links: pairs.map(|(a, b)| DraftLink { a, b, ..DraftLink::default() }).to_vec(),
            notes: vec![],
            unused: vec![],
        };
        d.nodes[6].kind = Some(NodeKind::Host);
        d.nodes[1].class = Some("mine".into());
        assign(&mut d, EDGE_DEGREE);
        let classes: Vec<_> = d.nodes.iter().map(|n| n.class.as_deref().unwrap_or("-")).collect();
        assert_eq!(classes, [GATEWAY, "mine", BACKBONE, BACKBONE, EDGE, EDGE, "-"]);
    }
}
