//! Random networks.

use proptest::prelude::*;

/// Capacities, paths, weights and limits.
#[derive(Debug, Clone)]
pub struct Problem {
    pub caps: Vec<f64>,
    pub paths: Vec<Vec<u32>>,
    pub weights: Vec<f64>,
    pub limits: Vec<f64>,
}

/// Networks of up to 12 links and 40 flows; capacities over three orders of magnitude, some equal;
/// weights and limits on some.
pub fn problems() -> impl Strategy<Value = Problem> {
    (1usize..12).prop_flat_map(|links| {
        let cap = prop_oneof![Just(1e9), Just(1e8), 1e6..1e9f64];
        let path = proptest::collection::btree_set(0..links as u32, 1..=links.min(5));
        let limit = prop_oneof![3 => Just(f64::INFINITY), 1 => 1e4..1e9f64];
        let weight = prop_oneof![Just(1.0), 0.1..10.0f64];
        let flow = (path, weight, limit).prop_map(|(p, w, l)| (p.into_iter().collect::<Vec<u32>>(), w, l));
        (proptest::collection::vec(cap, links), proptest::collection::vec(flow, 1..40)).prop_map(|(caps, flows)| {
            let mut problem = Problem { caps, paths: vec![], weights: vec![], limits: vec![] };
            for (path, weight, limit) in flows {
                problem.paths.push(path);
                problem.weights.push(weight);
                problem.limits.push(limit);
            }
            problem
        })
    })
}

/// What each link carries.
pub fn loads(problem: &Problem, rates: &[f64]) -> Vec<f64> {
    let mut load = vec![0.0; problem.caps.len()];
    for (path, rate) in problem.paths.iter().zip(rates) {
        path.iter().for_each(|l| load[*l as usize] += rate);
    }
    load
}
