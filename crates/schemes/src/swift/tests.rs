//! Algorithm 1 and the target by hand, and with anything as delay.

use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use midpath_core::roles::Received;
use midpath_core::units::Time;
use proptest::prelude::*;

use super::equations::{LEAST_WINDOW, Path, Scaling, State, smoothed};
use super::header::{SwiftHeader, reflect, stamp};
use crate::transport::cc::Seen;

/// Microseconds in place of seconds: a target of 50, and up to 100 more.
const PATH: Path = Path {
    increase: 1.0,
    beta: 0.8,
    most_decrease: 0.5,
    target: 50.0,
    scaling: Scaling { range: 100.0, least: 0.1, most: 100.0 },
    most: f64::INFINITY,
};

fn close(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() < 1e-9 * by_hand.abs().max(1.0), "{found} and not {by_hand}");
}

#[test]
fn small_windows_have_a_longer_target() {
    let scaling = PATH.scaling;
    // α = 100 / (√10 − .1), β = −α/10.
    let alpha = 100.0 / (10f64.sqrt() - 0.1);
    close(scaling.delay(1.0), alpha * 0.9);
    close(scaling.delay(4.0), alpha * 0.4);
    close(scaling.delay(0.1), 100.0);
    assert_eq!((scaling.delay(0.001), scaling.delay(100.0), scaling.delay(5000.0)), (100.0, 0.0, 0.0));
}

#[test]
fn below_the_target_a_window_grows_by_a_packet_in_a_round_trip() {
    let mut state = State::new(200.0);
    (0..200).for_each(|i| state.acknowledge(&PATH, 49.0, 1.0, f64::from(i), 50.0));
    assert!((200.99..201.0).contains(&state.cwnd), "{}", state.cwnd);
    // Below a packet each ACK adds ai.
    let mut small = State::new(0.25);
    small.acknowledge(&PATH, 49.0, 1.0, 0.0, 50.0);
    close(small.cwnd, 1.25);
}

#[test]
fn above_it_it_falls_by_what_is_too_much_once_in_a_round_trip() {
    let mut state = State::new(200.0);
    state.acknowledge(&PATH, 80.0, 1.0, 1000.0, 50.0);
    close(state.cwnd, 200.0 * (1.0 - 0.8 * 30.0 / 80.0));
    state.acknowledge(&PATH, 80.0, 1.0, 1049.0, 50.0);
    close(state.cwnd, 140.0);
    state.acknowledge(&PATH, 5000.0, 1.0, 1050.0, 50.0);
    close(state.cwnd, 70.0);
}

#[test]
fn a_loss_halves_it_once_in_a_round_trip_and_five_timeouts_leave_the_least() {
    let mut state = State::new(200.0);
    state.lose(&PATH, 1000.0, 50.0);
    state.lose(&PATH, 1020.0, 50.0);
    close(state.cwnd, 100.0);
    (1..5).for_each(|i| state.time_out(&PATH, 1000.0 + 100.0 * f64::from(i), 50.0));
    close(state.cwnd, 6.25);
    state.time_out(&PATH, 1500.0, 50.0);
    assert_eq!(state.cwnd, LEAST_WINDOW);
    // An ACK has them forgotten.
    state.acknowledge(&PATH, 49.0, 1.0, 1600.0, 50.0);
    state.time_out(&PATH, 1700.0, 50.0);
    close(state.cwnd, (1.0 + LEAST_WINDOW) / 2.0);
}

/// §3.3, footnote 3.
#[test]
fn a_window_that_is_not_the_bottleneck_grows_to_its_most() {
    let (path, mut state) = (Path { most: 12.5, ..PATH }, State::new(10.0));
    (0..100).for_each(|i| state.acknowledge(&path, 10.0, 1.0, f64::from(i), 50.0));
    assert_eq!(state.cwnd, 12.5);
}

/// §3.3: the endpoint's delay is smoothed, and its target is not scaled.
#[test]
fn the_endpoint_s_delay_moves_by_its_gain_and_its_target_stays() {
    let mut delay = None;
    for (sample, by_hand) in [(80.0, 80.0), (160.0, 90.0), (160.0, 98.75), (0.0, 86.40625)] {
        let now = smoothed(delay, sample, 0.125);
        close(now, by_hand);
        delay = Some(now);
    }
    let endpoint = Path { target: 100.0, scaling: Scaling::NONE, ..PATH };
    assert_eq!([0.01, 1.0, 1000.0].map(|cwnd| State::new(cwnd).target(&endpoint)), [100.0; 3]);
}

