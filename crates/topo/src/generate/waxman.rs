//! Waxman's random networks.

use midpath_core::rng::{Purpose, stream, unit};

use super::{LinkParams, join};
use crate::draft::Draft;
use crate::geo::fibre_delay;
use crate::graph::NodeKind::Router;

/// Parameters of B. M. Waxman, "Routing of multipoint connections", IEEE JSAC 6(9), 1988.
#[derive(Debug, Clone, PartialEq)]
pub struct Waxman {
    /// Routers `r0`, `r1`, …, uniform in a square.
    pub routers: usize,
    /// α: how far links reach, as a share of the largest distance.
    pub alpha: f64,
    /// β: how many links there are.
    pub beta: f64,
    /// Side of the square in kilometres, for delays by distance.
    pub size_km: f64,
    /// Whether to join separate parts, each by the shortest link that does.
    pub connected: bool,
    /// What links are like; without a delay, they get that of their length in fibre.
    pub link: LinkParams,
}

/// Two nodes at distance d are joined with probability β·exp(−d/(αL)), where L is the largest
/// distance between two nodes.
pub fn waxman(p: &Waxman, seed: u64) -> Draft {
    let mut rng = stream(seed, Purpose::Topology, 0);
    let mut draft = Draft::default();
    let points: Vec<(f64, f64)> = (0..p.routers).map(|_| (unit(&mut rng), unit(&mut rng))).collect();
    for (i, &at) in points.iter().enumerate() {
        draft.node(format!("r{i}"), Router, "", at);
    }
    let pairs = || (0..p.routers).flat_map(|a| (a + 1..p.routers).map(move |b| (a, b)));
    let largest = pairs().map(|(a, b)| distance(points[a], points[b])).fold(0.0, f64::max);
    for (a, b) in pairs() {
        let probability = p.beta * (-distance(points[a], points[b]) / (p.alpha * largest)).exp();
        if unit(&mut rng) < probability {
            add(&mut draft, p, &points, a, b);
        }
    }
    if p.connected {
        join_parts(&mut draft, p, &points);
    }
    draft
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

fn add(draft: &mut Draft, p: &Waxman, points: &[(f64, f64)], a: usize, b: usize) {
    join(draft, a, b, &p.link);
    let link = draft.links.last_mut().expect("just added");
    link.delay = link.delay.or(Some(fibre_delay(distance(points[a], points[b]) * p.size_km)));
}

/// Joins the largest part to the node nearest to it that is outside, with that node's part, until
/// all are one.
fn join_parts(draft: &mut Draft, p: &Waxman, points: &[(f64, f64)]) {
    let parts = draft.adjacency().components();
    let Some((largest, others)) = parts.split_first() else { return };
    let mut inside = largest.clone();
    let mut outside: Vec<&Vec<usize>> = others.iter().collect();
    // For each node outside, the nearest node inside; brought up to date as parts move inside.
    let mut nearest = vec![(f64::INFINITY, 0); points.len()];
    let mut new = inside.clone();
    while !outside.is_empty() {
        for &n in outside.iter().copied().flatten() {
            for &m in &new {
                let d = distance(points[n], points[m]);
                if d < nearest[n].0 {
                    nearest[n] = (d, m);
                }
            }
        }
        let best = |part: &Vec<usize>| part.iter().copied().min_by(|&x, &y| nearest[x].0.total_cmp(&nearest[y].0));
        let Some((at, n)) = outside
            .iter()
            .enumerate()
            .filter_map(|(i, part)| Some((i, best(part)?)))
            .min_by(|x, y| nearest[x.1].0.total_cmp(&nearest[y.1].0))
        else {
            return;
        };
        add(draft, p, points, nearest[n].1, n);
        new.clone_from(outside.remove(at));
        inside.extend_from_slice(&new);
    }
}
