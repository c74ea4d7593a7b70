use std::hash::Hasher;

use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::units::Time;
use siphasher::sip::SipHasher24;

use crate::inrpp::auth::{Keys, LinkMac, mac_input, of_note};
use crate::inrpp::header::{Control, InrppHeader, Nonce, Slow};

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
const C: NodeId = NodeId(3);

fn ack() -> Packet {
    let mut p = Packet::new(FlowId(7), NodeId(9), NodeId(8), 68);
    p.ack = 1000;
    p
}

fn slow(nonce: u32) -> InrppHeader {
    InrppHeader { slow: Some(Slow { nonce: Nonce(nonce), release: 1 }), ..InrppHeader::default() }
}

/// What A has signed for B.
fn signed(keys: &Keys, line: &mut LinkMac, now: Time) -> InrppHeader {
    let mut option = slow(5);
    line.sign(keys, now, A, B, &ack(), &mut option);
    option
}

#[test]
fn what_the_neighbour_says_is_accepted_once() {
    let keys = Keys::new(true, "secret");
    let (mut at_a, mut at_b) = (LinkMac::default(), LinkMac::default());
    let first = signed(&keys, &mut at_a, Time::ZERO);
    let second = signed(&keys, &mut at_a, Time::ZERO);
    assert!(at_b.verify(&keys, A, B, &ack(), &first));
    assert!(at_b.verify(&keys, A, B, &ack(), &second));
    assert!(!at_b.verify(&keys, A, B, &ack(), &second), "a replay");
    assert!(!at_b.verify(&keys, A, B, &ack(), &first), "an older one");
    assert_eq!((at_b.forged, at_b.replayed), (0, 2));
}

/// Hashed at once or word by word, the MAC is the same on the wire.
#[test]
fn a_mac_is_that_of_its_words() {
    let option = InrppHeader { number: 77, cancel: Some(Nonce(3)), releases: 2, ..slow(5) };
    let mut begun = SipHasher24::new_with_keys(1, 2);
    begun.write_u32(A.0);
    begun.write_u32(B.0);
    let mac = of_note(&begun, &ack(), &option);
    mac_input(&ack(), &option).into_iter().for_each(|word| begun.write_u64(word));
    assert_eq!(mac, begun.finish());
}

#[test]
fn forgeries_are_refused_and_counted() {
    let keys = Keys::new(true, "secret");
    let good = signed(&keys, &mut LinkMac::default(), Time::from_ms(1));
    let mut line = LinkMac::default();
    let (mut other_ack, mut other_flow) = (ack(), ack());
    other_ack.ack = 2000;
    other_flow.flow = FlowId(8);
    let tries = [
        (A, B, ack(), InrppHeader { slow: slow(6).slow, ..good }),
        (A, B, ack(), InrppHeader { slow: Some(Slow { nonce: Nonce(5), release: 0 }), ..good }),
        (A, B, ack(), InrppHeader { cancel: Some(Nonce(1)), ..good }),
        (A, B, ack(), InrppHeader { number: good.number + 1, ..good }),
        (A, B, ack(), InrppHeader { mac: 0, ..good }),
        (A, B, other_ack, good),
        (A, B, other_flow, good),
        (A, C, ack(), good),
        (C, B, ack(), good),
        (B, A, ack(), good),
    ];
    for (i, (from, to, packet, option)) in tries.iter().enumerate() {
        assert!(!line.verify(&keys, *from, *to, packet, option), "try {i}");
    }
    assert_eq!(line.forged, tries.len() as u64);
    assert!(!line.verify(&Keys::new(true, "another"), A, B, &ack(), &good));
    assert!(line.verify(&keys, A, B, &ack(), &good));
}

#[test]
fn a_restarted_neighbour_is_still_heard() {
    let keys = Keys::new(true, "secret");
    let (mut at_a, mut at_b) = (LinkMac::default(), LinkMac::default());
    assert!((0..100).all(|_| at_b.verify(&keys, A, B, &ack(), &signed(&keys, &mut at_a, Time::from_ms(5)))));
    at_a.reset();
    assert!(at_b.verify(&keys, A, B, &ack(), &signed(&keys, &mut at_a, Time::from_ms(6))));
}

/// A process that is started again has a clock which begins at zero. What an earlier one has used is
/// below a bound that it has left.
#[test]
fn a_neighbour_whose_clock_begins_again_goes_on_above_its_numbers() {
    let keys = Keys::new(true, "secret");
    let hour = Time::from_secs(3600);
    let (mut at_a, mut at_b) = (LinkMac::default(), LinkMac::default());
    assert!(at_b.verify(&keys, A, B, &ack(), &signed(&keys, &mut at_a, hour)));
    let early = Time::from_ms(1);
    assert!(!at_b.verify(&keys, A, B, &ack(), &signed(&keys, &mut LinkMac::default(), early)), "as before");
    let later = keys.resume_after(hour.as_ns() + 1);
    assert!(at_b.verify(&keys, A, B, &ack(), &signed(&later, &mut LinkMac::default(), early)));
    // A bound that nobody could have left does no harm but to wrap nowhere.
    assert_eq!(signed(&keys.resume_after(u64::MAX), &mut LinkMac::default(), hour).number, u64::MAX);
}

#[test]
fn control_packets_are_signed_too() {
    let keys = Keys::new(true, "secret");
    let (mut at_a, mut at_b) = (LinkMac::default(), LinkMac::default());
    let probe = |port| Control::Probe { origin: A, port, target: C, more: 0 };
    let good = at_a.sign_control(&keys, Time::ZERO, A, B, probe(1));
    let mut bad = good;
    bad.control = probe(2);
    assert!(!at_b.verify_control(&keys, A, B, &bad));
    assert!(at_b.verify_control(&keys, A, B, &good));
    assert!(!at_b.verify_control(&keys, A, B, &good));
    assert_eq!((at_b.forged, at_b.replayed), (1, 1));
}

#[test]
fn without_authentication_anything_goes() {
    let keys = Keys::new(false, "");
    let mut line = LinkMac::default();
    assert!(line.verify(&keys, A, B, &ack(), &slow(1)) && line.verify(&keys, A, B, &ack(), &slow(1)));
    let mut option = slow(1);
    line.sign(&keys, Time::ZERO, A, B, &ack(), &mut option);
    assert_eq!((option.mac, option.number), (0, 0));
}

#[test]
fn aliases_differ_by_port_and_epoch_and_are_never_zero() {
    let keys = Keys::new(true, "secret");
    let all: std::collections::BTreeSet<u32> =
        (0..50).flat_map(|n| (0..4).flat_map(move |p| (0..5).map(move |e| keys.alias(NodeId(n), p, e)))).collect();
    assert!(all.len() == 1000 && !all.contains(&0));
}
