//! Heap of a node's links with an arrival before its horizon, earliest first.

use midpath_core::units::Time;

/// A binary heap of the times at which links bring their next packets. Ties go to the lower link.
///
/// The standard one has no cheap way to be filled at once and to change what comes first, and most
/// windows have but one or two links.
#[derive(Debug, Default)]
pub(super) struct ArrivalHeap(Vec<u128>);

/// Time first, then the link: one comparison decides.
#[inline]
pub(super) const fn key(at: Time, link: u32) -> u128 {
    (at.0 as u128) << 32 | link as u128
}

/// What a key is made of.
#[inline]
pub(super) const fn parts(key: u128) -> (Time, u32) {
    (Time((key >> 32) as u64), key as u32)
}

/// A node's links with an arrival before its horizon, in order: a heap, or a [list](super::arrival_list) of few.
pub(super) trait Arrivals {
    /// Whether its links are indexed ([`NextArrivals::index`](super::next_arrivals::NextArrivals::index)).
    const INDEXED: bool;
    /// The link that brings a packet next, and when.
    fn first(&self) -> Option<(Time, u32)>;
    /// The first link brings its next packet at `at`.
    fn replace_first(&mut self, at: Time);
    /// The first link brings nothing more before the horizon.
    fn pop(&mut self);
}

impl ArrivalHeap {
    /// Begins anew.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a link that brings something at `at`; [`ArrivalHeap::heapify`] follows.
    #[inline]
    pub fn push(&mut self, link: u32, at: Time) {
        self.0.push(key(at, link));
    }

    /// Puts them in order.
    #[inline]
    pub fn heapify(&mut self) {
        for place in (0..self.0.len() / 2).rev() {
            self.sift_down(place);
        }
    }

    /// All its links, in no order.
    #[inline]
    pub fn links(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0.iter().map(|key| *key as u32)
    }

    /// Moves what stands at `place` down to where it comes before those below it.
    #[inline]
    fn sift_down(&mut self, mut place: usize) {
        let keys = &mut self.0[..];
        loop {
            let mut below = 2 * place + 1;
            if below >= keys.len() {
                return;
            }
            if below + 1 < keys.len() && keys[below + 1] < keys[below] {
                below += 1;
            }
            if keys[place] <= keys[below] {
                return;
            }
            keys.swap(place, below);
            place = below;
        }
    }
}

impl Arrivals for ArrivalHeap {
    const INDEXED: bool = true;

    #[inline]
    fn first(&self) -> Option<(Time, u32)> {
        self.0.first().map(|key| parts(*key))
    }

    #[inline]
    fn replace_first(&mut self, at: Time) {
        let Some(first) = self.0.first_mut() else { return };
        *first = key(at, *first as u32);
        self.sift_down(0);
    }

    #[inline]
    fn pop(&mut self) {
        if !self.0.is_empty() {
            self.0.swap_remove(0);
            self.sift_down(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every arrival before the horizon is taken, in the order of a sort by time, then link.
        #[test]
        fn arrivals_are_in_order(links in prop::collection::vec(prop::collection::vec(0u64..40, 0..6), 0..20), horizon in 0u64..40) {
            let links: Vec<Vec<u64>> = links.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            let mut expected: Vec<(u64, u32)> = (7u32..)
                .zip(&links)
                .flat_map(|(link, times)| times.iter().filter(|at| **at < horizon).map(move |at| (*at, link)))
                .collect();
            expected.sort_unstable();
            let firsts: Vec<Time> = links.iter().map(|times| times.first().map_or(Time::MAX, |at| Time(*at))).collect();
            let (mut heap, mut taken, mut seen) = (ArrivalHeap::default(), vec![0; links.len()], Vec::new());
            (7..).zip(firsts).filter(|h| h.1 < Time(horizon)).for_each(|(link, at)| heap.push(link, at));
            heap.heapify();
            while let Some((at, link)) = heap.first() {
                seen.push((at.0, link));
                let place = link as usize - 7;
                taken[place] += 1;
                match links[place].get(taken[place]).filter(|at| **at < horizon) {
                    Some(at) => heap.replace_first(Time(*at)),
                    None => heap.pop(),
                }
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
