//! A network as a file or generator states it: rates, delays and kinds may still be missing.

use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use crate::adjacency::Adjacency;
use crate::graph::{DEFAULT_MTU, LinkInfo, NodeInfo, NodeKind, Topology};

/// The delay that a link without any gets, since a link of the engine must have one. Our choice:
/// 200 m of fibre.
pub const MIN_DELAY: Time = Time::from_us(1);

/// Most people that a node may serve. Our choice: a hundred times as many as there are, and their
/// products stay finite.
pub const MAX_POPULATION: f64 = 1e12;

/// A node of a [`Draft`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DraftNode {
    /// Unique once the draft is finished.
    pub name: String,
    /// `None`: a router, unless something else decides.
    pub kind: Option<NodeKind>,
    /// See [`NodeInfo::class`].
    pub class: Option<String>,
    /// See [`NodeInfo::pos`].
    pub pos: Option<(f64, f64)>,
    /// See [`NodeInfo::label`].
    pub label: Option<String>,
    /// See [`NodeInfo::population`].
    pub population: Option<f64>,
    /// See [`NodeInfo::trunk`].
    pub trunk: Rate,
}

/// A link of a [`Draft`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DraftLink {
    /// Index of one end.
    pub a: usize,
    /// Index of the other end.
    pub b: usize,
    /// Rate from `a` to `b`.
    pub rate: Option<Rate>,
    /// Rate from `b` to `a`, where it differs.
    pub rate_back: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Time>,
    /// Length in kilometres, for a delay by distance where the ends have no position.
    pub length_km: Option<f64>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
    /// Routing weight.
    pub weight: Option<f64>,
    /// Probability of loss on the wire.
    pub corruption: f64,
    /// Name of the queue of its ports.
    pub queue: Option<String>,
}

/// Nodes and links with gaps, and remarks on what was left out of the source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    /// The nodes.
    pub nodes: Vec<DraftNode>,
    /// The links, by index of node.
    pub links: Vec<DraftLink>,
    /// What a reader of the source should know: "11 links from a node to itself left out".
    pub notes: Vec<String>,
    /// What the source states and nothing uses.
    pub unused: Vec<String>,
}

impl Draft {
    /// Adds a node and returns its index.
    pub fn node(&mut self, name: impl Into<String>, kind: NodeKind, class: &str, pos: (f64, f64)) -> usize {
        let class = (!class.is_empty()).then(|| class.to_owned());
        let (name, kind, pos) = (name.into(), Some(kind), Some(pos));
        self.nodes.push(DraftNode { name, kind, class, pos, ..DraftNode::default() });
        self.nodes.len() - 1
    }

    /// Who is next to whom.
    pub fn adjacency(&self) -> Adjacency {
        Adjacency::new(self.nodes.len(), self.links.iter().map(|l| (l.a, l.b)))
    }

    /// Adds up the rates of each router's links to other routers.
    pub fn add_up_trunks(&mut self) {
        let is_host: Vec<bool> = self.nodes.iter().map(|n| n.kind == Some(NodeKind::Host)).collect();
        for link in self.links.iter().filter(|l| !is_host[l.a] && !is_host[l.b]) {
            let (there, back) = (link.rate.unwrap_or(Rate::ZERO), link.rate_back.or(link.rate).unwrap_or(Rate::ZERO));
            for (end, rate) in [(link.a, there), (link.b, back)] {
                self.nodes[end].trunk = Rate(self.nodes[end].trunk.0.saturating_add(rate.0));
            }
        }
    }

    /// Removes links from a node to itself, with a note.
    pub fn drop_self_loops(&mut self) {
        let before = self.links.len();
        self.links.retain(|l| l.a != l.b);
        let dropped = before - self.links.len();
        if dropped > 0 {
            self.notes.push(format!("{dropped} self-links removed"));
        }
    }

