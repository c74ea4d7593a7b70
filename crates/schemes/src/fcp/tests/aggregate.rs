//! Groups with currencies of their own on a scripted link.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::script::{CAPACITY, RTT, RULE, Scripted, basis, close, gauge, play};
use crate::fcp::network::{Aggregate, Uniform};
use crate::fcp::pricing::Pricing;

fn aggregate(weights: &[(u16, f64)]) -> Aggregate {
    Aggregate::new(basis(), &weights.iter().copied().collect::<BTreeMap<_, _>>())
}

/// A fluid of two groups: budgets I, weights w, and E_G as printed. Each round the link's price and
/// the exchange rates follow from what came in, and rates from what is told: p·E_G as printed, or
/// p/E_G.
fn fluid(budgets: [f64; 2], weights: [f64; 2], quoted: fn(f64, f64) -> f64) -> [f64; 2] {
    let (income, weight) = (budgets[0] + budgets[1], weights[0] + weights[1]);
    let rate = |n: usize| (weights[n] / weight) / (budgets[n] / income);
    let exchange = [rate(0), rate(1)];
    let mut price = income;
    let mut rates = [0.0; 2];
    for _ in 0..100 {
        rates = [0, 1].map(|n| budgets[n] / quoted(price, exchange[n]));
        // Equation (2) in the link's currency, capacity 1.
        price *= rates[0] + rates[1];
    }
    rates
}

/// The printed formula gives by the square of the budget, and less for more weight; its reciprocal
/// by weight alone.
#[test]
fn the_printed_formula_is_upside_down() {
    // §4.3's example: A has weight 2 and 10 $/s, B has weight 1 and 100 ¥/s.
    let printed = fluid([10.0, 100.0], [2.0, 1.0], |p, e| p * e);
    assert!(close(printed[1] / printed[0], 200.0, 1e-9), "100²/1 over 10²/2, {printed:?}");
    let divided = fluid([10.0, 100.0], [2.0, 1.0], |p, e| p / e);
    assert!(close(divided[0], 2.0 / 3.0, 1e-9) && close(divided[1], 1.0 / 3.0, 1e-9), "{divided:?}");
}

#[test]
fn groups_get_bandwidth_by_weight_whatever_their_currency() {
    let mut pricing = aggregate(&[(7, 2.0), (9, 1.0)]);
    let mut senders = [Scripted::new(0.0, |_| 10.0).tenant(7), Scripted::new(0.5, |_| 100.0).tenant(9)];
    play(&mut pricing, &mut senders, 6.0);
    assert!(close(senders[0].rate_at(5.9), CAPACITY * 2.0 / 3.0, 0.01), "{}", senders[0].rate_at(5.9));
    assert!(close(senders[1].rate_at(5.9), CAPACITY / 3.0, 0.01), "{}", senders[1].rate_at(5.9));
}

#[test]
fn within_a_group_budgets_count() {
    // Group 1: weight 2, three flows of 1, 1 and 2; group 0: weight 1, one flow.
    let mut pricing = aggregate(&[(0, 1.0), (1, 2.0)]);
    let mut senders = [
        Scripted::new(0.0, |_| 1.0).tenant(0),
        Scripted::new(0.5, |_| 1.0).tenant(1),
        Scripted::new(1.0, |_| 1.0).tenant(1),
        Scripted::new(1.5, |_| 2.0).tenant(1),
    ];
    play(&mut pricing, &mut senders, 7.0);
    for (sender, share) in senders.iter().zip([1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0]) {
        assert!(close(sender.rate_at(6.9), CAPACITY * share, 0.01), "{} {share}", sender.rate_at(6.9));
    }
}

