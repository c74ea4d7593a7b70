//! The content store: cached Data, bounded in bytes, with LRU eviction.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::units::Time;
use midpath_ndn::{DataView, InterestView};
use rustc_hash::FxHashMap;

use crate::name;
use crate::names::{NameId, Names};

/// What an entry costs besides its bytes. Ours: its place in three tables.
const OVERHEAD: usize = 192;
/// Entries that an Interest for a prefix looks at before it counts as not found. Ours: names below a
/// prefix may be many and stale.
const LOOKED_AT: usize = 16;

#[derive(Debug)]
struct Entry {
    name: NameId,
    wire: Arc<[u8]>,
    stale_at: Time,
    before: Option<u32>,
    after: Option<u32>,
}

/// The store.
#[derive(Debug)]
pub struct Store {
    limit: usize,
    bytes: usize,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_name: FxHashMap<NameId, u32>,
    /// In canonical order, for Interests in a prefix.
    ordered: BTreeMap<Arc<[u8]>, u32>,
    oldest: Option<u32>,
    newest: Option<u32>,
    /// Interests that were answered, and that were not.
    pub hits: u64,
    /// Those that were not.
    pub misses: u64,
    /// Data that made room for others.
    pub evicted: u64,
}

impl Store {
    /// At most so many bytes; none for no store.
    pub fn new(limit: usize) -> Store {
        Store {
            limit,
            bytes: 0,
            entries: Vec::new(),
            free: Vec::new(),
            by_name: FxHashMap::default(),
            ordered: BTreeMap::new(),
            oldest: None,
            newest: None,
            hits: 0,
            misses: 0,
            evicted: 0,
        }
    }

    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Their bytes, with what each costs besides.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn entry(&mut self, place: u32) -> Option<&mut Entry> {
        self.entries.get_mut(place as usize).and_then(Option::as_mut)
    }

    /// Takes an entry out of the order of use.
    fn unlink(&mut self, place: u32) {
        let Some(Entry { before, after, .. }) = self.entry(place) else { return };
        let (before, after) = (*before, *after);
        match before.and_then(|place| self.entry(place)) {
            Some(entry) => entry.after = after,
            None => self.oldest = after,
        }
        match after.and_then(|place| self.entry(place)) {
            Some(entry) => entry.before = before,
            None => self.newest = before,
        }
    }

    /// Makes it the one that was used last.
    fn link(&mut self, place: u32) {
        let newest = self.newest.replace(place);
        if let Some(entry) = self.entry(place) {
            (entry.before, entry.after) = (newest, None);
        }
        match newest.and_then(|place| self.entry(place)) {
            Some(entry) => entry.after = Some(place),
            None => self.oldest = Some(place),
        }
    }

    fn cost(wire: &[u8]) -> usize {
        wire.len() + OVERHEAD
    }

    fn remove(&mut self, place: u32, names: &mut Names) {
        self.unlink(place);
        let Some(entry) = self.entries[place as usize].take() else { return };
        self.bytes -= Store::cost(&entry.wire);
        self.by_name.remove(&entry.name);
        self.ordered.remove(names.name(entry.name));
        names.release(entry.name);
        self.free.push(place);
    }

    /// Called with Data that somebody asked for. Of Data of one name the last is kept.
    pub fn put(&mut self, now: Time, data: &DataView<'_>, names: &mut Names) {
        let cost = Store::cost(data.wire);
        if cost > self.limit {
            return;
        }
        if let Some(place) = names.find(data.name.bytes()).and_then(|id| self.by_name.get(&id).copied()) {
            self.remove(place, names);
        }
        while self.bytes + cost > self.limit {
            let Some(oldest) = self.oldest else { return };
            self.remove(oldest, names);
            self.evicted += 1;
        }
        let id = names.hold(data.name.bytes());
        let stale_at = now.saturating_add(crate::millis(data.freshness_period.unwrap_or(0)));
        let entry = Entry { name: id, wire: data.wire.into(), stale_at, before: None, after: None };
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.bytes += cost;
        self.by_name.insert(id, place);
        self.ordered.insert(names.name(id).clone(), place);
        self.link(place);
        debug_assert!(self.bytes <= self.limit, "{} B in a store of {}", self.bytes, self.limit);
        debug_assert_eq!(self.by_name.len(), self.ordered.len(), "each name is in order");
    }

    /// Called with each Interest: Data that answer it.
    pub fn find(&mut self, now: Time, interest: &InterestView<'_>, names: &Names) -> Option<Arc<[u8]>> {
        let place = self.place(now, interest, names);
        let Some(place) = place else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        self.unlink(place);
        self.link(place);
        self.entry(place).map(|entry| entry.wire.clone())
    }

