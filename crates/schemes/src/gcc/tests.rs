//! GCC's parts: the numbers of libwebrtc's own tests on the same inputs, each equation by hand, and what hostile feedback
//! can do.

use midpath_core::packet::{Ecn, FlowId, NodeId};
use midpath_core::roles::FlowSpec;
use midpath_core::units::Time;
use proptest::prelude::*;
use serde_json::json;

use super::aimd::Aimd;
use super::arrivals::{Delta, Groups};
use super::detector::{Detector, Signal};
use super::filter::{Kalman, Trendline};
use super::loss::LossBased;
use super::params::{GccFilter, GccParams};
use super::probe::Probes;
use super::throughput::Throughput;
use crate::Catalogue;
use crate::calls::CallControl;
use crate::calls::feedback::{Arrival, Report};
use crate::calls::sender::Sender;
use crate::testing::cases;

#[track_caller]
fn close(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() <= 1e-9 * by_hand.abs().max(1.0), "{found} and not {by_hand}");
}

/// The inputs of libwebrtc's `trendline_estimator_unittest.cc`: 25 packets, 20 ms apart, that come `apart` ms apart in
/// whole milliseconds. The signals that differ from the one before.
fn signals(apart: f64) -> Vec<Signal> {
    let (mut line, mut detector) = (Trendline::default(), Detector::new(0.0087, 0.039));
    let came = |i: u32| (987_654_321.0 + apart * f64::from(i)).floor();
    let mut all = vec![detector.signal()];
    for i in 1..25 {
        let delta = Delta { sent: 20.0, came: came(i) - came(i - 1), at: came(i) };
        if let Some((trend, scaled)) = line.update(&delta) {
            detector.update(trend, scaled, delta.sent, delta.at);
        }
        all.push(detector.signal());
    }
    all.dedup();
    all
}

/// Its tests `Normal`, `Overusing` (a tenth slower) and `Underusing` (15 % faster).
#[test]
fn delivery_as_fast_slower_and_faster_is_what_libwebrtc_s_tests_say() {
    assert_eq!(signals(20.0), [Signal::Normal]);
    assert_eq!(signals(22.0), [Signal::Normal, Signal::Overuse]);
    assert_eq!(signals(17.0), [Signal::Normal, Signal::Underuse]);
}

/// Its tests `PerfectLineSlope…` of 2016: 41 packets 10 ms apart, without smoothing and gain.
#[test]
fn the_trend_is_the_slope_once_the_window_is_full() {
    for slope in [0.5, -1.0, 0.0] {
        let mut line = Trendline::new(0.0, 1.0);
        let came = |i: u32| (777.0 + 10.0 * f64::from(i) / (1.0 - slope)).floor();
        for i in 1..41 {
            let trend = line.update(&Delta { sent: 10.0, came: came(i) - came(i - 1), at: came(i) });
            let expected = if i < 20 { 0.0 } else { slope };
            assert!(trend.is_none_or(|(trend, _)| (trend - expected).abs() < 0.001), "{slope}, {i}: {trend:?}");
        }
    }
}

fn aimd(start: f64) -> Aimd {
    Aimd::new(start, 5000.0, 0.85)
}

/// `aimd_rate_control_unittest.cc`: `MinNearMaxIncreaseRateOnLowBandwith`, `NearMaxIncreaseRateIs5kbps…`,
/// `GetIncreaseRateAndBandwidthPeriod`.
#[test]
fn the_additive_increase_is_libwebrtc_s() {
    close(aimd(30_000.0).near_max_growth(), 4000.0);
    close(aimd(90_000.0).near_max_growth(), 5000.0);
    let mut rate = aimd(60_000.0);
    rate.rtt = 0.1;
    close(rate.near_max_growth(), 5000.0);
    let mut rate = aimd(300_000.0);
    rate.update(Signal::Overuse, Some(300_000.0), 123.456);
    close(rate.rate(), 255_000.0);
    assert!((rate.near_max_growth() - 14_000.0).abs() < 1000.0);
}

