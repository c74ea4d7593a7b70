//! Peers that say anything: no panic, no endless sending, no memory without end; and a network that does anything: every byte once.

use midpath_core::packet::{Flags, Header, Interfaces, Packet, PortId, SackBlock};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::harness::{FLOW, Fate, HOSTS, Lab, MSS, Setup, cases, per_link};
use crate::mptcp::header::{Dss, Hello, Mapping};
use crate::mptcp::{Coupling, MptcpParams, Scheduler};
use crate::tcp::TcpParams;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40 * MSS, 2 => (0u64..40).prop_map(|n| n * MSS), 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// What a packet carries: an honest shape with any numbers, or any bytes.
#[derive(Debug, Clone)]
enum Option30 {
    Dss(u64, Option<(u64, u32, u16)>, bool),
    Hello(bool),
    Bytes(Vec<u8>),
    Nothing,
}

fn option() -> impl Strategy<Value = Option30> {
    let mapping =
        prop::option::of((number(), number().prop_map(|n| n as u32), prop_oneof![Just(MSS as u16), any::<u16>()]));
    prop_oneof![
        6 => (number(), mapping, any::<bool>()).prop_map(|(a, m, f)| Option30::Dss(a, m, f)),
        1 => any::<bool>().prop_map(Option30::Hello),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Option30::Bytes),
        1 => Just(Option30::Nothing),
    ]
}

prop_compose! {
    fn packet()(
        seq in any::<u32>(), ack in any::<u32>(), window in any::<u16>(), option in option(),
        payload in prop_oneof![Just(0u16), Just(MSS as u16), any::<u16>()],
        flags in prop_oneof![6 => Just(Flags::ACK.0), 1 => Just(Flags::SYN.0), 2 => 0u16..512],
        ends in prop_oneof![3 => Just(0x11u8), 3 => Just(0x22), 1 => any::<u8>()],
        sack in prop::array::uniform3((0u32..60_000, 0u32..60_000)), sack_len in 0u8..=3, time in any::<u32>(),
    ) -> Packet {
        let mut p = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52 + u32::from(payload));
        (p.seq, p.ack, p.window, p.payload, p.flags, p.interfaces) = (seq, ack, window, payload, Flags(flags), Interfaces(ends));
        (p.ts_val, p.ts_ecr, p.sack_len) = (time, time, sack_len);
        for (block, (from, to)) in p.sack_mut().iter_mut().zip(sack) {
            *block = SackBlock { from, to };
        }
        match option {
            Option30::Dss(ack, m, fin) => {
                let mapping = m.map(|(data, subflow, len)| Mapping { data, subflow, len });
                p.set_header(&Dss { ack, mapping, fin })
            }
            Option30::Hello(join) => p.set_header(&if join { Hello::Join } else { Hello::Capable(2) }),
            Option30::Bytes(bytes) => p.push_raw(Dss::TAG, &bytes),
            Option30::Nothing => true,
        };
        p
    }
}

/// The link that a packet comes over.
fn link_of(p: &Packet) -> usize {
    usize::from(p.interfaces.destination() == Some(PortId(1)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn a_sender_survives_any_peer(packets in prop::collection::vec((packet(), 0u64..300), 1..120), sack in any::<bool>(), olia in any::<bool>()) {
        let tcp = TcpParams { sack, ..TcpParams::default() };
        let coupling = if olia { Coupling::Olia } else { Coupling::Lia };
        let queue = QueueSpec::fifo(Limit::Packets(30));
        let setup = Setup { size: None, rate: Rate::from_mbps(10), queue, ..Setup::default() };
        let mut lab = Lab::new(&setup, MptcpParams { tcp, coupling, ..per_link(2) });
        lab.run_until(Time::from_ms(200));
        let count = packets.len();
        for (p, ms) in packets {
            lab.inject(0, link_of(&p), p);
            lab.run_until(lab.now + Time::from_ms(ms));
            let sender = lab.sender();
            prop_assert!(sender.data().una() <= sender.data().next());
            prop_assert!(sender.subflows().len() <= crate::mptcp::MAX_SUBFLOWS);
            for s in sender.subflows() {
                prop_assert!(s.tcp.window().cwnd > 0);
                prop_assert!(s.tcp.pieces().count() as u64 <= s.tcp.flight() + 1, "what is kept is what is out");
            }
        }
        let received = count + lab.log().iter().filter(|s| s.from == 1).count();
        let sent = lab.log().iter().filter(|s| s.is_data()).count();
        prop_assert!(sent <= (20 + 3 * received) * (2 + received), "{sent} packets for {received}");
    }

    #[test]
    fn a_receiver_survives_any_peer(packets in prop::collection::vec((packet(), 0u64..300), 1..200), buffer in 1u64..200_000) {
        let tcp = TcpParams { receive_window: Bytes(buffer), ..TcpParams::default() };
        let mut lab = Lab::new(&Setup::default(), MptcpParams { tcp, ..per_link(2) }).treat(|s| {
            if s.is_data() { Fate::Lose } else { Fate::Pass }
        });
        lab.run_until(Time::from_ms(200));
        let count = packets.len();
        for (p, ms) in packets {
            lab.inject(1, link_of(&p), p);
            lab.run_until(lab.now + Time::from_ms(ms));
            prop_assert!(lab.receiver().stream().held() <= buffer);
        }
        lab.run_until(lab.now + Time::from_secs(3600));
        let answers = lab.log().iter().filter(|s| s.from == 1).count();
        let asked = count + lab.log().iter().filter(|s| s.from == 0).count();
        prop_assert!(answers <= 3 * asked + 8 * 16, "{answers} answers to {asked} packets");
    }

    #[test]
    fn every_byte_arrives_once_whatever_the_links_do(
        size in 0u64..300 * MSS, seed in any::<u64>(), loss in 0u64..25, links in 1usize..4, buffer in prop_oneof![Just(1u64 << 30), MSS..40 * MSS],
        sack in any::<bool>(), robin in any::<bool>(), opportunistic in any::<bool>(),
    ) {
        let tcp = TcpParams { sack, receive_window: Bytes(buffer), ..TcpParams::default() };
        let scheduler = if robin { Scheduler::RoundRobin } else { Scheduler::LowestRtt };
        let delays = [10, 50, 3].iter().take(links).map(|ms| Time::from_ms(*ms)).collect();
        let setup = Setup { size: Some(size), delays, rate: Rate::from_mbps(10), ..Setup::default() };
        let mut state = seed;
        let mut lab = Lab::new(&setup, MptcpParams { tcp, scheduler, opportunistic, ..MptcpParams::default() }).treat(move |_| {
            state = midpath_core::rng::mix(state.wrapping_add(1));
            match state % 100 {
                n if n < loss => Fate::Lose,
                n if n < loss + 4 => Fate::Late(Time::from_us(state >> 32 & 0x7fff)),
                n if n < loss + 8 => Fate::Twice(Time::from_us(state >> 32 & 0x7fff)),
                _ => Fate::Pass,
            }
        });
        lab.run();
        prop_assert_eq!(lab.receiver().stream().delivered(), size);
        prop_assert!(lab.report().completed.is_some());
        prop_assert!(lab.finished().iter().all(Option::is_some));
    }
}
