//! Deadlines of many items: a turn costs only what is due in it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::units::Time;

/// A time for each of some things, by their places. It is never too late and may be too early: a thing that has more
/// time than it said is asked again.
#[derive(Debug, Clone, Default)]
pub struct Due {
    at: Vec<Time>,
    /// Of each thing its time, and times that were later.
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Due {
    /// So many things, all due at this time; `Time::MAX`: none is.
    pub fn new(count: usize, at: Time) -> Due {
        let mut due = Due { at: vec![Time::MAX; count], heap: BinaryHeap::with_capacity(count) };
        (0..count).for_each(|place| due.no_later(place, at));
        due
    }

    /// A thing is due at this time, unless it is sooner.
    pub fn no_later(&mut self, place: usize, at: Time) {
        if at < self.at[place] {
            self.at[place] = at;
            self.heap.push(Reverse((at, place as u32)));
        }
    }

    /// When to look again.
    pub fn next_wake(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |first| first.0.0)
    }

    /// A thing that is due, which has no time from then on.
    pub fn pop(&mut self, now: Time) -> Option<usize> {
        while self.next_wake() <= now {
            let Reverse((at, place)) = self.heap.pop()?;
            let known = &mut self.at[place as usize];
            if *known == at {
                *known = Time::MAX;
                return Some(place as usize);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Held to a table of all times: each thing comes up once, no later than it should, in order of time.
        #[test]
        fn what_is_due_comes_up_once(wishes in prop::collection::vec((0usize..6, 0u64..40, 0u64..40), 1..60)) {
            let (mut due, mut table, mut now) = (Due::new(6, Time::ZERO), vec![Some(Time::ZERO); 6], Time::ZERO);
            for (place, after, later) in wishes {
                while let Some(place) = due.pop(now) {
                    prop_assert!(table[place].take().is_some_and(|at| at <= now), "it is due");
                }
                prop_assert!(table.iter().flatten().all(|at| *at > now), "nothing else is");
                let first = table.iter().flatten().min().copied().unwrap_or(Time::MAX);
                prop_assert!(due.next_wake() <= first && due.next_wake() > now);
                let at = now + Time::from_ms(after);
                due.no_later(place, at);
                table[place] = Some(table[place].map_or(at, |before| before.min(at)));
                now += Time::from_ms(later);
            }
        }
    }
}