/// `BweLimitedByAckedBitrate`, `BweNotLimitedByDecreasingAckedBitrate`, `ExpectedPeriodAfter20kbpsDropAnd5kbpsIncrease`.
#[test]
fn the_rate_is_bounded_by_what_arrives_and_falls_below_it() {
    for arrives in [10_000.0, 100_000.0] {
        let mut rate = aimd(arrives);
        (0..200).for_each(|i| rate.update(Signal::Normal, Some(arrives), 123.456 + 0.1 * f64::from(i)));
        let most = 1.5 * arrives + 10_000.0;
        assert!((rate.rate() - most).abs() < 2000.0 || arrives < 20_000.0 && rate.rate() == most);
        let before = rate.rate();
        rate.update(Signal::Normal, Some(arrives / 2.0), 143.5);
        close(rate.rate(), before);
    }
    let mut rate = aimd(110_000.0);
    rate.update(Signal::Overuse, Some(90_000.0 / 0.85), 123.556);
    close(rate.rate(), 90_000.0);
    close(rate.near_max_growth(), 5000.0);
}

/// §5.5 by hand: 8 % in a second; after an over-use near the rate of the last one, a packet in two response times;
/// far above it, 8 % again.
#[test]
fn growth_is_multiplicative_until_the_capacity_is_known() {
    let mut rate = aimd(1e6);
    rate.update(Signal::Normal, Some(1e6), 10.0);
    close(rate.rate(), 1_001_000.0);
    rate.update(Signal::Normal, Some(1e6), 11.0);
    close(rate.rate(), 1_001_000.0 * 1.08);
    rate.update(Signal::Overuse, Some(1e6), 12.0);
    close(rate.rate(), 850_000.0);
    // Holds where queues empty, and until they have.
    rate.update(Signal::Underuse, Some(1e6), 12.5);
    close(rate.rate(), 850_000.0);
    rate.update(Signal::Normal, Some(1e6), 13.0);
    // 850,000 / 30 bits are three packets: a third of them in 2 (200 + 100) ms.
    rate.update(Signal::Normal, Some(1e6), 13.3);
    close(rate.rate(), 850_000.0 + 850_000.0 / 30.0 / 3.0 / 0.6 * 0.3);
    // 0.4 of 1000: three deviations are 60 kbps.
    let before = rate.rate();
    rate.update(Signal::Normal, Some(1.061e6), 14.3);
    close(rate.rate(), before * 1.08);
}

/// Decreases are a round trip apart, unless less than half of the rate arrives.
#[test]
fn decreases_are_a_round_trip_apart() {
    let mut rate = aimd(1e6);
    rate.rtt = 0.05;
    rate.update(Signal::Overuse, Some(1e6), 10.0);
    rate.update(Signal::Overuse, Some(0.8e6), 10.04);
    close(rate.rate(), 850_000.0);
    rate.update(Signal::Overuse, Some(0.4e6), 10.04);
    close(rate.rate(), 340_000.0);
    rate.update(Signal::Overuse, Some(0.3e6), 10.09);
    close(rate.rate(), 255_000.0);
}

/// §6 by hand, with libwebrtc's growth: 8 % and 1 kbps above the least rate of a second.
#[test]
fn losses_above_a_tenth_lower_the_rate_and_below_a_fiftieth_it_grows() {
    let mut loss = LossBased::new(1e6, 1e5, 1e7, 1.08);
    let mut after = |lost, now: f64| {
        loss.update(lost, 20, 1e9, 0.1, now);
        loss.rate()
    };
    // Beyond the first two seconds. One in twenty says nothing, a fifth takes a tenth, at most once in .3 s and a round trip.
    close(after(1, 5.0), 1e6);
    close(after(1, 10.0), 1e6);
    close(after(4, 10.1), 9e5);
    close(after(4, 10.3), 9e5);
    close(after(4, 10.55), 8.1e5);
    close(after(0, 10.6), 8.1e5 * 1.08 + 1000.0);
    close(after(0, 11.0), 8.1e5 * 1.08 + 1000.0);
    let second = 8.1e5 * 1.08 + 1000.0;
    close(after(0, 11.7), second * 1.08 + 1000.0);
    // Fewer than twenty packets are none yet, and the delay-based rate is the bound.
    let mut loss = LossBased::new(1e6, 1e5, 1e7, 1.08);
    loss.update(10, 19, 1e9, 0.1, 5.0);
    close(loss.share(), 0.0);
    loss.update(0, 1, 3e5, 0.1, 5.1);
    close(loss.share(), 0.5);
    close(loss.rate(), 3e5);
}

