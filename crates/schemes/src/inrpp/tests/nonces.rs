use midpath_core::units::Time;

use crate::inrpp::header::Nonce;
use crate::inrpp::nonces::Store;

fn at(s: u64) -> Time {
    Time::from_secs(s)
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut store = Store::new(2, at(10));
    assert_eq!(store.add(Nonce(1), at(0)), None);
    assert_eq!(store.add(Nonce(2), at(1)), None);
    assert_eq!(store.add(Nonce(1), at(2)), None, "heard of again");
    assert_eq!(store.add(Nonce(3), at(3)), Some(Nonce(2)));
    assert!(store.contains(Nonce(1)) && store.contains(Nonce(3)) && !store.contains(Nonce(2)));
    assert_eq!((store.len(), store.evicted), (2, 1));
}

#[test]
fn a_flood_of_nonces_stays_within_the_limit() {
    let mut store = Store::new(64, at(10));
    for n in 1..10_000 {
        store.add(Nonce(n), Time::from_us(u64::from(n)));
    }
    assert_eq!((store.len(), store.evicted), (64, 9_999 - 64));
}

#[test]
fn what_is_not_heard_of_again_expires() {
    let mut store = Store::new(8, at(10));
    store.add(Nonce(1), at(0));
    store.add(Nonce(2), at(1));
    store.add(Nonce(1), at(5));
    assert_eq!(store.expires(), at(11));
    assert_eq!(store.expire(at(10)), None);
    assert_eq!((store.expire(at(11)), store.expire(at(11))), (Some(Nonce(2)), None));
    assert_eq!((store.expire(at(15)), store.expires()), (Some(Nonce(1)), Time::MAX));
    assert!(!store.remove(Nonce(1)) && store.is_empty());
}
