//! Explicit congestion notification: RFC 3168 for all, RFC 8257 for DCTCP.

use midpath_core::packet::{Ecn, Flags};
use midpath_core::packet::{NodeId, PortId};
use midpath_core::queue::{AqmSpec, Limit, QueueSpec};
use midpath_core::roles::{LinkInfo, PortSpec};
use midpath_core::units::{Rate, Time};

use super::harness::{Fate, Lab, LabOf, MSS, Sent, Setup, lose_segments};
use crate::tcp::dctcp::{DctcpConfig, DctcpParams, threshold};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::ecn::EcnMode;
use crate::transport::params::DelayedAck;

fn ecn_on() -> TcpParams {
    TcpParams { ecn: Some(EcnMode::Classic), ..TcpParams::default() }
}

fn lab(tcp: TcpParams, treat: impl FnMut(&Sent) -> Fate + 'static) -> LabOf<NewRenoConfig> {
    let mut lab = Lab::new(Setup { size: Some(400 * MSS), ..Setup::default() }, tcp, NewRenoConfig).treat(treat);
    lab.run();
    lab
}

fn dctcp(tcp: TcpParams, setup: Setup) -> LabOf<DctcpConfig> {
    let (tcp, control) = DctcpParams { tcp, ..DctcpParams::default() }.split().expect("valid");
    Lab::new(setup, tcp, control)
}

#[test]
fn ect_is_on_new_data_only() {
    let lab = lab(ecn_on(), lose_segments(&[30]));
    for s in lab.log() {
        let new = s.is_data() && !(s.seq == 30 * MSS && s.fate == Fate::Pass);
        assert_eq!(s.packet.ecn == Ecn::Ect0, new, "{s:?}");
    }
}

#[test]
fn without_agreement_there_is_no_ect() {
    let lab = lab(TcpParams::default(), |_| Fate::Pass);
    assert!(lab.log().iter().all(|s| s.packet.ecn == Ecn::NotEct && !s.flags().has(Flags::ECE)));
}

/// Everything marked for a while: one reduction per round trip, CWR on the next new data, no packet
/// lost.
#[test]
fn marks_halve_the_window_once_per_round_trip() {
    let lab = lab(ecn_on(), |s| match s.is_data() && s.at < Time::from_ms(450) {
        true => Fate::Mark,
        false => Fate::Pass,
    });
    let cwr: Vec<Time> =
        lab.log().iter().filter(|s| s.from == 0 && s.flags().has(Flags::CWR) && s.is_data()).map(|s| s.at).collect();
    assert!(cwr.windows(2).all(|w| w[1] - w[0] >= Time::from_ms(99)), "{cwr:?}");
    // 10 segments marked and halved to 5, marked again: 2.5, then the floor of 2.
    assert!((3..=4).contains(&cwr.len()), "{cwr:?}");
    assert_eq!(lab.report().retransmitted, 0);
    // RFC 3168, §6.1.3: the echo stops when CWR arrives.
    let last_echo = lab.log().iter().filter(|s| s.from == 1 && s.flags().has(Flags::ECE)).map(|s| s.at).max();
    assert!(last_echo.is_some_and(|t| t < *cwr.last().expect("some") + Time::from_ms(60)));
}

#[test]
fn a_loss_among_marks_does_not_halve_twice() {
    let mut lose = lose_segments(&[60]);
    let tcp = ecn_on();
    let setup = Setup { size: None, stop: Some(Time::from_ms(700)), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(move |s| match lose(s) {
        Fate::Pass if s.is_data() && s.seq == 32 * MSS => Fate::Mark,
        fate => fate,
    });
    lab.run_until(Time::from_ms(600));
    // Marked in the window of 40 whose segment 60 is lost: 42 / 2, not a quarter.
    let threshold = lab.sender().window().ssthresh / MSS;
    assert!((19..=22).contains(&threshold), "{threshold}");
    assert_eq!(lab.report().retransmitted, 1);
}

/// RFC 8257, §3.2: through delayed ACKs the echo still tells the marked bytes exactly.
#[test]
fn the_exact_echo_survives_delayed_acks() {
    let mut n = 0u64;
    let pattern = |n: u64| n.is_multiple_of(7) || n % 5 == 3;
    let setup = Setup { size: Some(301 * MSS), ..Setup::default() };
    let mut lab = dctcp(TcpParams::default(), setup).treat(move |s| {
        n += u64::from(s.is_data());
        if s.is_data() && pattern(n) { Fate::Mark } else { Fate::Pass }
    });
    lab.run();
    let (mut last, mut marked) = (0, 0);
    for ack in lab.log().iter().filter(|s| s.from == 1 && s.flags().has(Flags::ACK)) {
        let acked = (ack.ack - last) / MSS;
        (last, marked) = (ack.ack, marked + if ack.flags().has(Flags::ECE) { acked } else { 0 });
    }
    assert_eq!(marked, (1..=301).filter(|n| pattern(*n)).count() as u64);
}

/// RFC 8257, §3.2: DCTCP.CE follows the marks alone. CWR, which RFC 3168 stops the echo with, does
/// not clear it, an unmarked packet does.
#[test]
fn the_exact_echo_ends_with_an_unmarked_packet_not_with_cwr() {
    let marked = 3..=30;
    let setup = Setup { size: Some(60 * MSS), ..Setup::default() };
    let tcp = TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() };
    let mut lab = dctcp(tcp, setup).treat({
        let marked = marked.clone();
        move |s| if s.is_data() && marked.contains(&(s.seq / MSS)) { Fate::Mark } else { Fate::Pass }
    });
    lab.run();
    let cwr = lab.data().filter(|s| s.flags().has(Flags::CWR)).map(|s| s.seq / MSS).min();
    assert!(cwr.is_some_and(|n| marked.contains(&n) && n < 30), "CWR came while marks did: {cwr:?}");
    for ack in lab.log().iter().filter(|s| s.from == 1 && s.ack > 0 && s.ack <= 60 * MSS) {
        let echo = ack.flags().has(Flags::ECE);
        assert_eq!(echo, marked.contains(&(ack.ack / MSS - 1)), "{:?}", ack.packet);
    }
}

