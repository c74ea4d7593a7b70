//! Whatever the network does, every byte arrives once, in order, and both ends finish.

use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::harness::{Fate, Lab, MSS, Sent, Setup, cases, ecn_mode};
use super::overtaken::Steady;
use crate::tcp::cubic::CubicParams;
use crate::tcp::dctcp::DctcpParams;
use crate::tcp::newreno::NewRenoConfig;
use crate::testing::PLAIN_ACKS;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::cc::AssistedConfig;
use crate::transport::params::{DelayedAck, GrowthRule, HyStartRule, LossDetection, Recovery};
use crate::transport::sender::Phase;

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Pass),
        3 => Just(Fate::Lose),
        1 => Just(Fate::Mark),
        1 => (0u64..30_000).prop_map(|us| Fate::Late(Time::from_us(us))),
        1 => (0u64..3_000).prop_map(|ms| Fate::Late(Time::from_ms(ms))),
        1 => (0u64..30_000).prop_map(|us| Fate::Twice(Time::from_us(us))),
        1 => (0u64..3_000).prop_map(|ms| Fate::Twice(Time::from_ms(ms))),
    ]
}

prop_compose! {
    fn params()(
        sack in any::<bool>(), timestamps in any::<bool>(), delayed in 1u32..4, window in 1u32..20,
        prr in any::<bool>(), abc in any::<bool>(), limited_transmit in any::<bool>(), pacing in any::<bool>(),
        ecn in ecn_mode(), room in prop_oneof![Just(1u64 << 30), 1u64..40_000], low in any::<bool>(), rack in any::<bool>(),
    ) -> TcpParams {
        TcpParams {
            sack, timestamps, limited_transmit, pacing,
            delayed_ack: DelayedAck(delayed),
            initial_window: window,
            recovery: if prr { Recovery::Prr } else { Recovery::Rfc6675 },
            loss_detection: if rack { LossDetection::RackTlp } else { LossDetection::Rfc6675 },
            growth: if abc { GrowthRule::Abc } else { GrowthRule::PerAck },
            ecn: Some(ecn),
            receive_window: Bytes(room),
            min_rto: if low { Time::from_ms(5) } else { Time::from_secs(1) },
            // Patterns are finite, so persistence always wins.
            max_retries: 300,
            syn_retries: 300,
            ..TcpParams::default()
        }
    }
}

prop_compose! {
    fn setup()(size in prop_oneof![0u64..200_000, (0u64..60).prop_map(|n| n * MSS)], mbps in 1u64..200,
        us in 1u64..20_000, queue in 2u64..60) -> Setup
    {
        Setup {
            size: Some(size),
            rate: Rate::from_mbps(mbps),
            delay: Time::from_us(us),
            queue: QueueSpec::fifo(Limit::Packets(queue)),
            ..Setup::default()
        }
    }
}

/// Runs a transfer through the pattern (then clean) and checks the sender after every event.
fn survives<K: AssistedConfig>(
    setup: Setup,
    tcp: TcpParams,
    control: K,
    pattern: Vec<Fate>,
) -> Result<(), TestCaseError> {
    let mut fates = pattern.into_iter();
    let mut lab = Lab::new(setup, tcp, control).without_log().treat(move |_| fates.next().unwrap_or(Fate::Pass));
    let (mut steps, mut sent, mut probes, mut in_pipe) = (0u64, 0, (0, false), 0);
    while lab.step(Time::MAX) {
        steps += 1;
        prop_assert!(steps < 300_000, "it does not end");
        let sender = lab.sender();
        let (window, pipe) = (sender.window(), sender.pipe());
        prop_assert!(window.cwnd > 0 && window.cwnd < 1 << 40 && window.ssthresh >= 2 * window.mss);
        prop_assert!(pipe <= 2 * sender.flight(), "pipe {pipe}, flight {}", sender.flight());
        // Whoever sends new data has room for them: RFC 3042 and the FIN may go beyond.
        let (new, before) = (sender.progress(), probes);
        probes = sender.probes();
        // RFC 8985, §7.3: one probe at a time. It goes beyond the window, which a mark may have lowered.
        let probed = probes.0 > before.0;
        prop_assert!(!probed || probes.0 == before.0 + 1 && !before.1, "a probe while one is outstanding");
        if new > sent && sender.phase() == Phase::Open {
            let over = 1 + if tcp.sack { 0 } else { 2 * window.mss };
            let room = if probed { window.cwnd.max(in_pipe) + window.mss } else { window.cwnd };
            prop_assert!(pipe <= room + over, "pipe {pipe}, cwnd {}", window.cwnd);
        }
        in_pipe = pipe;
        sent = new;
        // One byte for the FIN, one for a probe.
        prop_assert!(sender.flight() <= tcp.receive_window.0 + 1, "beyond the receiver's window");
        drop(sender);
        prop_assert!(lab.receiver().held() <= tcp.receive_window.0 + 1);
    }
    let (report, size) = (lab.report(), setup.size.unwrap_or(0));
    prop_assert_eq!(report.delivered, size);
    prop_assert!(report.completed.is_some());
    prop_assert!(lab.finished().iter().all(Option::is_some), "both ends finish");
    Ok(())
}

