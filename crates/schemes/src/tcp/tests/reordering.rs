//! What arrives late is not lost: RACK's reordering window (RFC 8985, §6.2), D-SACKs (RFC 2883), and what undoes a
//! recovery or a timeout in vain (RFC 3522, 4015, 5682).

use midpath_core::packet::{Flags, Packet, SackBlock};
use midpath_core::units::Time;
use proptest::prelude::*;

use super::harness::{FLOW, Fate, HOSTS, Lab, LabOf, MSS, Sent, Setup, lose_segments, repeats, rfc6675};
use crate::tcp::cubic::{CubicConfig, CubicParams};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::params::{DelayedAck, LossDetection};
use crate::transport::{TcpParams, TcpTable};

const MS: fn(u64) -> Time = Time::from_ms;

fn cubic() -> (TcpParams, CubicConfig) {
    CubicParams::default().split().expect("valid")
}

fn lab(tcp: TcpParams, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let mtu = if tcp.timestamps { 1500 } else { 1488 };
    let mut lab = Lab::new(Setup { size: Some(400 * MSS), mtu, ..Setup::default() }, tcp, NewRenoConfig).treat(treat);
    lab.run();
    assert_eq!(lab.report().delivered, 400 * MSS);
    lab
}

/// The first transmission of each of these segments comes `by` later.
fn delay_segments(segments: &[u64], by: Time) -> impl FnMut(&Sent) -> Fate + 'static {
    let mut lose = lose_segments(segments);
    move |sent| if lose(sent) == Fate::Lose { Fate::Late(by) } else { Fate::Pass }
}

/// The blocks of ACKs that report a duplicate, as offsets.
fn duplicates(lab: &LabOf<NewRenoConfig>) -> Vec<(u64, u64)> {
    let isn = lab.log().iter().find(|s| s.from == 0).expect("a SYN").packet.seq;
    let offset = |wire: u32| u64::from(wire.wrapping_sub(isn.wrapping_add(1)));
    let first = |s: &Sent| s.packet.sack_blocks().first().map(|b: &SackBlock| (offset(b.from), offset(b.to), s.ack));
    let acks = lab.log().iter().filter(|s| s.from == 1).filter_map(first);
    acks.filter(|(_, to, ack)| to <= ack).map(|(from, to, _)| (from, to)).collect()
}

/// RFC 2883, §4: a segment that comes twice is reported once, in the first block of the next ACK.
#[test]
fn receivers_report_what_comes_twice() {
    let twice = |s: &Sent| if s.is_data() && s.seq == 30 * MSS { Fate::Twice(MS(1)) } else { Fate::Pass };
    assert_eq!(duplicates(&lab(TcpParams::default(), twice)), [(30 * MSS, 31 * MSS)]);
    assert!(duplicates(&lab(rfc6675(), twice)).is_empty(), "not asked for");
    assert!(duplicates(&lab(TcpParams { sack: false, ..TcpParams::default() }, twice)).is_empty(), "no SACK");
}

/// RFC 2883, §4.2.2: what comes twice above a hole lies in the second block.
#[test]
fn a_duplicate_above_a_hole_is_in_the_block_that_holds_it() {
    let mut lose = lose_segments(&[30]);
    let treat = move |s: &Sent| match lose(s) {
        Fate::Pass if s.is_data() && s.seq == 35 * MSS => Fate::Twice(Time::from_us(20)),
        fate => fate,
    };
    let lab = lab(TcpParams::default(), treat);
    let isn = lab.log()[0].packet.seq;
    let wire = |offset: u64| isn.wrapping_add(1).wrapping_add(offset as u32);
    let block = SackBlock { from: wire(35 * MSS), to: wire(36 * MSS) };
    let reports: Vec<_> =
        lab.log().iter().filter(|s| s.from == 1 && s.packet.sack_blocks().first() == Some(&block)).collect();
    let with_second = |s: &&&Sent| s.packet.sack_blocks().get(1).is_some_and(|b| b.holds(block.from));
    assert_eq!(reports.iter().filter(with_second).count(), 1, "{reports:?}");
    assert_eq!((repeats(&lab), lab.report().timeouts), (vec![30], 0));
}

