use proptest::prelude::*;

use crate::hpcc::equations::{Path, State};
use crate::hpcc::header::Reading;

/// 8 Mbps and a round trip of 10 ms: 10,000 bytes fill it.
const T: f64 = 0.010;
const PATH: Path = Path { eta: 0.95, max_stage: 5, increase: 5.0, least: 1000.0, most: 10_000.0 };

/// A port that has sent so many bytes by so many milliseconds, with so many waiting.
fn at(ms: u32, sent: u32, queue: u32) -> Reading {
    Reading { rate: 8e6, queue, sent, time: ms * 1_000_000 }
}

/// U of a fresh state after one pair of readings a round trip apart.
fn load(before: &[Reading], now: &[Reading]) -> f64 {
    let mut state = State::new(5000.0);
    state.measure(before, now, T);
    state.load()
}

#[test]
fn a_link_that_sends_all_the_time_without_a_queue_has_a_load_of_one() {
    assert!((load(&[at(0, 0, 0)], &[at(10, 10_000, 0)]) - 1.0).abs() < 1e-9);
    assert!((load(&[at(0, 0, 0)], &[at(10, 5_000, 0)]) - 0.5).abs() < 1e-9);
}

#[test]
fn what_waits_counts_by_the_smaller_of_two_readings_over_what_fills_the_path() {
    assert!((load(&[at(0, 0, 4000)], &[at(10, 10_000, 2000)]) - 1.2).abs() < 1e-9);
}

#[test]
fn the_busiest_link_counts() {
    let (before, now) = ([at(0, 0, 0), at(0, 0, 0)], [at(10, 2_000, 0), at(10, 9_000, 0)]);
    assert!((load(&before, &now) - 0.9).abs() < 1e-9);
}

#[test]
fn readings_that_are_close_together_move_the_load_by_their_share_of_a_round_trip() {
    let mut state = State::new(5000.0);
    state.measure(&[at(0, 0, 0)], &[at(1, 1_000, 0)], T);
    assert!((state.load() - 0.1).abs() < 1e-9);
}

#[test]
fn counters_go_round() {
    let before = Reading { sent: u32::MAX - 999, time: u32::MAX - 4_999_999, ..at(0, 0, 0) };
    assert!((load(&[before], &[at(5, 9_000, 0)]) - 1.0).abs() < 1e-6);
}

#[test]
fn an_idle_path_is_raised_by_steps_and_then_filled() {
    let mut state = State::new(5000.0);
    state.measure(&[at(0, 0, 0)], &[at(10, 4_750, 0)], T); // U = 0.475, half of η
    for step in 1..=5 {
        state.adapt(&PATH, true);
        assert_eq!(state.window, 5000.0 + 5.0 * f64::from(step));
    }
    state.adapt(&PATH, true);
    assert_eq!(state.window, PATH.most, "twice 5025 is more than fills the path");
}

#[test]
fn an_overloaded_path_scales_the_window_down_at_once_and_once_per_round_trip() {
    let mut state = State::new(5000.0);
    state.measure(&[at(0, 0, 9_000)], &[at(10, 10_000, 9_000)], T); // U = 1.9, twice η
    for _ in 0..3 {
        state.adapt(&PATH, false);
        assert!((state.window - 2505.0).abs() < 1e-9, "from W_c each time");
    }
    state.adapt(&PATH, true);
    state.adapt(&PATH, true);
    assert!((state.window - (2505.0 / 2.0 + 5.0)).abs() < 1e-9, "W_c has followed");
}

proptest! {
    /// Whatever ports claim, the window is a number between its bounds.
    #[test]
    fn hostile_readings_leave_the_window_within_its_bounds(
        readings in prop::collection::vec((1.0f32..=f32::MAX, any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>()), 2..40),
    ) {
        let mut state = State::new(5000.0);
        let reading = |r: &(f32, u32, u32, u32, bool)| Reading { rate: r.0, queue: r.1, sent: r.2, time: r.3 };
        for pair in readings.windows(2) {
            state.measure(&[reading(&pair[0])], &[reading(&pair[1])], T);
            state.adapt(&PATH, pair[0].4);
            prop_assert!((PATH.least..=PATH.most).contains(&state.window), "{}", state.window);
        }
    }
}

/// After a timeout the window is what it was set to, and so is what it grows from.
#[test]
fn a_window_that_was_set_is_where_it_goes_on() {
    let mut state = State::new(5000.0);
    // Four stages of an idle path, each from the one before.
    (0..4).for_each(|_| state.adapt(&PATH, true));
    assert_eq!((state.window, state.reference), (5020.0, 5020.0));
    state.restart(2000.0);
    assert_eq!((state.window, state.reference), (2000.0, 2000.0));
    // Five stages more: the first four were forgotten.
    (0..5).for_each(|_| state.adapt(&PATH, true));
    assert_eq!(state.window, 2025.0);
}
