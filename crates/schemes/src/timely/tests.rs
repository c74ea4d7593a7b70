//! Algorithm 1 by hand, and with anything as round-trip time.

use proptest::prelude::*;

use super::equations::{Path, State};

/// The paper's constants: 50 us, 500 us, 10 Mbps, in seconds and bits per second.
const PATH: Path = Path { alpha: 0.875, beta: 0.8, t_low: 50e-6, t_high: 500e-6, min_rtt: 20e-6, delta: 10e6 };

/// The rate after these round trips, in microseconds, from 5 Gbps.
fn after(rtts: &[f64]) -> f64 {
    let mut state = State::new(5e9);
    rtts.iter().for_each(|us| state.complete(&PATH, us * 1e-6));
    state.rate
}

fn close(found: f64, by_hand: f64) {
    assert!((found / by_hand - 1.0).abs() < 1e-9, "{found} and not {by_hand}");
}

#[test]
fn the_first_round_trip_is_only_remembered() {
    assert_eq!(after(&[400.0]), 5e9);
}

#[test]
fn below_t_low_the_rate_grows_by_delta_whatever_the_gradient() {
    close(after(&[20.0, 49.0]), 5e9 + 10e6);
}

#[test]
fn above_t_high_it_falls_towards_it_whatever_the_gradient() {
    // 1 − .8 (1 − 500/1000) = .6, twice: the second time the round trip shrinks.
    close(after(&[100.0, 1000.0]), 5e9 * 0.6);
    close(after(&[100.0, 1000.0, 800.0]), 5e9 * 0.6 * (1.0 - 0.8 * (1.0 - 500.0 / 800.0)));
}

#[test]
fn between_them_it_falls_by_the_gradient() {
    // rtt_diff = .875 · 10 us, over 20 us.
    close(after(&[100.0, 110.0]), 5e9 * (1.0 - 0.8 * 0.4375));
    // .125 · 8.75 + .875 · 4 = 4.59375 us.
    close(after(&[100.0, 110.0, 114.0]), 5e9 * (1.0 - 0.8 * 0.4375) * (1.0 - 0.8 * 4.59375 / 20.0));
}

#[test]
fn between_them_it_grows_where_round_trips_do_not_and_faster_from_the_fifth_on() {
    close(after(&[100.0, 100.0, 90.0, 90.0, 90.0]), 5e9 + 4.0 * 10e6);
    close(after(&[100.0, 100.0, 90.0, 90.0, 90.0, 90.0, 90.0]), 5e9 + (4.0 + 2.0 * 5.0) * 10e6);
}

#[test]
fn a_loss_halves_it_and_ten_delta_are_the_least() {
    let mut state = State::new(400e6);
    state.halve(&PATH);
    assert_eq!(state.rate, 200e6);
    (0..5).for_each(|_| state.halve(&PATH));
    assert_eq!(state.rate, 100e6);
}

proptest! {
    #[test]
    fn the_rate_is_at_least_ten_delta_and_grows_by_five_at_most(
        rtts in prop::collection::vec(1e-6f64..1.0, 1..200), start in 1e8f64..1e11,
    ) {
        let mut state = State::new(start);
        for rtt in rtts {
            let before = state.rate;
            state.complete(&PATH, rtt);
            prop_assert!(state.rate >= 10.0 * PATH.delta && state.rate <= before + 5.0 * PATH.delta + 1.0);
        }
    }
}

/// Algorithm 1: "if new_rtt > T_high". At T_high itself the gradient decides.
#[test]
fn t_high_itself_belongs_to_the_gradient() {
    close(after(&[500.0, 500.0]), 5e9 + 10e6);
}