/// Data packets that were lost, and repeats, of a transfer without reordering or lost ACKs.
fn losses_and_repeats<K: AssistedConfig>(setup: Setup, tcp: TcpParams, control: K, lost: Vec<bool>) -> [u64; 2] {
    let mut lost = lost.into_iter();
    let treat = move |s: &Sent| if s.is_data() && lost.next() == Some(true) { Fate::Lose } else { Fate::Pass };
    let mut lab = Lab::new(setup, tcp, control).treat(treat);
    lab.run();
    // What a timeout gives up may be on its way: the property is about the rest.
    let gave_up = if lab.report().timeouts > 0 { u64::MAX } else { 0 };
    let drops = lab.drops() + lab.data().filter(|s| s.fate == Fate::Lose).count() as u64;
    [drops.saturating_add(gave_up), lab.report().retransmitted]
}

/// What two runs through the pattern put onto the wire, and what they report: one with a way of their own for plain ACKs,
/// one without.
fn with_and_without_a_plain_way<K: AssistedConfig + Clone>(
    setup: Setup,
    tcp: TcpParams,
    control: &K,
    pattern: &[Fate],
) -> [String; 2] {
    [true, false].map(|plain| {
        PLAIN_ACKS.set(plain);
        let mut left: Vec<Fate> = pattern.iter().rev().copied().collect();
        let mut lab = Lab::new(setup, tcp, control.clone()).treat(move |_| left.pop().unwrap_or(Fate::Pass));
        lab.run();
        PLAIN_ACKS.set(true);
        format!("{:?} {:?} {:?}", lab.log(), lab.report(), lab.finished())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(192)))]

    #[test]
    fn a_plain_ack_does_what_any_ack_does(
        setup in setup(), tcp in params(), pattern in prop::collection::vec(fate(), 0..60), which in 0..4,
        mbps in 1u64..50,
    ) {
        let cubic = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
        let dctcp = DctcpParams { tcp, ..DctcpParams::default() }.split().expect("valid");
        let [plain, any] = match which {
            0 => with_and_without_a_plain_way(setup, tcp, &NewRenoConfig, &pattern),
            1 => with_and_without_a_plain_way(setup, cubic.0, &cubic.1, &pattern),
            2 => with_and_without_a_plain_way(setup, dctcp.0, &dctcp.1, &pattern),
            _ => with_and_without_a_plain_way(setup, tcp, &Steady(Rate::from_mbps(mbps)), &pattern),
        };
        prop_assert!(plain == any, "{}\n{}", plain, any);
    }

    /// Nothing is repeated twice for one loss. Once per recovery the end of the flow may be
    /// repeated on suspicion (RFC 6675, NextSeg, rule 4).
    #[test]
    fn as_many_are_repeated_as_were_lost(
        mut setup in setup(), lost in prop::collection::vec(prop::bool::weighted(0.1), 0..400), cubic in any::<bool>(), prr in any::<bool>(),
    ) {
        setup.size = Some(400 * MSS);
        let tcp = TcpParams { recovery: if prr { Recovery::Prr } else { Recovery::Rfc6675 }, hystart: Some(HyStartRule::Off), ..TcpParams::default() };
        let [drops, repeated] = match cubic {
            true => {
                let params = CubicParams { tcp, ..CubicParams::default() };
                let (tcp, control) = params.split().expect("valid");
                losses_and_repeats(setup, tcp, control, lost)
            }
            false => losses_and_repeats(setup, tcp, NewRenoConfig, lost),
        };
        prop_assert!(repeated <= drops.saturating_add(3), "{repeated} for {drops}");
    }

    #[test]
    fn newreno_delivers_every_byte_once(
        setup in setup(), tcp in params(), pattern in prop::collection::vec(fate(), 0..150),
    ) {
        survives(setup, tcp, NewRenoConfig, pattern)?;
    }

    #[test]
    fn cubic_delivers_every_byte_once(
        setup in setup(), tcp in params(), pattern in prop::collection::vec(fate(), 0..150),
    ) {
        let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
        survives(setup, tcp, control, pattern)?;
    }

    #[test]
    fn dctcp_delivers_every_byte_once(
        setup in setup(), tcp in params(), pattern in prop::collection::vec(fate(), 0..150),
    ) {
        let (tcp, control) = DctcpParams { tcp, ..DctcpParams::default() }.split().expect("valid");
        survives(setup, tcp, control, pattern)?;
    }
}
