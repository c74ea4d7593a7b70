//! Data units in flight, and the queue delay.

use midpath_core::packet::Ecn;
use midpath_core::units::Time;

use super::super::delay::BaseDelay;
use super::close;
use crate::calls::feedback::{Arrival, NTP, Report, ntp};
use crate::calls::in_flight::{Acknowledged, InFlight};

const MS: fn(u64) -> Time = Time::from_ms;

/// Data units of 100 B, 200 B, … at 0, 1, … ms.
fn sent(count: u32) -> InFlight {
    let mut units = InFlight::default();
    (0..count).for_each(|i| units.on_sent(100 * (i + 1), 0, MS(i.into())));
    units
}

/// A report at a time of data units from 0 on, by what is said of each: came, not, with CE.
fn report(said: &str, at: Time) -> Report {
    let arrival = |c| match c {
        '+' => Some(Arrival { at: ntp(at), ecn: Ecn::Ect1 }),
        'c' => Some(Arrival { at: ntp(at), ecn: Ecn::Ce }),
        _ => None,
    };
    Report { ssrc: 0, begin: 0, blocks: said.chars().map(arrival).collect(), at: ntp(at) }
}

/// The example of §4.1.1 and §4.1.2: what lies below the highest acknowledged is not in flight, lost or not.
#[test]
fn in_flight_is_what_lies_above_the_highest_acknowledged() {
    let mut units = sent(6);
    assert_eq!(units.bytes(), 2100);
    let found = units.on_report(&report("+-c", MS(50)), MS(50), MS(50));
    // Sent at 2 ms.
    let took = ntp(MS(50)) - ntp(MS(2));
    let by_hand =
        Acknowledged { bytes: 600, bytes_ce: 300, delivered: 2, marked: 1, lost: 0, newest: Some((MS(2), took)) };
    assert_eq!((found, units.bytes()), (by_hand, 1500));
    // The same again says nothing.
    assert_eq!(units.on_report(&report("+-c", MS(51)), MS(50), MS(51)), Acknowledged::default());
}

/// §4.2.1.1: lost after the reordering window, 30 ms; one that comes later than that widens it, to a round trip at most.
#[test]
fn a_data_unit_is_lost_after_the_reordering_window_which_learns() {
    let mut units = sent(4);
    let mut lost = |said: &str, at| (units.on_report(&report(said, MS(at)), MS(100), MS(at)).lost, units.reordering());
    assert_eq!(lost("+-+", 50), (0, MS(30)));
    assert_eq!(lost("+-+", 79), (0, MS(30)));
    assert_eq!(lost("+-+", 80), (1, MS(30)));
    // It does come, 45 ms after it was missed.
    assert_eq!(lost("+++", 95), (0, MS(45)));
    let mut units = sent(4);
    for at in [50, 80, 1000] {
        units.on_report(&report("+-+", MS(at)), MS(100), MS(at));
    }
    units.on_report(&report("+++", MS(1040)), MS(100), MS(1040));
    assert_eq!(units.reordering(), MS(100));
}

#[test]
fn sequence_numbers_wrap() {
    let mut units = InFlight::default();
    for i in 0..70_000u64 {
        units.on_sent(10, 0, MS(i));
        let mut one = report("+", MS(i + 1));
        one.begin = i as u16;
        assert_eq!(units.on_report(&one, MS(50), MS(i + 1)).bytes, 10);
    }
    assert!(units.is_empty() && units.bytes() == 0 && units.next() == 70_000);
}

/// A quarter of a second above the least, with clocks that are apart and wrap.
#[test]
fn the_queue_delay_is_what_exceeds_the_base() {
    for apart in [0, 12_345, u32::MAX - 10] {
        let mut base = BaseDelay::default();
        let mut delay = |units: u32, now| base.qdelay(units.wrapping_add(apart), now);
        close(delay(NTP / 2, 0.0), 0.0);
        close(delay(NTP / 4, 1.0), 0.0);
        close(delay(NTP / 2, 2.0), 0.25);
        // The base is that of fifty times ten seconds: then the route's new delay is the base.
        close(delay(NTP / 2, 400.0), 0.25);
        (0..51).for_each(|i| _ = delay(NTP / 2, 420.0 + 11.0 * f64::from(i)));
        close(delay(NTP / 2, 1000.0), 0.0);
    }
}
