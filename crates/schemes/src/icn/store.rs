//! The content store: cached Data with LRU eviction.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::pit::Key;

#[derive(Debug, Clone, Copy)]
struct Slot {
    payload: u16,
    size: u32,
    /// When it was last asked for, by the store's own count.
    used: u64,
}

/// Segments that a node can answer for itself.
#[derive(Debug, Default)]
pub struct Store {
    slots: FxHashMap<Key, Slot>,
    order: BTreeMap<u64, Key>,
    limit: u64,
    bytes: u64,
    count: u64,
}

impl Store {
    /// A store of at most so many bytes of Data; with zero it keeps nothing.
    pub fn new(limit: u64) -> Store {
        Store { limit, ..Store::default() }
    }

    /// Whether it keeps nothing, ever.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.limit == 0
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The payload of a segment, if it is there.
    #[inline]
    pub fn get(&mut self, key: Key) -> Option<u16> {
        if self.slots.is_empty() {
            return None;
        }
        let used = self.next();
        let slot = self.slots.get_mut(&key)?;
        self.order.remove(&slot.used);
        self.order.insert(used, key);
        slot.used = used;
        Some(slot.payload)
    }

    /// Called with each Data that was asked for.
    #[inline]
    pub fn put(&mut self, key: Key, payload: u16, size: u32) {
        if u64::from(size) > self.limit {
            return;
        }
        let used = self.next();
        if let Some(old) = self.slots.insert(key, Slot { payload, size, used }) {
            self.order.remove(&old.used);
            self.bytes -= u64::from(old.size);
        }
        self.order.insert(used, key);
        self.bytes += u64::from(size);
        while self.bytes > self.limit
            && let Some((_, oldest)) = self.order.pop_first()
            && let Some(slot) = self.slots.remove(&oldest)
        {
            self.bytes -= u64::from(slot.size);
        }
        debug_assert!(self.bytes <= self.limit, "{} B in a store of {}", self.bytes, self.limit);
        debug_assert_eq!(self.slots.len(), self.order.len(), "each segment has its turn");
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Store::new(self.limit);
    }

    /// Bytes of Data in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::{Name, NodeId};
    use proptest::prelude::*;

    fn key(segment: u32) -> Key {
        (Name { prefix: NodeId(1), object: 2 }, segment)
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let mut store = Store::new(3000);
        (0..3).for_each(|i| store.put(key(i), 900 + i as u16, 1000));
        assert_eq!(store.get(key(0)), Some(900));
        store.put(key(3), 7, 1000);
        assert_eq!([0, 1, 2, 3].map(|i| store.get(key(i))), [Some(900), None, Some(902), Some(7)]);
        store.put(key(9), 9, 3001);
        assert_eq!((store.get(key(9)), store.bytes()), (None, 3000), "larger than the store");
        store.clear();
        assert_eq!((store.get(key(0)), store.bytes()), (None, 0));
    }

    #[test]
    fn a_store_of_nothing_keeps_nothing() {
        let mut store = Store::new(0);
        store.put(key(1), 1, 40);
        assert_eq!((store.get(key(1)), store.bytes()), (None, 0));
    }

    proptest! {
        #[test]
        fn it_keeps_within_its_bytes_and_counts_them(steps in prop::collection::vec((0u32..20, 0u32..500, any::<bool>()), 0..300)) {
            let mut store = Store::new(2000);
            for (segment, size, ask) in steps {
                if ask { store.get(key(segment)); } else { store.put(key(segment), 1, size); }
                prop_assert!(store.bytes() <= 2000);
                prop_assert_eq!(store.slots.len(), store.order.len());
                prop_assert_eq!(store.slots.values().map(|s| u64::from(s.size)).sum::<u64>(), store.bytes());
            }
        }
    }
}