    /// Keeps the nodes for which `keep` holds and the links between them.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut index = vec![usize::MAX; self.nodes.len()];
        let kept: Vec<usize> = (0..self.nodes.len()).filter(|&n| keep(n)).collect();
        for (new, &old) in kept.iter().enumerate() {
            index[old] = new;
        }
        self.nodes = kept.iter().map(|&n| std::mem::take(&mut self.nodes[n])).collect();
        self.links.retain_mut(|l| {
            (l.a, l.b) = (index[l.a], index[l.b]);
            l.a != usize::MAX && l.b != usize::MAX
        });
    }

    /// Keeps only the largest connected part, with a note.
    pub fn keep_largest_component(&mut self) {
        let parts = self.adjacency().components();
        if parts.len() > 1 {
            let left = self.nodes.len() - parts[0].len();
            self.retain(|n| parts[0].binary_search(&n).is_ok());
            self.notes.push(format!("{left} nodes outside the largest connected part removed"));
        }
    }

    /// Makes names unique, as [`midpath_core::names`] does.
    pub fn make_names_unique(&mut self) {
        midpath_core::names::make_unique(self.nodes.iter_mut().map(|node| &mut node.name));
    }

    /// The topology, once every link has a rate and a delay. A zero delay becomes `min_delay`;
    /// unsaid kinds are routers.
    pub fn finish(self, min_delay: Time) -> Result<Topology, SpecError> {
        let mut nodes: Vec<NodeInfo> = self.nodes.into_iter().map(finish_node).collect();
        let links = self.links.into_iter().enumerate().map(|(i, l)| finish_link(i, l, min_delay));
        let mut links = links.collect::<Result<Vec<LinkInfo>, SpecError>>()?;
        // They took over the drafts' memory, which is more than theirs.
        nodes.shrink_to_fit();
        links.shrink_to_fit();
        Topology::new(nodes, links)
    }
}

fn finish_node(n: DraftNode) -> NodeInfo {
    let kind = n.kind.unwrap_or(NodeKind::Router);
    let DraftNode { name, class, pos, label, population, trunk, .. } = n;
    NodeInfo { name, kind, class, pos, label, population, trunk }
}

fn finish_link(i: usize, l: DraftLink, min_delay: Time) -> Result<LinkInfo, SpecError> {
    let missing = |what: &str, example: &str| {
        SpecError::new(
            format!("links[{i}].{what}"),
            format!("the link has no {what}; write one, such as \"{example}\""),
        )
    };
    let delay = l.delay.ok_or_else(|| missing("delay", "5 ms"))?;
    Ok(LinkInfo {
        a: l.a,
        b: l.b,
        rate: l.rate.ok_or_else(|| missing("rate", "10 Gbps"))?,
        delay: if delay.is_zero() { min_delay } else { delay },
        rate_back: l.rate_back,
        mtu: l.mtu.unwrap_or(DEFAULT_MTU),
        weight: l.weight.unwrap_or(1.0),
        corruption: l.corruption,
        queue: l.queue,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(names: &[&str], links: &[(usize, usize)]) -> Draft {
        Draft {
            nodes: names.iter().map(|n| DraftNode { name: (*n).into(), ..DraftNode::default() }).collect(),
            links: links.iter().map(|&(a, b)| DraftLink { a, b, ..DraftLink::default() }).collect(),
            notes: vec![],
            unused: vec![],
        }
    }

    #[test]
    fn the_largest_part_keeps_its_links() {
        let mut d = draft(&["x", "a", "b", "c"], &[(1, 2), (2, 3), (0, 0)]);
        d.drop_self_loops();
        d.keep_largest_component();
        assert_eq!(d.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(d.links.iter().map(|l| (l.a, l.b)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(d.notes.len(), 2);
    }

    #[test]
    fn names_become_unique() {
        let mut d = draft(&["a", "", "a", "", "a#2"], &[]);
        d.make_names_unique();
        let names: Vec<_> = d.nodes.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["a", "node", "a#2", "node#3", "a#2#4"]);
    }

    #[test]
    fn gaps_are_named() {
        let e = draft(&["a", "b"], &[(0, 1)]).finish(MIN_DELAY).expect_err("no rate");
        assert_eq!(e.key, "links[0].delay");
    }
}
