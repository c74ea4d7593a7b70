//! BBR over a path that is a rate, a delay and a queue: the draft's "BBR Example Test Cases".

use midpath_core::packet::Flags;
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Bytes, Rate, Time};

use crate::bbr::constants as c;
use crate::bbr::controller::Bbr;
use crate::bbr::params::{BbrConfig, BbrParams};
use crate::bbr::phases::Phase;
use crate::tcp::tests::harness::{Fate, Lab, LabOf, MSS, Setup};
use crate::transport::{TcpParams, TcpTable};

const MS: fn(u64) -> Time = Time::from_ms;

/// A bulk flow over so many Mbps, with a round trip of so many milliseconds and so many of queue.
fn lab(mbps: u64, rtt: u64, queue: u64) -> LabOf<BbrConfig> {
    let queue = QueueSpec::fifo(Limit::Time(MS(queue)));
    let setup =
        Setup { size: None, rate: Rate::from_mbps(mbps), delay: Time(MS(rtt).0 / 2), queue, ..Setup::default() };
    let (tcp, config) = BbrParams::default().split().expect("valid");
    Lab::new(setup, tcp, config).without_log()
}

fn with<T>(lab: &LabOf<BbrConfig>, see: impl Fn(&Bbr) -> T) -> T {
    see(lab.sender().control())
}

/// Runs until then; the phases that BBR goes through, and when each begins.
fn phases(lab: &mut LabOf<BbrConfig>, until: Time) -> Vec<(Time, Phase)> {
    let mut seen: Vec<(Time, Phase)> = Vec::new();
    while lab.step(until) {
        let phase = with(lab, |b| b.phase);
        if seen.last().is_none_or(|last| last.1 != phase) {
            seen.push((lab.now, phase));
        }
    }
    seen
}

/// Payload bytes per second of a link of so many Mbps.
fn payload(mbps: u64) -> f64 {
    Rate::from_mbps(mbps).as_f64() / 8.0 * MSS as f64 / 1500.0
}

/// "Exiting STARTUP on Bandwidth Plateau" and "Exiting DRAIN Based on Inflight": the bandwidth is
/// within 2 % of the path's, the round trip is the path's, and the queue is gone when ProbeBW begins.
#[test]
fn startup_finds_the_bandwidth_and_drain_empties_the_queue() {
    for (mbps, rtt) in [(10, 40), (100, 10), (2, 200)] {
        let mut lab = lab(mbps, rtt, 1000);
        let mut seen = vec![Phase::Startup];
        while !seen[seen.len() - 1].is_probe_bw() && lab.step(Time::from_secs(20)) {
            let phase = with(&lab, |b| b.phase);
            if seen.last() != Some(&phase) {
                seen.push(phase);
                let (bw, reached, rounds) = with(&lab, |b| (b.max_bw(), b.full_bw_reached, b.full_bw_count));
                if phase == Phase::Drain {
                    assert!((bw / payload(mbps) - 1.0).abs() < 0.02, "{bw} of {}", payload(mbps));
                    assert!(reached && rounds == c::FULL_BW_ROUNDS);
                }
            }
        }
        // DOWN may be over within the ACK that begins it.
        assert!(seen[..2] == [Phase::Startup, Phase::Drain] && seen.len() == 3, "{mbps} Mbps, {rtt} ms: {seen:?}");
        let bdp = payload(mbps) * rtt as f64 / 1e3;
        let (pipe, least) = (lab.sender().pipe() as f64, c::MIN_PIPE_CWND as f64 * MSS as f64);
        assert!(pipe <= 1.05 * bdp.max(least) + 3.0 * MSS as f64, "{pipe} in flight for {bdp}");
    }
}