/// What data carry, the receiver's note, and the ACK. Hosts that take packets at once note nothing.
#[test]
fn an_ack_says_how_long_its_packet_waited() {
    let said = |waited: Option<Time>| {
        let mut data = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000);
        data.set_header(&SwiftHeader::default());
        let mut headers = data.headers().to_vec();
        if let Some(waited) = waited {
            stamp(&mut headers, &Received { waited, held: 0, buffer: 1 });
        }
        let mut ack = Packet::new(FlowId(0), NodeId(1), NodeId(0), 40);
        reflect(Seen { headers: &headers, ..Seen::of(&data) }, &mut ack);
        ack.header::<SwiftHeader>().expect("a header").remote
    };
    assert_eq!(said(None), Some(0));
    assert_eq!(said(Some(Time::from_us(17))), Some(17_000));
    assert_eq!(said(Some(Time::from_ms(10_000))), Some(u32::MAX - 1));
    let mut ack = Packet::new(FlowId(0), NodeId(1), NodeId(0), 40);
    reflect(Seen::of(&Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000)), &mut ack);
    assert!(!ack.has_headers());
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Ack(f64, f64),
    Loss,
    Timeout,
}

proptest! {
    #[test]
    fn a_header_comes_back(remote in prop::option::of(0..u32::MAX)) {
        let body = body_of(&SwiftHeader { remote });
        prop_assert_eq!(SwiftHeader::get(&body), Some(SwiftHeader { remote }));
        prop_assert_eq!(SwiftHeader::get(&body[1..]), None);
    }

    #[test]
    fn the_window_is_a_number_within_its_bounds(events in prop::collection::vec(prop_oneof![
        6 => (1.0f64..1e6, 0.0f64..50.0).prop_map(|(delay, packets)| Event::Ack(delay, packets)),
        1 => Just(Event::Loss),
        1 => Just(Event::Timeout),
    ], 1..300)) {
        let (mut state, mut now) = (State::new(10.0), 0.0);
        for event in events {
            now += 30.0;
            let before = state.cwnd;
            match event {
                Event::Ack(delay, packets) => state.acknowledge(&PATH, delay, packets, now, 50.0),
                Event::Loss => state.lose(&PATH, now, 50.0),
                Event::Timeout => state.time_out(&PATH, now, 50.0),
            }
            prop_assert!(state.cwnd >= LEAST_WINDOW && state.cwnd <= before + 50.0, "{}", state.cwnd);
        }
    }
}

/// What htsim's senders did (`tests/vectors/swift/README.md`): delay, its target, bytes acknowledged, can_decrease, and
/// the window before and after, in bytes.
fn htsim() -> Vec<[f64; 6]> {
    let text = include_str!("../../../../tests/vectors/swift/acks.csv");
    let row = |line: &str| {
        let numbers: Vec<f64> = line.split(',').map(|number| number.parse().expect("a number")).collect();
        <[f64; 6]>::try_from(numbers).expect("six numbers")
    };
    text.lines().skip(1).map(row).collect()
}

/// Its packets, and its base target and ħ in picoseconds.
const HTSIM_MSS: f64 = 4000.0;
const HTSIM_BASE: f64 = 20e6;
const HTSIM_HOP: f64 = HTSIM_BASE / 6.55;

/// 1 % was the bound before the first comparison. Its windows are whole bytes.
#[test]
fn windows_per_ack_are_those_of_htsim() {
    let (mut worst, mut grown, mut fallen, mut small) = (0.0f64, 0, 0, 0);
    for [delay, target, acked, can_decrease, before, after] in htsim() {
        let path = Path { target, scaling: Scaling { range: 0.0, ..PATH.scaling }, ..PATH };
        let mut state = State::new(before / HTSIM_MSS);
        if can_decrease == 0.0 {
            // A decrease by nothing, just before.
            state.lose(&Path { most_decrease: 0.0, ..path }, 0.0, 2.0);
        }
        state.acknowledge(&path, delay, acked / HTSIM_MSS, 1.0, 2.0);
        let off = (state.cwnd * HTSIM_MSS - after).abs();
        worst = worst.max(if off <= 1.0 { 0.0 } else { off / after });
        (grown, fallen) = (grown + i32::from(after > before), fallen + i32::from(after < before));
        small += i32::from(before < HTSIM_MSS);
    }
    println!("{grown} grow, {fallen} fall, {small} are below a packet: within {worst:.1e}");
    assert!(grown >= 100 && fallen >= 100 && small >= 100 && worst < 0.01, "{grown} {fallen} {small} {worst}");
}

/// Its target is of whole packets (`cwnd/_mss` of whole numbers), and of a whole number of hops.
#[test]
fn targets_are_those_of_htsim() {
    let scaling = Scaling { range: 5.0 * HTSIM_BASE, least: 0.1, most: 100.0 };
    for [_, target, _, _, before, _] in htsim() {
        let hops = (target - HTSIM_BASE - scaling.delay((before / HTSIM_MSS).floor())) / HTSIM_HOP;
        assert!((hops - hops.round()).abs() * HTSIM_HOP < 0.001 * target, "{target} ps: {hops} hops");
        assert!((-0.1..9.0).contains(&hops), "{hops} hops");
    }
}
