use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use proptest::prelude::*;

use crate::inrpp::header::{Control, Direction, Feedback, InrppHeader, Nonce, Nonces, Signed, Slow, is_ack, notifies};

fn nonce() -> impl Strategy<Value = Option<Nonce>> {
    prop_oneof![Just(None), (1u32..).prop_map(|n| Some(Nonce(n)))]
}

fn option() -> impl Strategy<Value = InrppHeader> {
    let four = (nonce(), nonce(), nonce(), nonce());
    let begin = prop::option::of(any::<u32>());
    let border = (any::<u8>(), any::<bool>(), any::<bool>(), prop::option::of(0u32..u32::MAX), begin);
    (any::<bool>(), any::<u16>(), four, prop::collection::vec(1u32.., 0..4), border, any::<u64>(), any::<u64>())
        .prop_map(
            |(
                ack,
                release,
                (slow, cancel, far_slow, far_cancel),
                list,
                (releases, carried, stored, via, begin),
                number,
                mac,
            )| {
                let mut nonces = Nonces::default();
                list.iter().for_each(|n| nonces.add(Nonce(*n)));
                InrppHeader {
                    direction: if ack { Direction::Ack } else { Direction::Data },
                    nonces,
                    slow: slow.map(|nonce| Slow { nonce, release }),
                    cancel,
                    far_slow,
                    far_cancel,
                    releases,
                    begin,
                    via: via.map(NodeId),
                    carried,
                    stored,
                    idle: release % 2 == 1,
                    number,
                    mac,
                }
            },
        )
}

proptest! {
    #[test]
    fn options_round_trip(option in option()) {
        let mut p = Packet::new(FlowId(1), NodeId(0), NodeId(1), 100);
        p.set_header(&option);
        prop_assert_eq!(p.header::<InrppHeader>(), Some(option));
        prop_assert_eq!(is_ack(&p), option.direction == Direction::Ack);
        prop_assert_eq!(notifies(&p), option.notifies());
    }

    #[test]
    fn feedback_round_trips(port: u16, origin: u32, target: u32, push: bool, up in 0.0..1e12f64, down in 0.0..1.0f64, number: u64, mac: u64) {
        let feedback = Feedback { push, up, down };
        let control = Control::Feedback { origin: NodeId(origin), port, target: NodeId(target), feedback };
        let signed = Signed { control, number, mac };
        prop_assert_eq!(Signed::get(&body_of(&signed)), Some(signed));
    }

    /// From a hostile neighbour comes nothing that a rate could be poisoned with.
    #[test]
    fn hostile_bytes_are_refused_or_sane(bytes in prop::collection::vec(any::<u8>(), 44), cut in 0usize..44, float in any::<f64>()) {
        let mut bytes = bytes;
        if let Some(header) = InrppHeader::get(&bytes[..cut]) {
            prop_assert_eq!(InrppHeader::get(&body_of(&header)), Some(header));
        }
        (bytes[0], bytes[1]) = (2, 1);
        bytes[28..36].copy_from_slice(&float.to_be_bytes());
        prop_assert_eq!(Signed::get(&bytes[..cut]), None, "cut short");
        if let Some(Signed { control: Control::Feedback { feedback, .. }, .. }) = Signed::get(&bytes) {
            prop_assert!(feedback.up.is_finite() && feedback.up >= 0.0 && (0.0..=1.0).contains(&feedback.down));
        }
    }
}

#[test]
fn the_newest_nonces_are_kept() {
    let mut nonces = Nonces::default();
    (1..=5).for_each(|n| nonces.add(Nonce(n)));
    nonces.add(Nonce(4));
    assert_eq!(nonces.iter().map(|n| n.0).collect::<Vec<_>>(), [4, 5, 3]);
    nonces.remove(Nonce(5));
    assert_eq!(nonces.iter().map(|n| n.0).collect::<Vec<_>>(), [4, 3]);
    assert!(!nonces.is_empty() && Nonces::default().is_empty());
}

#[test]
fn numbers_that_are_none_are_refused() {
    for (up, down) in
        [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (-1.0, 0.0), (1e13, 0.0), (1.0, 1.5), (1.0, -0.1), (1.0, f64::NAN)]
    {
        let feedback = Feedback { push: true, up, down };
        let control = Control::Feedback { origin: NodeId(1), port: 0, target: NodeId(2), feedback };
        assert_eq!(Signed::get(&body_of(&Signed { control, number: 1, mac: 1 })), None, "{up} {down}");
    }
}
