//! The dead nonce list: nonces of Interests whose PIT entries are gone. One that returns later has looped.
//!
//! It keeps 64-bit hashes of name and nonce, in two generations. Each generation is dropped when
//! the next is full or old, so memory is bounded whatever peers send. NFD keeps them for 6 s, too.

use std::hash::{BuildHasher, Hasher};

use midpath_core::units::Time;
use rustc_hash::FxHashSet;

use crate::names::Keyed;

/// How long a nonce is known at least, unless there are too many. NFD's default.
const KEPT: Time = Time::from_secs(6);

/// The list.
#[derive(Debug)]
pub struct DeadNonces {
    key: Keyed,
    young: FxHashSet<u64>,
    old: FxHashSet<u64>,
    /// When the young generation began.
    began: Time,
    limit: usize,
    /// Generations that were dropped before their time, for they were full.
    pub overflows: u64,
}

impl DeadNonces {
    /// At most `limit` nonces.
    pub fn new(key: Keyed, limit: usize) -> DeadNonces {
        let (young, old) = Default::default();
        DeadNonces { key, young, old, began: Time::ZERO, limit: limit.max(2), overflows: 0 }
    }

    fn hash(&self, name: &[u8], nonce: u32) -> u64 {
        let mut hasher = self.key.build_hasher();
        hasher.write(name);
        hasher.write_u32(nonce);
        hasher.finish()
    }

    fn age(&mut self, now: Time) {
        let full = self.young.len() >= self.limit / 2;
        let over = now.saturating_sub(self.began) >= KEPT;
        if !full && !over {
            return;
        }
        self.overflows += u64::from(!over);
        self.old = std::mem::take(&mut self.young);
        self.began = now;
    }

    /// Called when a PIT entry ends, with each nonce that was sent.
    pub fn add(&mut self, now: Time, name: &[u8], nonce: u32) {
        self.age(now);
        self.young.insert(self.hash(name, nonce));
    }

    /// Whether an Interest has been here.
    pub fn contains(&self, now: Time, name: &[u8], nonce: u32) -> bool {
        if self.is_empty() || now.saturating_sub(self.began) >= KEPT * 2 {
            return false;
        }
        let hash = self.hash(name, nonce);
        self.young.contains(&hash) || self.old.contains(&hash)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_are_known_for_a_while_and_bounded() {
        let mut nonces = DeadNonces::new(Keyed([1; 16]), 1000);
        nonces.add(Time::from_secs(100), b"a", 1);
        assert!(nonces.contains(Time::from_secs(105), b"a", 1));
        assert!(!nonces.contains(Time::from_secs(105), b"b", 1));
        assert!(!nonces.contains(Time::from_secs(105), b"a", 2));
        assert!(!nonces.contains(Time::from_secs(113), b"a", 1));
        for i in 0..10_000 {
            nonces.add(Time::from_secs(113), b"a", i);
            assert!(nonces.len() <= 1000);
        }
        assert!(nonces.contains(Time::from_secs(113), b"a", 9_500));
        assert_eq!(nonces.overflows, 19);
    }
}
