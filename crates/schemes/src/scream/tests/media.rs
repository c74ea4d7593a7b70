//! Rates, pacing and frames by hand.

use midpath_core::rng::{Purpose, stream};
use proptest::prelude::*;

use super::super::media::MediaRate;
use super::super::params::ScreamParams;
use super::super::window::Window;
use super::close;
use crate::calls::encoder::{data_units, frame_factor};

fn window(ref_wnd: f64) -> Window {
    let mut window = Window::new(&ScreamParams::default(), 1000.0);
    window.begin(ref_wnd);
    window
}

/// 20,000 B per 50 ms are 3.2 Mbps: less packets' overhead and a headroom of 1.2.
#[test]
fn the_target_is_the_window_over_the_round_trip_with_headroom() {
    let mut media = MediaRate::new(1e5, 3e5, 1e7);
    close(media.target(), 3e5);
    media.update(&window(20_000.0), 1000.0, 0.05);
    close(media.target(), 3.2e6 * 1000.0 / 1020.0 / 1.2);
    // Two MSS and a half: .4 − .1, at most .2, less.
    media.update(&window(2_500.0), 1000.0, 0.05);
    close(media.target(), 0.8 * 3_000.0 * 8.0 / 0.05 * 1000.0 / 1020.0 / 1.2);
    media.update(&window(900_000.0), 1000.0, 0.05);
    close(media.target(), 1e7);
    media.update(&window(3_000.0), 1000.0, 10.0);
    close(media.target(), 1e5);
}

/// A wait of a whole frame is three quarters too much: a sixteenth of that per frame. A frame twice as large as the
/// target says is a deviation of one: a 64th.
#[test]
fn waiting_and_large_frames_lower_the_target() {
    let mut media = MediaRate::new(1e5, 2.4e6, 1e7);
    media.on_frame(0.04, 0.04, 24_000.0);
    media.update(&window(20_000.0), 1000.0, 0.05);
    close(media.target(), 3.2e6 * 1000.0 / 1020.0 / (1.2 + 0.75 / 16.0 + 1.0 / 64.0));
    // At most .5 and .2.
    (0..400).for_each(|_| media.on_frame(1.0, 0.04, 1e6));
    media.update(&window(20_000.0), 1000.0, 0.05);
    close(media.target(), 3.2e6 * 1000.0 / 1020.0 / 1.9);
    (0..40).for_each(|_| media.on_frame(0.0, 0.04, 0.0));
    media.update(&window(20_000.0), 1000.0, 0.05);
    let deviation = 0.2 * (63f64 / 64.0).powi(40);
    close(media.target(), 3.2e6 * 1000.0 / 1020.0 / (1.2 + deviation));
}

#[test]
fn the_pace_is_half_above_the_target_and_relaxed_near_the_highest_rate() {
    let pace = |target: f64| MediaRate::new(1e4, target, 1e6).pace_bitrate();
    close(pace(1e4), 75_000.0);
    close(pace(8e5), 1.2e6);
    // Halfway from .8 to 1.
    close(pace(9e5), 2.0 * 1.35e6);
    close(pace(1e6), 4.0 * 1.5e6);
}

#[test]
fn frames_have_the_mean_and_the_spread_of_laplace_s_distribution() {
    let mut rng = stream(3, Purpose::Endpoints, 0);
    let n = 40_000;
    let all: Vec<f64> = (0..n).map(|_| frame_factor(0.15, &mut rng)).collect();
    let mean = all.iter().sum::<f64>() / f64::from(n);
    // The mean distance from the mean is the scale; what is cut off beyond five scales is .7 % of it.
    let spread = all.iter().map(|x| (x - 1.0).abs()).sum::<f64>() / f64::from(n);
    assert!((mean - 1.0).abs() < 0.004 && (spread / 0.15 - 0.993).abs() < 0.02, "{mean}, {spread}");
    assert!(all.iter().all(|x| (0.25..=1.75).contains(x)));
    assert!((0..100).all(|_| frame_factor(0.0, &mut rng) == 1.0));
}

#[test]
fn a_frame_is_full_data_units_and_a_rest() {
    let units = |frame| data_units(frame, 1000, 12).collect::<Vec<_>>();
    assert_eq!(units(2_500), [1000, 1000, 500]);
    assert_eq!(units(2_000), [1000, 1000]);
    assert_eq!(units(2_005), [1000, 1000, 13]);
    assert_eq!(units(0), [13]);
}

proptest! {
    #[test]
    fn data_units_add_up(frame in 13u32..300_000, mss in 100u32..1473) {
        let units: Vec<u32> = data_units(frame, mss, 12).collect();
        let sum: u32 = units.iter().sum();
        prop_assert!((frame..frame + 13).contains(&sum));
        prop_assert!(units.iter().all(|unit| (13..=mss).contains(unit)));
    }
}
