use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use proptest::prelude::*;

use crate::hpcc::header::{HOPS, IntHeader, Reading, make_room, reflect};
use crate::transport::cc::Seen;

const GOOD: Reading = Reading { rate: 1e9, queue: 3000, sent: 7, time: 9 };

fn with(returns: bool, readings: usize) -> IntHeader {
    let mut header = IntHeader::empty(returns);
    (0..readings).for_each(|_| header.push(GOOD));
    header
}

#[test]
fn it_is_a_byte_and_sixteen_for_each_of_five_ports() {
    let body = body_of(&with(true, 1));
    assert_eq!(body.len(), 1 + 16 * HOPS);
    assert_eq!(body[..17], [&[0x81][..], &1e9f32.to_be_bytes(), &[0, 0, 11, 184, 0, 0, 0, 7, 0, 0, 0, 9]].concat());
    assert_eq!(IntHeader::get(&body[..80]), None, "cut short");
}

#[test]
fn a_sixth_port_finds_no_room() {
    assert_eq!(with(false, 6), with(false, 5));
    assert_eq!(with(false, 6).readings().len(), HOPS);
}

#[test]
fn what_is_no_link_is_no_header() {
    for rate in [f32::NAN, f32::INFINITY, 0.0, -1.0] {
        let mut header = IntHeader::empty(false);
        header.push(Reading { rate, ..GOOD });
        assert_eq!(IntHeader::get(&body_of(&header)), None, "{rate}");
    }
    let mut body = body_of(&with(false, 0));
    body[0] = 6;
    assert_eq!(IntHeader::get(&body), None, "six readings");
}

#[test]
fn acks_return_what_data_brought_or_have_room() {
    let packet = || Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
    let (mut seen, mut ack) = (packet(), packet());
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<IntHeader>(), None);
    seen.set_header(&with(false, 3));
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<IntHeader>(), Some(with(true, 3)));
    make_room(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<IntHeader>(), Some(IntHeader::empty(true)));
}

proptest! {
    #[test]
    fn any_bytes_are_no_header_or_the_same_again(bytes in prop::collection::vec(any::<u8>(), 81), hops in 0u8..8) {
        let mut bytes = bytes;
        bytes[0] = bytes[0] & 0x80 | hops;
        if let Some(header) = IntHeader::get(&bytes) {
            prop_assert_eq!(IntHeader::get(&body_of(&header)), Some(header));
            prop_assert!(header.readings().iter().all(|r| r.rate >= 1.0));
        }
    }
}
