//! The two allocations against closed forms, their defining properties, and a naive oracle.

use crate::common::{Problem, loads, problems};
use midpath_ideal::{IdealError, allocate_max_min, allocate_proportional};
use proptest::prelude::*;

const NONE: f64 = f64::INFINITY;

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

fn assert_rates(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert!(got.iter().zip(wanted).all(|(a, b)| close(*a, *b, tolerance)), "{got:?} instead of {wanted:?}");
}

/// One long flow over all of n links, one short flow on each.
fn parking_lot(caps: &[f64]) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..caps.len() as u32).collect();
    std::iter::once(all.clone()).chain(all.into_iter().map(|l| vec![l])).collect()
}

#[test]
fn one_link_is_shared_by_weight_under_both() {
    let (paths, weights) = (vec![vec![0]; 3], [1.0, 2.0, 5.0]);
    let wanted = [1e6, 2e6, 5e6];
    assert_rates(&allocate_max_min(&[8e6], &paths, &weights, &[NONE; 3]).expect("valid"), &wanted, 1e-14);
    let proportional = allocate_proportional(&[8e6], &paths, &weights, &[NONE; 3]).expect("valid");
    assert_rates(&proportional.rates, &wanted, 1e-11);
    assert!(close(proportional.prices[0], 8.0 / 8e6, 1e-11));
}

#[test]
fn a_limit_leaves_the_rest_to_others() {
    let paths = vec![vec![0]; 3];
    let (weights, limits) = ([1.0; 3], [1e6, NONE, NONE]);
    let wanted = [1e6, 4.5e6, 4.5e6];
    assert_rates(&allocate_max_min(&[10e6], &paths, &weights, &limits).expect("valid"), &wanted, 1e-14);
    let proportional = allocate_proportional(&[10e6], &paths, &weights, &limits).expect("valid");
    assert_rates(&proportional.rates, &wanted, 1e-10);
}

#[test]
fn the_parking_lot_has_closed_forms() {
    for n in 1..=20 {
        let caps = vec![1e9; n];
        let (paths, ones) = (parking_lot(&caps), vec![1.0; n + 1]);
        let limits = vec![NONE; n + 1];
        let max_min = allocate_max_min(&caps, &paths, &ones, &limits).expect("valid");
        assert_rates(&max_min, &vec![0.5e9; n + 1], 1e-14);
        // Proportional: the long flow gets C/(n + 1), the short ones the rest, n C/(n + 1).
        let got = allocate_proportional(&caps, &paths, &ones, &limits).expect("valid");
        assert!(close(got.rates[0], 1e9 / (n as f64 + 1.0), 1e-10), "{n}: {}", got.rates[0]);
        assert!(got.rates[1..].iter().all(|x| close(*x, 1e9 * n as f64 / (n as f64 + 1.0), 1e-10)));
        assert!(got.residual < 1e-9, "{}", got.residual);
    }
}

#[test]
fn a_weighted_parking_lot_has_a_closed_form() {
    // Long flow of weight w over n links, short ones of weight 1: x0 = C w / (w + n).
    for (n, w) in [(3, 2.5), (10, 0.2), (7, 30.0)] {
        let caps = vec![40e6; n];
        let mut weights = vec![1.0; n + 1];
        weights[0] = w;
        let got = allocate_proportional(&caps, &parking_lot(&caps), &weights, &vec![NONE; n + 1]).expect("valid");
        assert!(close(got.rates[0], 40e6 * w / (w + n as f64), 1e-10));
    }
}

#[test]
fn two_links_of_different_capacity() {
    // Max-min: link 0 (3) fills first at 1.5 each; the flow on link 1 (10) gets 8.5.
    let paths = parking_lot(&[3.0, 10.0]);
    let got = allocate_max_min(&[3.0, 10.0], &paths, &[1.0; 3], &[NONE; 3]).expect("valid");
    assert_rates(&got, &[1.5, 1.5, 8.5], 1e-14);
    // Proportional: 1/x = 1/(3 − x) + 1/(10 − x), that is 3x² − 26x + 30 = 0.
    let x = (26.0 - (26.0f64 * 26.0 - 360.0).sqrt()) / 6.0;
    let got = allocate_proportional(&[3.0, 10.0], &paths, &[1.0; 3], &[NONE; 3]).expect("valid");
    assert_rates(&got.rates, &[x, 3.0 - x, 10.0 - x], 1e-10);
}

