//! NSCC and the entropies held to HTSIM's (`tests/vectors/uec/README.md`), and the parts alone.

use std::collections::BTreeSet;

use midpath_core::packet::{FlowId, Header, NodeId, Trim, body_of};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::arrived::Arrived;
use super::credits::{Credit, Rules};
use super::entropy::{Entropy, Feedback};
use super::header::{Message, PacketFlags, SIZE, UecHeader};
use super::nscc::{Answer, Constants, Nscc};
use super::outstanding::Outstanding;
use super::params::{EntropyKind, UecParams};
use crate::testing::cases;

const WINDOWS: &str = include_str!("../../../../tests/vectors/uec/windows.csv");
const ENTROPIES: &str = include_str!("../../../../tests/vectors/uec/entropies.csv");

#[test]
fn windows_per_ack_are_those_of_htsim() {
    let mut own: Option<(Nscc, Constants)> = None;
    let (mut events, mut changes, mut smaller) = (0, 0, 0);
    for (line, text) in WINDOWS.lines().enumerate().skip(1) {
        let fields: Vec<&str> = text.split(',').collect();
        let n = |i: usize| fields[i].parse::<i64>().expect(text);
        if fields[0] == "flow" {
            let params = UecParams {
                network_rtt: Some(Time(n(2).cast_unsigned())),
                trimming: n(3) == 1,
                ..UecParams::default()
            };
            let rate = Rate::from_mbps(1000 * n(1).cast_unsigned());
            let constants = params.constants(rate, n(4) as u32, n(5) as u32);
            let nscc = Nscc::new(&constants);
            assert_eq!(nscc.cwnd, n(6), "line {line}");
            own = Some((nscc, constants));
            continue;
        }
        let (nscc, constants) = own.as_mut().expect("a flow comes first");
        let (now, marked, rtt) = (n(1).cast_unsigned(), n(2) == 1, n(3).cast_unsigned());
        let answer = Answer { now, bytes: n(4), in_flight: n(5) };
        let before = nscc.cwnd;
        if fields[0] == "ack" {
            nscc.count(answer.bytes);
            let delay = nscc.delay((rtt > 0).then_some(rtt), false, marked, constants);
            nscc.on_ack(marked, delay, &answer, constants);
        } else {
            nscc.update_base_rtt(rtt, constants);
            nscc.on_nack(false, &answer, constants);
        }
        assert_eq!((nscc.cwnd, nscc.average_delay().0), (n(6), n(7).cast_unsigned()), "line {line}: {text}");
        events += 1;
        changes += i32::from(nscc.cwnd != before);
        smaller += i32::from(nscc.cwnd < before);
    }
    assert!(events == 1600 && changes > 300 && smaller > 100, "{events} {changes} {smaller}");
}

#[test]
fn entropies_are_those_of_htsim() {
    let mut own: Option<Entropy> = None;
    let mut compared = 0;
    for (line, text) in ENTROPIES.lines().enumerate().skip(1) {
        let fields: Vec<&str> = text.split(',').collect();
        let n = |i: usize| fields[i].parse::<u64>().expect(text);
        // What HTSIM drew, modulo as it takes it.
        let mut draws = (2..fields.len()).map(n);
        let mut draw = |below: u32| (draws.next().expect("as many draws") % u64::from(below)) as u32;
        let kind = match fields[0] {
            "next" => {
                let entropy = own.as_mut().expect("a kind comes first").next(&mut draw);
                assert_eq!(u64::from(entropy), n(1), "line {line}");
                assert_eq!(draws.next(), None, "line {line}: as many draws");
                compared += 1;
                continue;
            }
            "hear" => {
                let answer = [Feedback::Good, Feedback::Marked, Feedback::Trimmed, Feedback::TimedOut][n(2) as usize];
                own.as_mut().expect("a kind comes first").hear(n(1) as u16, answer, Time(n(3)));
                continue;
            }
            "oblivious" => EntropyKind::Oblivious,
            "bitmap" => EntropyKind::Bitmap,
            "mixed" => EntropyKind::Mixed,
            _ => EntropyKind::Reps,
        };
        own = Some(Entropy::new(kind, n(1) as u16, &mut draw));
    }
    assert!(compared > 800, "{compared}");
}

