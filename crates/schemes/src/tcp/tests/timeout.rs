//! The retransmission timer: back-off, Karn, go-back, giving up; and the closed window.

use midpath_core::packet::{Flags, Packet};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Rate, Time};

use super::harness::{FLOW, Fate, HOSTS, Lab, LabOf, MSS, Setup, lose_segments, repeats, rfc6675};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::params::{DelayedAck, GrowthRule};
use crate::transport::sender::Phase;

fn lab(setup: Setup, tcp: TcpParams) -> LabOf<NewRenoConfig> {
    Lab::new(setup, tcp, NewRenoConfig)
}

#[test]
fn timeouts_back_off_and_end() {
    let tcp = TcpParams { max_retries: 8, ..rfc6675() };
    let mut lab = lab(Setup::default(), tcp).treat(|s| if s.is_data() { Fate::Lose } else { Fate::Pass });
    lab.run();
    let at: Vec<f64> = lab.data().skip(10).map(|s| s.at.as_secs_f64()).collect();
    let gaps: Vec<u64> = at.windows(2).map(|w| (w[1] - w[0]).round() as u64).collect();
    assert_eq!(gaps, [2, 4, 8, 16, 32, 60, 60]);
    assert!((at[0] - 1.1).abs() < 0.001, "the first after the minimum of 1 s: {}", at[0]);
    assert_eq!(lab.report().timeouts, 8);
    assert!(lab.finished().iter().all(Option::is_some), "the reset ends the receiver too");
}

#[test]
fn the_threshold_is_held_while_the_same_data_time_out_again() {
    let mut lab = lab(Setup::default(), rfc6675())
        .treat(|s| if s.is_data() && s.at < Time::from_secs(9) { Fate::Lose } else { Fate::Pass });
    lab.run_until(Time::from_secs(9));
    let window = *lab.sender().window();
    assert_eq!((window.ssthresh, window.cwnd), (5 * MSS, MSS), "half of ten, and the loss window");
    assert_eq!(lab.sender().phase(), Phase::Loss);
    lab.run();
    assert_eq!(lab.report().delivered, 100 * MSS);
}

/// All of a window but its last segment lost: slow start fills the hole and does not repeat what
/// SACK has reported.
#[test]
fn after_a_timeout_reported_data_are_not_repeated() {
    // Limited transmit sent segment 10 too. Without SACK nothing tells that 5 has arrived: the ACK
    // of it is the first whose window is scaled, no duplicate of the SYN-ACK (RFC 5681, §2, (e)).
    let (known, blind) = (vec![0, 1, 2, 3, 4, 6, 7, 8, 9, 10], (0..=9).collect());
    for (sack, expected) in [(true, known), (false, blind)] {
        let mut lab = lab(Setup::default(), TcpParams { sack, ..rfc6675() }).treat(|s| {
            match s.is_data() && s.at < Time::from_ms(900) && s.seq != 5 * MSS {
                true => Fate::Lose,
                false => Fate::Pass,
            }
        });
        lab.run();
        assert_eq!(lab.report().delivered, 100 * MSS);
        assert_eq!(repeats(&lab), expected, "SACK {sack}");
        assert_eq!(lab.report().timeouts, 1);
    }
}

/// Karn (RFC 6298, §3): the ACK of what was sent first may come after the repeat. It says nothing
/// about how long the repeat took, neither by itself nor by its timestamp.
#[test]
fn a_repeated_segment_spoils_no_measurement() {
    for timestamps in [true, false] {
        // The timer expires at 1.1 s. What was late arrives soon after, so its ACK comes 70 ms after
        // the repeat left: less than the path takes.
        for fate in [Fate::Lose, Fate::Late(Time::from_ms(970))] {
            let tcp = TcpParams { timestamps, ..rfc6675() };
            let mut lab = lab(Setup { mtu: if timestamps { 1500 } else { 1488 }, ..Setup::default() }, tcp)
                .treat(move |s| if s.is_data() && s.at < Time::from_ms(150) { fate } else { Fate::Pass });
            lab.run();
            let report = lab.report();
            let said = format!("timestamps {timestamps}, {fate:?}: {} to {}", report.rtt_min, report.rtt_max);
            assert_eq!((report.timeouts, report.delivered), (1, 100 * MSS), "{said}");
            // Delayed ACKs add up to 200 ms; the ambiguous second of the timeout would show.
            assert!(report.rtt_min >= Time::from_ms(100) && report.rtt_max < Time::from_ms(320), "{said}");
        }
    }
}