#[test]
fn degenerate_networks() {
    // Redundant links in a row, a dead link, a dead flow, no flows, a limit without a link.
    let got = allocate_proportional(&[5.0, 5.0, 5.0], &[[0, 1, 2], [0, 1, 2]], &[1.0; 2], &[NONE; 2]).expect("valid");
    assert_rates(&got.rates, &[2.5, 2.5], 1e-10);
    let paths = [vec![0], vec![0, 1], vec![0], vec![]];
    let limits = [NONE, NONE, 0.0, 7.0];
    let wanted = [5.0, 0.0, 0.0, 7.0];
    assert_eq!(allocate_max_min(&[5.0, 0.0], &paths, &[1.0; 4], &limits).expect("valid"), wanted);
    let got = allocate_proportional(&[5.0, 0.0], &paths, &[1.0; 4], &limits).expect("valid");
    assert_rates(&got.rates, &wanted, 1e-10);
    let none: [[u32; 1]; 0] = [];
    assert_eq!(allocate_max_min(&[5.0], &none, &[], &[]), Ok(vec![]));
    assert!(allocate_proportional(&[5.0], &none, &[], &[]).is_ok_and(|p| p.rates.is_empty() && p.residual == 0.0));
}

#[test]
fn a_path_that_crosses_a_link_twice_pays_twice() {
    // 2·x + y = 12, fair by rate: x = y = 4. Proportional: 1/x = 2p, 1/y = p: x = 3, y = 6.
    let paths = [vec![0, 0], vec![0]];
    assert_rates(&allocate_max_min(&[12.0], &paths, &[1.0; 2], &[NONE; 2]).expect("valid"), &[4.0, 4.0], 1e-14);
    let got = allocate_proportional(&[12.0], &paths, &[1.0; 2], &[NONE; 2]).expect("valid");
    assert_rates(&got.rates, &[3.0, 6.0], 1e-10);
}

#[test]
fn bad_problems_are_refused() {
    let solve = |caps: &[f64], path: &[u32], weight: f64, limit: f64| {
        let max_min = allocate_max_min(caps, &[path], &[weight], &[limit]).map(|_| ());
        assert_eq!(max_min, allocate_proportional(caps, &[path], &[weight], &[limit]).map(|_| ()));
        max_min
    };
    assert_eq!(solve(&[-1.0], &[0], 1.0, NONE), Err(IdealError::Capacity(0)));
    assert_eq!(solve(&[f64::NAN], &[0], 1.0, NONE), Err(IdealError::Capacity(0)));
    assert_eq!(solve(&[1.0], &[1], 1.0, NONE), Err(IdealError::Link { flow: 0, link: 1 }));
    assert_eq!(solve(&[1.0], &[0], 0.0, NONE), Err(IdealError::Weight(0)));
    assert_eq!(solve(&[1.0], &[0], 1.0, -1.0), Err(IdealError::Limit(0)));
    assert_eq!(solve(&[1.0], &[], 1.0, NONE), Err(IdealError::Unbounded(0)));
}

/// Progressive filling by the textbook: all rates grow together, in steps to the next full link or
/// limit, with every link looked at in every step.
fn progressive_filling(p: &Problem) -> Vec<f64> {
    let n = p.paths.len();
    let (mut rates, mut frozen) = (vec![0.0; n], vec![false; n]);
    while frozen.iter().any(|f| !f) {
        let load = loads(p, &rates);
        let mut step = f64::INFINITY;
        for (l, cap) in p.caps.iter().enumerate() {
            let growth: f64 =
                (0..n).filter(|f| !frozen[*f] && p.paths[*f].contains(&(l as u32))).map(|f| p.weights[f]).sum();
            if growth > 0.0 {
                step = step.min((cap - load[l]).max(0.0) / growth);
            }
        }
        for f in (0..n).filter(|f| !frozen[*f]) {
            step = step.min((p.limits[f] - rates[f]) / p.weights[f]);
        }
        (0..n).filter(|f| !frozen[*f]).for_each(|f| rates[f] += step * p.weights[f]);
        let load = loads(p, &rates);
        for f in 0..n {
            let full = p.paths[f].iter().any(|l| load[*l as usize] >= p.caps[*l as usize] * (1.0 - 1e-10));
            frozen[f] |= full || rates[f] >= p.limits[f] * (1.0 - 1e-10);
        }
    }
    rates
}

