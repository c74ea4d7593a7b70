//! Where to draw nodes that have no position.
//!
//! Nodes with positions (generators and maps give them) stay there. The others are placed
//! deterministically: a node that hangs on placed ones goes beside them; a network without any
//! position is spread out by the spring model of Fruchterman and Reingold ("Graph drawing by
//! force-directed placement", 1991), or around a circle if it is large.

use std::f64::consts::TAU;

use crate::adjacency::Adjacency;
use crate::graph::Topology;

/// Most routers that the spring model places; its work grows with the square.
const MAX_SPRINGS: usize = 600;
/// Rounds of the spring model. Our choice: the picture changes little after 60.
const ROUNDS: usize = 100;
/// 2π(1 − 1/φ): turning by the golden angle spreads any number of points evenly around a centre.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

type Point = (f64, f64);

/// A position for every node, by index.
pub fn layout(topology: &Topology) -> Vec<Point> {
    let graph = topology.adjacency();
    let mut at: Vec<Option<Point>> = topology.nodes().iter().map(|n| n.pos).collect();
    if at.iter().all(Option::is_none) {
        // Stubs follow from what they hang on; the rest carries the picture.
        let inner: Vec<usize> = (0..graph.len()).filter(|&n| graph.degree(n) > 1).collect();
        let inner = if inner.is_empty() { (0..graph.len()).collect() } else { inner };
        let places = if inner.len() <= MAX_SPRINGS { springs(graph, &inner) } else { circle(inner.len()) };
        for (&n, place) in inner.iter().zip(places) {
            at[n] = Some(place);
        }
    }
    place_the_rest(graph, at)
}

/// Places nodes beside their placed neighbours, from the placed ones outwards.
fn place_the_rest(graph: &Adjacency, mut at: Vec<Option<Point>>) -> Vec<Point> {
    let reach = 0.12 * typical_length(graph, &at);
    let mut beside = vec![0; graph.len()];
    loop {
        let mut placed = Vec::new();
        for n in (0..graph.len()).filter(|&n| at[n].is_none()) {
            let neighbours = graph.neighbours(n);
            let near: Vec<Point> = neighbours.iter().filter_map(|&m| at[m as usize]).collect();
            let Some(first) = neighbours.iter().find(|&&m| at[m as usize].is_some()) else { continue };
            let (x, y) = mean(&near);
            let turn = GOLDEN_ANGLE * f64::from(beside[*first as usize]);
            beside[*first as usize] += 1;
            placed.push((n, (x + reach * turn.cos(), y + reach * turn.sin())));
        }
        if placed.is_empty() {
            return at.into_iter().map(|p| p.unwrap_or_default()).collect();
        }
        placed.into_iter().for_each(|(n, p)| at[n] = Some(p));
    }
}

/// The mean length of links between placed nodes, or 1.
fn typical_length(graph: &Adjacency, at: &[Option<Point>]) -> f64 {
    let lengths: Vec<f64> = (0..graph.len())
        .flat_map(|n| graph.ports(n).iter().filter_map(move |p| distance(at[n]?, at[p.peer as usize]?).into()))
        .collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    if mean.is_finite() && mean > 0.0 { mean } else { 1.0 }
}

fn mean(points: &[Point]) -> Point {
    let sum = points.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    (sum.0 / points.len() as f64, sum.1 / points.len() as f64)
}

fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

fn circle(count: usize) -> Vec<Point> {
    (0..count).map(|i| TAU * i as f64 / count as f64).map(|a| (0.5 + 0.5 * a.cos(), 0.5 + 0.5 * a.sin())).collect()
}

/// The spring model on `nodes`, from a circle, scaled to the unit square.
fn springs(graph: &Adjacency, nodes: &[usize]) -> Vec<Point> {
    let mut index = vec![None; graph.len()];
    nodes.iter().enumerate().for_each(|(i, &n)| index[n] = Some(i));
    let links: Vec<Vec<usize>> =
        nodes.iter().map(|&n| graph.neighbours(n).into_iter().filter_map(|m| index[m as usize]).collect()).collect();
    let mut at = circle(nodes.len());
    let ideal = 1.0 / (nodes.len() as f64).sqrt();
    for round in 0..ROUNDS {
        let longest_step = 0.1 * (1.0 - round as f64 / ROUNDS as f64);
        let steps: Vec<Point> = (0..at.len()).map(|i| step(i, &at, &links[i], ideal, longest_step)).collect();
        at.iter_mut().zip(steps).for_each(|(p, s)| *p = (p.0 + s.0, p.1 + s.1));
    }
    to_unit_square(at)
}

