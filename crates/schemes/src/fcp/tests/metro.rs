//! Paris Metro Pricing on a scripted link. The queues themselves are tested in the simulator.

use super::script::{CAPACITY, RTT, RULE, Scripted, basis, close, gauge, play};
use crate::fcp::header::Class;
use crate::fcp::network::{Metro, Uniform};
use crate::fcp::pricing::Pricing;

fn metro() -> Metro {
    Metro::new(basis(), 10.0)
}

#[test]
fn priority_pays_ten_times_the_price_and_the_link_is_full() {
    // p = (1 + 2/10) / 10^6; rates 1/p and 2/(10 p): 5/6 and 1/6 of the link.
    let mut pricing = metro();
    let mut senders = [Scripted::new(0.0, |_| 1.0), Scripted::new(0.5, |_| 2.0).class(Class::Priority)];
    play(&mut pricing, &mut senders, 5.0);
    assert!(close(gauge(&pricing, "price"), 1.2e-6, 0.01), "{}", gauge(&pricing, "price"));
    assert!(close(gauge(&pricing, "priority_price"), 12e-6, 0.01));
    assert!(close(senders[0].rate_at(4.9), CAPACITY * 5.0 / 6.0, 0.01), "{}", senders[0].rate_at(4.9));
    assert!(close(senders[1].rate_at(4.9), CAPACITY / 6.0, 0.01), "{}", senders[1].rate_at(4.9));
}

#[test]
fn with_priority_traffic_alone_the_link_is_full_too() {
    let mut pricing = metro();
    let mut senders = [Scripted::new(0.0, |_| 3.0).class(Class::Priority)];
    play(&mut pricing, &mut senders, 5.0);
    assert!(close(senders[0].rate_at(4.9), CAPACITY, 0.01), "{}", senders[0].rate_at(4.9));
}

#[test]
fn without_priority_traffic_it_is_the_uniform_price() {
    let (mut uniform, mut metro) = (Uniform::new(RULE, RTT.as_secs_f64()), metro());
    for pricing in [&mut uniform as &mut dyn Pricing, &mut metro] {
        play(pricing, &mut [Scripted::new(0.0, |_| 1.0), Scripted::new(1.0, |_| 5.0)], 4.0);
    }
    assert!(close(gauge(&uniform, "price"), gauge(&metro, "price"), 1e-9));
}