/// With timestamps an ACK says which of the two it is of: a repeat is as good a measurement as any
/// (RFC 7323, §4).
#[test]
fn a_timestamp_makes_a_repeat_a_measurement() {
    let measured = |timestamps| {
        let tcp = TcpParams { timestamps, delayed_ack: DelayedAck(1), ..TcpParams::default() };
        let mut lab = lab(Setup { mtu: if timestamps { 1500 } else { 1488 }, ..Setup::default() }, tcp)
            .treat(|s| if s.is_data() && s.at < Time::from_ms(150) { Fate::Lose } else { Fate::Pass });
        lab.run();
        lab.report().rtt_count
    };
    assert!(measured(true) > measured(false), "{} and {}", measured(true), measured(false));
}

#[test]
fn a_measured_path_with_a_low_minimum_times_out_soon() {
    let tcp = TcpParams { min_rto: Time::from_ms(10), ..rfc6675() };
    let setup = Setup { delay: Time::from_us(50), ..Setup::default() };
    let mut lab = lab(setup, tcp).treat(|s| match s.is_data() && s.at < Time::from_ms(1) {
        true => Fate::Lose,
        false => Fate::Pass,
    });
    lab.run();
    let second = lab.data().nth(10).expect("a repeat").at;
    assert!(second > Time::from_ms(10) && second < Time::from_ms(11), "{second}");
}

/// What the receiver would say with `window` bytes of room.
fn ack(ack: u32, window: u16) -> Packet {
    let mut p = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
    (p.flags, p.ack, p.window) = (Flags::ACK, ack, window);
    p
}

/// RFC 9293, §3.8.6.1: a closed window is probed with back-off for as long as it is answered, and
/// opens without loss.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let mut lab = lab(Setup::default(), TcpParams::default()).treat(|s| match s.from {
        1 => Fate::Lose,
        _ => Fate::Pass,
    });
    let mut syn_ack = ack(0, 0);
    syn_ack.flags = Flags::SYN.with(Flags::ACK);
    lab.run_until(Time::from_ms(100));
    lab.inject(0, syn_ack);
    for _ in 0..40 {
        lab.run_until(lab.now + Time::from_secs(10));
        lab.inject(0, ack(0, 0));
    }
    let probes: Vec<u64> = lab.data().map(|s| u64::from(s.packet.payload)).collect();
    assert!(probes.iter().all(|n| *n == 1) && (9..=14).contains(&probes.len()), "{probes:?}");
    assert_eq!(lab.report().timeouts, 0);
    lab.inject(0, ack(1, 2 * MSS as u16));
    lab.run_until(lab.now + Time::from_ms(1));
    assert_eq!(lab.data().filter(|s| u64::from(s.packet.payload) == MSS).count(), 2);
}

/// A hole that stays open while new data pass it piles up unacknowledged bytes. They are not in the
/// network, and a timeout must not take half of them for its threshold.
#[test]
fn a_long_recovery_does_not_raise_the_threshold() {
    for sack in [true, false] {
        // 10 Mbps, 50 ms, the same of queue: slow start overshoots by 42 segments, and NewReno
        // mends one per round trip until the timer expires. With SACK one segment is lost for a
        // whole second, and then all are.
        let queue = QueueSpec::fifo(Limit::Time(Time::from_ms(50)));
        let setup =
            Setup { size: None, rate: Rate::from_mbps(10), delay: Time::from_ms(25), queue, ..Setup::default() };
        let tcp = TcpParams { sack, growth: GrowthRule::PerAck, ..TcpParams::default() };
        let mut lab = lab(setup, tcp).without_log().treat(move |s| {
            let stuck = s.seq == 200 * MSS || s.at >= Time::from_secs(1);
            if sack && s.is_data() && stuck { Fate::Lose } else { Fate::Pass }
        });
        while lab.report().timeouts == 0 && lab.step(Time::from_secs(5)) {}
        let threshold = lab.sender().window().ssthresh / MSS;
        // The path holds 83 segments.
        assert!(lab.report().timeouts == 1 && threshold <= 42, "SACK {sack}: {threshold} at {}", lab.now);
    }
}

