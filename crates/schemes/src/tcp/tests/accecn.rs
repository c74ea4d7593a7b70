//! Accurate ECN (RFC 9768): the handshake, the counter on every segment, what becomes of it when
//! packets get lost, and what senders make of it.

use midpath_core::packet::{Ecn, Flags};
use midpath_core::units::Time;
use proptest::prelude::*;

use super::harness::{Fate, Lab, LabOf, MSS, Sent, Setup, cases};
use crate::tcp::FixedWindowParams;
use crate::tcp::dctcp::{DctcpConfig, DctcpParams};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::ecn::{EcnMode, number};
use crate::transport::params::DelayedAck;

fn with(ecn: EcnMode) -> TcpParams {
    TcpParams { ecn: Some(ecn), ..TcpParams::default() }
}

fn lab(segments: u64, tcp: TcpParams, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let setup = Setup { size: Some(segments * MSS), ..Setup::default() };
    Lab::new(setup, tcp, NewRenoConfig).treat(treat)
}

fn marking(segments: &[u64]) -> impl FnMut(&Sent) -> Fate + 'static {
    let segments = segments.to_vec();
    move |s| if s.is_data() && segments.contains(&(s.seq / MSS)) { Fate::Mark } else { Fate::Pass }
}

/// From whom, whether it is SYN, payload in segments, the number of the three flags.
fn told(s: &Sent) -> (usize, bool, u64, u8) {
    (s.from, s.flags().has(Flags::SYN), u64::from(s.packet.payload) / MSS, number(s.flags()))
}

#[test]
fn the_handshake_says_so_and_data_follow_a_pure_ack() {
    let mut lab = lab(2, with(EcnMode::Accurate), |_| Fate::Pass);
    lab.run();
    let first: Vec<_> = lab.log().iter().take(5).map(told).collect();
    let wanted =
        [(0, true, 0, 0b111), (1, true, 0, 0b010), (0, false, 0, 0b010), (0, false, 1, 0b101), (0, false, 1, 0b101)];
    assert_eq!(first, wanted);
    assert!(lab.log().iter().skip(5).all(|s| number(s.flags()) == 0b101), "nothing was marked");
    assert!(lab.log().iter().all(|s| s.packet.ecn.capable() == s.is_data()));
}

/// By hand, with an ACK for every second segment: segment 2 is the first that is marked and is
/// acknowledged at once, as is 7; 3 is the first mark since an ACK and waits for 4.
#[test]
fn the_counter_moves_with_each_mark() {
    let mut lab = lab(10, with(EcnMode::Accurate), marking(&[2, 3, 7]));
    lab.run_until(Time::from_ms(160));
    let acks = lab.log().iter().filter(|s| s.from == 1 && s.ack > 0);
    let told: Vec<_> = acks.map(|s| (s.ack / MSS, number(s.flags()))).collect();
    assert_eq!(told, [(2, 5), (3, 6), (5, 7), (7, 7), (8, 0), (10, 0)]);
    lab.run();
    assert_eq!(lab.sender().marks(), 3);
}

/// By hand: of a run of marks, every second one is acknowledged at once, though the receiver would
/// wait for four segments.
#[test]
fn an_ack_goes_out_for_every_second_mark() {
    let tcp = TcpParams { delayed_ack: DelayedAck(4), ..with(EcnMode::Accurate) };
    let mut lab = lab(10, tcp, marking(&[1, 2, 3, 4, 5]));
    lab.run_until(Time::from_ms(160));
    let acks = lab.log().iter().filter(|s| s.from == 1 && s.ack > 0);
    let told: Vec<_> = acks.map(|s| (s.ack / MSS, number(s.flags()))).collect();
    assert_eq!(told, [(2, 6), (4, 0), (6, 2), (10, 2)]);
}

#[test]
fn a_peer_that_knows_less_is_answered_in_its_own_way() {
    for (mine, peers, ect, echo) in [
        (EcnMode::Accurate, EcnMode::Classic, true, true),
        (EcnMode::Accurate, EcnMode::Off, false, false),
        (EcnMode::Classic, EcnMode::Accurate, true, true),
        (EcnMode::Off, EcnMode::Accurate, false, false),
    ] {
        let mut lab = lab(40, with(mine), marking(&[12])).with_peer(with(peers));
        lab.run();
        assert_eq!(lab.data().any(|s| s.packet.ecn == Ecn::Ect0), ect, "{mine:?} to {peers:?}");
        let echoed = |s: &&Sent| s.from == 1 && !s.flags().has(Flags::SYN) && number(s.flags()) == 0b001;
        assert_eq!(lab.log().iter().any(|s| echoed(&s)), echo, "{mine:?} to {peers:?}");
        assert!(lab.data().all(|s| !s.flags().has(Flags::AE)), "{mine:?} to {peers:?}");
        assert_eq!(lab.report().delivered, 40 * MSS);
    }
}

