//! Peers that say anything: no panic, no endless sending, no memory without end; and a network that
//! does anything: every byte once.

use midpath_core::packet::{Flags, Header, Interfaces, Packet, PortId, SackBlock};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::harness::{FLOW, Fate, HOSTS, Lab, MSS, Setup, cases, per_link};
use crate::mptcp::announce::AddAddr;
use crate::mptcp::header::{Dss, Mapping};
use crate::mptcp::hello::Hello;
use crate::mptcp::keys::Keys;
use crate::mptcp::{Coupling, MptcpParams, Scheduler};
use crate::transport::TcpParams;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40 * MSS, 2 => (0u64..40).prop_map(|n| n * MSS), 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// What a packet carries: an honest shape with any numbers, or any bytes.
#[derive(Debug, Clone)]
enum Option30 {
    Dss(u64, Option<(u64, u32, u16)>, bool),
    /// As an honest peer would say it, or with a bit wrong.
    Hello(usize, bool),
    Address(u8, bool),
    Bytes(Vec<u8>),
    Nothing,
}

fn option() -> impl Strategy<Value = Option30> {
    let mapping =
        prop::option::of((number(), number().prop_map(|n| n as u32), prop_oneof![Just(MSS as u16), any::<u16>()]));
    prop_oneof![
        6 => (number(), mapping, any::<bool>()).prop_map(|(a, m, f)| Option30::Dss(a, m, f)),
        2 => (0usize..7, any::<bool>()).prop_map(|(which, right)| Option30::Hello(which, right)),
        1 => (0u8..20, any::<bool>()).prop_map(|(id, right)| Option30::Address(id, right)),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Option30::Bytes),
        1 => Just(Option30::Nothing),
    ]
}

impl Option30 {
    /// Puts it on a packet of a peer who knows the keys, here as that peer has them.
    fn put_on(self, p: &mut Packet, keys: &Keys) {
        match self {
            Option30::Dss(ack, m, fin) => {
                let mapping = m.map(|(data, subflow, len)| {
                    let data = keys.own.first.wrapping_add(data);
                    Mapping { data, subflow, len: len.max(1) }
                });
                p.set_header(&Dss { ack: keys.peer.first.wrapping_add(ack), mapping, fin: fin && mapping.is_some() })
            }
            Option30::Hello(which, right) => {
                let wrong = u64::from(!right);
                let (own, peer) = (keys.own.bits, keys.peer.bits ^ wrong);
                let token = keys.peer.token ^ wrong as u32;
                p.set_header(&match which {
                    0 => Hello::Capable,
                    1 => Hello::Listener(own),
                    2 => Hello::Keys { own, peer, data: None },
                    3 => Hello::Keys { own, peer, data: Some(MSS as u16) },
                    4 => Hello::Join { address: 1, token, nonce: 7 },
                    5 => Hello::Joined { address: 1, proof: keys.short_proof(7, 7), nonce: 7 },
                    _ => Hello::Proof(keys.proof(7, 7)),
                })
            }
            Option30::Address(id, right) => {
                let address = midpath_core::wire::address(p.src, id & 0xf);
                let mut proof = keys.vouch(id, address);
                proof[0] ^= u8::from(!right);
                p.set_header(&AddAddr { id, address, proof: (id % 3 > 0).then_some(proof) })
            }
            Option30::Bytes(bytes) => p.push_raw(Dss::TAG, &bytes),
            Option30::Nothing => true,
        };
    }
}

prop_compose! {
    fn packet()(
        seq in any::<u32>(), near in any::<bool>(), ack in any::<u32>(), window in any::<u16>(), option in option(),
        payload in prop_oneof![Just(0u16), Just(MSS as u16), any::<u16>()],
        flags in prop_oneof![6 => Just(Flags::ACK.0), 1 => Just(Flags::SYN.0), 2 => 0u16..512],
        ends in prop_oneof![3 => Just(0x11u8), 3 => Just(0x22), 1 => any::<u8>()],
        sack in prop::array::uniform3((0u32..60_000, 0u32..60_000)), sack_len in 0u8..=3, time in any::<u32>(),
    ) -> (Packet, Option30, bool) {
        let mut p = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52 + u32::from(payload));
        (p.seq, p.ack, p.window, p.payload, p.flags, p.interfaces) = (seq, ack, window, payload, Flags(flags), Interfaces(ends));
        (p.ts_val, p.ts_ecr, p.sack_len) = (time, time, sack_len);
        for (block, (from, to)) in p.sack_mut().iter_mut().zip(sack) {
            *block = SackBlock { from, to };
        }
        (p, option, near)
    }
}

/// Lets the peer of `to` send it a packet: one who knows the keys and, when it is `near`, the
/// subflow's numbers.
fn attack(lab: &mut Lab, to: usize, (mut p, option, near): (Packet, Option30, bool)) {
    let keys = lab.sender().subflows()[0].keys().copied().expect("the SYN-ACK has come");
    if near {
        let seen = |from| lab.log().iter().rev().find(|s| s.from == from && s.link == link_of(&p)).map(|s| s.packet);
        if let (Some(theirs), Some(own)) = (seen(1 - to), seen(to)) {
            (p.seq, p.ack) = (theirs.seq.wrapping_add(p.seq % 2), own.seq.wrapping_add(p.ack % 2));
        }
    }
    p.src = HOSTS[1 - to];
    option.put_on(&mut p, &if to == 1 { keys } else { Keys { own: keys.peer, peer: keys.own } });
    lab.arrive(to, link_of(&p), p);
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
            attack(&mut lab, 0, p);
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
    fn a_receiver_survives_any_peer(packets in prop::collection::vec((packet(), 0u64..300), 1..200), buffer in 1u64..200_000, open in any::<bool>()) {
        let tcp = TcpParams { receive_window: Bytes(buffer), ..TcpParams::default() };
        let mut lab = Lab::new(&Setup::default(), MptcpParams { tcp, ..per_link(2) }).treat(move |s| {
            // With the keys, or before they have come.
            if s.is_data() && !(open && s.hello().is_some()) { Fate::Lose } else { Fate::Pass }
        });
        lab.run_until(Time::from_ms(200));
        let count = packets.len();
        for (p, ms) in packets {
            attack(&mut lab, 1, p);
            lab.run_until(lab.now + Time::from_ms(ms));
            prop_assert!(lab.receiver().stream().held() <= buffer);
            prop_assert!(lab.receiver().places() <= crate::mptcp::MAX_SUBFLOWS);
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
