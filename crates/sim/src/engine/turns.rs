//! Whose turn it is: a node's links that bring something in the window at hand, first to arrive
//! first.

use midpath_core::units::Time;

/// A binary heap of the times at which links bring their next packets. Ties go to the lower link.
///
/// The standard one has no cheap way to be filled at once and to change what comes first, and most
/// windows have but one or two links.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<u128>);

/// Time first, then the link: one comparison decides.
#[inline]
const fn turn(at: Time, link: u32) -> u128 {
    (at.0 as u128) << 32 | link as u128
}

impl Turns {
    /// Begins anew.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a link that brings something at `at`; [`Turns::order`] follows.
    #[inline]
    pub fn push(&mut self, link: u32, at: Time) {
        self.0.push(turn(at, link));
    }

    /// Puts them in order.
    #[inline]
    pub fn order(&mut self) {
        for place in (0..self.0.len() / 2).rev() {
            self.sift_down(place);
        }
    }

    /// All who have a turn, in no order.
    #[inline]
    pub fn links(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0.iter().map(|turn| *turn as u32)
    }

    /// Who is next, and when.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        self.0.first().map(|turn| (Time((turn >> 32) as u64), *turn as u32))
    }

    /// The first one's next turn is at `at`.
    #[inline]
    pub fn again(&mut self, at: Time) {
        let Some(first) = self.0.first_mut() else { return };
        *first = turn(at, *first as u32);
        self.sift_down(0);
    }

    /// The first one has no further turn.
    #[inline]
    pub fn over(&mut self) {
        if !self.0.is_empty() {
            self.0.swap_remove(0);
            self.sift_down(0);
        }
    }

    /// Moves what stands at `place` down to where it comes before those below it.
    #[inline]
    fn sift_down(&mut self, mut place: usize) {
        let turns = &mut self.0[..];
        loop {
            let mut below = 2 * place + 1;
            if below >= turns.len() {
                return;
            }
            if below + 1 < turns.len() && turns[below + 1] < turns[below] {
                below += 1;
            }
            if turns[place] <= turns[below] {
                return;
            }
            turns.swap(place, below);
            place = below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every arrival before the horizon has its turn, in the order of a sort by time, then
        /// link.
        #[test]
        fn turns_are_in_order(links in prop::collection::vec(prop::collection::vec(0u64..40, 0..6), 0..20), horizon in 0u64..40) {
            let links: Vec<Vec<u64>> = links.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            let mut expected: Vec<(u64, u32)> = (7u32..)
                .zip(&links)
                .flat_map(|(link, times)| times.iter().filter(|at| **at < horizon).map(move |at| (*at, link)))
                .collect();
            expected.sort_unstable();
            let heads: Vec<Time> = links.iter().map(|times| times.first().map_or(Time::MAX, |at| Time(*at))).collect();
            let (mut turns, mut taken, mut seen) = (Turns::default(), vec![0; links.len()], Vec::new());
            (7..).zip(heads).filter(|h| h.1 < Time(horizon)).for_each(|(link, at)| turns.push(link, at));
            turns.order();
            while let Some((at, link)) = turns.first() {
                seen.push((at.0, link));
                let place = link as usize - 7;
                taken[place] += 1;
                match links[place].get(taken[place]).filter(|at| **at < horizon) {
                    Some(at) => turns.again(Time(*at)),
                    None => turns.over(),
                }
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
