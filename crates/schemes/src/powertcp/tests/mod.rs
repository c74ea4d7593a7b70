//! Algorithm 1 by hand, with hostile readings, and beside an independent computation of its windows.

use proptest::prelude::*;

use crate::hpcc::header::Reading;
use crate::hpcc::tests::vectors::{BASE_RTT, FILLS, steps};
use crate::powertcp::equations::{Path, State};

/// 8 Mbps and a round trip of 10 ms: 10,000 bytes fill it.
const T: f64 = 0.010;
const PATH: Path = Path { gamma: 0.9, beta: 100.0, least: 1000.0, most: 10_100.0 };

fn at(ms: u32, sent: u32, queue: u32) -> Reading {
    Reading { rate: 8e6, queue, sent, time: ms * 1_000_000 }
}

fn power(before: &[Reading], now: &[Reading]) -> f64 {
    let mut state = State::new(5000.0);
    state.measure(before, now, T);
    state.power()
}

#[test]
fn power_is_what_arrives_times_what_waits_and_is_on_its_way() {
    let known = |before, now| power(&[before], &[now]);
    assert!((known(at(0, 0, 0), at(10, 10_000, 0)) - 1.0).abs() < 1e-9, "a full link without a queue");
    assert!((known(at(0, 0, 0), at(10, 5000, 0)) - 0.5).abs() < 1e-9);
    // A standing queue of a BDP: voltage is two.
    assert!((known(at(0, 0, 10_000), at(10, 10_000, 10_000)) - 2.0).abs() < 1e-9);
    // It grows as fast as the link sends: current is two, voltage at its end two.
    assert!((known(at(0, 0, 0), at(10, 10_000, 10_000)) - 4.0).abs() < 1e-9);
    // It drains while half of a link arrives, down to half of a BDP.
    assert!((known(at(0, 0, 10_000), at(10, 10_000, 5000)) - 0.75).abs() < 1e-9);
    // Nothing arrives, or next to nothing since long: half of the link is the least.
    assert!((known(at(0, 0, 10_000), at(10, 10_000, 0)) - 0.5).abs() < 1e-9);
    assert!((known(at(0, 0, 0), at(100, 200, 0)) - 0.5).abs() < 1e-9);
}

#[test]
fn the_window_follows_the_power_and_rests_where_beta_is_what_waits() {
    let mut state = State::new(5000.0);
    state.measure(&[at(0, 0, 10_000)], &[at(10, 10_000, 10_000)], T);
    state.adapt(&PATH, 5000.0);
    assert!((state.window - (0.9 * (2500.0 + 100.0) + 0.1 * 5000.0)).abs() < 1e-9);
    // Γ = 1 + β/W at rest: a flow alone keeps β in the queue.
    let mut rest = State::new(10_100.0);
    rest.measure(&[at(0, 0, 100)], &[at(10, 10_000, 100)], T);
    rest.adapt(&PATH, 10_100.0);
    assert!((rest.window - 10_100.0).abs() < 2.0, "{}", rest.window);
}

proptest! {
    #[test]
    fn hostile_readings_leave_the_window_within_its_bounds(
        all in prop::collection::vec((1f32..4e11, any::<u32>(), any::<u32>(), any::<u32>()), 2..40), window in 1e3f64..1e9,
    ) {
        let mut state = State::new(window);
        let readings: Vec<Reading> =
            all.iter().map(|&(rate, queue, sent, time)| Reading { rate, queue, sent, time }).collect();
        for pair in readings.windows(2) {
            state.measure(&pair[..1], &pair[1..], T);
            state.adapt(&PATH, window);
            prop_assert!((PATH.least..=PATH.most).contains(&state.window), "{}", state.window);
        }
    }
}

/// 1 % was the bound before the first comparison; rounding is what differs.
#[test]
fn windows_per_ack_are_those_of_algorithm_1() {
    // So many ACKs are a round trip there.
    const ROUND: usize = 9;
    let path = Path { gamma: 0.9, beta: FILLS / 100.0, least: 100.0, most: FILLS * 1.01 };
    let (mut state, mut worst) = (State::new(FILLS / 2.0), 0.0f64);
    let mut windows = vec![FILLS / 2.0; ROUND];
    let steps = steps("powertcp_bytes");
    for step in &steps {
        state.measure(&step.before, &step.now, BASE_RTT);
        state.adapt(&path, windows[windows.len() - ROUND]);
        windows.push(state.window);
        worst = worst.max((state.window / step.window - 1.0).abs());
    }
    println!("{} ACKs: within {worst:.1e}", steps.len());
    assert!(steps.len() == 400 && worst < 0.01, "{worst}");
}
