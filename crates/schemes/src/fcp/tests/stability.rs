//! Bandwidth stability on a scripted link.

use super::script::{CAPACITY, RTT, RULE, Scripted, basis, close, gauge, play};
use crate::fcp::header::Class;
use crate::fcp::network::{Stability, Uniform};
use crate::fcp::pricing::Pricing;

fn stability() -> Stability {
    Stability::new(basis())
}

/// A budget of `low`, and of `high` from `from` to `until`.
fn between(low: f64, high: f64, from: f64, until: f64) -> impl Fn(f64) -> f64 {
    move |t| if (from..until).contains(&t) { high } else { low }
}

/// The largest quotient of two prices told within any 200 ms.
fn worst(prices: &[f64]) -> f64 {
    let spread =
        |w: &[f64]| w.iter().fold(0.0, |a: f64, b| a.max(*b)) / w.iter().fold(f64::INFINITY, |a: f64, b| a.min(*b));
    prices.windows(200).map(spread).fold(1.0, f64::max)
}

#[test]
fn at_rest_both_classes_pay_the_same() {
    // 3 $/s over 10^6 bytes/s are 3·10^-6 $/byte, whatever came before.
    let mut pricing = stability();
    let mut senders = [Scripted::new(0.0, |_| 1.0), Scripted::new(0.5, |_| 2.0).class(Class::Stability)];
    play(&mut pricing, &mut senders, 5.0);
    for name in ["price", "stability_price"] {
        assert!(close(gauge(&pricing, name), 3e-6, 0.01), "{name} {}", gauge(&pricing, name));
    }
    assert!(close(senders[0].rate_at(4.9), CAPACITY / 3.0, 0.01));
    assert!(close(senders[1].rate_at(4.9), CAPACITY * 2.0 / 3.0, 0.01));
}

#[test]
fn without_stability_flows_it_is_the_uniform_price() {
    let (mut uniform, mut stable) = (Uniform::new(RULE, RTT.as_secs_f64()), stability());
    for pricing in [&mut uniform as &mut dyn Pricing, &mut stable] {
        let mut senders = [Scripted::new(0.0, |_| 1.0), Scripted::new(1.0, between(0.1, 5.0, 2.0, 3.0))];
        play(pricing, &mut senders, 4.0);
    }
    assert_eq!(gauge(&uniform, "price"), gauge(&stable, "price"));
}

/// Figure 20's cross traffic: a budget of 50 comes at 2 s and goes at 5 s.
fn cross(class: Class) -> [Scripted; 3] {
    [
        Scripted::new(0.0, |_| 1.0),
        Scripted::new(0.5, |_| 1.0).class(class),
        Scripted::new(0.5, between(1e-3, 50.0, 2.0, 5.0)),
    ]
}

#[test]
fn the_price_moves_by_no_more_than_two_in_two_round_trips() {
    let mut senders = cross(Class::Stability);
    play(&mut stability(), &mut senders, 9.0);
    let [normal, stable, cross] = &senders;
    // Its SYN's price holds for two round trips, so what follows is told later than that.
    assert!(worst(&stable.prices[200..]) <= 2.0 + 1e-6, "{}", worst(&stable.prices[200..]));
    // The normal flow feels it at once: the price goes from 2 to 51 and more, for some of the link
    // is kept for the stable one.
    assert!(worst(&normal.prices[1000..]) > 25.0, "{}", worst(&normal.prices[1000..]));
    assert!(normal.rate_at(2.3) < CAPACITY / 25.0, "{}", normal.rate_at(2.3));
    // One doubling of its price after another, told a round trip later: C/2, C/4 and so on.
    assert!(close(stable.rate_at(2.25), CAPACITY / 4.0, 0.1), "{}", stable.rate_at(2.25));
    // 2 → 52 takes log2(26) = 4.7 doublings of 200 ms; then all three pay the same.
    assert!(close(stable.rate_at(4.9), CAPACITY / 52.0, 0.02), "{}", stable.rate_at(4.9));
    assert!(close(normal.rate_at(4.9), CAPACITY / 52.0, 0.02), "{}", normal.rate_at(4.9));
    // Downwards the same: the stable flow takes its time, the normal one takes what is left at
    // once.
    assert!(stable.rate_at(5.3) < CAPACITY / 12.0, "{}", stable.rate_at(5.3));
    assert!(normal.rate_at(5.3) > CAPACITY * 0.8, "{}", normal.rate_at(5.3));
    assert!(close(stable.rate_at(8.9), CAPACITY / 2.0, 0.02), "{}", stable.rate_at(8.9));
    // The link is used all the time: what one class gives up the other has.
    for t in [3.0, 4.0, 4.9, 6.5, 8.9] {
        let sum = senders_at(&[normal, stable, cross], t);
        assert!(close(sum, CAPACITY, 0.05), "{t} s: {sum}");
    }
}

fn senders_at(senders: &[&Scripted], t: f64) -> f64 {
    senders.iter().map(|s| s.rate_at(t)).sum()
}

/// The control: as a normal flow the same sender is thrown about.
#[test]
fn a_normal_flow_has_no_such_bound() {
    let mut senders = cross(Class::Normal);
    play(&mut stability(), &mut senders, 4.0);
    assert!(worst(&senders[1].prices[1000..]) > 20.0, "{}", worst(&senders[1].prices[1000..]));
}

/// With nobody to take from, the bound gives way: a budget of 50 on a link that only stability
/// flows use.
#[test]
fn the_bound_gives_way_when_nothing_is_left_to_steal() {
    let mut senders = [Scripted::new(0.0, between(1.0, 50.0, 2.0, 99.0)).class(Class::Stability)];
    play(&mut stability(), &mut senders, 4.0);
    assert!(close(senders[0].rate_at(3.9), CAPACITY, 0.02), "{}", senders[0].rate_at(3.9));
    assert!(worst(&senders[0].prices[1000..]) > 20.0);
}