/// Karn again, for fast retransmit: the one segment that is timed is sent again, for it was lost or
/// because others have overtaken it. Then its ACK comes half a round trip after the repeat.
#[test]
fn a_fast_retransmission_spoils_no_measurement() {
    for fate in [Fate::Lose, Fate::Late(Time::from_ms(50))] {
        let tcp = TcpParams { timestamps: false, delayed_ack: DelayedAck(1), ..TcpParams::default() };
        let mut first = lose_segments(&[0]);
        let mut lab = lab(Setup { mtu: 1488, ..Setup::default() }, tcp)
            .treat(move |s| if first(s) == Fate::Lose { fate } else { Fate::Pass });
        lab.run();
        let report = lab.report();
        assert_eq!((report.retransmitted, report.timeouts), (1, 0), "{fate:?}");
        assert!(report.rtt_count > 1 && report.rtt_max < Time::from_ms(150), "{fate:?}: {}", report.rtt_max);
        assert!(report.rtt_min >= Time::from_ms(100), "{fate:?}: {}", report.rtt_min);
    }
}

/// RFC 6582, §3.2, step 1: what goes back after a timeout makes duplicates at `recover`; they are
/// no new loss.
#[test]
fn duplicates_at_the_recovery_point_start_nothing() {
    let tcp = TcpParams { sack: false, delayed_ack: DelayedAck(1), ..TcpParams::default() };
    let mut lab = lab(Setup { size: None, ..Setup::default() }, tcp)
        .treat(|s| if s.is_data() && s.at < Time::from_ms(900) { Fate::Lose } else { Fate::Pass });
    let three_duplicates = |lab: &mut LabOf<NewRenoConfig>| {
        let sender = lab.sender();
        let una = sender.progress() - sender.flight();
        drop(sender);
        (0..3).for_each(|_| lab.inject(0, ack(una as u32, u16::MAX)));
        lab.run_until(lab.now);
        lab.sender().phase()
    };
    while lab.report().timeouts == 0 || lab.sender().phase() != Phase::Open {
        assert!(lab.step(Time::from_secs(10)));
    }
    assert_eq!(three_duplicates(&mut lab), Phase::Open);
    lab.run_until(lab.now + Time::from_ms(110));
    assert_eq!(three_duplicates(&mut lab), Phase::Recovery);
}

/// RFC 6298, (2.2): a passive end measures the handshake, but not one that was repeated, where no timestamp says of which
/// SYN-ACK it is (Karn).
#[test]
fn a_passive_end_repeats_its_fin_by_the_handshake_s_round_trip() {
    let fins_apart = |lost: u32| {
        let tcp = TcpParams { timestamps: false, min_rto: Time::from_ms(10), ..rfc6675() };
        let (mut syn_acks, mut closed) = (0, false);
        let mut lab = lab(Setup { size: Some(MSS), mtu: 1488, ..Setup::default() }, tcp).treat(move |s| {
            syn_acks += u32::from(s.from == 1 && s.flags().has(Flags::SYN));
            closed |= s.from == 1 && s.flags().has(Flags::FIN);
            if closed || (s.from == 1 && syn_acks <= lost) { Fate::Lose } else { Fate::Pass }
        });
        lab.run_until(Time::from_secs(10));
        let fins = lab.log().iter().filter(|s| s.from == 1 && s.flags().has(Flags::FIN));
        let at: Vec<Time> = fins.map(|s| s.at).collect();
        (at[1] - at[0]).as_ns() / 1_000_000
    };
    assert_eq!(fins_apart(0), 300, "100 ms, and four times half of that");
    assert!(fins_apart(1) >= 1000, "as before the first measurement");
}

/// RFC 6675, §5.1: fast recovery begins again at the recovery point. What slow start has lost of new data is repaired by the
/// ACK that reaches it, not by the next one.
#[test]
fn what_was_lost_beyond_the_recovery_point_is_repaired_at_once() {
    let mut sent = [0; 2];
    let mut lab = lab(Setup::default(), TcpParams { delayed_ack: DelayedAck(1), ..rfc6675() }).treat(move |s| {
        let mut again = |i: usize| {
            sent[i] += 1;
            sent[i] > 1
        };
        match (s.is_data(), s.seq / MSS) {
            (true, 9) if again(0) => Fate::Late(Time::from_ms(120)),
            (true, 10) if !again(1) => Fate::Lose,
            (true, 0..=9) if s.at < Time::from_ms(900) => Fate::Lose,
            _ => Fate::Pass,
        }
    });
    lab.run();
    // Repeats from 1.1 s on. The last one, and new data, leave at 1.4 s; the ACK of that one, late, is there at 1.62 s.
    let at: Vec<u64> = lab.data().filter(|s| s.seq == 10 * MSS).map(|s| s.at.as_ns() / 1_000_000).collect();
    assert_eq!((at, lab.report().timeouts), (vec![1400, 1620], 1));
}