/// Steady state: most of the link and no loss; probes are as far apart as PickProbeWait says.
#[test]
fn it_fills_the_link_without_a_standing_queue_and_cycles() {
    let mut lab = lab(20, 40, 1000);
    lab.run_until(Time::from_secs(3));
    let before = lab.carried();
    let seen = phases(&mut lab, Time::from_secs(20));
    let used = (lab.carried() - before) as f64 / (17.0 * 20e6 / 8.0);
    assert!(used > 0.93, "{used}");
    assert_eq!((lab.drops(), lab.report().retransmitted), (0, 0));
    let waits = |i: usize| (seen[i + 1].0 - seen[i].0).as_secs_f64();
    // The first was under way when we began to look.
    let cruises = (1..seen.len() - 1).filter(|i| seen[*i].1 == Phase::Cruise);
    let drawn: Vec<f64> = cruises.filter(|i| seen[i + 1].1 == Phase::Refill).map(waits).collect();
    // T_probe: two to three seconds, or at most 63 round trips of 40 ms and a little.
    assert!(drawn.len() >= 3 && drawn.iter().all(|w| (1.5..3.01).contains(w)), "{drawn:?} in {seen:?}");
    assert!(drawn.iter().any(|w| w != &drawn[0]), "waits are drawn: {drawn:?}");
}

/// "Entering and Exiting PROBE_RTT": every five seconds, for 200 ms and a round, with half of a BDP in
/// flight; then ProbeBW again.
#[test]
fn the_round_trip_is_probed_every_five_seconds() {
    let mut lab = lab(20, 40, 1000);
    let (mut seen, mut least) = (Vec::new(), u64::MAX);
    while lab.step(Time::from_secs(18)) {
        let phase = with(&lab, |b| b.phase);
        if seen.last().is_none_or(|s: &(Time, Phase)| s.1 != phase) {
            seen.push((lab.now, phase));
        }
        if phase == Phase::ProbeRtt {
            least = least.min(lab.sender().pipe());
        }
    }
    let at = |i: usize| seen[i].0.as_secs_f64();
    let probes: Vec<usize> = (0..seen.len()).filter(|i| seen[*i].1 == Phase::ProbeRtt).collect();
    assert!((2..=4).contains(&probes.len()), "{seen:?}");
    for i in probes {
        assert!((0.2..0.4).contains(&(at(i + 1) - at(i))), "{seen:?}");
        assert_eq!(seen[i + 1].1, Phase::Cruise, "past DOWN within one ACK");
    }
    let bdp = payload(20) * 0.04;
    assert!(least as f64 <= c::PROBE_RTT_CWND_GAIN * bdp + 2.0 * MSS as f64, "{least} of {bdp}");
    let rtt = with(&lab, |b| b.min_rtt).as_secs_f64();
    assert!((0.04..0.0425).contains(&rtt), "{rtt}");
}

/// "Correctly Managing Sub-Packet BDPs".
#[test]
fn a_path_of_less_than_a_packet_has_four_in_flight() {
    let mut lab = lab(1, 2, 1000);
    lab.run_until(Time::from_secs(10));
    let before = lab.carried();
    lab.run_until(Time::from_secs(14));
    assert!(lab.sender().window().cwnd >= c::MIN_PIPE_CWND * MSS);
    let used = (lab.carried() - before) as f64 / (4.0 * 1e6 / 8.0);
    assert!(used > 0.93, "{used}");
}

/// A tenth of what is sent is lost: "Exiting STARTUP on Loss", and it ends with what was delivered as
/// the most in flight.
#[test]
fn startup_ends_where_losses_are_high() {
    let mut count = 0u32;
    let mut lab = lab(100, 40, 1000).treat(move |sent| {
        count += u32::from(sent.is_data());
        if sent.is_data() && count > 100 && count.is_multiple_of(10) { Fate::Lose } else { Fate::Pass }
    });
    while with(&lab, |b| b.phase) == Phase::Startup && lab.step(Time::from_secs(5)) {}
    let (reached, longterm, count) = with(&lab, |b| (b.full_bw_reached, b.inflight_longterm(), b.full_bw_count));
    assert!(reached && longterm.is_finite(), "{longterm}");
    assert!(count < c::FULL_BW_ROUNDS, "it was loss, and no plateau");
}

/// "Handling Loss During PROBE_UP": it goes down at once, and remembers how much was in flight.
#[test]
fn losses_while_probing_end_the_probe_and_bound_what_is_in_flight() {
    let mut lab = lab(20, 40, 15);
    let seen = phases(&mut lab, Time::from_secs(12));
    let up: Vec<usize> = (0..seen.len() - 1).filter(|i| seen[*i].1 == Phase::Up).collect();
    assert!(!up.is_empty() && lab.drops() > 0, "{seen:?}");
    assert!(up.iter().all(|i| seen[i + 1].1 == Phase::Down), "{seen:?}");
    let (bound, bdp) = (with(&lab, |b| b.inflight_longterm()), payload(20) * 0.04);
    assert!((0.7 * bdp..2.0 * bdp).contains(&bound), "{bound} of {bdp}");
    let lost = lab.report().retransmitted as f64 / lab.report().sent as f64;
    assert!(lost < 0.02, "{lost}");
}

