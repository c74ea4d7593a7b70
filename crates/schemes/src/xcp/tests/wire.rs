use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use proptest::prelude::*;

use crate::transport::cc::Seen;
use crate::xcp::header::{XcpHeader, reflect};

const GOOD: XcpHeader = XcpHeader { rtt: 0.1, throughput: 1e6, delta: -5e3, echo: 7.0 };

#[test]
fn it_is_four_numbers() {
    let body = body_of(&GOOD);
    assert_eq!(body, [0.1f32, 1e6, -5e3, 7.0].map(f32::to_be_bytes).concat());
    assert_eq!(XcpHeader::get(&body[..15]), None, "cut short");
}

#[test]
fn what_is_no_number_is_no_header() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for h in [
            XcpHeader { rtt: bad, ..GOOD },
            XcpHeader { throughput: bad, ..GOOD },
            XcpHeader { delta: bad, ..GOOD },
            XcpHeader { echo: bad, ..GOOD },
        ] {
            assert_eq!(XcpHeader::get(&body_of(&h)), None, "{h:?}");
        }
    }
    assert_eq!(XcpHeader::get(&body_of(&XcpHeader { rtt: -0.1, ..GOOD })), None);
    assert_eq!(XcpHeader::get(&body_of(&XcpHeader { throughput: -1.0, ..GOOD })), None);
}

#[test]
fn the_receiver_returns_the_change_and_asks_for_none() {
    let packet = || Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
    let (mut seen, mut ack) = (packet(), packet());
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<XcpHeader>(), None);
    seen.set_header(&GOOD);
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<XcpHeader>(), Some(XcpHeader { rtt: 0.0, throughput: 0.0, delta: 0.0, echo: -5e3 }));
}

proptest! {
    #[test]
    fn valid_headers_round_trip(
        rtt in 0.0f32..=f32::MAX, throughput in 0.0f32..=f32::MAX, delta in f32::MIN..=f32::MAX, echo in f32::MIN..=f32::MAX,
    ) {
        let header = XcpHeader { rtt, throughput, delta, echo };
        prop_assert_eq!(XcpHeader::get(&body_of(&header)), Some(header));
    }
}
