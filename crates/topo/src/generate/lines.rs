//! Routers in a line or a ring.

use midpath_core::units::Time;

use super::{LinkParams, join, spread};
use crate::draft::Draft;
use crate::graph::NodeKind::{Host, Router};

/// Senders on one side, receivers on the other, one bottleneck between.
#[derive(Debug, Clone, PartialEq)]
pub struct Dumbbell {
    /// Senders `s0`, `s1`, …, each with a receiver `d0`, `d1`, ….
    pub pairs: usize,
    /// Routers `r0`, `r1`, … in a line; at least 2. The middle link is the bottleneck.
    pub routers: usize,
    /// Links between hosts and routers.
    pub access: LinkParams,
    /// The middle link.
    pub bottleneck: LinkParams,
    /// The other links between routers.
    pub core: LinkParams,
    /// Delays of the senders' links, one after another and again from the first; empty: as
    /// `access`.
    pub access_delays: Vec<Time>,
}

/// A dumbbell.
pub fn dumbbell(p: &Dumbbell) -> Draft {
    let mut draft = Draft::default();
    let routers = router_line(&mut draft, p.routers);
    let middle = (p.routers.max(2) - 2) / 2;
    for i in 1..routers.len() {
        let like = if i - 1 == middle { &p.bottleneck } else { &p.core };
        join(&mut draft, routers[i - 1], routers[i], like);
    }
    for i in 0..p.pairs {
        let mut near = p.access.clone();
        if !p.access_delays.is_empty() {
            near.delay = Some(p.access_delays[i % p.access_delays.len()]);
        }
        host_pair(&mut draft, i, p.pairs, &routers, [&near, &p.access]);
    }
    draft
}

/// `routers` routers in a line with `pairs` hosts at each end: `s0`, … and `d0`, ….
pub fn chain(routers: usize, pairs: usize, link: &LinkParams, access: &LinkParams) -> Draft {
    let mut draft = Draft::default();
    let line = router_line(&mut draft, routers);
    for pair in line.windows(2) {
        join(&mut draft, pair[0], pair[1], link);
    }
    (0..pairs).for_each(|i| host_pair(&mut draft, i, pairs, &line, [access, access]));
    draft
}

/// A line of `hops` equal links: the pair `s0`, `d0` crosses all of them, the pair `s1`, `d1` the
/// first, `s2`, `d2` the second, ….
pub fn parking_lot(hops: usize, link: &LinkParams, access: &LinkParams) -> Draft {
    let mut draft = chain(hops + 1, 1, link, access);
    for hop in 1..=hops {
        let at = |router: usize| spread(router, hops + 1);
        let s = draft.node(format!("s{hop}"), Host, "", (at(hop - 1), 0.2));
        join(&mut draft, s, hop - 1, access);
        let d = draft.node(format!("d{hop}"), Host, "", (at(hop), 0.8));
        join(&mut draft, d, hop, access);
    }
    draft
}

/// `routers` routers in a ring.
pub fn ring(routers: usize, link: &LinkParams) -> Draft {
    let mut draft = Draft::default();
    for i in 0..routers {
        let angle = std::f64::consts::TAU * i as f64 / routers as f64;
        draft.node(format!("r{i}"), Router, "", (0.5 + 0.35 * angle.cos(), 0.5 + 0.35 * angle.sin()));
    }
    (0..routers).for_each(|i| join(&mut draft, i, (i + 1) % routers, link));
    draft
}

/// Routers `r0`, `r1`, … from left to right, not yet joined.
fn router_line(draft: &mut Draft, count: usize) -> Vec<usize> {
    (0..count).map(|i| draft.node(format!("r{i}"), Router, "", (0.2 + 0.6 * spread(i, count), 0.5))).collect()
}

/// The hosts `s{i}` and `d{i}` at the two ends of a line of routers.
fn host_pair(draft: &mut Draft, i: usize, pairs: usize, line: &[usize], like: [&LinkParams; 2]) {
    let (Some(&first), Some(&last)) = (line.first(), line.last()) else { return };
    let s = draft.node(format!("s{i}"), Host, "", (0.05, spread(i, pairs)));
    join(draft, s, first, like[0]);
    let d = draft.node(format!("d{i}"), Host, "", (0.95, spread(i, pairs)));
    join(draft, d, last, like[1]);
}
