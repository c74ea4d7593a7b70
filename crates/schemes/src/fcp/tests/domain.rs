//! What a border makes of what packets hold.

use midpath_core::packet::{Header, body_of};
use midpath_core::units::Time;
use proptest::prelude::*;

use super::script::{RTT, basis, close};
use crate::fcp::header::FcpHeader;
use crate::fcp::network::Border;

/// Packets of 1000 bytes every millisecond from `from` to `to` ms at `balance` per byte:
/// balance·10^6 per second. The last header.
fn stream(border: &mut Border, from: u64, to: u64, balance: f64, exchange: f64) -> FcpHeader {
    let mut last = FcpHeader::default();
    for ms in from..to {
        last = FcpHeader {
            rtt: RTT.as_secs_f64() as f32,
            balance: balance as f32,
            exchange: exchange as f32,
            ..FcpHeader::default()
        };
        border.enter(&mut last, 1000, Time::from_ms(ms));
    }
    last
}

#[test]
fn all_that_comes_in_is_worth_the_weight() {
    for balance in [1e-9, 1e-6, 1.0] {
        let header = stream(&mut Border::new(3.0, basis()), 1, 1000, balance, 1.0);
        // balance·10^6 of theirs are 3 of ours: EX = 3/(balance·10^6).
        assert!(close(header.exchange.into(), 3.0 / (balance * 1e6), 0.01), "{balance}: {}", header.exchange);
        assert!(close(header.local_balance() * 1e6, 3.0, 0.01));
    }
}

#[test]
fn translations_add_up_over_borders() {
    // What a first border has made 0.25 of counts as 0.25 at the second one.
    let header = stream(&mut Border::new(5.0, basis()), 1, 1000, 1e-6, 0.25);
    assert!(close(header.local_balance() * 1e6, 5.0, 0.01), "{}", header.local_balance());
}

#[test]
fn a_rise_is_announced_and_a_fall_is_paid() {
    let mut border = Border::new(1.0, basis());
    stream(&mut border, 1, 1000, 1e-6, 1.0);
    // The neighbour spends half: its money is worth twice as much when the window has seen it all,
    // 200 ms later. Compared to a round trip before, when a half of the window had the old rate:
    // 1/0.75.
    let header = stream(&mut border, 1000, 1200, 0.5e-6, 1.0);
    assert!(close(header.exchange.into(), 2.0, 0.02), "{}", header.exchange);
    assert!(close(1.0 + f64::from(header.preload), 2.0 * 0.75, 0.02), "{}", header.preload);
    // At rest nothing is announced.
    assert_eq!(stream(&mut border, 1200, 1600, 0.5e-6, 1.0).preload, 0.0);
    // It spends four times as much: worth a quarter, and no announcement.
    let header = stream(&mut border, 1600, 1800, 2e-6, 1.0);
    assert!(close(header.exchange.into(), 0.5, 0.02) && header.preload == 0.0, "{header:?}");
}

proptest! {
    #[test]
    fn any_header_comes_out_sane(steps in prop::collection::vec((1e-3f32..60.0, -1f32..1e18, 0f32..1e15, -12i32..=12, 0u64..1000), 1..40)) {
        let (mut border, mut now) = (Border::new(1.0, basis()), 1);
        for (rtt, preload, balance, decade, later) in steps {
            now += later;
            let mut header = FcpHeader { rtt, preload, balance, exchange: 10f32.powi(decade), ..FcpHeader::default() };
            border.enter(&mut header, 1500, Time::from_ms(now));
            // The next port must be able to read it.
            prop_assert_eq!(FcpHeader::get(&body_of(&header)), Some(header));
        }
    }
}