/// Proportional fairness by a slow other way: coordinate ascent on the dual. Each price in turn is
/// set, by bisection, to where its link's load meets the capacity, until none moves.
fn by_bisection(p: &Problem) -> Vec<f64> {
    let rate = |prices: &[f64], f: usize| {
        let path: f64 = p.paths[f].iter().map(|l| prices[*l as usize]).sum();
        (p.weights[f] / path).min(p.limits[f])
    };
    let mut prices: Vec<f64> = p.caps.iter().map(|c| 1.0 / c).collect();
    for _ in 0..3000 {
        let mut moved = 0.0f64;
        for l in 0..p.caps.len() {
            let on: Vec<usize> = (0..p.paths.len()).filter(|f| p.paths[*f].contains(&(l as u32))).collect();
            let (mut low, mut high) = (0.0, on.iter().map(|f| p.weights[*f]).sum::<f64>() / p.caps[l]);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                let before = std::mem::replace(&mut prices[l], middle);
                let load: f64 = on.iter().map(|f| rate(&prices, *f)).sum();
                if load > p.caps[l] {
                    low = middle
                } else {
                    high = middle
                }
                prices[l] = before;
            }
            moved = moved.max((prices[l] - high).abs() * p.caps[l]);
            prices[l] = high;
        }
        if moved < 1e-12 {
            break;
        }
    }
    (0..p.paths.len()).map(|f| rate(&prices, f)).collect()
}

/// Σ w log x.
fn utility(p: &Problem, rates: &[f64]) -> f64 {
    p.weights.iter().zip(rates).map(|(w, x)| w * x.ln()).sum()
}

fn assert_feasible(p: &Problem, rates: &[f64]) -> Result<(), TestCaseError> {
    for (load, cap) in loads(p, rates).iter().zip(&p.caps) {
        prop_assert!(*load <= cap * (1.0 + 1e-9), "{load} on {cap}");
    }
    for (rate, limit) in rates.iter().zip(&p.limits) {
        prop_assert!(*rate >= 0.0 && *rate <= limit * (1.0 + 1e-12));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn max_min_is_feasible_and_every_flow_has_its_bottleneck(p in problems()) {
        let rates = allocate_max_min(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        assert_feasible(&p, &rates)?;
        let load = loads(&p, &rates);
        for (f, path) in p.paths.iter().enumerate() {
            let share = |g: usize| rates[g] / p.weights[g];
            let is_bottleneck = |l: &u32| {
                let full = load[*l as usize] >= p.caps[*l as usize] * (1.0 - 1e-9);
                let others = (0..p.paths.len()).filter(|g| p.paths[*g].contains(l));
                full && others.map(share).fold(0.0, f64::max) <= share(f) * (1.0 + 1e-9)
            };
            prop_assert!(rates[f] >= p.limits[f] || path.iter().any(is_bottleneck), "flow {} has no bottleneck", f);
        }
    }

    #[test]
    fn max_min_agrees_with_progressive_filling(p in problems()) {
        let rates = allocate_max_min(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        for (a, b) in rates.iter().zip(progressive_filling(&p)) {
            prop_assert!(close(*a, b, 1e-8), "{} against {}", a, b);
        }
    }

    #[test]
    fn proportional_is_feasible_and_certified(p in problems()) {
        let got = allocate_proportional(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        assert_feasible(&p, &got.rates)?;
        prop_assert!(got.residual < 1e-9, "residual {}", got.residual);
        // The same conditions once more, from what was returned: full links or no price; rate =
        // weight/price or limit.
        let load = loads(&p, &got.rates);
        for (l, price) in got.prices.iter().enumerate() {
            let weight: f64 = (0..p.paths.len()).filter(|f| p.paths[*f].contains(&(l as u32))).map(|f| p.weights[f]).sum();
            prop_assert!(*price >= 0.0 && price * (p.caps[l] - load[l]) <= 1e-9 * weight.max(1e-300));
        }
        for (f, path) in p.paths.iter().enumerate() {
            let price: f64 = path.iter().map(|l| got.prices[*l as usize]).sum();
            let wanted = (p.weights[f] / price).min(p.limits[f]);
            prop_assert!(close(got.rates[f], wanted, 1e-6), "{} against {}", got.rates[f], wanted);
        }
        // No one can have more without another having less: each flow is at its limit or crosses a
        // full link.
        for (f, path) in p.paths.iter().enumerate() {
            let full = path.iter().any(|l| load[*l as usize] >= p.caps[*l as usize] * (1.0 - 1e-6));
            prop_assert!(full || got.rates[f] >= p.limits[f] * (1.0 - 1e-6));
        }
    }

    #[test]
    fn no_feasible_rates_have_a_larger_utility(p in problems()) {
        let got = allocate_proportional(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        let other = allocate_max_min(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        prop_assert!(utility(&p, &got.rates) >= utility(&p, &other) - 1e-7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn proportional_agrees_with_bisection_of_prices(p in problems()) {
        let got = allocate_proportional(&p.caps, &p.paths, &p.weights, &p.limits).expect("valid");
        for (a, b) in got.rates.iter().zip(by_bisection(&p)) {
            prop_assert!(close(*a, b, 1e-4), "{} against {}", a, b);
        }
    }
}
