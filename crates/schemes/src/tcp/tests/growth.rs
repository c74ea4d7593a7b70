//! How windows grow, against closed forms.

use midpath_core::packet::{Flags, FlowId, NodeId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::{Purpose, below, stream};
use midpath_core::roles::{FlowSpec, LinkInfo, PortSpec};
use midpath_core::units::{Bytes, Rate, Time};

use super::harness::{Fate, Lab, LabOf, MSS, Setup, lose_segments};
use crate::tcp::cubic::CubicParams;
use crate::tcp::dctcp::threshold;
use crate::tcp::fixed::FixedWindowParams;
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::cc::{Ack, AssistedConfig, CongestionController, ControllerConfig, NetworkAssisted, Window};
use crate::transport::growth::Growth;
use crate::transport::params::{DelayedAck, GrowthRule, HyStartRule, Recovery};

const RTT: Time = Time::from_ms(100);

/// Full segments sent in each round trip after the handshake.
fn rounds<C: NetworkAssisted + 'static>(lab: &Lab<C>, n: usize) -> Vec<u64> {
    let start = lab.data().next().expect("data were sent").at;
    let round = |at: Time| (at - start).0 / RTT.0;
    (0..n as u64).map(|r| lab.data().filter(|s| round(s.at) == r).count() as u64).collect()
}

fn newreno(tcp: TcpParams, size: u64) -> LabOf<NewRenoConfig> {
    let mut lab = Lab::new(Setup { size: Some(size * MSS), ..Setup::default() }, tcp, NewRenoConfig);
    lab.run();
    lab
}

#[test]
fn slow_start_doubles_every_round_trip_with_or_without_delayed_acks() {
    for delayed_ack in [DelayedAck(1), DelayedAck(2)] {
        let lab = newreno(TcpParams { delayed_ack, ..TcpParams::default() }, 10 * 63);
        assert_eq!(rounds(&lab, 6), [10, 20, 40, 80, 160, 320], "{delayed_ack:?}");
        // So a flow of 10 (2^n - 1) segments takes n round trips after the handshake, less half of
        // the last one.
        let fct = lab.report().completed.expect("complete");
        let expected = RTT * 6 + RTT / 2;
        assert!(fct >= expected && fct < expected + Time::from_ms(1), "{fct}");
    }
}

#[test]
fn counting_acks_makes_delayed_acks_grow_by_one_half() {
    let tcp = TcpParams { growth: GrowthRule::PerAck, ..TcpParams::default() };
    let got = rounds(&newreno(tcp, 400), 6);
    let mut expected = 10.0;
    for n in got {
        // An odd segment waits for its ACK until the next round.
        assert!((n as f64 / expected - 1.0).abs() < 0.08, "{n} against {expected}");
        expected *= 1.5;
    }
}

#[test]
fn one_ack_adds_no_more_than_the_limit() {
    let tcp = TcpParams { abc_limit: 1, ..TcpParams::default() };
    assert_eq!(rounds(&newreno(tcp, 100), 3), [10, 15, 21], "7 ACKs for 15, the last segment waits");
}

#[test]
fn the_initial_window_is_a_parameter() {
    let lab = newreno(TcpParams { initial_window: 4, ..TcpParams::default() }, 28);
    assert_eq!(rounds(&lab, 3), [4, 8, 16]);
}

/// The saw-tooth of Mathis et al. (1997): losing every N-th segment, W_max = sqrt(8N/3) and the
/// mean is 3/4 W_max.
#[test]
fn the_saw_tooth_has_its_mean_at_three_quarters() {
    const N: u64 = 3750;
    let tcp = TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() };
    let setup = Setup { size: None, stop: Some(Time::from_secs(200)), ..Setup::default() };
    let mut count = 0;
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).without_log().treat(move |s| {
        count += u64::from(s.is_data());
        if s.is_data() && count.is_multiple_of(N) { Fate::Lose } else { Fate::Pass }
    });
    let (mut sum, mut n, mut peaks, mut top) = (0.0, 0.0, Vec::new(), 0.0f64);
    lab.run_until(Time::from_secs(40));
    while lab.now < Time::from_secs(190) {
        lab.run_until(lab.now + RTT);
        let cwnd = lab.sender().window().segments();
        if cwnd < 0.6 * top {
            peaks.push(top);
            top = cwnd;
        }
        (sum, n, top) = (sum + cwnd, n + 1.0, top.max(cwnd));
    }
    let (mean, peak) = (sum / n, peaks.iter().sum::<f64>() / peaks.len() as f64);
    assert!((peak / (8.0 * N as f64 / 3.0).sqrt() - 1.0).abs() < 0.03, "W_max {peak}");
    assert!((mean / peak - 0.75).abs() < 0.02, "mean {mean}, W_max {peak}");
    assert_eq!(lab.report().timeouts, 0);
}

