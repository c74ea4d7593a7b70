//! The header on the wire: it round-trips, and what no honest end writes is no header.

use midpath_core::packet::{Header, body_of};
use proptest::prelude::*;

use crate::fcp::header::{Class, Echo, FcpHeader, MAX_EXCHANGE, MAX_PRELOAD, MAX_PRICE, MAX_RTT, MIN_RTT};

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

proptest! {
    #[test]
    fn it_round_trips(header in header()) {
        prop_assert_eq!(FcpHeader::get(&body_of(&header)), Some(header));
    }

    #[test]
    fn any_bytes_are_a_sane_header_or_none(noise in prop::collection::vec(any::<u8>(), 30..38)) {
        if let Some(h) = FcpHeader::get(&noise) {
            prop_assert!(h.rtt.is_finite() && h.rtt >= 0.0 && f64::from(h.rtt) <= MAX_RTT);
            prop_assert!(f64::from(h.price) <= MAX_PRICE && f64::from(h.balance) <= MAX_PRICE);
            prop_assert!(f64::from(h.preload.abs()) <= MAX_PRELOAD);
        }
    }
}

#[test]
fn what_is_no_number_is_no_header() {
    let good = FcpHeader { exchange: 1.0, ..FcpHeader::default() };
    assert!(FcpHeader::get(&body_of(&good)).is_some());
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 1e30] {
        for at in [0, 1, 3, 4] {
            let mut raw = body_of(&good);
            raw[4 * at..4 * at + 4].copy_from_slice(&bad.to_be_bytes());
            assert_eq!(FcpHeader::get(&raw), None, "{bad} in word {at}");
        }
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
        assert_eq!(FcpHeader::get(&body_of(&FcpHeader { preload: bad, ..good })), None);
    }
    assert_eq!(FcpHeader::get(&body_of(&FcpHeader { preload: -1.1, ..good })), None);
    assert_eq!(FcpHeader::get(&body_of(&FcpHeader { rtt: 1e-9, ..good })), None);
    assert_eq!(FcpHeader::get(&body_of(&FcpHeader { exchange: 0.0, ..good })), None);
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

/// A real number in four bytes that is at, or just beside, one of the bounds.
fn at_bounds() -> impl Strategy<Value = f32> {
    let bounds = vec![0.0, 1.0, MIN_RTT, MAX_RTT, MAX_PRICE, MAX_PRELOAD, MAX_EXCHANGE, 1.0 / MAX_EXCHANGE];
    let near = (prop::sample::select(bounds), -2i32..3, any::<bool>()).prop_map(|(bound, beside, negative)| {
        let x = f32::from_bits((bound as f32).to_bits().wrapping_add_signed(beside));
        if negative { -x } else { x }
    });
    prop_oneof![6 => near, 2 => 0f32..2.0, 1 => any::<u32>().prop_map(f32::from_bits)]
}

proptest! {
    /// Headers are told by their bits; here by comparing numbers.
    #[test]
    fn what_is_sane_by_its_bits_is_so_as_numbers(
        words in prop::array::uniform6(at_bounds()),
        right in any::<u8>(),
    ) {
        // Of most headers one number may be wrong.
        let good = [0.1, 1e-6, 0.5, 2e-6, 1e-6, 1.0];
        let word = |i: usize| if right & 7 == 7 || usize::from(right & 7) == i { words[i] } else { good[i] };
        let (rtt, price, preload) = (word(0), word(1), word(2));
        let (balance, charged, exchange) = (word(3), word(4), word(5));
        let header = FcpHeader { rtt, price, preload, balance, charged, exchange, ..FcpHeader::default() };
        let within = |x: f32, least: f64, most: f64| (least..=most).contains(&f64::from(x));
        let sane = (rtt == 0.0 || within(rtt, MIN_RTT, MAX_RTT))
            && [price, balance, charged].iter().all(|x| within(*x, 0.0, MAX_PRICE))
            && within(preload, -1.0, MAX_PRELOAD)
            && ((1.0 / MAX_EXCHANGE) as f32..=MAX_EXCHANGE as f32).contains(&exchange);
        prop_assert_eq!(FcpHeader::get(&body_of(&header)).is_some(), sane);
    }

    /// What a receiver sends back, copied and put together.
    #[test]
    fn an_echo_is_the_header_with_a_flag(header in header(), noise in prop::collection::vec(any::<u8>(), 30..38)) {
        for body in [body_of(&header), noise] {
            let plainly = FcpHeader::get(&body).map(|seen| body_of(&FcpHeader { echo: true, ..seen }));
            prop_assert_eq!(Echo::get(&body).map(|echo| body_of(&echo)), plainly);
        }
    }
}
