//! A hash table for entries that are inserted and removed with every packet.
//!
//! Linear probing without tombstones (Knuth, *The Art of Computer Programming*, volume 3, 6.4,
//! algorithms L and R). At most half of it is full, so most look-ups probe one slot. std's table, which may be
//! fuller, takes twice the instructions to insert and remove an entry.

use std::hash::{BuildHasher, Hash};

use rustc_hash::FxBuildHasher;

/// Places of a table with an entry, at least.
const LEAST: usize = 16;

/// The table.
#[derive(Debug)]
pub struct Table<K, V> {
    /// 2ⁿ, or none before the first entry.
    places: Vec<Option<(K, V)>>,
    len: usize,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table { places: Vec::new(), len: 0 }
    }
}

impl<K: Hash + Eq, V> Table<K, V> {
    /// Where a key is if no other has its place.
    #[inline]
    fn home(&self, key: &K) -> usize {
        FxBuildHasher.hash_one(key) as usize & self.mask()
    }

    #[inline]
    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    /// The place of a key, or else the one where it would be put.
    #[inline]
    fn find(&self, key: &K) -> Result<usize, usize> {
        let mut at = self.home(key);
        loop {
            match self.places.get(at) {
                Some(Some(entry)) if entry.0 == *key => return Ok(at),
                Some(Some(_)) => at = (at + 1) & self.mask(),
                Some(None) | None => return Err(at),
            }
        }
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        let at = self.find(key).ok()?;
        self.places[at].as_ref().map(|entry| &entry.1)
    }

    /// Puts what `new` makes of the value that there is, and returns it.
    #[inline]
    pub fn put(&mut self, key: K, new: impl FnOnce(Option<&V>) -> V) -> V
    where
        V: Copy,
    {
        if 2 * self.len >= self.places.len() {
            self.grow();
        }
        let found = self.find(&key);
        let (Ok(at) | Err(at)) = found;
        let place = &mut self.places[at];
        let value = new(place.as_ref().map(|entry| &entry.1));
        *place = Some((key, value));
        self.len += usize::from(found.is_err());
        value
    }

    /// Puts a new key in; false if it is there already.
    #[inline]
    pub fn put_new(&mut self, key: K, new: impl FnOnce() -> V) -> bool {
        if 2 * self.len >= self.places.len() {
            self.grow();
        }
        let Err(at) = self.find(&key) else { return false };
        self.places[at] = Some((key, new()));
        self.len += 1;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let wanted = (2 * self.places.len()).max(LEAST);
        let old = std::mem::take(&mut self.places);
        self.places.resize_with(wanted, || None);
        for entry in old.into_iter().flatten() {
            let (Ok(at) | Err(at)) = self.find(&entry.0);
            self.places[at] = Some(entry);
        }
    }

    /// Takes an entry out.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.remove_if(key, |_| true)
    }

    /// The same if its value is as wanted.
    #[inline]
    pub fn remove_if(&mut self, key: &K, wanted: impl FnOnce(&V) -> bool) -> Option<V> {
        let at = self.find(key).ok().filter(|at| self.places[*at].as_ref().is_some_and(|entry| wanted(&entry.1)))?;
        let entry = self.places[at].take();
        self.len -= 1;
        self.close(at);
        entry.map(|entry| entry.1)
    }

    /// Moves up what could not be found behind an empty place.
    #[inline]
    fn close(&mut self, gap: usize) {
        let (mask, mut gap) = (self.mask(), gap);
        let mut at = (gap + 1) & mask;
        while let Some(entry) = &self.places[at] {
            let (from_home, from_gap) = (at.wrapping_sub(self.home(&entry.0)) & mask, at.wrapping_sub(gap) & mask);
            if from_home >= from_gap {
                self.places.swap(gap, at);
                gap = at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Takes out what `over` says so of.
    pub fn extract(&mut self, mut over: impl FnMut(&V) -> bool) -> Vec<V> {
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        for entry in self.places.iter_mut().filter_map(Option::take) {
            if over(&entry.1) { taken.push(entry.1) } else { kept.push(entry) }
        }
        for entry in kept {
            let (Ok(at) | Err(at)) = self.find(&entry.0);
            self.places[at] = Some(entry);
        }
        self.len -= taken.len();
        taken
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        *self = Table::default();
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustc_hash::FxHashMap;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Near(u32);

    /// Keys that have few homes, the last of which are at the table's end.
    impl Hash for Near {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            (self.0 % 3).hash(state);
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(u32),
        PutNew(u32),
        RemoveIf(u32),
        Remove(u32),
        Extract(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0u32..60).prop_map(Step::Put),
            4 => (0u32..60).prop_map(Step::PutNew),
            2 => (0u32..60).prop_map(Step::RemoveIf),
            6 => (0u32..60).prop_map(Step::Remove),
            1 => (0u32..4).prop_map(Step::Extract),
        ];
        prop::collection::vec(step, 0..400)
    }

    /// A table does what std's does, key by key.
    fn as_std<K: Hash + Eq + Copy + std::fmt::Debug>(steps: &[Step], key: fn(u32) -> K) {
        let (mut table, mut plain) = (Table::default(), FxHashMap::default());
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Put(n) => {
                    table.put(key(*n), |old| old.map_or(0, |old| old / 2) + i);
                    let old = plain.get(&key(*n)).copied();
                    plain.insert(key(*n), old.map_or(0, |old| old / 2) + i);
                }
                Step::PutNew(n) => {
                    let new = table.put_new(key(*n), || i);
                    assert_eq!(new, !plain.contains_key(&key(*n)));
                    plain.entry(key(*n)).or_insert(i);
                }
                Step::RemoveIf(n) => {
                    let wanted = |value: &usize| value.is_multiple_of(2);
                    let there = plain.get(&key(*n)).copied().filter(wanted);
                    assert_eq!(table.remove_if(&key(*n), wanted), there);
                    if there.is_some() {
                        plain.remove(&key(*n));
                    }
                }
                Step::Remove(n) => assert_eq!(table.remove(&key(*n)), plain.remove(&key(*n))),
                Step::Extract(n) => {
                    let over = |value: &usize| value % 4 == *n as usize;
                    let (mut taken, mut wanted) = (table.extract(over), Vec::new());
                    plain.retain(|_, value| {
                        !over(value) || {
                            wanted.push(*value);
                            false
                        }
                    });
                    taken.sort_unstable();
                    wanted.sort_unstable();
                    assert_eq!(taken, wanted);
                }
            }
            assert_eq!((table.len(), table.is_empty()), (plain.len(), plain.is_empty()));
            assert!((0..60).all(|n| table.get(&key(n)) == plain.get(&key(n))), "{i} {step:?}");
        }
    }

    proptest! {
        #[test]
        fn it_has_what_was_put_and_not_taken(steps in steps()) {
            as_std(&steps, |n| n);
            as_std(&steps, Near);
        }
    }
}