/// Two groups of three, 5 ms apart or together as they came.
#[test]
fn data_units_that_leave_or_come_together_are_a_group() {
    let mut groups = Groups::default();
    let mut add = |sent, came| groups.add(sent, came);
    assert_eq!([add(0.0, 50.0), add(2.0, 52.0), add(5.0, 56.0)], [None; 3]);
    assert_eq!([add(20.0, 70.0), add(21.0, 75.0)], [None; 2]);
    // 40 ms left 20 ms after 20 ms; the group before it, from 5 to 21 ms, took 56 to 75 ms.
    assert_eq!(add(40.0, 90.0), Some(Delta { sent: 16.0, came: 19.0, at: 75.0 }));
    // Comes 1 ms later although it left 10 ms later: one burst. Then overtaken ones say nothing.
    assert_eq!(add(50.0, 91.0), None);
    assert_eq!(add(10.0, 300.0), None);
    assert_eq!(add(70.0, 120.0), Some(Delta { sent: 29.0, came: 16.0, at: 91.0 }));
}

/// §5.3: k(1) = (e(0) + q) / (var_v + e(0) + q), with var_v = 1 at least.
#[test]
fn the_first_steps_of_the_kalman_filter_by_hand() {
    let mut kalman = Kalman::default();
    let delta = |came| Delta { sent: 30.0, came, at: 0.0 };
    let k = 0.101 / 1.101;
    close(kalman.update(&delta(31.0)), k);
    let e = (1.0 - k) * 0.101 + 1e-3;
    // z = 9 − m is beyond three deviations: 3.
    let alpha = 0.99f64.powf(30.0 * 30.0 / 1000.0);
    let var = (alpha + (1.0 - alpha) * 9.0).max(1.0);
    close(kalman.update(&delta(39.0)), k + e / (var + e) * 3.0);
}

/// Half a second at first, then windows of 150 ms. The same rate changes nothing, another by its distance.
#[test]
fn the_rate_that_arrives_follows_windows() {
    let mut rate = Throughput::default();
    (0..51).for_each(|i| rate.add(10.0 * f64::from(i), 1250));
    close(rate.bps().unwrap(), 1e6);
    (51..201).for_each(|i| rate.add(10.0 * f64::from(i), 1250));
    close(rate.bps().unwrap(), 1e6);
    // Half: an uncertainty of 10 · 500/1000, a variance of 25.
    (201..217).for_each(|i| rate.add(10.0 * f64::from(i), 625));
    let now = rate.bps().unwrap();
    assert!(now > 5e5 && now < 1e6, "{now}");
    (217..700).for_each(|i| rate.add(10.0 * f64::from(i), 625));
    assert!((rate.bps().unwrap() - 5e5).abs() < 1e4, "{:?}", rate.bps());
}

/// del_var_th (§5.4) by hand: a step of .0087 or .039 a millisecond, none where the trend is 15 above it, 6 at least.
#[test]
fn the_threshold_follows_the_trend() {
    let mut detector = Detector::new(0.0087, 0.039);
    detector.update(0.0, 13.0, 10.0, 0.0);
    close(detector.threshold(), 12.5);
    detector.update(0.0, 13.0, 10.0, 10.0);
    close(detector.threshold(), 12.5 + 0.0087 * 0.5 * 10.0);
    let before = detector.threshold();
    detector.update(0.0, -before - 15.1, 10.0, 20.0);
    close(detector.threshold(), before);
    detector.update(0.0, 12.0, 10.0, 25.0);
    close(detector.threshold(), before + 0.039 * (12.0 - before) * 5.0);
    (0..20).for_each(|i| detector.update(0.0, 0.0, 10.0, 30.0 + f64::from(i)));
    close(detector.threshold(), 6.0);
}

/// A burst of five data units of 1,200 B at `sent` Mbps that comes at `came` Mbps.
fn burst(probes: &mut Probes, number: u32, sent: f64, came: f64) {
    (0..5).for_each(|i| {
        let after = |mbps: f64| f64::from(i) * 9600.0 / (mbps * 1e6);
        probes.add(number, 1200, 1.0 + after(sent), 2.0 + after(came));
    });
}

