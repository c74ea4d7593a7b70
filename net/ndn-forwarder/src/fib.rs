//! Longest-prefix-match tables.

#![expect(clippy::disallowed_types, reason = "keyed hashes, as peers choose the keys; order is not visible")]

use std::collections::HashMap;

use midpath_core::units::Time;
use midpath_ndn::NameView;
use midpath_ndn::name::MAX_COMPONENTS;

use crate::faces::FaceId;
use crate::names::{Keyed, KeyedMap};

/// A table by prefix.
#[derive(Debug)]
pub struct Prefixes<V> {
    entries: KeyedMap<Box<[u8]>, V>,
    /// Entries by their number of components.
    lengths: [u32; MAX_COMPONENTS + 1],
}

impl<V> Prefixes<V> {
    /// An empty one.
    pub fn new(key: Keyed) -> Prefixes<V> {
        Prefixes { entries: HashMap::with_hasher(key), lengths: [0; MAX_COMPONENTS + 1] }
    }

    fn length(prefix: &[u8]) -> usize {
        crate::name::count(crate::name::view(prefix)).min(MAX_COMPONENTS)
    }

    /// Sets the value of a prefix.
    pub fn set(&mut self, prefix: &[u8], value: V) {
        if self.entries.insert(prefix.into(), value).is_none() {
            self.lengths[Prefixes::<V>::length(prefix)] += 1;
        }
    }

    /// Takes a prefix out.
    pub fn remove(&mut self, prefix: &[u8]) -> Option<V> {
        let value = self.entries.remove(prefix)?;
        self.lengths[Prefixes::<V>::length(prefix)] -= 1;
        Some(value)
    }

    /// The value of this very prefix.
    pub fn get(&self, prefix: &[u8]) -> Option<&V> {
        self.entries.get(prefix)
    }

    /// The value of the longest prefix of a name.
    pub fn longest(&self, name: NameView<'_>) -> Option<(&[u8], &V)> {
        let mut prefixes = [NameView::default(); MAX_COMPONENTS + 1];
        let mut count = 0;
        for (place, prefix) in prefixes.iter_mut().zip(name.prefixes()) {
            *place = prefix;
            count += 1;
        }
        let mut candidates = (0..count).rev().filter(|length| self.lengths[*length] > 0);
        candidates.find_map(|length| {
            let (prefix, value) = self.entries.get_key_value(prefixes[length].bytes())?;
            Some((&prefix[..], value))
        })
    }

    /// The same, to change.
    pub fn longest_mut(&mut self, name: NameView<'_>) -> Option<&mut V> {
        let length = self.longest(name)?.0.len();
        self.entries.get_mut(&name.bytes()[..length])
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &V)> {
        self.entries.iter().map(|(prefix, value)| (&prefix[..], value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// The face that leads there.
    pub face: FaceId,
    /// What going there costs.
    pub cost: u64,
    /// Interests that it has not answered, since it last answered one.
    pub silent: u32,
    /// While it is silent: when it is asked again to see whether it still is.
    pub probe_at: Time,
}

impl NextHop {
    /// One of which nothing is known.
    pub fn new(face: FaceId, cost: u64) -> NextHop {
        NextHop { face, cost, silent: 0, probe_at: Time::ZERO }
    }

    /// Whether others go before it.
    pub fn is_silent(&self) -> bool {
        self.silent >= SILENT
    }
}

/// A next hop that has not answered so many Interests, one after the other, goes behind those that
/// answer. Ours: two may be lost on a link that is sound.
const SILENT: u32 = 3;

/// The FIB: next hops by prefix, the cheapest first.
pub type Fib = Prefixes<Vec<NextHop>>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Beside a list of prefixes that is looked through.
        #[test]
        fn the_longest_prefix_is_found(
            steps in prop::collection::vec((prop::collection::vec("[ab]", 0..5), 0u8..3), 0..60),
        ) {
            let mut table = Prefixes::new(Keyed([9; 16]));
            let mut list: Vec<Vec<u8>> = Vec::new();
            for (parts, step) in steps {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                let name = crate::name::of(&parts);
                match step {
                    0 => {
                        table.set(&name, name.clone());
                        list.retain(|known| *known != name);
                        list.push(name);
                    }
                    1 => {
                        let was = list.contains(&name);
                        prop_assert_eq!(table.remove(&name).is_some(), was);
                        list.retain(|known| *known != name);
                    }
                    _ => {
                        let longest = list.iter().filter(|prefix| name.starts_with(prefix)).max_by_key(|p| p.len());
                        prop_assert_eq!(table.longest(crate::name::view(&name)).map(|(_, value)| value), longest);
                    }
                }
                prop_assert_eq!(table.len(), list.len());
            }
        }
    }
}
