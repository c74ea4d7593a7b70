//! Fabrics of data centres and AI clusters: leaf-spine, by rails, dragonfly+, tori, and several planes of each.

use super::{LinkParams, hosts, join, spread};
use crate::draft::{Draft, DraftLink, DraftNode};
use crate::graph::NodeKind::{Host, Router};

/// The class of the switches inside servers, of which each plane has the same.
pub const NVSWITCH: &str = "nvswitch";

/// Leaves that are linked to every spine, with hosts below.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafSpine {
    /// Leaves `l0`, `l1`, ….
    pub leaves: usize,
    /// Spines `s0`, `s1`, ….
    pub spines: usize,
    /// Hosts of each leaf: `h0`, `h1`, … along the leaves.
    pub per_leaf: usize,
    /// Links between leaves and spines.
    pub link: LinkParams,
    /// Links between hosts and leaves.
    pub access: LinkParams,
}

/// A leaf-spine fabric. Classes: `leaf`, `spine`.
pub fn leaf_spine(p: &LeafSpine) -> Draft {
    let mut draft = Draft::default();
    let spines = switches(&mut draft, "s", p.spines, ("spine", 0.8), (0, 1));
    let leaves = switches(&mut draft, "l", p.leaves, ("leaf", 0.45), (0, 1));
    for (i, &leaf) in leaves.iter().enumerate() {
        spines.iter().for_each(|&spine| join(&mut draft, leaf, spine, &p.link));
        hosts(&mut draft, i * p.per_leaf, p.per_leaf, (p.leaves * p.per_leaf, leaf), &p.access);
    }
    draft
}

/// `count` switches `{prefix}0`, …, in part `of.0` of `of.1` of the picture's width.
fn switches(
    draft: &mut Draft,
    prefix: &str,
    count: usize,
    (class, y): (&str, f64),
    (part, parts): (usize, usize),
) -> Vec<usize> {
    let x = |i: usize| spread(part * count + i, parts * count);
    (0..count).map(|i| draft.node(format!("{prefix}{i}"), Router, class, (x(i), y))).collect()
}

/// Servers of several GPUs, each with a NIC of its own: those with the same place in their servers are a rail, and have
/// a leaf of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Rails {
    /// Servers.
    pub servers: usize,
    /// GPUs of a server, each a host: `h{server · rails + rail}`.
    pub rails: usize,
    /// Servers of a block, whose GPUs of one rail share a leaf `l{block}.{rail}`.
    pub per_leaf: usize,
    /// Spines `s0`, …, linked to all leaves; none: rails meet in servers alone.
    pub spines: usize,
    /// Links between leaves and spines.
    pub link: LinkParams,
    /// A NIC's line.
    pub access: LinkParams,
    /// Links between GPUs and their server's switch `v{server}`.
    pub nvlink: LinkParams,
    /// Whether a GPU also reaches the NICs of the others in its server.
    pub shared_nics: bool,
}

/// A rail-optimised fabric (Wang et al., "Rail-only", arXiv:2307.12169, §2; NVIDIA DGX SuperPOD reference architecture).
///
/// With `shared_nics` each NIC is a node `n{server}.{rail}`, linked to its GPU, to its server's switch and to its leaf:
/// traffic to another rail then crosses inside a server (NCCL's PXN). Else it crosses at a spine. Classes: `nvswitch`,
/// `nic`, `leaf`, `spine`.
pub fn rails(p: &Rails) -> Draft {
    let mut draft = Draft::default();
    let blocks = p.servers.div_ceil(p.per_leaf);
    // A host's place is its server: the first router that it is linked to.
    let servers = switches(&mut draft, "v", p.servers, (NVSWITCH, 0.05), (0, 1));
    let spines = switches(&mut draft, "s", p.spines, ("spine", 0.8), (0, 1));
    let mut leaves = Vec::new();
    for block in 0..blocks {
        leaves.push(switches(&mut draft, &format!("l{block}."), p.rails, ("leaf", 0.5), (block, blocks)));
    }
    for &leaf in leaves.iter().flatten() {
        spines.iter().for_each(|&spine| join(&mut draft, leaf, spine, &p.link));
    }
    for (server, &switch) in servers.iter().enumerate() {
        for (rail, &leaf) in leaves[server / p.per_leaf].iter().enumerate() {
            let i = server * p.rails + rail;
            let x = spread(i, p.servers * p.rails);
            let gpu = draft.node(format!("h{i}"), Host, "", (x, 0.15));
            // The first port is the NIC's, at its rate.
            if p.shared_nics {
                let nic = draft.node(format!("n{server}.{rail}"), Router, "nic", (x, 0.3));
                join(&mut draft, gpu, nic, &LinkParams { delay: p.nvlink.delay, ..p.access.clone() });
                join(&mut draft, nic, leaf, &p.access);
                join(&mut draft, switch, nic, &p.nvlink);
            } else {
                join(&mut draft, gpu, leaf, &p.access);
            }
            join(&mut draft, gpu, switch, &p.nvlink);
        }
    }
    draft
}

