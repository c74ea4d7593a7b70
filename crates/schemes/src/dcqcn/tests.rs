//! The reaction point by hand, and with anything in any order.

use proptest::prelude::*;

use super::equations::{Gains, Round, State};

/// The paper's constants at 40 Gbps, in Mbps.
const GAINS: Gains = Gains { g: 1.0 / 256.0, fast_recovery: 5, additive: 40.0, hyper: 400.0, most: 40_000.0 };

fn close(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() < 1e-9 * by_hand.abs().max(1.0), "{found} and not {by_hand}");
}

#[test]
fn a_notification_halves_the_rate_at_first_and_less_after_calm() {
    let mut state = State::new(40_000.0);
    state.cut(&GAINS);
    assert_eq!((state.current, state.target, state.alpha), (20_000.0, 40_000.0, 1.0));
    state.calm(&GAINS, 256);
    close(state.alpha, (255f64 / 256.0).powi(256));
    let alpha = state.alpha;
    state.cut(&GAINS);
    close(state.current, 20_000.0 * (1.0 - alpha / 2.0));
    close(state.target, 20_000.0);
    close(state.alpha, alpha * 255.0 / 256.0 + 1.0 / 256.0);
}

#[test]
fn fast_recovery_takes_back_half_of_what_is_left_each_time() {
    let mut state = State::new(40_000.0);
    state.cut(&GAINS);
    (0..4).for_each(|_| state.increase(&GAINS, Round::Timer));
    close(state.current, 40_000.0 - 20_000.0 / 16.0);
    assert_eq!(state.target, 40_000.0);
}

#[test]
fn then_the_target_grows_by_a_step_and_by_a_long_one_once_both_counters_have() {
    let mut state = State::new(1000.0);
    state.cut(&GAINS);
    (0..5).for_each(|_| state.increase(&GAINS, Round::Timer));
    assert_eq!(state.target, 1040.0);
    // The byte counter counts its own: five of it are no hyper increase, the sixth is once the timer has six.
    (0..5).for_each(|_| state.increase(&GAINS, Round::Bytes));
    assert_eq!(state.target, 1240.0);
    state.increase(&GAINS, Round::Timer);
    assert_eq!(state.target, 1280.0);
    state.increase(&GAINS, Round::Bytes);
    assert_eq!(state.target, 1680.0);
}

#[test]
fn the_target_stops_at_the_line() {
    let mut state = State::new(39_990.0);
    (0..50).for_each(|_| state.increase(&GAINS, Round::Timer));
    assert_eq!(state.target, 40_000.0);
    close(state.current.round(), 40_000.0);
}

proptest! {
    #[test]
    fn rates_and_alpha_stay_within_their_bounds(events in prop::collection::vec(0u8..4, 1..400), start in 1.0f64..4e4) {
        let mut state = State::new(start);
        for event in events {
            match event {
                0 => state.cut(&GAINS),
                1 => state.calm(&GAINS, 3),
                2 => state.increase(&GAINS, Round::Timer),
                _ => state.increase(&GAINS, Round::Bytes),
            }
            prop_assert!((0.0..=1.0).contains(&state.alpha));
            prop_assert!(state.current > 0.0 && state.current <= state.target, "{state:?}");
            prop_assert!(state.target <= GAINS.most);
        }
    }
}
