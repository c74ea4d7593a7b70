//! Routers that the network sees alike, as the edge switches in a pod of a fat-tree: with links to
//! the same others, at the same costs.
//!
//! Take twins `a` and `b`. No shortest path to `a` leads through `b`: who comes just before `b` has
//! a link to `a` that costs the same. So every other node is as far from `a` as from `b`, and has
//! the same next hops to both, unless it has links to them. Once the way to `a` is known, that to
//! `b` takes a few rows in place of a search.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::shortest::Search;

/// Which anchors are each other's twins.
#[derive(Debug, Clone)]
pub struct Twins {
    /// The group of each anchor.
    group: Vec<u32>,
    /// The anchors by group, and where each group begins; after the last, where all end.
    members: Vec<u32>,
    first: Vec<u32>,
}

impl Twins {
    /// Those in a network.
    pub fn of(search: &Search) -> Twins {
        let (mut group, mut heads) = (Vec::with_capacity(search.anchors()), Vec::new());
        // Groups by what their links hash to. The first of each stands for it.
        let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for n in 0..search.anchors() {
            search.links_in_order(n, &mut own);
            let mut hasher = FxHasher::default();
            own.hash(&mut hasher);
            let near = known.entry(hasher.finish()).or_default();
            let found = near.iter().copied().find(|&g| {
                search.links_in_order(heads[g as usize], &mut other);
                own == other
            });
            group.push(found.unwrap_or(heads.len() as u32));
            if found.is_none() {
                near.push(heads.len() as u32);
                heads.push(n);
            }
        }
        let mut members: Vec<u32> = (0..group.len() as u32).collect();
        members.sort_by_key(|&n| group[n as usize]);
        let first = (0..=heads.len() as u32).map(|g| members.partition_point(|&n| group[n as usize] < g) as u32);
        let first = first.collect();
        Twins { group, members, first }
    }

    /// An anchor and its twins.
    pub fn with(&self, anchor: usize) -> &[u32] {
        let group = self.group[anchor] as usize;
        &self.members[self.first[group] as usize..self.first[group + 1] as usize]
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.group.len() + self.members.len() + self.first.len()) * size_of::<u32>()
    }
}