/// §6.2, step 4: the first time that three segments overtake one is taken for a loss, and undone; from then on a quarter
/// of a round trip is waited for, 25 ms here.
#[test]
fn reordering_is_learned_and_its_cost_undone() {
    let late: Vec<u64> = (0..36).map(|i| 30 + 10 * i).collect();
    let with = lab(TcpParams::default(), delay_segments(&late, MS(20)));
    // Of that round all are repeated: nobody knows yet.
    assert_eq!((repeats(&with), with.report().timeouts), (vec![30, 40, 50, 60], 0));
    assert!(with.sender().window().ssthresh > 1 << 30, "undone");
    let without = lab(rfc6675(), delay_segments(&late, MS(20)));
    let (again, ssthresh) = (repeats(&without), without.sender().window().ssthresh / MSS);
    assert!(again.len() > 10 && ssthresh < 50, "else this tests nothing: {again:?}, {ssthresh}");
}

/// §6.2, step 4, and RFC 3708: what is late by more is repeated in vain; D-SACKs say so, and the window grows by a
/// quarter of a round trip each time, up to the smoothed round trip.
#[test]
fn duplicates_widen_the_reordering_window() {
    let late: Vec<u64> = (0..36).map(|i| 30 + 10 * i).collect();
    for (by, most) in [(40, 6), (70, 12)] {
        let with = lab(TcpParams::default(), delay_segments(&late, MS(by)));
        let again = repeats(&with);
        assert!(!again.is_empty() && again.len() <= most, "{by} ms: {again:?}");
        assert!(*again.last().expect("some") < 300, "{by} ms: it is learned: {again:?}");
        let told = (duplicates(&with).len(), with.report().timeouts);
        assert_eq!(told, (again.len(), 0), "{by} ms");
        assert!(with.sender().window().ssthresh > 1 << 30, "{by} ms: undone");
    }
}

/// A genuine loss among what is late is repaired, and the window stays reduced.
#[test]
fn a_loss_is_not_undone() {
    for timestamps in [true, false] {
        let tcp = TcpParams { timestamps, ..TcpParams::default() };
        let with = lab(tcp, lose_segments(&[40, 41, 60]));
        assert!(with.sender().window().ssthresh < 200 * MSS, "timestamps {timestamps}");
        assert_eq!(repeats(&with), [40, 41, 60]);
        let (mut late, mut lose) = (delay_segments(&[45, 62], MS(30)), lose_segments(&[40, 61]));
        let treat = move |s: &Sent| if lose(s) == Fate::Lose { Fate::Lose } else { late(s) };
        let both = lab(tcp, treat);
        assert!(both.sender().window().ssthresh < 200 * MSS, "timestamps {timestamps}");
    }
}

/// Nothing passes from 150 ms on before 1.65 s, so the timer expires (1 s). By the first ACK's timestamp
/// (RFC 3522), or by what arrives that was never repeated (RFC 5682), nothing was lost: window and threshold are what
/// they were, and what else is outstanding is not repeated.
#[test]
fn a_timeout_in_vain_is_undone() {
    let spike = |s: &Sent| {
        let hit = s.is_data() && (MS(150)..MS(1650)).contains(&s.at);
        if hit { Fate::Late(MS(1650) - s.at) } else { Fate::Pass }
    };
    for (timestamps, sack) in [(true, true), (false, true), (true, false), (false, false)] {
        let tcp = TcpParams { timestamps, sack, ..TcpParams::default() };
        let with = lab(tcp, spike);
        let told = format!("timestamps {timestamps}, SACK {sack}: {:?}", repeats(&with));
        assert_eq!(with.report().timeouts, 1, "{told}");
        assert!(with.report().retransmitted <= 2, "{told}");
        assert!(with.sender().window().ssthresh > 1 << 30, "{told}");
        let without = lab(TcpParams { loss_detection: LossDetection::Rfc6675, ..tcp }, spike);
        assert!(without.report().retransmitted > 10 && without.sender().window().ssthresh < 50 * MSS, "{told}");
    }
}

/// RFC 4015, §3.1: the round trip of the original is measured, so the timeout is above it from then on.
#[test]
fn after_a_timeout_in_vain_the_timer_knows_the_round_trip() {
    let slow = |s: &Sent| if s.is_data() && s.at > MS(150) { Fate::Late(MS(2000)) } else { Fate::Pass };
    let with = lab(TcpParams::default(), slow);
    assert_eq!(with.report().timeouts, 1);
    assert!(with.report().retransmitted <= 2);
    let without = lab(rfc6675(), slow);
    assert!(without.report().timeouts > 1, "else this tests nothing: {}", without.report().timeouts);
}