/// Groups of leaves and spines; spines have links to those of other groups.
#[derive(Debug, Clone, PartialEq)]
pub struct DragonflyPlus {
    /// Groups.
    pub groups: usize,
    /// Leaves of a group, `l{group}.{i}`.
    pub leaves: usize,
    /// Spines of a group, `s{group}.{i}`.
    pub spines: usize,
    /// Hosts of each leaf.
    pub per_leaf: usize,
    /// Links of a spine to other groups. Each pair of groups has the same number of links.
    pub global_ports: usize,
    /// Links within a group.
    pub link: LinkParams,
    /// Links between groups.
    pub global: LinkParams,
    /// Links between hosts and leaves.
    pub access: LinkParams,
}

impl DragonflyPlus {
    /// Links between two groups; `None` if they cannot be the same for all pairs.
    pub const fn per_pair(&self) -> Option<usize> {
        let (all, others) = (self.spines * self.global_ports, self.groups - 1);
        if others > 0 && all > 0 && all % others == 0 { Some(all / others) } else { None }
    }
}

/// A dragonfly+ (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017, §II).
///
/// Links to another group are dealt to the spines in turn. Classes: `leaf`, `spine`.
pub fn dragonfly_plus(p: &DragonflyPlus) -> Draft {
    let mut draft = Draft::default();
    let per_pair = p.per_pair().unwrap_or(0);
    let mut spines = Vec::new();
    for group in 0..p.groups {
        let part = (group, p.groups);
        let own = switches(&mut draft, &format!("s{group}."), p.spines, ("spine", 0.8), part);
        let leaves = switches(&mut draft, &format!("l{group}."), p.leaves, ("leaf", 0.45), part);
        for (i, &leaf) in leaves.iter().enumerate() {
            own.iter().for_each(|&spine| join(&mut draft, leaf, spine, &p.link));
            let first = (group * p.leaves + i) * p.per_leaf;
            hosts(&mut draft, first, p.per_leaf, (p.groups * p.leaves * p.per_leaf, leaf), &p.access);
        }
        spines.push(own);
    }
    for a in 0..p.groups {
        for b in a + 1..p.groups {
            for i in 0..per_pair {
                // b stands at place b − 1 among the others of a, and a at place a among those of b.
                let from = spines[a][((b - 1) * per_pair + i) % p.spines];
                let to = spines[b][(a * per_pair + i) % p.spines];
                join(&mut draft, from, to, &p.global);
            }
        }
    }
    draft
}

/// Routers `r0`, `r1`, … in a torus, the last dimension first; a dimension of two has one link.
pub fn torus(dims: &[usize], link: &LinkParams) -> Draft {
    let mut draft = Draft::default();
    let count: usize = dims.iter().product();
    let (width, height) = (dims.last().copied().unwrap_or(1), count / dims.last().copied().unwrap_or(1));
    for i in 0..count {
        draft.node(format!("r{i}"), Router, "", (spread(i % width, width), spread(i / width, height)));
    }
    let mut stride = 1;
    for &size in dims.iter().rev() {
        for i in 0..count {
            let at = i / stride % size;
            // The neighbour one further; that of the last is the first, unless it has that link.
            if size > 1 && (size > 2 || at == 0) {
                join(&mut draft, i, i - at * stride + (at + 1) % size * stride, link);
            }
        }
        stride *= size;
    }
    draft
}

/// So many of the same fabric, with the same hosts: each has a NIC for each plane. Switches inside servers are not
/// repeated. Routers of plane p are called `p{p}.{name}`.
pub fn planes(draft: Draft, planes: usize) -> Draft {
    if planes == 1 {
        return draft;
    }
    let Draft { nodes, links, .. } = draft;
    let shared = |n: usize| nodes[n].kind == Some(Host) || nodes[n].class.as_deref() == Some(NVSWITCH);
    let mut all = Draft::default();
    let mut places = vec![vec![0; nodes.len()]; planes];
    for (n, node) in nodes.iter().enumerate() {
        for (plane, place) in places.iter_mut().enumerate() {
            if !shared(n) {
                all.nodes.push(DraftNode { name: format!("p{plane}.{}", node.name), ..node.clone() });
            } else if plane == 0 {
                all.nodes.push(node.clone());
            }
            place[n] = all.nodes.len() - 1;
        }
    }
    for link in &links {
        let inside = shared(link.a) && shared(link.b);
        for place in &places[..if inside { 1 } else { planes }] {
            all.links.push(DraftLink { a: place[link.a], b: place[link.b], ..link.clone() });
        }
    }
    all
}
