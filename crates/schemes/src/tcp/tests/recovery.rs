//! Fast recovery: what is sent again, when, and what happens to the window.

use midpath_core::packet::SackBlock;
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Rate, Time};

use super::harness::{Fate, Lab, LabOf, MSS, Sent, Setup, lose_segments, repeats, rfc6675};
use crate::tcp::cubic::CubicParams;
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::ecn::EcnMode;
use crate::transport::params::{DelayedAck, HyStartRule, Recovery};

const RTT: Time = Time::from_ms(100);

fn lab(tcp: TcpParams, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let setup = Setup { size: Some(400 * MSS), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(treat);
    lab.run();
    lab
}

fn no_sack() -> TcpParams {
    TcpParams { sack: false, ..TcpParams::default() }
}

/// When the first repeat was sent, and when the last.
fn repair_times(lab: &LabOf<NewRenoConfig>) -> (Time, Time) {
    let mut seen = rustc_hash::FxHashSet::default();
    let at: Vec<Time> = lab.data().filter(|s| !seen.insert(s.seq)).map(|s| s.at).collect();
    (at[0], at[at.len() - 1])
}

#[test]
fn sack_sends_exactly_what_was_lost_within_one_round_trip() {
    let lost = [30, 33, 34, 35, 41, 52, 60];
    for recovery in [Recovery::Prr, Recovery::Rfc6675] {
        let lab = lab(TcpParams { recovery, ..TcpParams::default() }, lose_segments(&lost));
        let report = lab.report();
        assert_eq!(repeats(&lab), lost, "{recovery:?}");
        assert_eq!((report.delivered, report.retransmitted, report.timeouts), (400 * MSS, 7, 0));
        let (first, last) = repair_times(&lab);
        assert!(last - first < RTT, "{recovery:?}: {}", last - first);
    }
}

#[test]
fn the_window_is_halved_once_for_all_losses_of_one_window() {
    for recovery in [Recovery::Prr, Recovery::Rfc6675] {
        let tcp = TcpParams { recovery, ..TcpParams::default() };
        let setup = Setup { size: None, stop: Some(Time::from_secs(3)), ..Setup::default() };
        let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(lose_segments(&[30, 40, 50]));
        // Segments 30 to 69 are the third window: FlightSize at the third duplicate is 40 segments
        // or a little more.
        lab.run_until(Time::from_ms(620));
        let threshold = lab.sender().window().ssthresh as f64 / MSS as f64;
        assert!((19.0..=31.0).contains(&threshold), "{recovery:?}: {threshold}");
        lab.run();
        assert_eq!(lab.report().retransmitted, 3);
    }
}

/// What limited transmit has sent beyond the window does not count, and is not taken off the window either.
#[test]
fn a_loss_halves_the_same_window_however_it_is_found() {
    for lost in [5, 12, 30, 70, 200] {
        let [by_time, by_count] = [TcpParams::default(), rfc6675()].map(|tcp| {
            let lab = lab(tcp, lose_segments(&[lost]));
            assert_eq!(lab.report().timeouts, 0);
            lab.sender().window().ssthresh
        });
        // The first duplicate may count in FlightSize.
        assert!(by_time.abs_diff(by_count) <= MSS / 2, "segment {lost}: {by_time}, {by_count}");
    }
}

/// RFC 9937's point: it sends in proportion to what arrives, where RFC 6675 waits for half a
/// window, then bursts.
#[test]
fn prr_sends_evenly_where_rfc_6675_pauses() {
    let quiet = |recovery| {
        let lab = lab(TcpParams { recovery, ..TcpParams::default() }, lose_segments(&[70]));
        let (first, _) = repair_times(&lab);
        // New data within the half round trip after the fast retransmit.
        lab.data().filter(|s| s.at > first && s.at < first + RTT / 2).count()
    };
    assert!(quiet(Recovery::Prr) >= quiet(Recovery::Rfc6675));
}

#[test]
fn newreno_repairs_one_loss_per_round_trip() {
    let lost = [30, 35, 41];
    let lab = lab(no_sack(), lose_segments(&lost));
    let report = lab.report();
    assert_eq!(repeats(&lab), lost);
    assert_eq!((report.delivered, report.timeouts), (400 * MSS, 0));
    let (first, last) = repair_times(&lab);
    assert!(last - first >= RTT * 2 && last - first < RTT * 2 + RTT / 2, "{}", last - first);
}

/// Loses the first transmissions of segment 30, so many of them.
fn lose_segment_30(times: u32) -> impl FnMut(&Sent) -> Fate + 'static {
    let mut left = times;
    move |s| match s.is_data() && s.seq == 30 * MSS && left > 0 {
        true => {
            left -= 1;
            Fate::Lose
        }
        false => Fate::Pass,
    }
}