/// RFC 9438, §4.9: after a recovery in vain CUBIC's window is where it would have been.
#[test]
fn cubic_goes_on_as_if_nothing_had_happened() {
    let run = |treat: Box<dyn FnMut(&Sent) -> Fate>| {
        let (tcp, control) = cubic();
        // A first loss begins congestion avoidance, at 35 segments.
        let mut first = lose_segments(&[50]);
        let mut treat = treat;
        let both = move |s: &Sent| if first(s) == Fate::Lose { Fate::Lose } else { treat(s) };
        let mut lab = Lab::new(Setup { size: Some(4000 * MSS), ..Setup::default() }, tcp, control).treat(both);
        lab.run_until(Time::from_secs(6));
        lab.sender().window().cwnd / MSS
    };
    let (plain, late) = (run(Box::new(|_| Fate::Pass)), run(Box::new(delay_segments(&[900], MS(20)))));
    assert!(late.abs_diff(plain) <= 1, "{late} for {plain}");
    let lost = run(Box::new(lose_segments(&[900])));
    assert!(lost + 5 < plain, "else this tests nothing: {lost} for {plain}");
}

/// A hostile receiver that reports duplicates of what never was repeated, or of nothing, changes nothing.
#[test]
fn made_up_duplicates_change_nothing() {
    let mut lab = Lab::new(Setup { size: Some(400 * MSS), ..Setup::default() }, TcpParams::default(), NewRenoConfig)
        .treat(lose_segments(&[40]));
    lab.run_until(MS(420));
    let ssthresh = lab.sender().window().ssthresh;
    assert!(ssthresh < 200 * MSS, "in recovery");
    for (from, to) in [(0, 40), (0, 1), (7, 7), (39, 38), (0, u32::MAX)] {
        let mut p = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
        (p.flags, p.ack, p.window) = (Flags::ACK, 40 * MSS as u32, 60_000);
        p.sack_mut()[0] = SackBlock { from: from * MSS as u32, to: to.wrapping_mul(MSS as u32) };
        p.sack_len = 1;
        lab.inject(0, p);
    }
    lab.run();
    assert_eq!(lab.report().delivered, 400 * MSS);
    assert!(lab.sender().window().ssthresh <= ssthresh);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::harness::cases(24)))]

    /// Reordering up to a quarter of the round trip, of any share of the packets and in either direction, costs two round
    /// trips, in which that is learned, and a tenth of the time at most; and no timeout.
    #[test]
    fn reordering_up_to_a_quarter_of_a_round_trip_costs_little(
        late in prop::collection::vec(0u64..24_000, 7..50), share in 1u32..8, acks in any::<bool>(),
        delayed_ack in 1u32..3, timestamps in any::<bool>(),
    ) {
        let tcp = TcpParams { timestamps, delayed_ack: DelayedAck(delayed_ack), ..TcpParams::default() };
        let setup = Setup { size: Some(2000 * MSS), ..Setup::default() };
        let time = |jitter: bool| {
            let (late, mut n) = (late.clone(), 0usize);
            let mut lab = Lab::new(setup, tcp, NewRenoConfig).without_log().treat(move |s| {
                n += 1;
                let hit = jitter && (s.is_data() || acks && s.from == 1) && n as u32 % 8 < share;
                // Data and ACKs together.
                let by = late[n % late.len()] / if acks { 2 } else { 1 };
                if hit { Fate::Late(Time::from_us(by)) } else { Fate::Pass }
            });
            lab.run();
            assert_eq!(lab.report().delivered, 2000 * MSS);
            assert_eq!(lab.report().timeouts, 0);
            lab.report().completed.expect("it ends").as_secs_f64()
        };
        let (with, without) = (time(true), time(false));
        // The last packet's own delay is no cost of the sender's, nor is what a round trip is longer by.
        prop_assert!(with <= without * 1.24 / 0.9 + 0.2, "{} s for {} s", with, without);
    }

    /// Whatever is lost, late, repeated and marked: all is delivered, and a window that was reduced for a genuine loss
    /// stays so.
    #[test]
    fn undoing_never_raises_the_window_after_a_loss(
        lost in prop::collection::btree_set(30u64..180, 1..6), late in prop::collection::btree_set(30u64..180, 0..12),
        by in 1u64..120,
    ) {
        let lost: Vec<u64> = lost.into_iter().collect();
        let late: Vec<u64> = late.into_iter().filter(|l| !lost.contains(l)).collect();
        let (mut lose, mut delay) = (lose_segments(&lost), delay_segments(&late, MS(by)));
        let setup = Setup { size: Some(300 * MSS), ..Setup::default() };
        let mut lab = Lab::new(setup, TcpParams::default(), NewRenoConfig)
            .treat(move |s| if lose(s) == Fate::Lose { Fate::Lose } else { delay(s) });
        lab.run();
        prop_assert_eq!(lab.report().delivered, 300 * MSS);
        prop_assert!(lab.sender().window().ssthresh < 300 * MSS, "lost {:?}, late {:?} by {} ms", lost, late, by);
    }
}
