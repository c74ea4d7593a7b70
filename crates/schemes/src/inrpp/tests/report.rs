//! Description of a port: title, costs, gauges.

use midpath_core::queue::Limit;
use midpath_core::units::Time;

use super::harness::{DOWN, Router, small};
use crate::inrpp::Params;
use crate::inrpp::params::Notify;

/// Ten packets are in the cache, which is full, and one that came then is lost.
#[test]
fn every_gauge_of_a_port_says_what_it_is_named_for() {
    let mut r = Router::new(small());
    r.data(1, 14);
    let mut all = Vec::new();
    r.node.gauges(DOWN, &mut all);
    let expected = [
        ("state", 2.0),
        ("cache_bytes", 15_000.0),
        ("cache_high_bytes", 9_000.0),
        ("cache_low_bytes", 4_500.0),
        ("closed_loop", 0.0),
        ("room_bytes", 0.0),
        ("promised_bytes", 0.0),
        ("detour_rate", 0.0),
        ("detoured", 0.0),
        ("backpressures", 1.0),
        ("cache_refused", 1.0),
        ("nonces", 0.0),
        ("forged", 0.0),
        ("replayed", 0.0),
        ("unheard", 0.0),
    ];
    assert_eq!(all, expected);
}

/// The warnings of a port to which so many packets have come at once, of a flow without ACKs, and then
/// two each ms for so many ms: one more than leaves.
fn warnings(params: Params, packets: usize, longer: u64) -> Vec<String> {
    let mut r = Router::new(params);
    r.data(1, packets);
    for ms in 1..=longer {
        r.until(ms);
        r.data(1, 2);
    }
    let mut all = Vec::new();
    r.node.warnings(DOWN, &mut all);
    all
}

#[test]
fn a_port_warns_of_what_is_too_small() {
    let cache = |kb: u64, high: u64| Params {
        cache: Some(Limit::Bytes(1000 * kb)),
        high: Some(Limit::Bytes(1000 * high)),
        ..small()
    };
    let of_time = Params { high: Some(Limit::Time(Time::from_ms(20))), ..cache(28, 9) };
    let small_cache = "the cache is smaller than RTT × C: no S_high";
    let little_free = "less than RTT × C is free above S_high";
    let (cut, full, unheard) = (
        "`high` is above `cache`",
        "packets were dropped because the cache was full",
        "flows were slowed down \
            of which",
    );
    // RTT × C is 30 kB.
    for (params, packets, longer, expected) in [
        (cache(15, 9), 4, 0, vec![small_cache]),
        (cache(15, 9), 14, 0, vec![small_cache, full]),
        (cache(29, 9), 4, 0, vec![small_cache]),
        (cache(30, 0), 4, 0, vec![]),
        (cache(90, 70), 4, 0, vec![]),
        (cache(90, 70), 54, 0, vec![little_free]),
        (cache(90, 60), 54, 0, vec![]),
        (cache(90, 70), 70, 0, vec![little_free, full]),
        (of_time, 4, 0, vec![cut, small_cache]),
        (Params { cache: None, high: None, ..small() }, 14, 0, vec![]),
        (Params { backpressure: false, ..cache(15, 9) }, 4, 0, vec![]),
        (cache(15, 9), 14, 990, vec![small_cache, full]),
        (cache(15, 9), 14, 1100, vec![small_cache, full, unheard]),
        // What the last one advises.
        (Params { notify: Notify::Data, enforcement: false, ..cache(15, 9) }, 14, 1100, vec![small_cache, full]),
    ] {
        let given = warnings(params.clone(), packets, longer);
        assert_eq!(given.len(), expected.len(), "{packets} packets, {params:?}: {given:?}");
        assert!(given.iter().zip(&expected).all(|(said, begins)| said.starts_with(begins)), "{params:?}: {given:?}");
    }
}