/// `ecmp` keeps its value; the others use all of them.
#[test]
fn a_flow_takes_one_path_or_all() {
    for (kind, paths) in [
        (EntropyKind::Ecmp, 1),
        (EntropyKind::Oblivious, 16),
        (EntropyKind::Bitmap, 16),
        (EntropyKind::Reps, 16),
        (EntropyKind::Mixed, 16),
    ] {
        let mut n = 0u32;
        let mut draw = |below: u32| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (n >> 8) % below
        };
        let mut entropy = Entropy::new(kind, 16, &mut draw);
        let used: BTreeSet<u16> = (0..400).map(|_| entropy.next(&mut draw)).collect();
        assert_eq!(used.len(), paths, "{kind:?}");
    }
}

fn headers() -> impl Strategy<Value = UecHeader> {
    (any::<u16>(), 0usize..6, 0u8..128, any::<[u32; 4]>(), any::<u64>(), any::<u16>()).prop_map(
        |(entropy, message, flags, [psn, cumulative, base, received], bitmap, out_of_order)| {
            let message =
                [Message::Data, Message::Rts, Message::Ack, Message::Nack, Message::Pull, Message::Closed][message];
            UecHeader {
                entropy,
                message,
                flags: PacketFlags(flags),
                psn,
                cumulative,
                base,
                bitmap,
                received,
                out_of_order,
            }
        },
    )
}

