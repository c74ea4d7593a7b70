//! Repair where the network stores: by what has been overtaken.

use midpath_core::roles::FlowSpec;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::harness::{Fate, Lab, LabOf, MSS, Setup, cases, lose_segments, repeats};
use crate::transport::TcpParams;
use crate::transport::cc::{AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Window};
use crate::transport::params::DelayedAck;
use crate::transport::sender::Phase;

/// A sender at a fixed rate into a network that stores.
#[derive(Debug, Clone, Copy)]
pub struct Steady(pub Rate);

impl AssistedConfig for Steady {
    type Controller = Steady;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Steady {
        *self
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits { rate_based: true, stores: true, overtaken: true, ..AssistedTraits::default() }
    }
}

impl CongestionController for Steady {
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(self.0)
    }
}

impl NetworkAssisted for Steady {}

/// A round trip of 100 ms, and a segment each 1.2 ms.
fn lab(segments: u64) -> LabOf<Steady> {
    let setup = Setup { size: Some(segments * MSS), ..Setup::default() };
    let tcp = TcpParams { dup_thresh: u32::MAX, delayed_ack: DelayedAck(1), ..TcpParams::default() };
    Lab::new(setup, tcp, Steady(Rate::from_mbps(10)))
}

/// Delays these segments the first time they are sent.
fn late(segments: &[u64], by: Time) -> impl FnMut(&super::harness::Sent) -> Fate + 'static {
    let mut lose = lose_segments(segments);
    move |sent| if lose(sent) == Fate::Lose { Fate::Late(by) } else { Fate::Pass }
}

#[test]
fn what_is_lost_is_repeated_once_and_nothing_else() {
    let mut lab = lab(400).treat(lose_segments(&[0, 3, 50, 51, 52, 300]));
    lab.run();
    assert_eq!(repeats(&lab), [0, 3, 50, 51, 52, 300]);
    assert_eq!((lab.report().delivered, lab.report().timeouts), (400 * MSS, 0));
    assert_eq!(lab.sender().phase(), Phase::Open, "loss is no phase");
    // A round trip of waiting after what overtook it, and one for the repeat.
    let end = lab.finished()[1].expect("ended").as_secs_f64();
    assert!(end < 0.1 + 400.0 * 0.0012 + 0.35, "{end}");
}

#[test]
fn a_repeat_that_is_lost_is_repeated_by_what_overtook_it() {
    // The last repeats have no new data behind them, only each other.
    for segments in [vec![5, 5, 6], vec![5, 5, 5, 100], vec![95, 95, 96]] {
        let (mut left, count) = (segments.clone(), segments.len());
        let mut lab = lab(if segments.contains(&100) { 1000 } else { 100 }).treat(move |s| {
            let found = left.iter().position(|n| s.is_data() && s.seq == n * MSS);
            found.map_or(Fate::Pass, |i| {
                left.remove(i);
                Fate::Lose
            })
        });
        lab.run();
        assert_eq!((repeats(&lab).len(), lab.report().timeouts), (count, 0), "{segments:?}");
    }
}

#[test]
fn packets_that_come_late_by_less_than_a_round_trip_are_not_repeated() {
    let mut lab = lab(400).treat(late(&[10, 20, 30, 31, 200], Time::from_ms(90)));
    lab.run();
    assert_eq!((repeats(&lab), lab.report().timeouts), (vec![], 0));
}

#[test]
fn reordering_is_learned_from_the_first_repeat_in_vain() {
    let mut lab = lab(2000).treat(late(&[100, 800, 1200, 1201, 1500], Time::from_ms(150)));
    lab.run();
    assert_eq!((repeats(&lab), lab.report().timeouts), (vec![100], 0));
}

#[test]
fn the_last_segment_asks_when_nothing_comes_back() {
    let mut lab = lab(100).treat(lose_segments(&[98, 99]));
    lab.run();
    assert_eq!((repeats(&lab), lab.report().timeouts), (vec![98, 99], 0));
    let end = lab.finished()[1].expect("ended").as_secs_f64();
    assert!((0.6..0.95).contains(&end), "two round trips of silence, and three for both repeats: {end}");
}

#[test]
fn after_an_outage_one_segment_asks_and_the_rest_follows() {
    let mut lab = lab(1000).treat(|s| {
        let down = s.at > Time::from_ms(500) && s.at < Time::from_secs(9);
        if down { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    let again = repeats(&lab);
    assert_eq!(lab.report().delivered, 1000 * MSS);
    // The last ACK before the outage came at 600 ms; the segment was repeated two round trips
    // later, and after 1, 3, 7 and 15 s.
    assert_eq!(lab.report().timeouts, 4);
    assert_eq!(again.iter().filter(|s| **s == again[0]).count(), 5);
    // What had arrived, but was acknowledged in vain, is not repeated.
    assert!(again[5] > again[0] + 1);
    assert_eq!(again[5..], (again[5]..1000).collect::<Vec<_>>(), "each once");
}

#[test]
fn a_round_trip_that_grows_to_seconds_is_no_loss() {
    // What a custody cache does to it: each packet waits longer than the one before.
    let mut lab = lab(1500).treat(|s| if s.from == 0 { Fate::Late(Time(s.at.0 * 5)) } else { Fate::Pass });
    lab.run();
    // The first segment takes longer than the handshake has let expect, and asks.
    assert_eq!((repeats(&lab), lab.report().timeouts), (vec![0], 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Whatever is lost and late in both directions: all arrives, and what is repeated was lost or
    /// late, or asks.
    #[test]
    fn everything_arrives(fates in prop::collection::vec(0u32..100, 50..400), size in 1u64..300, lose in 0u32..40, slow in 0u32..20) {
        let (mut i, mut troubled) = (0, 0u64);
        let counts = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let seen = counts.clone();
        let mut lab = lab(size).treat(move |s| {
            i += 1;
            // Later on the path is good, so that the flow ends.
            let fate = if s.at > Time::from_secs(20) { 99 } else { fates[i % fates.len()] };
            let (lost, is_late) = (fate < lose, fate < lose + slow);
            troubled += u64::from(lost || is_late);
            seen.store(troubled, std::sync::atomic::Ordering::Relaxed);
            match (lost, is_late) {
                (true, _) => Fate::Lose,
                (_, true) => Fate::Late(Time::from_ms(u64::from(fate) * 10)),
                _ => Fate::Pass,
            }
        });
        lab.run();
        let report = lab.report();
        prop_assert_eq!(report.delivered, size * MSS);
        // A repeat each, and a probe at most.
        let most = 2 * counts.load(std::sync::atomic::Ordering::Relaxed) + report.timeouts;
        prop_assert!(report.retransmitted <= most, "{} repeats, {most} reasons", report.retransmitted);
    }
}
