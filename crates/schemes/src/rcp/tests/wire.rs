use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use proptest::prelude::*;

use crate::rcp::header::{MAX_RTT, RcpHeader, reflect};
use crate::transport::cc::Seen;

fn packet() -> Packet {
    Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500)
}

#[test]
fn it_is_three_numbers() {
    let body = body_of(&RcpHeader { rate: 1e9, echo: 2e6, rtt: 0.1 });
    assert_eq!(body, [1e9f32, 2e6, 0.1].map(f32::to_be_bytes).concat());
    assert_eq!(RcpHeader::get(&body[..11]), None, "cut short");
}

#[test]
fn what_is_no_rate_is_no_header() {
    let good = RcpHeader { rate: 1e6, echo: 0.0, rtt: 0.1 };
    assert_eq!(RcpHeader::get(&body_of(&good)), Some(good));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, -f32::MIN_POSITIVE] {
        for header in [RcpHeader { rate: bad, ..good }, RcpHeader { echo: bad, ..good }, RcpHeader { rtt: bad, ..good }]
        {
            assert_eq!(RcpHeader::get(&body_of(&header)), None, "{header:?}");
        }
    }
    assert_eq!(RcpHeader::get(&body_of(&RcpHeader { rtt: 2.0 * MAX_RTT, ..good })), None);
}

#[test]
fn the_receiver_returns_the_rate_and_asks_for_none() {
    let (mut seen, mut ack) = (packet(), packet());
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<RcpHeader>(), None, "nothing came, nothing goes back");
    seen.set_header(&RcpHeader { rate: 3e6, echo: 7e6, rtt: 0.1 });
    reflect(Seen::of(&seen), &mut ack);
    assert_eq!(ack.header::<RcpHeader>(), Some(RcpHeader { rate: 0.0, echo: 3e6, rtt: 0.0 }));
}

proptest! {
    #[test]
    fn valid_headers_round_trip(rate in 0.0f32..=f32::MAX, echo in 0.0f32..=f32::MAX, rtt in 0.0f32..=MAX_RTT) {
        let header = RcpHeader { rate, echo, rtt };
        prop_assert_eq!(RcpHeader::get(&body_of(&header)), Some(header));
    }

    #[test]
    fn any_bytes_decode_to_finite_numbers_or_to_none(bytes in prop::collection::vec(any::<u8>(), 10..14)) {
        if let Some(h) = RcpHeader::get(&bytes) {
            prop_assert!(h.rate.is_finite() && h.echo.is_finite() && (0.0..=MAX_RTT).contains(&h.rtt));
        }
    }
}
