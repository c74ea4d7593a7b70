//! A single switch, and fat-trees.

use super::{LinkParams, hosts, join, spread};
use crate::draft::Draft;
use crate::graph::NodeKind::{Host, Router};

/// `hosts` hosts `h0`, `h1`, … around the switch `r0`.
pub fn star(hosts: usize, access: &LinkParams) -> Draft {
    let mut draft = Draft::default();
    let hub = draft.node("r0", Router, "", (0.5, 0.5));
    for i in 0..hosts {
        let angle = std::f64::consts::TAU * i as f64 / hosts as f64;
        let h = draft.node(format!("h{i}"), Host, "", (0.5 + 0.4 * angle.cos(), 0.5 + 0.4 * angle.sin()));
        join(&mut draft, h, hub, access);
    }
    draft
}

/// A k-ary fat-tree (Al-Fares, Loukissas, Vahdat: "A scalable, commodity data center network
/// architecture", SIGCOMM 2008, §2.2).
///
/// `k` must be even: k pods, each with k/2 edge switches `e{pod}.{i}` and k/2 aggregation switches
/// `a{pod}.{i}`, k²/4 core switches `c{i}`, and k³/4 hosts `h{i}`, numbered along the edge
/// switches. Classes: `edge`, `aggregation`, `core`.
pub fn fat_tree(k: usize, link: &LinkParams, access: &LinkParams) -> Draft {
    oversubscribed_fat_tree((k, 1), link, access)
}

/// The same with so many times k/2 hosts at each edge switch.
pub fn oversubscribed_fat_tree((k, oversubscription): (usize, usize), link: &LinkParams, access: &LinkParams) -> Draft {
    let mut draft = Draft::default();
    let (half, below) = (k / 2, oversubscription * k / 2);
    let cores: Vec<usize> =
        (0..half * half).map(|i| draft.node(format!("c{i}"), Router, "core", (spread(i, half * half), 0.9))).collect();
    for pod in 0..k {
        let x = |i: usize| spread(pod * half + i, k * half);
        let above: Vec<usize> =
            (0..half).map(|i| draft.node(format!("a{pod}.{i}"), Router, "aggregation", (x(i), 0.65))).collect();
        let edges: Vec<usize> =
            (0..half).map(|i| draft.node(format!("e{pod}.{i}"), Router, "edge", (x(i), 0.4))).collect();
        for (i, &a) in above.iter().enumerate() {
            // The i-th aggregation switch of each pod reaches the i-th group of k/2 cores.
            cores[i * half..(i + 1) * half].iter().for_each(|&c| join(&mut draft, a, c, link));
        }
        for (i, &e) in edges.iter().enumerate() {
            above.iter().for_each(|&a| join(&mut draft, e, a, link));
            hosts(&mut draft, (pod * half + i) * below, below, (k * half * below, e), access);
        }
    }
    draft
}