/// What was sent after the repeat and has arrived says that the repeat is lost; without SACK
/// nothing does.
#[test]
fn a_lost_retransmission_is_repeated_by_what_was_sent_later() {
    for times in [2, 3, 4] {
        let lab = lab(TcpParams::default(), lose_segment_30(times));
        let report = lab.report();
        assert_eq!((report.delivered, report.timeouts), (400 * MSS, 0));
        assert_eq!(report.retransmitted, u64::from(times));
        let (first, last) = repair_times(&lab);
        // Windows leave in bursts here: the burst after that of the repeat says that it is lost,
        // two round trips later at most.
        let (took, most) = (last - first, (RTT * 2 + RTT / 100) * u64::from(times - 1));
        assert!(took >= RTT * u64::from(times - 1) && took <= most, "{took}");
    }
}

/// Nothing new is sent after the repeats, which are 120 ms apart and more. That the later one has
/// arrived says that the earlier one is lost.
#[test]
fn a_lost_retransmission_is_repeated_by_a_repeat_that_was_sent_later() {
    for hole in [40, 42] {
        let (mut lose_30, mut lose) = (lose_segment_30(2), lose_segments(&[hole]));
        let treat = move |s: &Sent| if lose_30(s) == Fate::Lose { Fate::Lose } else { lose(s) };
        let (rate, queue) = (Rate::from_mbps(1), QueueSpec::fifo(Limit::Packets(1000)));
        let setup = Setup { size: Some(48 * MSS), rate, queue, ..Setup::default() };
        let mut lab = Lab::new(setup, rfc6675(), NewRenoConfig).treat(treat);
        lab.run();
        assert_eq!((lab.report().delivered, lab.report().timeouts), (48 * MSS, 0), "{hole}");
        // The last segment is the rescue's guess.
        assert_eq!(repeats(&lab), [30, 47, hole, 30]);
    }
}

#[test]
fn without_sack_a_lost_retransmission_waits_for_the_timer() {
    let lab = lab(no_sack(), lose_segment_30(2));
    assert_eq!((lab.report().delivered, lab.report().timeouts), (400 * MSS, 1));
}

/// What one recovery has repeated and is still on its way when it ends is not repeated by the next:
/// losses of new data while the first one lasts begin another.
#[test]
fn what_is_on_its_way_again_is_not_repeated_by_the_next_recovery() {
    for recovery in [Recovery::Prr, Recovery::Rfc6675] {
        let lost: Vec<u64> = (30..45).chain(90..100).chain(110..115).collect();
        let lab = lab(TcpParams { recovery, ..TcpParams::default() }, lose_segments(&lost));
        assert_eq!((lab.report().delivered, lab.report().timeouts), (400 * MSS, 0), "{recovery:?}");
        let mut again = repeats(&lab);
        again.sort_unstable();
        assert_eq!(again, lost, "{recovery:?}");
    }
}

/// From a large window on, one in 25 packets is lost, repeats too, for good: each recovery ends in
/// the next. By RFC 5681's FlightSize, in which the SACKed windows count, the window stays at 580
/// segments.
#[test]
fn a_recovery_after_another_lowers_the_window_again() {
    for recovery in [Recovery::Prr, Recovery::Rfc6675] {
        let tcp = TcpParams { recovery, hystart: Some(HyStartRule::Off), ..TcpParams::default() };
        let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
        let mut data = 0;
        let lose = move |s: &Sent| {
            data += u64::from(s.is_data());
            if s.is_data() && data > 600 && data % 25 == 0 { Fate::Lose } else { Fate::Pass }
        };
        let setup = Setup { size: None, stop: Some(Time::from_secs(30)), ..Setup::default() };
        let mut lab = Lab::new(setup, tcp, control).treat(lose);
        lab.run_until(Time::from_ms(750));
        let before = lab.sender().window().cwnd / MSS;
        lab.run_until(Time::from_secs(29));
        let after = lab.sender().window().ssthresh / MSS;
        assert!(before > 100 && after < 20, "{recovery:?}: {before} segments, then {after}");
    }
}