/// Segments in a round trip that arrive where each packet, repeats too, is lost with probability `p`.
fn segments_a_round<K: AssistedConfig>(tcp: TcpParams, control: K, p: f64) -> f64 {
    let mut rng = stream(7, Purpose::Corruption, 0);
    let setup = Setup { size: None, stop: Some(Time::from_secs(400)), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, control).without_log().treat(move |s| {
        if s.is_data() && below(&mut rng, 1_000_000) < (p * 1e6) as u64 { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    lab.report().delivered as f64 / MSS as f64 / (400.0 / RTT.as_secs_f64())
}

/// Losses at random, for good: the window is sqrt(3/(2p)) (Mathis et al., 1997), for CUBIC, too, where
/// it is as friendly as here (RFC 9438, §4.3); timeouts take from it, at 4 % most of all.
#[test]
fn windows_follow_the_rate_of_losses() {
    for (p, least) in [(0.002, 0.6), (0.01, 0.5), (0.04, 0.3)] {
        for (sack, recovery) in [(true, Recovery::Prr), (true, Recovery::Rfc6675), (false, Recovery::Rfc6675)] {
            let tcp = TcpParams { sack, recovery, delayed_ack: DelayedAck(1), ..TcpParams::default() };
            let (cubic_tcp, cubic) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
            let law = f64::sqrt(1.5 / p);
            let ratios = [segments_a_round(tcp, NewRenoConfig, p) / law, segments_a_round(cubic_tcp, cubic, p) / law];
            assert!(ratios.iter().all(|r| (least..1.3).contains(r)), "{p} {sack} {recovery:?}: {ratios:?}");
        }
    }
}

/// RFC 9438, equations 1 and 2: back at W_max after K = cbrt(W_max (1 - beta) / C), concave before,
/// convex after.
#[test]
fn cubic_returns_to_w_max_after_k() {
    let tcp = TcpParams { initial_window: 1000, ..TcpParams::default() };
    let params = CubicParams { tcp, tcp_friendly: false, ..CubicParams::default() };
    let (tcp, control) = params.split().expect("valid");
    let setup = Setup { size: None, stop: Some(Time::from_secs(40)), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, control).without_log().treat(lose_segments(&[0]));
    // The loss shows after one round trip and is mended after another.
    lab.run_until(Time::from_ms(150));
    let (mut w_max, mut epoch) = (0.0f64, Time::ZERO);
    while lab.step(Time::from_secs(1)) {
        let sender = lab.sender();
        let cwnd = sender.window().segments();
        if sender.phase() == crate::transport::sender::Phase::Open
            && epoch.is_zero()
            && w_max > 0.0
            && cwnd < 0.8 * w_max
        {
            epoch = lab.now;
        }
        w_max = if epoch.is_zero() && sender.window().in_slow_start() { w_max.max(cwnd) } else { w_max };
    }
    let k = (w_max * 0.3 / 0.4).cbrt();
    let w_cubic = |t: f64| 0.4 * (t - k).powi(3) + w_max;
    for share in [0.25, 0.5, 0.75, 1.0, 1.25, 1.5] {
        let t = share * k;
        lab.run_until(epoch + Time::from_secs_f64(t));
        let cwnd = lab.sender().window().segments();
        assert!((cwnd / w_cubic(t) - 1.0).abs() < 0.01, "at {share} K: {cwnd} against {}", w_cubic(t));
    }
    assert!((k - 9.0).abs() < 0.3 && w_max >= 1000.0, "K {k}, W_max {w_max}");
}

/// RFC 9438, §4.3: on short round trips CUBIC grows as Reno with the same mean would: alpha = 3 (1 - beta) / (1 + beta).
#[test]
fn cubic_is_no_slower_than_reno() {
    let tcp = TcpParams { initial_window: 40, delayed_ack: DelayedAck(1), ..TcpParams::default() };
    let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
    let setup = Setup { size: None, stop: Some(Time::from_secs(2)), delay: Time::from_ms(5), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, control).without_log().treat(lose_segments(&[0]));
    lab.run_until(Time::from_ms(50));
    let before = lab.sender().window().segments();
    lab.run_until(Time::from_ms(200));
    let per_round = (lab.sender().window().segments() - before) / 15.0;
    assert!((per_round / (3.0 * 0.3 / 1.7) - 1.0).abs() < 0.05, "{per_round}");
}

#[test]
fn a_window_that_is_not_the_limit_does_not_grow() {
    let tcp = TcpParams { receive_window: Bytes(8 * MSS), ..TcpParams::default() };
    let lab = newreno(tcp, 400);
    assert_eq!(lab.sender().window().cwnd, 10 * MSS);
    assert!(lab.report().delivered == 400 * MSS);
    assert_eq!(rounds(&lab, 3), [8, 8, 8]);
}

#[test]
fn a_fixed_window_stays() {
    let (tcp, control) = FixedWindowParams { window: 8, ..FixedWindowParams::default() }.split().expect("valid");
    let setup = Setup { size: Some(80 * MSS), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, control).treat(lose_segments(&[20]));
    lab.run();
    assert_eq!(rounds(&lab, 2), [8, 8]);
    assert_eq!((lab.report().retransmitted, lab.sender().window().cwnd), (1, 8 * MSS));
}

/// Paced at twice the window per round trip, the second half of the round trip is quiet, and no two
/// packets touch.
#[test]
fn pacing_spreads_packets_over_the_round_trip() {
    let tcp = TcpParams { pacing: true, ..TcpParams::default() };
    let lab = newreno(tcp, 30);
    let at: Vec<Time> = lab.data().map(|s| s.at).collect();
    let gaps: Vec<f64> = at.windows(2).take(9).map(|w| (w[1] - w[0]).as_secs_f64()).collect();
    // 1500 B at 2 * 10 * 1448 B per 100 ms.
    let expected = 0.1 * 1500.0 / (2.0 * 10.0 * 1448.0);
    assert!(gaps.iter().all(|g| (g / expected - 1.0).abs() < 0.01), "{gaps:?}");
    assert_eq!(lab.report().delivered, 30 * MSS);
}

/// RFC 9406: when the queue has begun to build, the round-trip time tells, and slow start ends
/// without a loss.
#[test]
fn hystart_leaves_slow_start_when_the_queue_builds() {
    let run = |hystart| {
        let tcp = TcpParams { hystart: Some(hystart), delayed_ack: DelayedAck(1), ..TcpParams::default() };
        // 50 Mbps, 100 ms: a bandwidth-delay product of 417 packets, and no end to the queue.
        let setup = Setup { size: None, rate: Rate::from_mbps(50), ..Setup::default() };
        let mut lab = Lab::new(setup, tcp, NewRenoConfig).without_log();
        lab.run_until(Time::from_secs(5));
        let window = *lab.sender().window();
        (window.in_slow_start(), window.ssthresh / MSS)
    };
    let (slow, ssthresh) = run(HyStartRule::Rfc9406);
    // One round until the rise is seen (twice the product), another to double, five of a quarter
    // each.
    assert!(!slow && (417..417 * 12).contains(&ssthresh), "{ssthresh}");
    assert!(run(HyStartRule::Off).0);
    // Linux's leaves at once: in the round of 320, when ACKs 0.24 ms apart have come for 50.5 ms.
    let (slow, ssthresh) = run(HyStartRule::Linux);
    assert!(!slow && (320 + 209..=320 + 213).contains(&ssthresh), "{ssthresh}");
}

/// A path whose round-trip time does not rise keeps doubling.
#[test]
fn hystart_leaves_an_empty_path_alone() {
    for hystart in [HyStartRule::Rfc9406, HyStartRule::Linux] {
        let tcp = TcpParams { hystart: Some(hystart), ..TcpParams::default() };
        assert_eq!(rounds(&newreno(tcp, 10 * 63), 6), [10, 20, 40, 80, 160, 320]);
    }
}

/// RFC 5681, §3.1, and RFC 6928, §2.
#[test]
fn a_handshake_that_lost_two_begins_with_one_segment() {
    for (lost, first) in [(0, 10), (1, 10), (2, 1), (3, 1)] {
        let mut left = lost;
        let lose = move |s: &super::harness::Sent| {
            let loses = s.from == 0 && s.flags().has(Flags::SYN) && left > 0;
            left -= u32::from(loses);
            if loses { Fate::Lose } else { Fate::Pass }
        };
        let mut lab = Lab::new(Setup::default(), TcpParams::default(), NewRenoConfig).treat(lose);
        lab.run();
        assert_eq!(rounds(&lab, 1), [first], "{lost} SYNs lost");
    }
}

#[test]
fn what_was_counted_before_a_loss_grows_no_window_after_it() {
    let (mut growth, mut window) =
        (<Growth>::new(&TcpParams::default(), 1000, HyStartRule::Off), Window::new(10, 1000));
    growth.avoid(&mut window, 6_000);
    growth.restart();
    growth.avoid(&mut window, 6_000);
    assert_eq!(window.cwnd, 10_000);
    growth.avoid(&mut window, 4_000);
    assert_eq!(window.cwnd, 11_000);
}

/// RFC 8257, §4.1: C·RTT/7, within what we add.
#[test]
fn dctcp_marks_from_a_seventh_of_what_is_in_flight() {
    let k = |mbps, limit| {
        let link = LinkInfo { rate: Rate::from_mbps(mbps), delay: Time::ZERO, mtu: 1500, peer: NodeId(1) };
        let (node, peer, rtt, queue) = (NodeId(0), NodeId(1), Time::from_us(100), QueueSpec::fifo(limit));
        let (port, host, edge, pulled) = (Default::default(), false, false, false);
        threshold(&PortSpec { node, port, peer, link, host, edge, rtt, queue, pulled }, limit)
    };
    assert_eq!(k(10_000, Limit::Bytes(1_000_000)), 125_000 / 7);
    assert_eq!(k(10_000, Limit::Bytes(20_000)), 10_000, "half of the queue");
    assert_eq!(k(10_000, Limit::Packets(8)), 6_000, "of full packets");
    assert_eq!(k(100, Limit::Bytes(1_000_000)), 7_500, "five packets");
}

/// RFC 9438, §4.8: without a congestion event t begins where slow start ends, however long that took. So the window
/// grows by Reno's estimate at first, a segment in a round trip.
#[test]
fn cubic_after_a_slow_start_without_loss_grows_from_there() {
    let (tcp, config) = CubicParams::default().split().expect("valid");
    let flow = FlowSpec::new(FlowId(0), NodeId(0), NodeId(1));
    let mut cubic = ControllerConfig::build(&config, &tcp, 1000, &flow);
    let mut window = Window::new(16, 1000);
    window.ssthresh = 64_000;
    let mut ack = |now: Time, acked: u64| {
        let ack = Ack { now, acked, delivered: acked, srtt: Time::from_ms(100), ..Ack::default() };
        cubic.on_ack(&mut window, &ack);
        window.cwnd
    };
    (1..=48).for_each(|n| assert!(ack(Time::from_ms(100 * n), 1000) <= 64_000));
    let before = ack(Time::from_ms(4900), 1000);
    let after = (1..=64).map(|n| ack(Time::from_ms(4900 + n), 1000)).last().expect("64 of them");
    assert!((900..=1100).contains(&(after - before)), "{before} to {after}");
}

#[test]
fn cubics_parameters_are_those_of_a_reduction() {
    for (beta, valid) in [(0.0, false), (0.7, true), (1.0, false)] {
        assert_eq!(CubicParams { beta, ..CubicParams::default() }.split().is_ok(), valid, "{beta}");
    }
}
