//! Names of groups, each kept once: a list may have one for each of ten million flows.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Names of groups, by number.
#[derive(Debug, Clone, Default)]
pub struct GroupNames {
    /// All of them, one behind the other.
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
    /// Their numbers, by name; empty when all groups are there.
    known: HashTable<u32>,
}

impl PartialEq for GroupNames {
    fn eq(&self, other: &GroupNames) -> bool {
        (&self.text, &self.ends) == (&other.text, &other.ends)
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
}

fn get<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let begin = (number as usize).checked_sub(1).map_or(0, |before| ends[before]);
    &text[begin as usize..ends[number as usize] as usize]
}

impl GroupNames {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of a group.
    ///
    /// # Panics
    ///
    /// If there is none of this number.
    pub fn get(&self, number: u32) -> &str {
        get(&self.text, &self.ends, number)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number as u32))
    }

    /// The number of the group of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.iter().position(|known| known == name).map(|number| number as u32)
    }

    /// Whether there is room for a new one: all of them take 4 GiB at most.
    pub(crate) fn has_room(&self, name: &str) -> bool {
        u32::try_from(self.text.len() + name.len()).is_ok()
    }

    /// The same, of a new one if there is none.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        let GroupNames { text, ends, known } = self;
        if let Some(number) = known.find(hash(name), |known| get(text, ends, *known) == name) {
            return *number;
        }
        let number = ends.len() as u32;
        text.push_str(name);
        ends.push(text.len() as u32);
        known.insert_unique(hash(name), number, |known| hash(get(text, ends, *known)));
        number
    }

    /// Called when all are there: numbers them in this order, of old numbers, and those that are not in it behind.
    /// Returns the new numbers by the old.
    pub(crate) fn renumber(&mut self, order: impl Iterator<Item = u32>) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        self.known = HashTable::new();
        let mut numbers = vec![NONE; self.len()];
        let mut named = GroupNames { text: String::with_capacity(self.text.len()), ..GroupNames::default() };
        named.ends.reserve_exact(self.len());
        for old in order.chain(0..self.len() as u32) {
            let number = &mut numbers[old as usize];
            if *number == NONE {
                *number = named.ends.len() as u32;
                named.text.push_str(self.get(old));
                named.ends.push(named.text.len() as u32);
            }
        }
        *self = named;
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_once_and_then_by_use() {
        let mut groups = GroupNames::default();
        let numbers = ["a", "bc", "a", "", "d", "bc"].map(|name| groups.number(name));
        assert_eq!(numbers, [0, 1, 0, 2, 3, 1]);
        assert_eq!(groups.iter().collect::<Vec<_>>(), ["a", "bc", "", "d"]);
        assert_eq!(groups.renumber([3, 1, 3].into_iter()), [2, 1, 3, 0]);
        assert_eq!(groups.iter().collect::<Vec<_>>(), ["d", "bc", "a", ""]);
        assert_eq!((groups.find("a"), groups.find("x"), groups.len()), (Some(2), None, 4));
    }
}
