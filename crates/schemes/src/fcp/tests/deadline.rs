//! Deadlines on a scripted link of 10^6 bytes per second, 0.8 of it for deadline flows, round trips
//! of 100 ms.

use midpath_core::units::Time;

use super::script::{CAPACITY, basis, close, gauge};
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::network::Deadline;
use crate::fcp::price::Load;
use crate::fcp::pricing::{Arrival, Charge, Pricing};

const FIXED: f64 = 1e-18;
/// Bytes per packet, and time between the packets of a flow at 0.3 of the link.
const SIZE: u32 = 1500;
const EVERY: f64 = 0.005;

fn link() -> Deadline {
    Deadline::new(basis(), 0.8)
}

fn send(link: &mut Deadline, t: f64, class: Class, preload: f64, balance: f64) -> (Charge, Class) {
    let mut header = FcpHeader {
        rtt: 0.1,
        balance: balance as f32,
        preload: preload as f32,
        exchange: 1.0,
        class,
        ..FcpHeader::default()
    };
    let arrival = Arrival { now: Time::from_secs_f64(t), load: Load { capacity: CAPACITY, queue: 0.0 }, factor: 1.0 };
    let charge = link.charge(&mut header, SIZE, &arrival);
    (charge, header.class)
}

/// The preload by which one packet asks for a share of the link.
fn preload(share: f64) -> f64 {
    share * CAPACITY * 0.1 / f64::from(SIZE)
}

fn asks(link: &mut Deadline, t: f64, share: f64) -> bool {
    let (charge, class) = send(link, t, Class::Deadline, preload(share), FIXED);
    assert!(class == Class::Normal || charge.quote == FIXED);
    class == Class::Deadline
}

/// A granted flow at 0.3 of the link sends from `from` to `to`.
fn flows(link: &mut Deadline, from: f64, to: f64) {
    let n = ((to - from) / EVERY).round() as u32;
    (0..n).for_each(|i| {
        let t = from + f64::from(i) * EVERY;
        assert_eq!(send(link, t, Class::Deadline, 0.0, FIXED).1, Class::Deadline, "at {t}");
    });
}

#[test]
fn two_of_four_are_granted() {
    // Figure 22's rates: 0.3 of the link each, and 0.8 for all.
    let mut link = link();
    let granted: Vec<bool> = (0..4).map(|i| asks(&mut link, 0.001 * f64::from(i), 0.3)).collect();
    assert_eq!(granted, [true, true, false, false]);
}

#[test]
fn best_effort_is_priced_for_the_rest() {
    // 1 $/s of best effort next to 0.6 granted: 1/(0.4·10^6) = 2.5·10^-6 $/byte, at once.
    let mut link = link();
    // A flow at full rate, 1 $/s: told 10^-6 a round trip ago.
    for i in 0..600 {
        // It starts from the minimum price: 10^-18·1500·preload/0.1 = 1.
        let (preload, balance) = if i == 0 { (0.1 / 1500e-18, FIXED) } else { (0.0, 1e-6) };
        send(&mut link, 0.0015 * f64::from(i + 1), Class::Normal, preload, balance);
    }
    let before = gauge(&link, "price");
    assert!(close(before, 1e-6, 0.01), "{before}");
    assert!(asks(&mut link, 0.902, 0.3) && asks(&mut link, 0.902, 0.3));
    // The asking packets themselves are another 1.5 %.
    assert!(close(gauge(&link, "price"), before / (0.4 - 0.015), 0.01), "{before} {}", gauge(&link, "price"));
}

/// The announcement fades as the packets come: whenever another one asks, it finds the same room.
#[test]
fn what_is_granted_counts_once_at_every_moment() {
    for k in 1..60 {
        // A first flow of 0.3 asks at 0 and sends from 0.1 on. At `later` another asks for 0.45,
        // which fits, or 0.6, which doesn't.
        let later = 0.01 * f64::from(k) + 0.002;
        for (share, fits) in [(0.45, true), (0.6, false)] {
            let mut link = link();
            assert!(asks(&mut link, 0.0, 0.3));
            flows(&mut link, 0.1, later.max(0.1));
            assert_eq!(asks(&mut link, later, share), fits, "{share} at {later}");
        }
    }
}

#[test]
fn who_goes_frees_the_room() {
    let (mut link, end) = (link(), 1.0);
    assert!(asks(&mut link, 0.0, 0.6));
    // Two flows' worth, and in the last round trip each packet says that none follows it.
    let step = EVERY / 2.0;
    for i in 0..360 {
        send(&mut link, 0.1 + step * f64::from(i), Class::Deadline, 0.0, FIXED);
    }
    assert!(!asks(&mut link, end, 0.6), "still there");
    for i in 0..40 {
        send(&mut link, end + step * f64::from(i), Class::Deadline, -1.0, FIXED);
    }
    // All is announced after the round trip; 0.15 of 0.6 are still counted.
    assert!(asks(&mut link, end + 0.101, 0.6), "announced");
}

#[test]
fn who_dies_frees_the_room_within_the_window() {
    let mut link = link();
    assert!(asks(&mut link, 0.0, 0.3));
    flows(&mut link, 0.1, 1.0);
    assert!(!asks(&mut link, 1.0, 0.6));
    assert!(asks(&mut link, 1.21, 0.8));
}

#[test]
fn who_asks_and_never_sends_is_forgotten() {
    let mut link = link();
    assert!(asks(&mut link, 0.0, 0.8));
    assert!(!asks(&mut link, 0.09, 0.1));
    // A round trip in full, then 200 ms of fading.
    assert!(!asks(&mut link, 0.12, 0.1));
    assert!(asks(&mut link, 0.31, 0.75));
}

/// Taking without asking ends at the middle between the share and the link.
#[test]
fn who_does_not_ask_does_not_take_all() {
    let mut link = link();
    let n = 2000;
    let granted = (0..n).filter(|i| {
        // 1.5 times the link's rate.
        send(&mut link, 0.001 * f64::from(*i), Class::Deadline, 0.0, FIXED).1 == Class::Deadline
    });
    let rate = granted.count() as f64 / f64::from(n) * 1.5;
    assert!((0.85..=0.92).contains(&rate), "{rate}");
}

#[test]
fn hostile_numbers_are_borne() {
    let mut link = link();
    for (i, preload) in [1e18, -1e18, 0.0, 1e18].into_iter().enumerate() {
        send(&mut link, 0.001 * i as f64, Class::Deadline, preload, 1e15);
        assert!(gauge(&link, "price").is_finite());
    }
    // A huge refusal lasts no longer than the window.
    assert!(asks(&mut link, 0.5, 0.3));
}