/// "ProbeBW_UP" raises `inflight_longterm` while the window is at it: what a lossy time has left is forgotten.
#[test]
fn what_may_be_in_flight_grows_again_once_nothing_is_lost() {
    let mut count = 0u32;
    let mut lab = lab(20, 40, 1000).treat(move |sent| {
        count += u32::from(sent.is_data() && sent.at < Time::from_secs(5));
        if sent.is_data() && sent.at < Time::from_secs(5) && count.is_multiple_of(10) { Fate::Lose } else { Fate::Pass }
    });
    lab.run_until(Time::from_secs(5));
    let (bound, bdp) = (with(&lab, |b| b.inflight_longterm()), payload(20) * 0.04);
    assert!(bound < 0.5 * bdp, "{bound} of {bdp}");
    lab.run_until(Time::from_secs(25));
    let before = lab.carried();
    lab.run_until(Time::from_secs(30));
    let (used, bound) = ((lab.carried() - before) as f64 / (5.0 * 20e6 / 8.0), with(&lab, |b| b.inflight_longterm()));
    assert!(used > 0.93 && bound > bdp, "{used}, {bound} of {bdp}");
}

#[test]
fn flows_of_any_length_end_and_repeat_nothing() {
    for size in [1, MSS, 20 * MSS, 3000 * MSS] {
        let setup = Setup { size: Some(size), rate: Rate::from_mbps(50), delay: MS(10), ..Setup::default() };
        let (tcp, config) = BbrParams::default().split().expect("valid");
        let mut lab = Lab::new(setup, tcp, config);
        lab.run();
        assert_eq!((lab.report().delivered, lab.report().retransmitted), (size, 0));
        assert!(lab.finished().iter().all(Option::is_some));
    }
}

/// Random loss of 1 % on a path that has room: CUBIC would be at a fraction; BBR keeps most of it.
#[test]
fn random_loss_below_the_threshold_costs_little() {
    let mut state = 1u64;
    let mut lab = lab(20, 40, 200).treat(move |sent| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if sent.is_data() && (state >> 33).is_multiple_of(100) { Fate::Lose } else { Fate::Pass }
    });
    lab.run_until(Time::from_secs(20));
    let used = lab.report().delivered as f64 / (20.0 * payload(20));
    assert!(used > 0.7, "{used}");
}

/// Packets of a quantum leave together: 1 ms of the rate. Without, one by one.
#[test]
fn packets_leave_one_by_one_or_in_quanta() {
    for quantum in [false, true] {
        let queue = QueueSpec::fifo(Limit::Bytes(u64::MAX));
        // The access is ten times as fast as what the receiver's window allows.
        let setup =
            Setup { size: Some(2000 * MSS), rate: Rate::from_gbps(1), delay: MS(20), queue, ..Setup::default() };
        let tcp = TcpParams { receive_window: Bytes(500_000), ..TcpParams::default() };
        let (tcp, config) = BbrParams { tcp, quantum, ..BbrParams::default() }.split().expect("valid");
        let mut lab = Lab::new(setup, tcp, config);
        lab.run();
        let late: Vec<Time> = lab.data().skip(1000).map(|s| s.at).collect();
        let back_to_back = late.windows(2).filter(|w| w[1] - w[0] < Time::from_us(13)).count();
        let share = back_to_back as f64 / late.len() as f64;
        assert!(if quantum { share > 0.6 } else { share < 0.2 }, "{quantum}: {share}");
        assert!(!lab.log().iter().any(|s| s.flags().has(Flags::RST)));
    }
}

/// CheckIfApplicationLimited: what an application does not hand over is no plateau of the bandwidth.
#[test]
fn an_application_that_hands_over_little_does_not_end_startup() {
    let mut lab = lab(10, 40, 1000);
    lab.give(0);
    for step in 1..=100 {
        lab.give(2 * step * MSS);
        lab.run_until(lab.now + MS(50));
    }
    assert_eq!((lab.report().delivered, with(&lab, |b| b.phase)), (200 * MSS, Phase::Startup));
}