/// RFC 3042: with a window of four and the first lost, three duplicates come only thanks to new
/// data on the first two.
#[test]
fn limited_transmit_saves_a_small_window_from_the_timer() {
    for sack in [true, false] {
        let run = |limited_transmit| {
            let tcp = TcpParams { initial_window: 3, delayed_ack: DelayedAck(1), limited_transmit, sack, ..rfc6675() };
            let lab = lab(tcp, lose_segments(&[0]));
            assert_eq!(lab.report().delivered, 400 * MSS);
            lab.report().timeouts
        };
        assert_eq!((run(true), run(false)), (0, 1), "sack {sack}");
    }
}

#[test]
fn two_duplicates_are_not_a_loss() {
    // Segment 30 comes after 31 and 32.
    let lab = lab(TcpParams::default(), |s| match s.is_data() && s.seq == 30 * MSS {
        true => Fate::Late(Time::from_us(3)),
        false => Fate::Pass,
    });
    assert_eq!((lab.report().retransmitted, lab.report().timeouts), (0, 0));
}

#[test]
fn lost_acks_do_not_matter() {
    for tcp in [TcpParams::default(), no_sack()] {
        let mut n = 0;
        let lab = lab(tcp, move |s| {
            n += u32::from(s.from == 1);
            if s.from == 1 && n > 3 && n % 3 != 0 && s.ack < 300 * MSS { Fate::Lose } else { Fate::Pass }
        });
        assert_eq!((lab.report().delivered, lab.report().retransmitted), (400 * MSS, 0));
    }
}

/// RFC 6675, rule 4: the last segments of a window lost, the one that SACK cannot show is sent
/// without the timer.
#[test]
fn the_rescue_retransmission_finds_a_hole_at_the_end() {
    let size = 100;
    let setup = Setup { size: Some(size * MSS), ..Setup::default() };
    let lost = [95, 99];
    let mut lab = Lab::new(setup, TcpParams::default(), NewRenoConfig).treat(lose_segments(&lost));
    lab.run();
    assert_eq!((lab.report().delivered, lab.report().timeouts), (size * MSS, 0));
    assert_eq!(repeats(&lab), lost);
}

/// RFC 2018, §4: the newest range comes first, and the ACK grows by 4 + 8n bytes.
#[test]
fn sack_blocks_are_newest_first() {
    let lab = lab(TcpParams::default(), lose_segments(&[30, 32, 34]));
    let acks: Vec<&Sent> = lab.log().iter().filter(|s| s.from == 1 && s.packet.sack_len > 0).collect();
    let widest = acks.iter().find(|s| s.packet.sack_len == 3).expect("three holes make three blocks");
    let above = |b: &SackBlock| u64::from(b.from.wrapping_sub(widest.packet.ack)) / MSS;
    let from: Vec<u64> = widest.packet.sack_blocks().iter().map(above).collect();
    assert_eq!(from, [5, 3, 1], "35 came last, then 33, then 31; the ACK stands at 30");
    assert_eq!(widest.packet.size, 52 + 28);
    assert_eq!(acks[0].packet.size, 52 + 12);
}

/// RFC 5681, §4.2: out of order and filling a gap are acknowledged at once, in order every second
/// segment.
#[test]
fn acks_are_delayed_only_in_order() {
    let lab = lab(TcpParams::default(), lose_segments(&[30]));
    let acks: Vec<u64> = lab.log().iter().filter(|s| s.from == 1 && s.packet.size < 60).map(|s| s.ack / MSS).collect();
    let in_order: Vec<u64> = acks.iter().copied().take_while(|a| *a < 30).collect();
    assert_eq!(in_order, (1..15).map(|n| 2 * n).collect::<Vec<_>>());
    let sacked = lab.log().iter().filter(|s| s.packet.sack_len > 0).count();
    assert_eq!(sacked, 39 + 1 + 1, "each of 31 to 69 and the two segments of limited transmit");
}

