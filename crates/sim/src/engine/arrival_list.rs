//! List of a node's links with an arrival before its horizon, for nodes with few links.

use midpath_core::units::Time;

use super::arrival_heap::{Arrivals, key, parts};

/// The times at which links bring their next packets, latest first, so that what comes next stands at the end. Ties go to
/// the lower link.
#[derive(Debug, Default)]
pub(super) struct ArrivalList(Vec<u128>);

impl ArrivalList {
    /// Begins anew.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a link that brings something at `at`.
    #[inline]
    pub fn insert(&mut self, link: u32, at: Time) {
        self.0.push(key(at, link));
        self.sift();
    }

    /// Moves what stands at the end to where it comes after those behind it.
    #[inline]
    fn sift(&mut self) {
        let Some((last, keys)) = self.0.split_last_mut() else { return };
        let moved = *last;
        let mut gap = last;
        for earlier in keys.iter_mut().rev() {
            if *earlier >= moved {
                break;
            }
            *gap = *earlier;
            gap = earlier;
        }
        *gap = moved;
    }
}

impl Arrivals for ArrivalList {
    const INDEXED: bool = false;

    #[inline]
    fn first(&self) -> Option<(Time, u32)> {
        self.0.last().map(|key| parts(*key))
    }

    #[inline]
    fn replace_first(&mut self, at: Time) {
        let Some(first) = self.0.last_mut() else { return };
        *first = key(at, *first as u32);
        self.sift();
    }

    #[inline]
    fn pop(&mut self) {
        self.0.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arrival_heap::ArrivalHeap;
    use super::*;

    proptest! {
        /// It gives what the heap gives, whatever comes next on the link that was first.
        #[test]
        fn it_does_what_the_heap_does(
            times in prop::collection::vec(0u64..20, 0..32), later in prop::collection::vec(prop::option::of(0u64..20), 0..80),
        ) {
            let (mut list, mut heap) = (ArrivalList::default(), ArrivalHeap::default());
            for (link, at) in (5..).zip(times) {
                list.insert(link, Time(at));
                heap.push(link, Time(at));
            }
            heap.heapify();
            for later in later {
                prop_assert_eq!(list.first(), heap.first());
                let Some((at, _)) = heap.first() else { break };
                match later {
                    Some(later) => {
                        list.replace_first(Time(at.0 + later));
                        heap.replace_first(Time(at.0 + later));
                    }
                    None => {
                        list.pop();
                        heap.pop();
                    }
                }
            }
        }
    }
}
