//! RACK-TLP: what is lost at the end of what was sent. RFC 8985.

use midpath_core::packet::{Flags, Packet};
use midpath_core::units::{Bytes, Time};

use super::harness::{FLOW, Fate, HOSTS, Lab, LabOf, MSS, Sent, Setup, lose_segments, repeats};
use crate::tcp::cubic::CubicParams;
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::params::{DelayedAck, LossDetection, Recovery};

const MS: fn(u64) -> Time = Time::from_ms;

/// Rounds of 10, 20, 40 and 30 segments leave at 100, 200, 300 and 400 ms. An ACK for each.
fn params(loss_detection: LossDetection) -> TcpParams {
    TcpParams { loss_detection, delayed_ack: DelayedAck(1), ..TcpParams::default() }
}

fn lab(tcp: TcpParams, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let mut lab = Lab::new(Setup::default(), tcp, NewRenoConfig).treat(treat);
    lab.run();
    lab
}

/// When each repeat left, in ms.
fn repeated_at(lab: &LabOf<NewRenoConfig>) -> Vec<u64> {
    let mut seen = rustc_hash::FxHashSet::default();
    lab.data().filter(|s| !seen.insert(s.seq)).map(|s| s.at.as_ns() / 1_000_000).collect()
}

fn completed(lab: &LabOf<NewRenoConfig>) -> u64 {
    lab.report().completed.expect("it is delivered").as_ns() / 1_000_000
}

/// §7.2 and §7.3, by hand: two round trips after the last ACK, at 500 ms, the last segment goes again. Its SACK is
/// back at 800 ms and shows that what was sent at 400 ms is lost.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let lost = [97, 98, 99];
    // Proportional rate reduction sends a segment for the one that was delivered, RFC 6675 both.
    for (recovery, last) in [(Recovery::Prr, 900), (Recovery::Rfc6675, 800)] {
        let with = lab(TcpParams { recovery, ..params(LossDetection::RackTlp) }, lose_segments(&lost));
        assert_eq!((repeats(&with), repeated_at(&with)), (vec![99, 97, 98], vec![700, 800, last]));
        assert_eq!((with.report().timeouts, completed(&with)), (0, last + 50));
    }
    let without = lab(params(LossDetection::Rfc6675), lose_segments(&lost));
    assert_eq!((without.report().timeouts, repeated_at(&without)[0]), (1, 1500));
}

/// "FlightSize is one segment": its ACK may be delayed, so the probe waits for that, too. It repairs all.
#[test]
fn a_probe_for_one_segment_waits_for_a_delayed_ack() {
    let with = lab(params(LossDetection::RackTlp), lose_segments(&[99]));
    assert_eq!((repeated_at(&with), with.report().timeouts, completed(&with)), (vec![900], 0, 950));
    let quick = TcpParams { delack_timeout: MS(40), ..params(LossDetection::RackTlp) };
    assert_eq!(repeated_at(&lab(quick, lose_segments(&[99]))), [740]);
}

/// Nothing comes back of a whole round: the probe is two round trips after it was sent.
#[test]
fn a_round_that_is_lost_whole_is_found_by_a_probe() {
    let lost: Vec<u64> = (70..100).collect();
    for recovery in [Recovery::Prr, Recovery::Rfc6675] {
        let with = lab(TcpParams { recovery, ..params(LossDetection::RackTlp) }, lose_segments(&lost));
        assert_eq!((repeats(&with)[0], repeated_at(&with)[0]), (99, 600), "{recovery:?}");
        assert_eq!((with.report().timeouts, with.report().retransmitted), (0, 30), "{recovery:?}");
    }
}

/// §7.3: data never sent are the better probe, whatever the congestion window says.
#[test]
fn a_probe_is_new_data_if_there_are_any() {
    let lost: Vec<u64> = (30..70).collect();
    let with = lab(params(LossDetection::RackTlp), lose_segments(&lost));
    let probe = with.data().find(|s| s.seq == 70 * MSS).expect("it was sent");
    assert_eq!(probe.at.as_ns() / 1_000_000, 500);
    assert_eq!((repeats(&with), with.report().timeouts), (lost, 0));
}

/// §6.2, step 5, by hand: one SACK above the hole is too few for RFC 6675. A round trip and a quarter after it was
/// sent the segment is lost.
#[test]
fn what_a_single_report_is_above_is_lost_after_a_reordering_window() {
    let with = lab(params(LossDetection::RackTlp), lose_segments(&[98]));
    assert_eq!((repeats(&with), repeated_at(&with), with.report().timeouts), (vec![98], vec![525], 0));
    let without = lab(params(LossDetection::Rfc6675), lose_segments(&[98]));
    assert_eq!((repeats(&without), without.report().timeouts), (vec![98], 1));
}