#[test]
fn a_group_alone_has_the_link_and_again_when_the_other_is_gone() {
    let mut pricing = aggregate(&[(0, 1.0), (1, 2.0)]);
    // The other spends next to nothing from 3 s on.
    let mut senders =
        [Scripted::new(0.0, |_| 1.0).tenant(0), Scripted::new(1.0, |t| if t < 3.0 { 1.0 } else { 1e-9 }).tenant(1)];
    play(&mut pricing, &mut senders, 6.0);
    assert!(close(senders[0].rate_at(0.9), CAPACITY, 0.02), "{}", senders[0].rate_at(0.9));
    assert!(close(senders[0].rate_at(2.9), CAPACITY / 3.0, 0.02), "{}", senders[0].rate_at(2.9));
    assert!(close(senders[0].rate_at(5.9), CAPACITY, 0.02), "{}", senders[0].rate_at(5.9));
}

#[test]
fn who_has_no_weight_shares_one_currency() {
    let mut pricing = aggregate(&[(1, 3.0)]);
    let mut senders = [
        Scripted::new(0.0, |_| 1.0).tenant(1),
        Scripted::new(0.3, |_| 1.0).tenant(40_000),
        Scripted::new(0.6, |_| 1.0).tenant(u16::MAX),
    ];
    play(&mut pricing, &mut senders, 6.0);
    for (sender, share) in senders.iter().zip([0.75, 0.125, 0.125]) {
        assert!(close(sender.rate_at(5.9), CAPACITY * share, 0.01), "{} {share}", sender.rate_at(5.9));
    }
}

#[test]
fn one_group_alone_has_rates_as_with_uniform_pricing() {
    let (mut uniform, mut one) = (Uniform::new(RULE, RTT.as_secs_f64()), aggregate(&[]));
    let rates = [&mut uniform as &mut dyn Pricing, &mut one].map(|pricing| {
        let mut senders = [Scripted::new(0.0, |_| 1.0), Scripted::new(1.0, |_| 5.0)];
        play(pricing, &mut senders, 5.0);
        senders.map(|s| s.rate_at(4.9))
    });
    for n in [0, 1] {
        assert!(close(rates[1][n], rates[0][n], 0.01), "{rates:?}");
    }
    // The link's currency is the weight's: 1 $/s over 10^6 bytes/s.
    assert!(close(gauge(&one, "price"), 1e-6, 0.02), "{}", gauge(&one, "price"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn weights_decide_over_six_decades_of_budgets(a in -3i32..4, b in -3i32..4, weight in 0.2f64..5.0) {
        let (a, b) = (10f64.powi(a), 10f64.powi(b));
        let mut pricing = aggregate(&[(0, 1.0), (1, weight)]);
        let mut senders = [Scripted::new(0.0, move |_| a).tenant(0), Scripted::new(0.5, move |_| b).tenant(1)];
        play(&mut pricing, &mut senders, 8.0);
        prop_assert!(close(senders[1].rate_at(7.9) / senders[0].rate_at(7.9), weight, 0.03));
        prop_assert!(close(senders[1].rate_at(7.9) + senders[0].rate_at(7.9), CAPACITY, 0.02));
    }
}

/// A link that restarts knows nothing of what groups paid: the same senders find it as they found the first time.
#[test]
fn a_restart_forgets_what_groups_paid() {
    let mut pricing = aggregate(&[(7, 2.0), (9, 1.0)]);
    let senders = || [Scripted::new(0.0, |_| 10.0).tenant(7), Scripted::new(0.5, |_| 100.0).tenant(9)];
    play(&mut pricing, &mut senders(), 3.0);
    assert!(gauge(&pricing, "price") > 2.0 * RULE.minimum);
    pricing.reset();
    assert_eq!(gauge(&pricing, "price"), RULE.minimum);
    let (mut again, mut first) = (senders(), senders());
    play(&mut pricing, &mut again, 3.0);
    play(&mut aggregate(&[(7, 2.0), (9, 1.0)]), &mut first, 3.0);
    assert!((0..2).all(|n| close(again[n].rate_at(2.9), first[n].rate_at(2.9), 0.01)));
}