/// The inputs and rates of libwebrtc's `probe_bitrate_estimator_unittest.cc`: of each packet bytes, when it was sent and
/// came, in ms.
#[test]
fn a_probe_finds_what_libwebrtc_s_tests_say() {
    let packets = |sent: &[i32], came: &[i32]| -> Vec<(u32, i32, i32)> {
        sent.iter().zip(came).map(|(sent, came)| (1000, *sent, *came)).collect()
    };
    let sized = |place: usize, all: &mut Vec<(u32, i32, i32)>| all[place].0 = 1500;
    let regular = packets(&[0, 10, 20, 30], &[10, 20, 30, 40]);
    let (mut last, mut first) = (packets(&[0, 10, 20, 30, 40], &[10, 20, 30, 40, 50]), regular.clone());
    sized(4, &mut last);
    sized(0, &mut first);
    let found = |packets: &[(u32, i32, i32)]| {
        let mut probes = Probes::new(1e6, 1e9);
        let second = |ms: i32| 1000.0 + f64::from(ms) / 1e3;
        packets.iter().for_each(|(size, sent, came)| probes.add(1, *size, second(*sent), second(*came)));
        probes.result(2000.0).map(f64::round)
    };
    for (packets, rate) in [
        (regular.clone(), Some(800e3)),
        (regular[..3].to_vec(), None),
        ((0..25).map(|i| (12_500, i, i + 5)).collect(), Some(100e6)),
        (packets(&[0, 10, 20, 30], &[15, 30, 35, 40]), Some(800e3)),
        (packets(&[0, 10, 20, 40], &[19, 22, 25, 27]), None),
        (packets(&[0, 10, 20, 30], &[10, 40, 70, 85]), Some(0.95 * 320e3)),
        (packets(&[0, 10, 20, 40], &[50, 50, 50, 50]), None),
        (packets(&[0, 10, 20, 40], &[10, 20, 30, 60]), Some(0.95 * 480e3)),
        (packets(&[0, 10, 20, 40, 50], &[10, 20, 30, 60, 60]), Some(640e3)),
        (packets(&[60, 65, 70, 75], &[70, 77, 84, 90]), Some(0.95 * 1200e3)),
        (last, Some(800e3)),
        (first, Some(0.95 * 800e3)),
    ] {
        assert_eq!(found(&packets), rate, "{packets:?}");
    }
}

/// Three and six times the start rate; then twice the result, while that is .7 of the probe, up to the highest rate.
#[test]
fn probes_double_while_the_path_carries_them() {
    let mut probes = Probes::new(3e5, 5e6);
    assert_eq!([probes.next(1.0), probes.next(1.0), probes.next(1.0)], [Some(9e5), Some(1.8e6), None]);
    burst(&mut probes, 2, 1.8, 1.8);
    close(probes.result(1.2).unwrap(), 1.8e6);
    close(probes.next(1.2).unwrap(), 3.6e6);
    burst(&mut probes, 3, 3.6, 3.6);
    probes.result(1.4);
    assert_eq!(probes.result(1.4), None, "a result is given once");
    close(probes.next(1.4).unwrap(), 5e6);
    burst(&mut probes, 4, 5.0, 5.0);
    probes.result(1.6);
    assert_eq!(probes.next(1.6), None);
    // Less than .7 of it comes: that was the capacity.
    let mut probes = Probes::new(3e5, 5e6);
    assert_eq!([probes.next(1.0), probes.next(1.0)], [Some(9e5), Some(1.8e6)]);
    burst(&mut probes, 2, 1.8, 1.0);
    close(probes.result(1.2).unwrap(), 0.95e6);
    assert_eq!(probes.next(1.2), None);
    assert_eq!(Probes::default().next(1.0), None);
}