/// What happens to a packet.
#[derive(Debug, Clone)]
enum Event {
    Send,
    Again,
    Arrive(usize),
    Below(u32),
    Lose(usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Send),
        1 => Just(Event::Again),
        2 => (0usize..30).prop_map(Event::Arrive),
        1 => (0u32..30).prop_map(Event::Below),
        1 => (0usize..30).prop_map(Event::Lose),
    ];
    prop::collection::vec(event, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    #[test]
    fn a_header_is_read_as_it_was_written(header in headers(), payload in 0u16..9000) {
        prop_assert_eq!(UecHeader::get(&body_of(&header)), Some(header));
        let packet = header.packet(FlowId(3), NodeId(1), NodeId(2), payload);
        prop_assert_eq!(packet.size, SIZE + u32::from(payload));
        // The wire knows the entropy, and chooses the same path.
        let mut bytes = Vec::new();
        midpath_core::wire::encode(&packet, &mut bytes);
        let mut read = midpath_core::wire::decode(&bytes).expect("a packet");
        prop_assert_eq!((read.key, read.header::<UecHeader>()), (packet.key, Some(header)));
        // Without its payload it says what it said.
        (read.trim, read.payload) = (Trim::Cut, 0);
        read.measure();
        prop_assert_eq!((read.size, read.header::<UecHeader>()), (SIZE, Some(header)));
    }

    #[test]
    fn any_bytes_are_a_header_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Some(header) = UecHeader::get(&bytes) {
            prop_assert_eq!(body_of(&header), bytes);
        }
    }

    /// Against a set of numbers.
    #[test]
    fn what_has_arrived_is_a_set(psns in prop::collection::vec(0u32..300, 0..300), from in 0u32..320) {
        let (mut arrived, mut set) = (Arrived::default(), BTreeSet::new());
        for psn in psns {
            prop_assert_eq!(arrived.has(psn), set.contains(&psn));
            if set.insert(psn) {
                prop_assert!(arrived.add(psn));
            }
            let expected = (0..).find(|n| !set.contains(n)).expect("some number");
            prop_assert_eq!(arrived.expected(), expected);
            prop_assert_eq!(arrived.above() as usize, set.range(expected..).count());
            let bits = (0..64).filter(|i| from + i > expected && set.contains(&(from + i))).map(|i| 1u64 << i);
            prop_assert_eq!(arrived.bitmap(from), bits.sum::<u64>());
        }
        prop_assert!(!arrived.add(arrived.expected() + (1 << 20)), "no peer makes us hold more");
    }

    /// Each packet is on its way, waits to be sent again, or has arrived; what was taken out of flight comes back once.
    #[test]
    fn bytes_in_flight_are_those_of_packets_on_their_way(events in events()) {
        let mut outstanding = Outstanding::default();
        let (mut in_flight, mut acked, mut states, mut now) = (0i64, 0i64, Vec::<u8>::new(), Time::ZERO);
        for event in events {
            now += Time::from_us(1);
            match event {
                Event::Send => {
                    outstanding.send(0, 36, 100, 0, now);
                    states.push(0);
                    in_flight += 100;
                }
                Event::Again => if let Some(psn) = outstanding.queued() {
                    prop_assert_eq!(states[psn as usize], 1);
                    in_flight += i64::from(outstanding.send_again(psn, 0, now).expect("queued").bytes);
                    states[psn as usize] = 0;
                },
                Event::Arrive(psn) if psn < states.len() && states[psn] != 2 => {
                    in_flight += outstanding.acknowledge(psn as u32);
                    (in_flight, acked, states[psn]) = (in_flight - 100, acked + 100, 2);
                }
                Event::Below(psn) if psn as usize <= states.len() => {
                    let new = states[..psn as usize].iter().filter(|state| **state != 2).count() as i64;
                    in_flight += outstanding.acknowledge_below(psn) - 100 * new;
                    acked += 100 * new;
                    states[..psn as usize].fill(2);
                }
                Event::Lose(psn) if outstanding.on_its_way(psn as u32).is_some() => {
                    prop_assert_eq!(states[psn], 0);
                    outstanding.lose(psn as u32);
                    (in_flight, states[psn]) = (in_flight - 100, 1);
                }
                _ => {}
            }
            let count = |what: u8| states.iter().filter(|state| **state == what).count() as i64;
            prop_assert_eq!((in_flight, acked), (100 * count(0), 100 * count(2)));
            prop_assert_eq!(outstanding.queued_bytes(), 100 * count(1));
            let oldest = outstanding.oldest().map(|(sent, _)| sent);
            let on_way = (0..states.len() as u32).filter_map(|psn| outstanding.on_its_way(psn)).map(|r| r.sent).min();
            prop_assert_eq!(oldest, on_way);
        }
    }

    /// Whatever a receiver grants, a sender has no more than a window, and what it asks for is at most that.
    #[test]
    fn credit_is_at_most_a_window(steps in prop::collection::vec((0u32..3000, 0i64..9000, any::<bool>()), 0..60)) {
        let most = 225_000;
        let quantum = Rules::Rccc.quantum();
        let mut credit = Credit::new(Rules::Rccc, most);
        for (pull, spent, answered) in steps {
            credit.grant(pull);
            if credit.is_there() {
                credit.spend(spent);
            }
            if answered {
                credit.stop_speculating();
            }
            prop_assert!(credit.bytes() <= most && credit.bytes() > -9000);
            let target = credit.target(1 << 40, 0, None, 1, 4150);
            prop_assert!(i64::from(target) * quantum <= most + i64::from(pull.max(3000)) * quantum + 9000 + quantum);
        }
    }
}

#[test]
fn parameters_that_cannot_be_are_named() {
    let named = |params: UecParams| params.check().expect_err("refused").to_string();
    assert!(named(UecParams { paths: 48, ..UecParams::default() }).contains("paths: must be a power of two"));
    assert!(named(UecParams { network_rtt: Some(Time::ZERO), ..UecParams::default() }).contains("network_rtt"));
    assert_eq!(UecParams::default().timeout(), Time::from_us(15 + 6 * 12));
    let plain = UecParams { trimming: false, ..UecParams::default() };
    assert_eq!(plain.timeout(), Time::from_us(15 + 30 * 12));
}
