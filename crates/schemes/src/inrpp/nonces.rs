//! The nonces that a port has been slowed down by: algorithm 1, lines 16 and 25, with the limit of
//! §V-C.

use std::collections::BTreeMap;

use midpath_core::units::Time;

use super::header::Nonce;

/// The stored nonces. When there are too many, the least recently used goes; each goes when it has not come for the
/// expiry time.
#[derive(Debug, Clone)]
pub struct Store {
    limit: usize,
    expiry: Time,
    stored_at: BTreeMap<Nonce, Time>,
    /// By the time of their last arrival, oldest first.
    order: BTreeMap<(Time, Nonce), ()>,
    /// How many had to go for want of room.
    pub evicted: u64,
}

impl Store {
    /// Holds at most `limit` nonces, each for `expiry` after its last arrival.
    pub fn new(limit: usize, expiry: Time) -> Store {
        Store { limit: limit.max(1), expiry, stored_at: BTreeMap::new(), order: BTreeMap::new(), evicted: 0 }
    }

    /// Line 16: adds a nonce, or hears of it again. Returns the one that had to go.
    pub fn add(&mut self, nonce: Nonce, now: Time) -> Option<Nonce> {
        if let Some(before) = self.stored_at.insert(nonce, now) {
            self.order.remove(&(before, nonce));
        }
        self.order.insert((now, nonce), ());
        if self.stored_at.len() <= self.limit {
            return None;
        }
        self.evicted += 1;
        let oldest = self.order.first_key_value().map(|(k, ())| k.1)?;
        self.remove(oldest);
        Some(oldest)
    }

    /// Line 25: removes a nonce. Whether it was there.
    pub fn remove(&mut self, nonce: Nonce) -> bool {
        let Some(before) = self.stored_at.remove(&nonce) else { return false };
        self.order.remove(&(before, nonce));
        true
    }

    /// Whether a nonce is stored.
    #[inline]
    pub fn contains(&self, nonce: Nonce) -> bool {
        self.stored_at.contains_key(&nonce)
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stored_at.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.stored_at.len()
    }

    /// When the next one expires.
    pub fn expires(&self) -> Time {
        self.order.first_key_value().map_or(Time::MAX, |(k, ())| k.0.saturating_add(self.expiry))
    }

    /// Removes the next one that has expired.
    pub fn expire(&mut self, now: Time) -> Option<Nonce> {
        let (&(stored_at, nonce), ()) = self.order.first_key_value()?;
        if stored_at.saturating_add(self.expiry) > now {
            return None;
        }
        self.remove(nonce);
        Some(nonce)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.stored_at.clear();
        self.order.clear();
    }
}
