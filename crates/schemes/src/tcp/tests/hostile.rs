//! Peers that say anything: no panic, no endless sending, no memory without end.

use midpath_core::packet::{Ecn, Flags, Kind, Options, Packet, SackBlock};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::harness::{FLOW, HOSTS, Lab, MSS, Setup, cases, ecn_mode};
use crate::tcp::cubic::CubicParams;
use crate::transport::TcpParams;
use crate::transport::TcpTable;
use crate::transport::params::DelayedAck;

/// A number that is near something interesting, or anything at all.
fn number() -> impl Strategy<Value = u32> {
    let mss = MSS as u32;
    prop_oneof![4 => 0..40 * mss, 2 => (0u32..40).prop_map(move |n| n * mss), 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

prop_compose! {
    fn packet()(
        seq in number(), ack in number(), window in any::<u16>(), ts_val in any::<u32>(), ts_ecr in any::<u32>(),
        payload in prop_oneof![Just(0u16), Just(MSS as u16), any::<u16>()],
        flags in prop_oneof![4 => Just(Flags::ACK.0), 2 => 0u16..512],
        sack in prop::array::uniform3((any::<u32>(), any::<u32>())), near in any::<bool>(), sack_len in 0u8..=255,
        kind in prop_oneof![9 => Just(Kind::Segment), 1 => Just(Kind::Datagram)],
        marked in any::<bool>(), options in 0u8..16, window_scale in any::<u8>(), mss in any::<u16>(),
    ) -> Packet {
        let mut p = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52 + u32::from(payload));
        (p.seq, p.ack, p.window, p.payload, p.flags, p.kind) = (seq, ack, window, payload, Flags(flags), kind);
        (p.ts_val, p.ts_ecr, p.options, p.window_scale, p.mss) = (ts_val, ts_ecr, Options(options), window_scale, mss);
        p.ecn = if marked { Ecn::Ce } else { Ecn::NotEct };
        p.sack_len = if near { sack_len % 4 } else { sack_len };
        for (block, (from, to)) in p.sack_mut().iter_mut().zip(sack) {
            *block = if near { SackBlock { from: from % 60_000, to: to % 60_000 } } else { SackBlock { from, to } };
        }
        p
    }
}

/// Never a reset that is believed, and never the peer's real FIN: those end the test too soon.
fn defused(mut p: Packet) -> Packet {
    if p.flags.has(Flags::RST) {
        (p.seq, p.ack) = (p.seq | 1 << 31, p.ack | 1 << 31);
    }
    p
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn a_sender_survives_any_peer(
        packets in prop::collection::vec((packet(), 0u64..300, prop::bool::weighted(0.8)), 1..120), sack in any::<bool>(),
        timestamps in any::<bool>(), pacing in any::<bool>(), open in any::<bool>(), ecn in ecn_mode(),
    ) {
        let tcp = TcpParams { sack, timestamps, pacing, ecn: Some(ecn), ..TcpParams::default() };
        let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
        let queue = QueueSpec::fifo(Limit::Packets(30));
        let setup = Setup { size: None, rate: Rate::from_mbps(10), queue, ..Setup::default() };
        let mut lab = Lab::new(setup, tcp, control);
        // With `open` the handshake is honest; the first ACKs and the hostile packets mix from then
        // on.
        lab.run_until(if open { Time::from_ms(120) } else { Time::ZERO });
        let count = packets.len() as u64;
        for (mut p, ms, in_turn) in packets {
            // What is out of turn goes no further than that.
            p.seq = if in_turn { p.seq % 2 } else { p.seq };
            lab.inject(0, defused(p));
            lab.run_until(lab.now + Time::from_ms(ms));
            let sender = lab.sender();
            let window = sender.window();
            prop_assert!(window.cwnd > 0 && window.ssthresh >= 2 * window.mss);
            prop_assert!(sender.pipe() <= 2 * sender.flight());
        }
        // Every packet that the sender receives lets it grow by two segments at most, honest ACKs
        // included.
        let received = count + lab.log().iter().filter(|s| s.from == 1).count() as u64;
        let sent = lab.data().count() as u64;
        prop_assert!(sent <= (10 + 3 * received) * (2 + received), "{sent} packets for {received}");
    }

    #[test]
    fn a_receiver_survives_any_peer(
        packets in prop::collection::vec((packet(), 0u64..300), 1..200), sack in any::<bool>(), delayed in 1u32..4,
        ecn in ecn_mode(),
    ) {
        let tcp = TcpParams { sack, ecn: Some(ecn), delayed_ack: DelayedAck(delayed), ..TcpParams::default() };
        let (tcp, control) = CubicParams { tcp, ..CubicParams::default() }.split().expect("valid");
        let mut lab = Lab::new(Setup::default(), tcp, control).treat(|s| match s.from {
            0 if s.is_data() => super::harness::Fate::Lose,
            _ => super::harness::Fate::Pass,
        });
        lab.run_until(Time::from_ms(200));
        let count = packets.len();
        for (p, ms) in packets {
            lab.inject(1, defused(p));
            lab.run_until(lab.now + Time::from_ms(ms));
            prop_assert!(lab.receiver().held() <= tcp.receive_window.0);
        }
        lab.run_until(lab.now + Time::from_secs(3600));
        let answers = lab.log().iter().filter(|s| s.from == 1).count();
        let asked = count + lab.log().iter().filter(|s| s.from == 0).count();
        prop_assert!(answers <= 2 * asked + 16, "{answers} answers to {asked} packets");
    }
}

/// Acknowledging each segment byte by byte must not open the window faster (Savage et al., 1999;
/// RFC 3465, §1).
#[test]
fn ack_division_gains_nothing() {
    let (tcp, control) = CubicParams::default().split().expect("valid");
    let mut lab =
        Lab::new(Setup { size: None, ..Setup::default() }, tcp, control).treat(|s| match s.from == 1 && s.ack > 0 {
            true => super::harness::Fate::Lose,
            false => super::harness::Fate::Pass,
        });
    lab.run_until(Time::from_ms(120));
    for ack in 1..=10 * MSS as u32 {
        let mut p = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
        (p.flags, p.ack, p.window) = (Flags::ACK, ack, u16::MAX);
        lab.inject(0, p);
    }
    lab.run_until(lab.now + Time::from_ms(1));
    assert_eq!(lab.sender().window().cwnd, 20 * MSS);
}

/// RFC 1122, §4.2.3.6: the number before the one that is expected, and no data. It is answered at
/// once, with its own timestamp; any other segment without data is not.
#[test]
fn a_keep_alive_is_answered() {
    let (tcp, control) = CubicParams::default().split().expect("valid");
    let mut lab = Lab::new(Setup { size: None, ..Setup::default() }, tcp, control);
    // Two bursts have been acknowledged, and the third has not come.
    lab.run_until(Time::from_ms(345));
    let end = lab.report().delivered as u32;
    assert!(end > 0);
    let mut answers = Vec::new();
    for seq in [end - 1, end, end - 2] {
        let before = lab.log().iter().filter(|s| s.from == 1).count();
        let mut p = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52);
        (p.flags, p.seq, p.window) = (Flags::ACK, seq, u16::MAX);
        lab.inject(1, p);
        lab.run_until(lab.now);
        answers.push(lab.log().iter().filter(|s| s.from == 1).count() - before);
    }
    assert_eq!(answers, [1, 0, 0]);
}
