//! The header on the wire: it round-trips, and what no honest end writes is no header.

use midpath_core::packet::{EXT_LEN, Header};
use proptest::prelude::*;

use crate::fcp::header::{Class, FcpHeader, MAX_PRELOAD, MAX_PRICE, MAX_RTT};

fn header() -> impl Strategy<Value = FcpHeader> {
    let money = || prop_oneof![Just(0.0f32), 1e-18f32..1e12];
    let class = prop::sample::select(vec![Class::Normal, Class::Stability, Class::Deadline, Class::Priority]);
    (
        (prop_oneof![Just(0.0f32), 1e-5f32..60.0], money(), -1f32..1e13, money(), money()),
        (1e-6f32..1e6, any::<u32>(), any::<u16>(), class, any::<bool>()),
    )
        .prop_map(|((rtt, price, preload, balance, charged), (exchange, nonce, tenant, class, echo))| FcpHeader {
            rtt,
            price,
            preload,
            balance,
            charged,
            exchange,
            nonce,
            tenant,
            class,
            echo,
            refused: echo && nonce % 2 == 1,
            tree: nonce / 3,
        })
}

fn bytes(header: &FcpHeader) -> [u8; EXT_LEN] {
    let mut out = [0; EXT_LEN];
    header.encode(&mut out);
    out
}

proptest! {
    #[test]
    fn it_round_trips(header in header()) {
        prop_assert_eq!(FcpHeader::decode(&bytes(&header)), Some(header));
    }

    #[test]
    fn any_bytes_are_a_sane_header_or_none(noise in prop::collection::vec(any::<u8>(), EXT_LEN)) {
        let noise: [u8; EXT_LEN] = noise.try_into().expect("as long");
        if let Some(h) = FcpHeader::decode(&noise) {
            prop_assert!(h.rtt.is_finite() && h.rtt >= 0.0 && f64::from(h.rtt) <= MAX_RTT);
            prop_assert!(f64::from(h.price) <= MAX_PRICE && f64::from(h.balance) <= MAX_PRICE);
            prop_assert!(f64::from(h.preload.abs()) <= MAX_PRELOAD);
        }
    }
}

#[test]
fn what_is_no_number_is_no_header() {
    let good = FcpHeader { exchange: 1.0, ..FcpHeader::default() };
    assert!(FcpHeader::decode(&bytes(&good)).is_some());
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 1e30] {
        for at in [0, 1, 3, 4] {
            let mut raw = bytes(&good);
            raw[4 * at..4 * at + 4].copy_from_slice(&bad.to_be_bytes());
            assert_eq!(FcpHeader::decode(&raw), None, "{bad} in word {at}");
        }
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
        assert_eq!(FcpHeader::decode(&bytes(&FcpHeader { preload: bad, ..good })), None);
    }
    assert_eq!(FcpHeader::decode(&bytes(&FcpHeader { preload: -1.1, ..good })), None);
    assert_eq!(FcpHeader::decode(&bytes(&FcpHeader { rtt: 1e-9, ..good })), None);
    assert_eq!(FcpHeader::decode(&bytes(&FcpHeader { exchange: 0.0, ..good })), None);
}

#[test]
fn the_minimum_counts_as_zero() {
    let mut h = FcpHeader { exchange: 1.0, ..FcpHeader::default() };
    h.add_price(1e-18, 1e-18);
    h.add_price(1e-18, 1e-18);
    assert_eq!(h.price, 1e-18);
    h.add_price(0.25, 1e-18);
    h.add_price(1e-18, 1e-18);
    assert_eq!(h.price, 0.25);
    h.add_price(0.5, 1e-18);
    assert_eq!(h.price, 0.75);
}