/// What is late by less than that is not repeated, by more it is.
#[test]
fn what_comes_within_the_reordering_window_is_not_repeated() {
    let late = |by| {
        let mut left = 1;
        let treat = move |s: &Sent| {
            let hit = s.is_data() && s.seq == 98 * MSS && left > 0;
            left -= u32::from(hit);
            if hit { Fate::Late(MS(by)) } else { Fate::Pass }
        };
        repeats(&lab(params(LossDetection::RackTlp), treat))
    };
    assert_eq!((late(20), late(30)), (vec![], vec![98]));
}

/// §7.3: "at most one", and none without a round trip measured since: then the timer is what is left.
#[test]
fn there_is_one_probe_and_then_the_timer() {
    let gone = |s: &Sent| if s.is_data() && s.seq >= 70 * MSS && s.at < MS(9_000) { Fate::Lose } else { Fate::Pass };
    let with = lab(params(LossDetection::RackTlp), gone);
    let at = repeated_at(&with);
    assert_eq!((at[0], at[1], with.sender().probes().0), (600, 1600, 1), "the timer is restarted by the probe");
    assert!(with.report().timeouts >= 3);
    assert_eq!(with.report().delivered, 100 * MSS);
}

/// Eight segments fill the receiver's window, and seven of them are not acknowledged at once.
fn full_window(treat: impl FnMut(&Sent) -> Fate + 'static) -> (bool, LabOf<NewRenoConfig>) {
    let tcp = TcpParams {
        delayed_ack: DelayedAck(8),
        delack_timeout: MS(500),
        receive_window: Bytes(8 * MSS),
        ..params(LossDetection::RackTlp)
    };
    let lab = lab(tcp, treat);
    let untouched = lab.sender().window().ssthresh > 1 << 30;
    (untouched, lab)
}

/// §7.4.2: a probe that has repaired the only loss there was is congestion all the same.
#[test]
fn a_loss_that_a_probe_has_repaired_lowers_the_window() {
    let (untouched, lab) = full_window(lose_segments(&[7]));
    assert_eq!((repeats(&lab)[0], repeated_at(&lab)[0], lab.report().timeouts), (7, 300, 0));
    assert!(!untouched);
}

/// §7.4.2, case 2: where both have arrived, an ACK without SACK comes for the second, and nothing was lost.
#[test]
fn a_probe_in_vain_leaves_the_window() {
    let mut left = 1;
    let late = move |s: &Sent| {
        let hit = s.is_data() && s.seq == 7 * MSS && left > 0;
        left -= u32::from(hit);
        if hit { Fate::Late(MS(210)) } else { Fate::Pass }
    };
    let (untouched, lab) = full_window(late);
    assert_eq!(repeats(&lab)[0], 7);
    assert!(untouched && lab.report().timeouts == 0);
}

/// CUBIC's senders have it, too; without SACK nobody has.
#[test]
fn it_is_of_the_transport_and_needs_sack() {
    let (tcp, control) =
        CubicParams { tcp: params(LossDetection::RackTlp), ..CubicParams::default() }.split().expect("valid");
    let mut cubic = Lab::new(Setup::default(), tcp, control).treat(lose_segments(&[97, 98, 99]));
    cubic.run();
    assert_eq!((cubic.report().timeouts, cubic.sender().probes()), (0, (1, false)));
    let plain = TcpParams { sack: false, ..params(LossDetection::RackTlp) };
    let without = lab(plain, lose_segments(&[97, 98, 99]));
    assert_eq!((without.report().timeouts > 0, without.sender().probes().0), (true, 0));
}

/// A connection whose application has handed over so many segments.
fn given(segments: u64, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let setup = Setup { size: None, ..Setup::default() };
    let mut lab = Lab::new(setup, params(LossDetection::RackTlp), NewRenoConfig).treat(treat);
    lab.give(segments * MSS);
    lab
}

/// §7.2: data that are sent and data that are acknowledged put the probe off, and nothing else does.
#[test]
fn an_application_without_news_does_not_put_the_probe_off() {
    let mut lab = given(10, lose_segments(&[10]));
    for ms in [300, 400, 500, 600] {
        lab.run_until(MS(ms));
        lab.give(11 * MSS);
    }
    lab.run_until(MS(1200));
    // 300 ms, two round trips, and what an ACK may be delayed.
    assert_eq!(repeated_at(&lab), [700]);
}

/// §7.4.2, case 2: where receivers send no D-SACK, an ACK without news says that the original and the probe have arrived.
#[test]
fn an_ack_without_news_is_the_probe_s_answer() {
    let mut lab = given(10, |s| if s.from == 1 && !s.flags().has(Flags::SYN) { Fate::Lose } else { Fate::Pass });
    lab.run_until(MS(400));
    let mut ack = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
    (ack.flags, ack.ack, ack.window) = (Flags::ACK, 10 * MSS as u32, u16::MAX);
    for awaited in [true, false] {
        assert_eq!(lab.sender().probes(), (1, true));
        lab.inject(0, ack);
        lab.run_until(lab.now);
        assert_eq!(lab.sender().probes(), (1, awaited));
    }
}