/// One node's move: pushed away by all with k²/d, pulled by neighbours with d²/k.
fn step(i: usize, at: &[Point], neighbours: &[usize], ideal: f64, longest: f64) -> Point {
    let mut force = (0.0, 0.0);
    let mut add = |j: usize, strength: f64| {
        force.0 += (at[i].0 - at[j].0) * strength;
        force.1 += (at[i].1 - at[j].1) * strength;
    };
    for j in (0..at.len()).filter(|&j| j != i) {
        add(j, ideal * ideal / distance(at[i], at[j]).max(1e-6).powi(2));
    }
    for &j in neighbours {
        add(j, -distance(at[i], at[j]) / ideal);
    }
    let size = force.0.hypot(force.1).max(1e-12);
    let scale = size.min(longest) / size;
    (force.0 * scale, force.1 * scale)
}

fn to_unit_square(mut at: Vec<Point>) -> Vec<Point> {
    let low = at.iter().fold((f64::MAX, f64::MAX), |l, p| (l.0.min(p.0), l.1.min(p.1)));
    let high = at.iter().fold((f64::MIN, f64::MIN), |h, p| (h.0.max(p.0), h.1.max(p.1)));
    let size = (high.0 - low.0).max(high.1 - low.1).max(1e-9);
    at.iter_mut().for_each(|p| *p = ((p.0 - low.0) / size, (p.1 - low.1) / size));
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{Draft, MIN_DELAY};
    use crate::generate::{self, LinkParams};
    use midpath_core::units::{Rate, Time};

    fn topology(mut draft: Draft, forget: bool) -> Topology {
        if forget {
            draft.nodes.iter_mut().for_each(|n| n.pos = None);
        }
        draft.finish(MIN_DELAY).expect("valid")
    }

    fn link() -> LinkParams {
        LinkParams::new(Rate::from_gbps(1), Time::from_ms(1))
    }

    #[test]
    fn positions_that_are_given_stay() {
        let t = topology(generate::fat_tree(4, &link(), &link()), false);
        let given: Vec<_> = t.nodes().iter().map(|n| n.pos.expect("generated")).collect();
        assert_eq!(layout(&t), given);
    }

    #[test]
    fn everything_else_gets_a_place_of_its_own_and_always_the_same() {
        for draft in [generate::fat_tree(4, &link(), &link()), generate::ring(700, &link()), generate::star(9, &link())]
        {
            let t = topology(draft, true);
            let places = layout(&t);
            assert_eq!(places, layout(&t));
            assert!(places.iter().all(|p| p.0.is_finite() && p.1.is_finite()));
            for (i, &p) in places.iter().enumerate() {
                assert!(places[..i].iter().all(|&q| distance(p, q) > 1e-9), "{i} is drawn over another");
            }
        }
    }

    #[test]
    fn springs_keep_neighbours_nearer_than_the_others() {
        let t = topology(generate::ring(30, &link()), true);
        let places = layout(&t);
        let near = distance(places[0], places[1]);
        assert!(near < distance(places[0], places[15]) / 3.0, "{near}");
    }

    #[test]
    fn hosts_are_drawn_beside_their_routers() {
        let mut draft = generate::chain(3, 4, &link(), &link());
        draft.nodes.iter_mut().filter(|n| n.name.starts_with(['s', 'd'])).for_each(|n| n.pos = None);
        let t = topology(draft, false);
        let places = layout(&t);
        let at = |name: &str| places[t.find(name).expect("named")];
        assert!(distance(at("s0"), at("r0")) < distance(at("s0"), at("r1")));
        assert!(distance(at("s0"), at("s1")) > 1e-3);
    }
}
