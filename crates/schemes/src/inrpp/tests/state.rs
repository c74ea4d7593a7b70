//! Every transition of figure 3, against algorithm 1.

use midpath_core::units::{Bytes, Rate, Time};

use crate::inrpp::machine::{Lasting, Machine};
use crate::inrpp::state::{Notification, State, Thresholds};

const T: Thresholds = Thresholds { size: 1000, high: 800, low: 400 };
const LASTING: Lasting = Lasting { state: Time::from_ms(100), cancel: Time::from_secs(1) };

fn ms(n: u64) -> Time {
    Time::from_ms(n)
}

/// A machine that has seen these occupancies a millisecond apart, and its state after each.
fn walk(occupancies: &[u64]) -> (Machine, Vec<State>) {
    let mut m = Machine::default();
    let states = occupancies.iter().enumerate().map(|(i, s)| m.update(*s, &T, ms(i as u64), LASTING)).collect();
    (m, states)
}

use State::{Backpressure as B, DisableBackpressure as DB, Push as P, StoreAndDetour as SD};

#[test]
fn push_and_store_follow_the_cache() {
    assert_eq!(walk(&[0, 1, 800, 1, 0]).1, [P, SD, SD, SD, P]);
}

#[test]
fn backpressure_begins_above_high_and_ends_below_low() {
    assert_eq!(walk(&[0, 801, 800, 500, 400, 399]).1, [P, B, B, B, B, DB]);
    assert_eq!(walk(&[900, 0]).1, [B, DB], "a cache that is emptied at once is below low, too");
}

#[test]
fn the_transitional_state_ends_by_its_timer_or_by_new_load() {
    let (mut m, _) = walk(&[801, 399]);
    assert_eq!(m.expires(), ms(101));
    assert_eq!(m.update(500, &T, ms(100), LASTING), DB, "between the thresholds nothing changes");
    assert_eq!(m.update(500, &T, ms(101), LASTING), SD);
    let (mut m, _) = walk(&[801, 399]);
    assert_eq!(m.update(0, &T, ms(101), LASTING), P);
    assert_eq!(m.expires(), Time::MAX);
    let (mut m, _) = walk(&[801, 399]);
    assert_eq!(m.update(801, &T, ms(2), LASTING), B, "§II-A.4: back to B above S_high");
}

#[test]
fn acks_are_told_what_the_state_says() {
    let mut m = Machine::default();
    let mut notification = |s: u64, at: u64| {
        m.update(s, &T, ms(at), LASTING);
        m.notification(ms(at))
    };
    assert_eq!((notification(0, 0), notification(700, 1)), (None, None));
    assert_eq!(
        (notification(900, 2), notification(500, 3)),
        (Some(Notification::SlowDown), Some(Notification::SlowDown))
    );
    assert_eq!((notification(300, 4), notification(0, 500)), (Some(Notification::Cancel), Some(Notification::Cancel)));
    assert_eq!(notification(900, 600), Some(Notification::SlowDown), "new load goes before an old cancellation");
    assert_eq!(
        (notification(300, 700), notification(0, 1699), notification(0, 1700)),
        (Some(Notification::Cancel), Some(Notification::Cancel), None)
    );
}

#[test]
fn thresholds_follow_the_rule() {
    // §IV-A: 1.25 MB with S_high of 1 MB: what 10 Mbps sends in 200 ms is left above.
    let t = Thresholds::by_inflow(Bytes(1_250_000), ms(200), ms(0), Rate::from_mbps(10), Rate::ZERO, 0.5);
    assert_eq!(t, Thresholds { size: 1_250_000, high: 1_000_000, low: 500_000 });
    // A cache below two bandwidth-delay products: half of it (§IV-E).
    assert_eq!(
        Thresholds::by_inflow(Bytes(300_000), ms(200), ms(0), Rate::from_mbps(10), Rate::ZERO, 0.5).high,
        150_000
    );
    // §IV-E: what 100 Mbps bring in 400 ms.
    let t = Thresholds::by_inflow(Bytes(25_000_000), ms(200), ms(0), Rate::from_mbps(10), Rate::from_mbps(100), 0.5);
    assert_eq!(t.high, 20_000_000);
    // With 50 ms of buffer each way: in 600 ms.
    let t = Thresholds::by_inflow(Bytes(25_000_000), ms(200), ms(50), Rate::from_mbps(10), Rate::from_mbps(100), 0.5);
    assert_eq!(t.high, 17_500_000);
    // §II-B alone.
    let by_link = |size| Thresholds::by_link(Bytes(size), ms(200), Rate::from_mbps(10), 0.5).high;
    assert_eq!((by_link(1_250_000), by_link(300_000), by_link(100_000)), (1_000_000, 50_000, 0));
    assert_eq!(Thresholds::given(Bytes(100), Bytes(500), 0.5).high, 100, "never above the cache");
}
