//! Outstanding Data of a port: in the worst case they arrive at the neighbour's queue all at once.

use std::collections::VecDeque;

use midpath_core::queue::Limit;
use midpath_core::roles::Backlog;
use midpath_core::units::{Rate, Time};
use rustc_hash::FxHashMap;

use super::pit::Key;

/// What is on its way to one port: no more than the queue holds, so no more entries either.
#[derive(Debug)]
pub struct Awaited {
    /// The neighbour's queue.
    limit: Limit,
    /// An Interest that is not answered for so long never is.
    lifetime: Time,
    /// Sizes, and when they were asked for: more than once where an Interest was repeated, for both
    /// may be answered.
    data: FxHashMap<Key, Vec<(u32, Time)>>,
    /// In the order in which they were asked for. What has come stays until it is first.
    order: VecDeque<(Key, Time)>,
    sum: Backlog,
}

impl Awaited {
    /// Nothing so far, from a neighbour whose queue holds at most `limit`.
    pub fn new(limit: Limit, lifetime: Time) -> Awaited {
        Awaited { limit, lifetime, data: FxHashMap::default(), order: VecDeque::new(), sum: Backlog::default() }
    }

    /// Whether more Data of this size have room in the queue beside all that are awaited, if the
    /// neighbour sends at `back`.
    pub fn has_room(&mut self, now: Time, back: Rate, size: u32) -> bool {
        while let Some((key, at)) = self.order.front().copied().filter(|o| o.1.saturating_add(self.lifetime) <= now) {
            self.order.pop_front();
            self.take(key, Some(at));
        }
        // A single packet goes straight onto the wire.
        self.sum.packets == 0 || self.limit.bound(back).admits(self.sum, size)
    }

    /// Called when an Interest leaves that asks for Data of this size.
    pub fn on_interest(&mut self, now: Time, key: Key, size: u32) {
        self.data.entry(key).or_default().push((size, now));
        self.order.push_back((key, now));
        self.sum.packets += 1;
        self.sum.bytes += u64::from(size);
    }

    /// Called when they have come, or a Nack in their place.
    pub fn came(&mut self, key: Key) {
        self.take(key, None);
        while self.order.front().is_some_and(|(key, at)| !self.awaits(*key, *at)) {
            self.order.pop_front();
        }
    }

    fn awaits(&self, key: Key, at: Time) -> bool {
        self.data.get(&key).is_some_and(|asked| asked.iter().any(|a| a.1 == at))
    }

    /// Takes those out that were asked for then, or first.
    fn take(&mut self, key: Key, at: Option<Time>) {
        let Some(asked) = self.data.get_mut(&key) else { return };
        let Some(index) = asked.iter().position(|a| at.is_none_or(|at| a.1 == at)) else { return };
        let (size, _) = asked.remove(index);
        if asked.is_empty() {
            self.data.remove(&key);
        }
        self.sum.packets -= 1;
        self.sum.bytes -= u64::from(size);
    }

    /// When the next one is given up.
    pub fn next_expiry(&self) -> Time {
        self.order.front().map_or(Time::MAX, |o| o.1.saturating_add(self.lifetime))
    }

    /// The same with nothing in it.
    #[must_use]
    pub fn emptied(self) -> Awaited {
        Awaited::new(self.limit, self.lifetime)
    }

    /// All of them.
    pub fn sum(&self) -> Backlog {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{Name, NodeId};
    use proptest::prelude::*;

    use super::*;

    fn key(segment: u32) -> Key {
        (Name { prefix: NodeId(1), object: 2 }, segment)
    }

    const RATE: Rate = Rate(1_000_000);
    const S: fn(u64) -> Time = Time::from_secs;

    #[test]
    fn what_is_never_answered_gives_its_room_back() {
        let mut awaited = Awaited::new(Limit::Packets(2), S(4));
        assert!(awaited.has_room(S(0), RATE, 1500));
        awaited.on_interest(S(0), key(0), 1500);
        awaited.on_interest(S(1), key(1), 1500);
        assert!(!awaited.has_room(S(3), RATE, 1500));
        assert!(awaited.has_room(S(4), RATE, 1500), "the first is given up");
        assert_eq!((awaited.sum().packets, awaited.next_expiry()), (1, S(5)));
        awaited.came(key(0));
        awaited.came(key(1));
        assert_eq!((awaited.sum(), awaited.next_expiry()), (Backlog::default(), Time::MAX));
    }

    #[test]
    fn what_is_asked_for_twice_may_come_twice() {
        let mut awaited = Awaited::new(Limit::Packets(2), S(4));
        awaited.on_interest(S(0), key(0), 1500);
        awaited.on_interest(S(1), key(0), 1500);
        assert!(!awaited.has_room(S(1), RATE, 1500));
        awaited.came(key(0));
        assert_eq!((awaited.sum().packets, awaited.next_expiry()), (1, S(5)));
        awaited.came(key(0));
        awaited.came(key(0));
        assert_eq!(awaited.sum(), Backlog::default());
    }

    #[test]
    fn one_packet_always_has_room() {
        let mut awaited = Awaited::new(Limit::Bytes(10), S(4));
        assert!(awaited.has_room(S(0), RATE, 1500));
        awaited.on_interest(S(0), key(0), 1500);
        assert!(!awaited.has_room(S(0), RATE, 1));
    }

    proptest! {
        /// However they are asked for, come, and are given up: never more than the queue holds, and
        /// the sum is right.
        #[test]
        fn no_more_is_awaited_than_the_queue_holds(
            steps in prop::collection::vec((0u32..40, 1u32..1500, 0u64..400, any::<bool>()), 0..400),
        ) {
            let mut awaited = Awaited::new(Limit::Bytes(9000), S(4));
            let mut now = Time::ZERO;
            for (segment, size, wait, ask) in steps {
                now += Time::from_ms(wait);
                if !ask {
                    awaited.came(key(segment));
                } else if awaited.has_room(now, RATE, size) {
                    awaited.on_interest(now, key(segment), size);
                }
                let sizes = || awaited.data.values().flatten().map(|d| u64::from(d.0));
                prop_assert!(awaited.sum().bytes <= 9000);
                prop_assert_eq!(awaited.sum(), Backlog { packets: sizes().count() as u64, bytes: sizes().sum() });
                prop_assert!(awaited.order.len() <= 400);
            }
        }
    }
}