#[test]
fn parameters_are_checked() {
    let error = |p| Catalogue::standard().build("gcc", &p).map(|_| ()).unwrap_err().key;
    for (key, value) in [
        ("min_rate", json!("0 bps")),
        ("max_rate", json!("100 kbps")),
        ("start_rate", json!("100 kbps")),
        ("frames", json!(0)),
        ("frame_spread", json!(2)),
        ("mss", json!("1500 B")),
        ("filter", json!("median")),
        ("k_up", json!(0)),
        ("k_down", json!(1)),
        ("backoff", json!(1)),
        ("loss_growth", json!(1)),
        ("max_media_delay", json!("0 ms")),
        ("rate", json!("1 Mbps")),
    ] {
        assert_eq!(error(json!({ key: value })), key);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Send(u8, u32),
    Frame,
    Report(u16, Vec<Option<(u32, u8)>>),
    /// From so many below the next one.
    Near(u16, Vec<Option<(u32, u8)>>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let blocks = || prop::collection::vec(prop::option::weighted(0.8, (any::<u32>(), 0u8..4)), 1..40);
    let step = prop_oneof![
        4 => (1u64..200_000).prop_map(Step::Wait),
        1 => (1u64..90_000_000).prop_map(Step::Wait),
        4 => (1u8..40, 13u32..1201).prop_map(|(count, size)| Step::Send(count, size)),
        2 => Just(Step::Frame),
        1 => (any::<u16>(), blocks()).prop_map(|(begin, blocks)| Step::Report(begin, blocks)),
        6 => (0u16..60, blocks()).prop_map(|(below, blocks)| Step::Near(below, blocks)),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), ..ProptestConfig::default() })]
    /// Whatever feedback says, the target keeps its bounds and is a number, with either filter.
    #[test]
    fn bounds_hold_whatever_feedback_says(kalman in any::<bool>(), probing in any::<bool>(), steps in steps()) {
        let filter = if kalman { GccFilter::Kalman } else { GccFilter::Trendline };
        let params = GccParams { filter, probing, ..GccParams::default() };
        let mut sender = Sender::new(&FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)), &params, 28);
        let mut now = Time::from_secs(1);
        let arrivals = |blocks: Vec<Option<(u32, u8)>>| {
            blocks.into_iter().map(|b| b.map(|(at, ecn)| Arrival { at, ecn: Ecn::from_bits(ecn) })).collect()
        };
        for step in steps {
            match step {
                Step::Wait(us) => now += Time::from_us(us),
                Step::Send(count, size) => (0..count).for_each(|_| sender.on_sent(size, u32::from(count % 4), now)),
                Step::Frame => {
                    sender.control.on_frame(0.0, 0.033, 1000.0, now);
                    sender.control.probe(now);
                }
                Step::Report(begin, blocks) => {
                    sender.on_report(&Report { ssrc: 0, begin, blocks: arrivals(blocks), at: 0 }, now);
                }
                Step::Near(below, blocks) => {
                    let begin = (sender.next() as u16).wrapping_sub(below);
                    sender.on_report(&Report { ssrc: 0, begin, blocks: arrivals(blocks), at: 0 }, now);
                }
            }
            let target = sender.control.target();
            prop_assert!((150_000.0..=20_000_000.0).contains(&target), "{target}");
            let mut gauges = Vec::new();
            sender.control.gauges(&mut gauges);
            prop_assert!(gauges.iter().all(|(_, value)| value.is_finite()), "{gauges:?}");
        }
    }

    /// A steady path, however long it takes and however far apart the clocks are, is no over-use; one that takes more
    /// for each group soon is.
    #[test]
    fn over_use_is_growth_and_nothing_else(base in 0.0f64..500.0, period in 10.0f64..60.0, growth in 0.03f64..1.0) {
        for (growth, expected) in [(0.0, Signal::Normal), (growth, Signal::Overuse)] {
            let (mut line, mut detector) = (Trendline::default(), Detector::new(0.0087, 0.039));
            let mut seen = false;
            for i in 1..80 {
                let at = base + f64::from(i) * period * (1.0 + growth);
                let delta = Delta { sent: period, came: period * (1.0 + growth), at };
                if let Some((trend, scaled)) = line.update(&delta) {
                    detector.update(trend, scaled, delta.sent, delta.at);
                }
                seen |= detector.signal() == Signal::Overuse;
            }
            prop_assert_eq!(seen, expected == Signal::Overuse);
        }
    }
}