    fn place(&self, now: Time, interest: &InterestView<'_>, names: &Names) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let fresh = |place: &u32| {
            let entry = self.entries.get(*place as usize).and_then(Option::as_ref);
            !interest.must_be_fresh || entry.is_some_and(|entry| entry.stale_at > now)
        };
        let exact = |name: &[u8]| names.find(name).and_then(|id| self.by_name.get(&id).copied());
        if let Some(place) = exact(interest.name.bytes()).filter(fresh) {
            return Some(place);
        }
        if let Some((data, digest)) = name::full(interest.name) {
            let place = exact(data).filter(fresh)?;
            let wire = &self.entries[place as usize].as_ref()?.wire;
            return (crate::digest(&[wire])[..] == *digest).then_some(place);
        }
        if !interest.can_be_prefix {
            return None;
        }
        let from = std::ops::Bound::Included(interest.name.bytes());
        let below = self.ordered.range::<[u8], _>((from, std::ops::Bound::Unbounded));
        let below = below.take_while(|(name, _)| name.starts_with(interest.name.bytes())).take(LOOKED_AT);
        below.map(|(_, place)| *place).find(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Keyed;
    use crate::testing::{a_data, an_interest, data, interest};
    use midpath_ndn::name_view::IMPLICIT_DIGEST;
    use proptest::prelude::*;

    #[test]
    fn a_full_name_finds_its_bytes_and_no_others() {
        let (mut store, mut names) = (Store::new(10_000), Names::new(Keyed::default()));
        let wire = a_data(&name::of(&["a", "b"]), 0, b"x");
        store.put(Time::ZERO, &data(&wire), &mut names);
        let mut full = name::of(&["a", "b"]);
        name::push(&mut full, IMPLICIT_DIGEST, &crate::digest(&[&wire]));
        assert_eq!(
            store.find(Time::ZERO, &interest(&an_interest(&full, false, false, 1)), &names).as_deref(),
            Some(&wire[..])
        );
        let last = full.len() - 1;
        full[last] ^= 1;
        assert_eq!(store.find(Time::ZERO, &interest(&an_interest(&full, false, false, 1)), &names), None);
    }

    proptest! {
        /// Beside a list in the order of use: the same Data are found, and no more bytes are kept.
        #[test]
        fn the_store_is_what_a_list_would_be(
            steps in prop::collection::vec((0u8..3, 0u8..3, 0usize..400, 0u64..3, any::<[bool; 3]>()), 0..120),
        ) {
            let (mut store, mut names) = (Store::new(1500), Names::new(Keyed([3; 16])));
            let mut list: Vec<(Vec<u8>, Vec<u8>, Time)> = Vec::new();
            for (step, (a, b, size, fresh, [put, prefix, must])) in steps.into_iter().enumerate() {
                let now = Time::from_ms(step as u64);
                let mut name = name::of(&[&a.to_string()]);
                if put {
                    name::push(&mut name, 8, b.to_string().as_bytes());
                    let wire = a_data(&name, fresh * 40, &vec![0; size]);
                    store.put(now, &data(&wire), &mut names);
                    list.retain(|entry| entry.0 != name);
                    list.push((name, wire, now.saturating_add(Time::from_ms(fresh * 40))));
                    while list.iter().map(|entry| Store::cost(&entry.1)).sum::<usize>() > 1500 {
                        list.remove(0);
                    }
                } else {
                    if !prefix {
                        name::push(&mut name, 8, b.to_string().as_bytes());
                    }
                    let found = store.find(now, &interest(&an_interest(&name, prefix, must, 1)), &names);
                    let fits = |entry: &&(Vec<u8>, Vec<u8>, Time)| {
                        (entry.0 == name || prefix && entry.0.starts_with(&name)) && (!must || entry.2 > now)
                    };
                    let expected = list.iter().filter(fits).min_by_key(|entry| entry.0.clone()).cloned();
                    prop_assert_eq!(found.as_deref(), expected.as_ref().map(|entry| &entry.1[..]));
                    if let Some(used) = expected {
                        list.retain(|entry| entry.0 != used.0);
                        list.push(used);
                    }
                }
                prop_assert_eq!(store.len(), list.len());
                prop_assert_eq!(store.bytes(), list.iter().map(|entry| Store::cost(&entry.1)).sum::<usize>());
                prop_assert_eq!(names.len(), list.len());
            }
        }
    }
}
