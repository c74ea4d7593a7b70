use midpath_core::units::Time;

use crate::xcp::queue::PersistentQueue;

/// A million bytes per second, a round trip of 40 ms.
const CAPACITY: f64 = 1e6;
const RTT: f64 = 0.04;

fn queue() -> PersistentQueue {
    PersistentQueue::new(Time::ZERO, Time::from_ms(20), 0.002)
}

#[test]
fn a_new_one_is_empty() {
    assert_eq!(queue().bytes(), 0.0);
}

/// Nothing waited before the first arrival, which finds ten bytes.
#[test]
fn the_first_interval_begins_empty() {
    let mut q = queue();
    q.arrival(Time::from_ms(19), 10.0, 30_000.0);
    q.catch_up(Time::from_ms(20), RTT, CAPACITY);
    assert_eq!(q.bytes(), 0.0);
    let mut q = queue();
    // A byte of what waits would be left over a round trip of a microsecond.
    q.catch_up(Time::from_ms(20), RTT, 1e-6);
    q.catch_up(Time::from_ms(40), RTT, 1e-6);
    assert_eq!(q.bytes(), 0.0);
}

#[test]
fn what_drains_within_the_interval_is_not_persistent() {
    let mut q = queue();
    q.arrival(Time::from_ms(1), 0.0, 5_000.0);
    q.arrival(Time::from_ms(2), 4_000.0, 9_000.0);
    q.catch_up(Time::from_ms(20), RTT, CAPACITY);
    assert_eq!(q.bytes(), 0.0);
}

#[test]
fn what_every_arrival_has_seen_is_persistent() {
    let mut q = queue();
    q.arrival(Time::from_ms(19), 0.0, 30_000.0);
    q.catch_up(Time::from_ms(20), RTT, CAPACITY);
    // The second interval begins with 29,000 B, so it lasts (40 − 29) / 2 = 5.5 ms and ends at 25.5
    // ms.
    q.arrival(Time::from_ms(22), 27_000.0, 28_000.0);
    q.arrival(Time::from_ms(24), 26_000.0, 40_000.0);
    q.catch_up(Time::from_us(25_499), RTT, CAPACITY);
    assert_eq!(q.bytes(), 0.0, "the first interval began empty");
    q.catch_up(Time::from_us(25_500), RTT, CAPACITY);
    assert_eq!(q.bytes(), 26_000.0);
}

#[test]
fn a_queue_that_nobody_adds_to_drains_away() {
    let mut q = queue();
    q.arrival(Time::from_ms(19), 0.0, 30_000.0);
    q.catch_up(Time::from_ms(26), RTT, CAPACITY);
    // At 25.5 ms: 30,000 B less 6.5 ms of the link.
    assert!((q.bytes() - 23_500.0).abs() < 1e-6, "{}", q.bytes());
    q.catch_up(Time::from_secs(100_000), RTT, CAPACITY);
    assert_eq!(q.bytes(), 0.0);
}