#[test]
fn two_lost_syns_are_followed_by_one_that_asks_for_nothing() {
    let mut syns = 0;
    let mut lab = lab(10, with(EcnMode::Accurate), move |s| {
        syns += u32::from(s.from == 0 && s.flags().has(Flags::SYN));
        if s.from == 0 && s.flags().has(Flags::SYN) && syns < 3 { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    let asked: Vec<u8> = lab.log().iter().filter(|s| s.from == 0).take(3).map(|s| number(s.flags())).collect();
    assert_eq!(asked, [0b111, 0b111, 0]);
    assert!(lab.log().iter().all(|s| s.packet.ecn == Ecn::NotEct));
}

/// RFC 9768, §3.1.5: the mode is that of the first SYN, and who asks for two kinds is refused.
#[test]
fn a_second_syn_does_not_change_the_mode_and_another_kind_is_refused() {
    for (second, refused) in [(0b000, false), (0b111, false), (0b011, true)] {
        let mut lab = lab(10, with(EcnMode::Accurate), |s| {
            // The answers are lost, so that the connection stays half open.
            if s.from == 1 { Fate::Lose } else { Fate::Pass }
        });
        lab.run_until(Time::from_ms(60));
        let mut syn = lab.log()[0].packet;
        syn.flags = Flags::SYN.with(crate::transport::ecn::flags(second));
        lab.inject(1, syn);
        lab.run_until(lab.now + Time::from_ms(1));
        let answers: Vec<_> = lab.log().iter().filter(|s| s.from == 1).map(|s| s.flags()).collect();
        assert_eq!(answers[0], Flags::SYN.with(Flags::ACK).with(Flags::CWR));
        assert_eq!(answers[1].has(Flags::RST), refused, "{second:03b}");
        assert!(refused || answers[1] == answers[0], "{second:03b}");
    }
}

#[test]
fn a_path_that_clears_the_counter_ends_ecn() {
    let mut lab = lab(100, with(EcnMode::Accurate), |s| match s.from == 1 && !s.flags().has(Flags::SYN) {
        true => Fate::Clear,
        false => Fate::Pass,
    });
    lab.run();
    // The first ten segments are on their way before the first ACK shows it.
    assert!(lab.data().all(|s| s.packet.ecn.capable() == (s.seq < 10 * MSS)));
    let sender = lab.sender();
    assert!(sender.marks() > 0);
    assert_eq!(sender.window().ssthresh, 1 << 40, "and that means nothing");
}

/// As with the classic echo: one reduction per round trip, however many marks.
#[test]
fn marks_halve_the_window_once_per_round_trip() {
    let mut lab = lab(400, with(EcnMode::Accurate), |s| match s.is_data() && s.at < Time::from_ms(450) {
        true => Fate::Mark,
        false => Fate::Pass,
    });
    let (mut reductions, mut last) = (Vec::new(), u64::MAX);
    while lab.step(Time::from_ms(600)) {
        let cwnd = lab.sender().window().cwnd;
        if cwnd < last && last < u64::MAX {
            reductions.push(lab.now);
        }
        last = cwnd;
    }
    assert!(reductions.windows(2).all(|w| w[1] - w[0] >= Time::from_ms(99)), "{reductions:?}");
    // 10 segments marked and halved to 5, marked again: 2.5, then the floor of 2.
    assert!((2..=3).contains(&reductions.len()), "{reductions:?}");
    lab.run();
    assert_eq!(lab.report().retransmitted, 0);
}

/// DCTCP counts: through any number of segments per ACK its estimate is the marked share.
#[test]
fn alpha_converges_to_the_marked_share() {
    for delayed in [1, 2, 4] {
        let mut n = 0u64;
        let setup = Setup { size: Some(20_000 * MSS), delay: Time::from_ms(1), ..Setup::default() };
        let tcp = TcpParams {
            delayed_ack: DelayedAck(delayed),
            initial_window: 200,
            ecn: Some(EcnMode::Accurate),
            ..TcpParams::default()
        };
        let (tcp, control) = DctcpParams { tcp, ..DctcpParams::default() }.split().expect("valid");
        let mut lab: LabOf<DctcpConfig> = Lab::new(setup, tcp, control).without_log().treat(move |s| {
            n += u64::from(s.is_data());
            if s.is_data() && n.is_multiple_of(10) { Fate::Mark } else { Fate::Pass }
        });
        lab.run();
        let alpha = lab.sender().control().alpha();
        assert!((alpha - 0.1).abs() < 0.02, "{delayed}: {alpha}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    /// Two of three ACKs get lost, each for at most two segments: no more than six segments are
    /// acknowledged at once, and every mark is counted.
    #[test]
    fn every_mark_is_counted_though_acks_get_lost(
        marks in prop::collection::vec(any::<bool>(), 1..300), delayed in 1u32..3, sack in any::<bool>(), phase in 0u64..3,
    ) {
        let (mut acks, segments) = (phase, marks.len() as u64);
        let tcp = TcpParams { delayed_ack: DelayedAck(delayed), sack, ..with(EcnMode::Accurate) };
        // A window that never shrinks, so that there are always enough ACKs under way.
        let (tcp, control) = FixedWindowParams { tcp, ..FixedWindowParams::default() }.split().expect("valid");
        let pattern = marks.clone();
        let setup = Setup { size: Some(segments * MSS), ..Setup::default() };
        let mut lab = Lab::new(setup, tcp, control).treat(move |s| {
            if s.is_data() {
                let marked = s.packet.ecn.capable() && pattern[(s.seq / MSS) as usize];
                return if marked { Fate::Mark } else { Fate::Pass };
            }
            acks += u64::from(s.from == 1);
            let last = s.ack >= segments * MSS;
            if s.from == 1 && !s.flags().has(Flags::SYN) && !last && acks % 3 != 0 { Fate::Lose } else { Fate::Pass }
        });
        lab.run();
        prop_assert_eq!(lab.report().retransmitted, 0);
        let marked = lab.log().iter().filter(|s| s.fate == Fate::Mark).count() as u64;
        prop_assert_eq!(lab.sender().marks(), marked);
    }
}

/// RFC 9768, §3.2.2.2: an ACK of new data counts, of a single byte as well, without a timestamp that says so.
#[test]
fn a_mark_on_a_single_byte_counts() {
    let tcp = TcpParams { timestamps: false, ..with(EcnMode::Accurate) };
    let setup = Setup { size: None, ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(|s| if s.is_data() { Fate::Mark } else { Fate::Pass });
    lab.give(1);
    lab.run_until(Time::from_secs(1));
    assert_eq!((lab.report().delivered, lab.sender().marks()), (1, 1));
}
