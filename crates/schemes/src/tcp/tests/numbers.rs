//! Numbers, clocks and windows as the wire has them: 32 bits that wrap, ticks, 16 bits with a
//! scale.

use midpath_core::packet::{Flags, Options, Packet};
use midpath_core::units::{Bytes, Rate, Time};

use super::harness::{FLOW, Fate, HOSTS, Lab, LabOf, MSS, Sent, Setup};
use crate::tcp::FixedWindowParams;
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::segment::MAX_RECEIVE_WINDOW;

fn lab(setup: Setup, tcp: TcpParams) -> LabOf<NewRenoConfig> {
    Lab::new(setup, tcp, NewRenoConfig)
}

fn first(lab: &LabOf<NewRenoConfig>, from: usize, flags: Flags) -> Packet {
    lab.log().iter().find(|s| s.from == from && s.packet.flags.has(flags)).expect("it was sent").packet
}

/// A sender of which nothing is acknowledged but its SYN, 120 ms after that.
fn unanswered() -> LabOf<NewRenoConfig> {
    let mut lab = lab(Setup { size: None, ..Setup::default() }, TcpParams::default()).treat(|s| {
        let honest = s.from == 1 && !s.flags().has(Flags::SYN);
        if honest { Fate::Lose } else { Fate::Pass }
    });
    lab.run_until(Time::from_ms(120));
    lab
}