#[test]
fn a_delayed_ack_goes_with_its_timer() {
    let setup = Setup { size: None, stop: Some(Time::from_secs(2)), ..Setup::default() };
    let tcp = TcpParams { initial_window: 1, ..TcpParams::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig);
    lab.run();
    let data = lab.data().next().expect("data were sent").at;
    let ack = lab.log().iter().find(|s| s.from == 1 && s.ack == MSS).expect("it was acknowledged").at;
    let waited = ack - data;
    assert!(waited > Time::from_ms(250) && waited < Time::from_ms(251), "50 ms path and 200 ms timer: {waited}");
}

/// RFC 7323, §4.3: an ACK echoes the first segment it is about; what fills a hole is echoed itself,
/// so it can be timed.
#[test]
fn acks_echo_the_segment_that_they_are_about() {
    let lab = lab(TcpParams::default(), lose_segments(&[30]));
    let stamp = |n: u64| lab.data().filter(|s| s.seq == n * MSS).last().expect("it was sent").packet.ts_val;
    let echo = |n: u64| lab.log().iter().find(|s| s.from == 1 && s.ack == n * MSS).expect("an ACK").packet.ts_ecr;
    assert_eq!((echo(2), echo(28)), (stamp(0), stamp(26)));
    let filled = lab.log().iter().find(|s| s.from == 1 && s.ack > 30 * MSS).expect("the hole is filled");
    assert_eq!(filled.packet.ts_ecr, stamp(30));
    let hole = lab.log().iter().find(|s| s.packet.sack_len > 0).expect("a hole is reported");
    assert_eq!(hole.packet.ts_ecr, stamp(28));
}

/// RFC 9937, §6: "If (DeliveredData is 0) Return." A property found this network: it repeats ACKs
/// while repeats are lost, until nothing is on its way. An ACK that brings nothing must not take
/// the window that is left.
#[test]
fn an_ack_that_brings_nothing_leaves_a_window() {
    let (us, ms) = (Time::from_us, Time::from_ms);
    let (p, l, twice, late) = (Fate::Pass, Fate::Lose, Fate::Twice, Fate::Late);
    let mut pattern = vec![p, twice(us(25_887)), p, p, p, p, p, l, l, p, twice(us(20_605)), p, p, twice(us(0)), l, p];
    pattern.extend([late(ms(24)), twice(ms(24)), p, l, p, p, p, p, p, late(us(23_266)), late(us(19_113))]);
    pattern.extend([twice(ms(23)), p, twice(us(22_379)), p, p, p, late(us(345)), l, p, l, p, l, l, p, l, l]);
    pattern.extend([twice(us(0)), p, late(us(261)), twice(ms(22)), p, p, Fate::Mark, p, l, l, l, p]);
    pattern.extend([late(us(3_009)), p, l, p, Fate::Mark, p, p, l]);
    let mut fates = pattern.into_iter();
    let setup = Setup {
        size: Some(37_649),
        rate: Rate::from_mbps(139),
        delay: us(170),
        queue: QueueSpec::fifo(Limit::Packets(9)),
        ..Setup::default()
    };
    let tcp = TcpParams { ecn: Some(EcnMode::Off), pacing: true, limited_transmit: false, ..TcpParams::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(move |_| fates.next().unwrap_or(Fate::Pass));
    while lab.step(Time::MAX) {
        assert!(lab.sender().window().cwnd > 0);
    }
    assert_eq!(lab.report().delivered, 37_649);
}

/// A rescue goes out while its original is on its way in a queue that is fifty times the least
/// round trip. That original says nothing of the repeats before the rescue.
#[test]
fn a_rescue_whose_original_arrives_shows_no_loss() {
    let queue = QueueSpec::fifo(Limit::Packets(54));
    let (rate, delay) = (Rate::from_mbps(10), Time::from_us(100));
    let setup = Setup { size: Some(400 * MSS), rate, delay, queue, ..Setup::default() };
    let tcp = TcpParams { hystart: Some(HyStartRule::Off), ..TcpParams::default() };
    let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
    let mut lab = Lab::new(setup, tcp, control);
    lab.run();
    let (repeated, lost) = (lab.report().retransmitted, lab.drops());
    // More than 90 while a recovery after another kept the window.
    assert!(lost > 70, "{lost}");
    assert!(repeated <= lost + 1, "{repeated} for {lost}");
}
