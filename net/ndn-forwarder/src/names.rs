//! Interned names: each name in a table is stored once, under a number.
//!
//! A number lives as long as it is referenced. Peers choose the names, so the hash is keyed.

#![expect(clippy::disallowed_types, reason = "keyed hashes, as peers choose the keys; order is not visible")]

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use siphasher::sip::SipHasher13;

/// A name's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u32);

/// Hashes under a key that peers don't know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keyed(pub [u8; 16]);

impl BuildHasher for Keyed {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.0)
    }
}

/// A map whose keys peers choose.
pub type KeyedMap<K, V> = HashMap<K, V, Keyed>;

#[derive(Debug)]
struct Slot {
    name: Arc<[u8]>,
    holders: u32,
}

/// What a name costs besides its bytes. Ours: its slot, its number in the table, its counts.
const OVERHEAD: usize = 96;

/// The names.
#[derive(Debug)]
pub struct Names {
    numbers: KeyedMap<Arc<[u8]>, NameId>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    bytes: usize,
}

impl Names {
    /// None yet.
    pub fn new(key: Keyed) -> Names {
        Names { numbers: HashMap::with_hasher(key), slots: Vec::new(), free: Vec::new(), bytes: 0 }
    }

    /// The number of a name that somebody holds.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        self.numbers.get(name).copied()
    }

    /// Takes hold of a name: whoever does calls [`Names::release`] as often.
    pub fn hold(&mut self, name: &[u8]) -> NameId {
        if let Some(id) = self.find(name) {
            self.slots[id.0 as usize].holders += 1;
            return id;
        }
        let name: Arc<[u8]> = name.into();
        let slot = Slot { name: name.clone(), holders: 1 };
        let id = NameId(self.free.pop().unwrap_or(self.slots.len() as u32));
        match self.slots.get_mut(id.0 as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        self.bytes += name.len() + OVERHEAD;
        self.numbers.insert(name, id);
        id
    }

    /// Lets go of a name; the last one who does frees its number.
    pub fn release(&mut self, id: NameId) {
        let slot = &mut self.slots[id.0 as usize];
        slot.holders -= 1;
        if slot.holders == 0 {
            let name = std::mem::take(&mut slot.name);
            self.bytes -= name.len() + OVERHEAD;
            self.numbers.remove(&name);
            self.free.push(id.0);
        }
    }

    /// The name of a number.
    pub fn name(&self, id: NameId) -> &Arc<[u8]> {
        &self.slots[id.0 as usize].name
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Their bytes, with what each costs besides.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A number stands for its name until the last holder has gone, and then for nothing.
        #[test]
        fn numbers_live_as_long_as_their_holders(steps in prop::collection::vec((0u8..6, any::<bool>()), 0..200)) {
            let mut names = Names::new(Keyed([7; 16]));
            let mut held: Vec<(u8, NameId)> = Vec::new();
            for (which, hold) in steps {
                if hold {
                    held.push((which, names.hold(&[8, 1, which])));
                } else if let Some(place) = held.iter().position(|(name, _)| *name == which) {
                    names.release(held.remove(place).1);
                }
                for (name, id) in &held {
                    prop_assert_eq!(&names.name(*id)[..], &[8, 1, *name]);
                    prop_assert_eq!(names.find(&[8, 1, *name]), Some(*id));
                }
                let mut different: Vec<u8> = held.iter().map(|(name, _)| *name).collect();
                different.sort_unstable();
                different.dedup();
                prop_assert_eq!(names.len(), different.len());
                prop_assert_eq!(names.bytes(), different.len() * (3 + OVERHEAD));
                prop_assert!(names.slots.len() <= 6);
            }
        }
    }
}