/// RFC 9293, §3.4: more than four gigabytes, so each number comes twice; some are lost where they
/// wrap.
#[test]
fn streams_are_longer_than_numbers() {
    let size = (9u64 << 29) / MSS * MSS;
    let setup = Setup { size: Some(size), rate: Rate::from_gbps(100), delay: Time::from_us(500), ..Setup::default() };
    let window = FixedWindowParams { window: 16_000, ..FixedWindowParams::default() };
    let (tcp, control) = window.split().expect("valid");
    let mut last = 0;
    let mut lab = Lab::new(setup, tcp, control).without_log().treat(move |s: &Sent| {
        let wrapped = s.is_data() && s.packet.seq < last && last - s.packet.seq > 1 << 31;
        last = if s.is_data() { s.packet.seq } else { last };
        if wrapped { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    let report = lab.report();
    assert_eq!((report.delivered, report.timeouts), (size, 0));
    assert!(
        (1..=2).contains(&report.retransmitted),
        "{} repeats of what was lost as numbers wrapped",
        report.retransmitted
    );
}

/// RFC 6528 and RFC 7323, §5.4: nobody can foresee where numbers and clocks begin; each end has its
/// own.
#[test]
fn numbers_and_clocks_begin_anywhere() {
    let mut lab = lab(Setup::default(), TcpParams::default());
    lab.run();
    let (syn, syn_ack) = (first(&lab, 0, Flags::SYN), first(&lab, 1, Flags::SYN));
    assert_eq!(syn_ack.ack, syn.seq.wrapping_add(1));
    let begins = [syn.seq, syn_ack.seq, syn.ts_val, syn_ack.ts_val];
    assert!(begins.iter().all(|n| *n > 1 << 16), "{begins:?}");
    assert!((0..4).all(|i| (0..i).all(|j| begins[i] != begins[j])), "{begins:?}");
    assert_eq!((syn.ts_ecr, syn_ack.ts_ecr), (0, syn.ts_val));
    // The third segment: both numbers are the other's, and the clock ticks in microseconds.
    let third = lab.log().iter().find(|s| s.is_data()).expect("data").packet;
    assert_eq!((third.seq, third.ack), (syn.seq.wrapping_add(1), syn_ack.seq.wrapping_add(1)));
    let waited = lab.log().iter().find(|s| s.is_data()).expect("data").at;
    assert_eq!(u64::from(third.ts_val.wrapping_sub(syn.ts_val)), waited.0 / 1_000_000);
}

/// RFC 7323, §2.2: what both offer is used; a SYN's window is not scaled; a window larger than 64
/// KiB is told in units.
#[test]
fn options_are_what_both_have_offered() {
    let with = |timestamps, sack| TcpParams { timestamps, sack, ..TcpParams::default() };
    for (ours, theirs) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut lab = lab(Setup::default(), with(ours, ours)).with_peer(with(theirs, theirs)).treat({
            let mut lose = super::harness::lose_segments(&[30]);
            move |s| lose(s)
        });
        lab.run();
        assert_eq!((lab.report().delivered, lab.report().timeouts), (100 * MSS, 0), "{ours} {theirs}");
        let both = ours && theirs;
        let asks = first(&lab, 0, Flags::SYN).options;
        assert_eq!(asks.has(Options::TIMESTAMPS.with(Options::SACK_PERMITTED)), ours);
        let plain = |s: &&Sent| !s.flags().has(Flags::SYN);
        assert!(lab.log().iter().filter(plain).all(|s| s.packet.options.has(Options::TIMESTAMPS) == both));
        assert_eq!(lab.log().iter().any(|s| s.packet.sack_len > 0), both);
    }
    assert_eq!(TcpParams::default().receive_window.0 >> 14, MAX_RECEIVE_WINDOW.div_ceil(1 << 14) + 1);
}

/// A window of 100 kB is told in units of two bytes, and is what limits the sender.
#[test]
fn the_receivers_window_is_what_it_says() {
    let tcp = TcpParams { receive_window: Bytes(100_000), ..TcpParams::default() };
    let mut lab = lab(Setup { size: None, ..Setup::default() }, tcp);
    lab.run_until(Time::from_secs(5));
    let told: Vec<_> = lab.log().iter().filter(|s| s.from == 1).map(|s| s.packet.window).collect();
    assert_eq!((told[0], first(&lab, 1, Flags::SYN).window_scale), (65_535, 1));
    assert!(told[1..].iter().all(|w| *w == 50_000));
    let flight = lab.sender().flight();
    assert!(flight <= 100_000 && flight > 100_000 - MSS, "{flight}");
}

/// RFC 7323, §5.3: an old duplicate that lies in the window by its number is told by its clock, and
/// answered.
#[test]
fn old_duplicates_are_told_by_their_clock() {
    let mut lab = lab(Setup { size: None, ..Setup::default() }, TcpParams::default());
    lab.run_until(Time::from_secs(2));
    let newest = *lab.data().last().expect("data");
    let delivered = lab.receiver().held();
    let mut old = newest.packet;
    (old.seq, old.ack) = ((newest.seq + 50 * MSS) as u32, 0);
    old.ts_val = old.ts_val.wrapping_sub(1_900_000);
    let answers = |lab: &LabOf<NewRenoConfig>| lab.log().iter().filter(|s| s.from == 1).count();
    let before = answers(&lab);
    lab.inject(1, old);
    lab.step(Time::MAX);
    assert_eq!((lab.receiver().held(), answers(&lab)), (delivered, before + 1));
    old.ts_val = newest.packet.ts_val.wrapping_sub(900);
    lab.inject(1, old);
    lab.step(Time::MAX);
    assert_eq!(lab.receiver().held(), delivered + MSS, "a repeat may overtake by less than a millisecond");
}

/// RFC 9293, §3.10.7.4: who has not seen the SYN-ACK opens nothing, whatever address he writes on
/// it.
#[test]
fn the_third_segment_must_know_our_number() {
    let mut lab =
        lab(Setup::default(), TcpParams::default()).treat(|s| match s.from == 0 && !s.flags().has(Flags::SYN) {
            true => Fate::Lose,
            false => Fate::Pass,
        });
    lab.run_until(Time::from_ms(60));
    let mut blind = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52);
    (blind.flags, blind.ack, blind.payload) = (Flags::ACK, 1234, 1000);
    blind.measure();
    lab.inject(1, blind);
    lab.step(Time::from_ms(60));
    assert_eq!(lab.report().delivered, 0);
    let last = lab.log().last().expect("an answer");
    assert_eq!((last.from, last.packet.flags), (1, Flags::RST));
}

/// RFC 9293, §3.10.7.4: an ACK counts at the number that is expected of the peer, or at the one
/// after its FIN. Others are answered, as a keep-alive wants it, but not each (RFC 5961, §7).
#[test]
fn an_ack_out_of_turn_tells_the_sender_nothing() {
    let mut lab = unanswered();
    let mut acknowledges = |seq: u32| {
        let (mut blind, una) = (Packet::new(FLOW, HOSTS[1], HOSTS[0], 52), lab.sender().flight());
        (blind.flags, blind.window) = (Flags::ACK, u16::MAX);
        (blind.seq, blind.ack) = (seq, (lab.sender().progress() - una) as u32 + 1);
        let before = lab.log().iter().filter(|s| s.from == 0 && !s.is_data()).count();
        lab.inject(0, blind);
        lab.step(Time::from_ms(120));
        let answers = lab.log().iter().filter(|s| s.from == 0 && !s.is_data()).count() - before;
        (lab.sender().flight() != una, answers)
    };
    for (i, seq) in [u32::MAX, 2, 1 << 31, u32::MAX].into_iter().enumerate() {
        assert_eq!(acknowledges(seq), (false, usize::from(i == 0)), "{seq}");
    }
    assert_eq!((acknowledges(0), acknowledges(1)), ((true, 0), (true, 0)));
    lab.run_until(Time::from_ms(700));
    let before = lab.log().len();
    let mut keep_alive = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
    (keep_alive.flags, keep_alive.seq) = (Flags::ACK, u32::MAX);
    lab.inject(0, keep_alive);
    lab.step(Time::from_ms(700));
    let answer =
        lab.log()[before..].iter().find(|s| s.from == 0 && s.packet.payload == 0).expect("half a second later");
    assert_eq!((answer.flags(), answer.ack), (Flags::ACK, 0));
}

/// RFC 5961, §4.2: a SYN on an open connection is answered by an ACK whatever its number, and says nothing else.
#[test]
fn a_syn_on_an_open_connection_is_answered_and_not_heeded() {
    let mut lab = unanswered();
    let (flight, [own, peers]) = (lab.sender().flight(), [0, 1].map(|end| first(&lab, end, Flags::SYN).seq));
    for flags in [Flags::SYN, Flags::SYN.with(Flags::ACK)] {
        let mut syn = Packet::new(FLOW, HOSTS[1], HOSTS[0], 60);
        // The number that is expected next, and all that was sent.
        (syn.flags, syn.seq, syn.window) = (flags, peers.wrapping_add(1), u16::MAX);
        syn.ack = own.wrapping_add(1 + flight as u32);
        let before = lab.log().len();
        lab.arrive(0, 0, syn);
        lab.run_until(lab.now);
        let answers: Vec<_> = lab.log()[before..].iter().map(|s| (s.from, s.flags(), s.packet.payload)).collect();
        assert_eq!((answers, lab.sender().flight()), (vec![(0, Flags::ACK, 0)], flight), "{flags:?}");
    }
}