#[test]
fn alpha_converges_to_the_marked_share() {
    for delayed_ack in [DelayedAck(1), DelayedAck(2)] {
        let mut n = 0u64;
        let setup = Setup { size: Some(20_000 * MSS), delay: Time::from_ms(1), ..Setup::default() };
        let tcp = TcpParams { delayed_ack, initial_window: 200, ..TcpParams::default() };
        let mut lab = dctcp(tcp, setup).without_log().treat(move |s| {
            n += u64::from(s.is_data());
            if s.is_data() && n.is_multiple_of(10) { Fate::Mark } else { Fate::Pass }
        });
        lab.run();
        let alpha = lab.sender().control().alpha();
        assert!((alpha - 0.1).abs() < 0.02, "{delayed_ack:?}: {alpha}");
    }
}

/// One flow at a step queue: the link is full, the queue stays near K, alpha is about sqrt(2 / W*)
/// (Alizadeh et al., 2010, eq. 9).
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    let (rate, packets) = (Rate::from_gbps(1), |n: u64| n * 1500);
    let aqm = AqmSpec::Step { threshold: Limit::Bytes(packets(40)) };
    let queue = QueueSpec { aqm, ..QueueSpec::fifo(Limit::Bytes(packets(400))) };
    let setup = Setup { size: None, stop: Some(Time::from_secs(1)), rate, delay: Time::from_us(250), queue, mtu: 1500 };
    let tcp = TcpParams { min_rto: Time::from_ms(10), delayed_ack: DelayedAck(1), ..TcpParams::default() };
    let mut lab = dctcp(tcp, setup).without_log();
    lab.run_until(Time::from_ms(300));
    let before = lab.carried();
    let (mut highest, mut lowest) = (0, u64::MAX);
    while lab.step(Time::from_ms(800)) {
        let backlog = lab.backlog();
        (highest, lowest) = (highest.max(backlog), lowest.min(backlog));
    }
    let used = (lab.carried() - before) as f64 / rate.bytes_in(Time::from_ms(500)).0 as f64;
    assert!(used > 0.999, "utilisation {used}");
    assert!(highest < packets(44) && lowest > packets(20), "between {lowest} and {highest} B");
    assert_eq!((lab.drops(), lab.report().timeouts), (0, 0));
    let w_star = (rate.bytes_in(Time::from_us(500)).0 + packets(40)) as f64 / 1500.0;
    let (alpha, expected) = (lab.sender().control().alpha(), (2.0 / w_star).sqrt());
    assert!((alpha / expected - 1.0).abs() < 0.35, "alpha {alpha} against {expected}");
}

#[test]
fn the_default_threshold_follows_the_bandwidth_delay_product() {
    let spec = |rate, rtt, limit| PortSpec {
        node: NodeId(0),
        port: PortId(0),
        peer: NodeId(1),
        link: LinkInfo { rate, delay: Time::ZERO, mtu: 1500, peer: NodeId(1) },
        host: false,
        edge: false,
        rtt,
        queue: QueueSpec::fifo(limit),
        pulled: false,
    };
    let k = |rate, rtt, limit| threshold(&spec(rate, rtt, limit), limit);
    let wide = Limit::Bytes(10_000_000);
    assert_eq!(k(Rate::from_gbps(10), Time::from_us(500), wide), 625_000 / 7);
    assert_eq!(k(Rate::from_gbps(10), Time::ZERO, wide), 7_500, "the floor of five packets");
    assert_eq!(k(Rate::from_gbps(10), Time::from_us(500), Limit::Packets(20)), 15_000, "half of the queue");
}
