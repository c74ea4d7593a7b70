//! Equations (1) to (3) as numbers.

use midpath_core::packet::PortId;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::inrpp::detour::{DetourInterface, DetourPath};
use crate::inrpp::equations;
use crate::inrpp::header::Feedback;
use crate::inrpp::load::{Gains, Load, PortLoad, PublishedLoad};

const GAINS: Gains = Gains { alpha: 0.4, interval: Time::from_ms(10), weight: 1.0 / 3.0, shuffle: 0.1 };
const RATE: Rate = Rate::from_mbps(10);

fn path() -> DetourPath {
    DetourPath::new(DetourInterface { port: PortId(0), two: false })
}

/// A load that has been steady at `bytes` per interval for long.
fn steady(bytes: u32) -> (Load, Time) {
    let mut load = Load::default();
    (0..200).for_each(|i| load.sent(bytes, Time::from_ms(10 * i), &GAINS));
    (load, Time::from_ms(2000))
}

#[test]
fn the_gains_are_the_papers() {
    assert!((equations::beta(GAINS.alpha) - 0.16 * 2f64.sqrt()).abs() < 1e-12);
}

#[test]
fn an_idle_interface_offers_alpha_of_its_capacity() {
    let said = PublishedLoad { push: true, contenders: 1, queue: 0 };
    let port = PortLoad { published: said, ..PortLoad::default() };
    let f = port.feedback(RATE, Time::from_secs(1), &GAINS);
    // (1): SC = 0.4 · 10 ms · 1.25 MB/s = 5000 B; (2): by 1 router, per interval of 10 ms.
    assert!((f.up - 500_000.0).abs() < 1e-6 && f.down == 0.0 && f.push);
    let two = PortLoad { published: PublishedLoad { contenders: 2, ..said }, ..port }.feedback(
        RATE,
        Time::from_secs(1),
        &GAINS,
    );
    assert!((two.up - 250_000.0).abs() < 1e-6);
}

#[test]
fn a_queue_and_a_full_link_call_for_less() {
    let (load, now) = steady(12_500);
    assert!((load.mean(now, &GAINS) - 12_500.0).abs() < 1.0);
    let f = PortLoad {
        published: PublishedLoad { push: true, contenders: 1, queue: 5000 },
        load,
        detoured: Load::default(),
    }
    .feedback(RATE, now, &GAINS);
    // SC = −β·5000 B = −1131 B; Δ⁻ = 1131/12500.
    assert!(f.up == 0.0 && (f.down - equations::beta(GAINS.alpha) * 5000.0 / 12_500.0).abs() < 1e-3, "{f:?}");
}

#[test]
fn an_average_forgets_while_nothing_is_sent() {
    let (load, now) = steady(9000);
    let later = |n: u64| load.mean(now + Time::from_ms(10 * n), &GAINS);
    assert!((later(1) / later(0) - 2.0 / 3.0).abs() < 1e-9);
    assert!((later(5) / later(0) - (2.0f64 / 3.0).powi(5)).abs() < 1e-9);
    assert!(later(100_000) < 1e-9);
}

#[test]
fn decisions_follow_equation_3() {
    let mut p = path();
    let now = Time::from_ms(50);
    let remote = Feedback { push: true, up: 300.0, down: 0.0 };
    p.feedback = Some((remote, now));
    p.decide(Feedback { push: true, up: 500.0, down: 0.0 }, Time::ZERO);
    assert_eq!(p.rate, 300.0, "the lesser of both interfaces");
    p.decide(Feedback { push: true, up: 500.0, down: 0.5 }, Time::ZERO);
    assert_eq!(p.rate, 300.0 + 300.0 - 150.0);
    p.decide(Feedback { push: false, up: 500.0, down: 0.0 }, Time::ZERO);
    assert_eq!(p.rate, 225.0);
    assert!(p.open(true) && !p.open(false), "only while the first interface is in Push");
    p.feedback = Some((Feedback { push: false, ..remote }, now));
    assert!(!p.open(true), "and the second");
    p.decide(remote, now + Time(1));
    assert!(p.rate == 0.0 && p.feedback.is_none(), "no answer: the detour is gone");
}

#[test]
fn packets_are_spaced_at_the_rate() {
    let mut p = path();
    p.rate = 150_000.0;
    p.sent(1500, Time::from_ms(5));
    assert_eq!(p.next_at, Time::from_ms(15));
    p.sent(1500, Time::from_ms(15));
    assert_eq!(p.next_at, Time::from_ms(25));
    p.sent(1500, Time::from_ms(100));
    assert_eq!(p.next_at, Time::from_ms(110), "what was not used is lost");
    p.waits = true;
    p.sent(1500, Time::from_us(110_900));
    assert_eq!(p.next_at, Time::from_ms(120), "it waited for its time, and was woken late");
    p.sent(1500, Time::from_ms(150));
    assert_eq!(p.next_at, Time::from_ms(159), "so late counts a millisecond");
}

proptest! {
    /// Figure 6 without packets: any number of routers from any rates, deciding at the same times,
    /// on a link with any other load: they fill what is left and share it equally.
    #[test]
    fn routers_converge_to_equal_shares(start in prop::collection::vec(0.0..2.0f64, 1..6), others in 0.0..0.8f64) {
        let capacity = RATE.as_f64() / 8.0;
        let mut rates: Vec<f64> = start.iter().map(|s| s * capacity).collect();
        let (mut load, mut detoured, mut queue, mut now) = (Load::default(), Load::default(), 0.0f64, Time::ZERO);
        for _ in 0..400 {
            for _ in 0..5 {
                let sum: f64 = rates.iter().sum();
                let sent = (sum + others * capacity + queue / 0.01).min(capacity) * 0.01;
                queue = (queue + (sum + others * capacity) * 0.01 - sent).clamp(0.0, 62_500.0);
                load.sent(sent as u32, now, &GAINS);
                detoured.sent((sent * sum / (sum + others * capacity).max(1.0)) as u32, now, &GAINS);
                now += Time::from_ms(10);
            }
            let (contenders, load, detoured) = (rates.len() as u32, load.rounded(), detoured.rounded());
            let port = PortLoad { published: PublishedLoad { push: true, contenders, queue: queue as u32 }, load, detoured };
            let f = port.feedback(RATE, now, &GAINS);
            rates.iter_mut().for_each(|r| *r = (*r + f.up - *r * f.down).max(0.0));
        }
        let fair = (1.0 - others) * capacity / rates.len() as f64;
        for r in &rates {
            prop_assert!((r / fair - 1.0).abs() < 0.1, "{:?} around {}", rates, fair);
        }
        prop_assert!(queue < 15_000.0, "a standing queue of {}", queue);
    }
}
