//! Open promises: allowances of starting flows whose data have not arrived yet. Ours.
//!
//! A starting flow is told how much it may send before its next feedback. The sum of open promises never exceeds the
//! cache's free space. A promise shrinks as the flow's data arrive, and expires after two round trips.

use std::collections::VecDeque;

use midpath_core::packet::{Flags, Packet};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::cache::Key;

/// Promises remembered at most, with those that others have replaced. Beyond that nothing is promised: a flood of
/// SYNs fills no memory.
const MAX_OPEN: usize = 1 << 14;

#[derive(Debug, Clone, Copy)]
struct Promise {
    left: u64,
    until: Time,
}

/// A port's open promises.
#[derive(Debug)]
pub struct Promises {
    open: FxHashMap<Key, Promise>,
    /// In the order in which they end; some may be over already.
    order: VecDeque<(Time, Key)>,
    total: u64,
    lasts: Time,
}

impl Promises {
    /// With the longest round trip, of which a promise lasts two.
    pub fn new(trip: Time) -> Promises {
        let lasts = Time(trip.0.saturating_mul(2));
        Promises { open: FxHashMap::default(), order: VecDeque::new(), total: 0, lasts }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// When the next one lapses.
    #[inline]
    pub fn lapse_at(&self) -> Time {
        self.order.front().map_or(Time::MAX, |p| p.0)
    }

    /// Bytes promised and not seen yet, with what may have lapsed meanwhile.
    pub fn open(&self) -> u64 {
        self.total
    }

    /// Bytes promised and not seen yet.
    pub fn total(&mut self, now: Time) -> u64 {
        self.lapse(now);
        self.total
    }

    /// Those that have lasted two round trips are over.
    pub fn lapse(&mut self, now: Time) {
        while let Some((until, key)) = self.order.front().copied().filter(|p| p.0 <= now) {
            self.order.pop_front();
            if self.open.get(&key).is_some_and(|p| p.until == until) {
                self.end(key);
            }
        }
    }

    /// Promises a flow `bytes`, in place of what it was promised before.
    pub fn make(&mut self, key: Key, bytes: u64, now: Time) {
        self.end(key);
        if bytes == 0 || self.order.len() >= MAX_OPEN {
            return;
        }
        let until = now.saturating_add(self.lasts);
        self.open.insert(key, Promise { left: bytes, until });
        self.order.push_back((until, key));
        self.total += bytes;
    }

    /// A packet has come: what was promised, if it has payload.
    pub fn keep(&mut self, key: Key, packet: &Packet) {
        if packet.payload > 0 {
            self.seen(key, packet.size.into(), packet.flags.has(Flags::FIN));
        }
    }

    /// Data of a flow have come; the `last` ones end its promise.
    fn seen(&mut self, key: Key, bytes: u64, last: bool) {
        let Some(promise) = self.open.get_mut(&key) else { return };
        let kept = bytes.min(promise.left);
        promise.left -= kept;
        self.total -= kept;
        if last || promise.left == 0 {
            self.end(key);
        }
    }

    fn end(&mut self, key: Key) {
        self.total -= self.open.remove(&key).map_or(0, |p| p.left);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.open.clear();
        self.order.clear();
        self.total = 0;
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};

    use super::*;

    fn key(flow: u32) -> Key {
        (FlowId(flow), NodeId(0))
    }

    #[test]
    fn a_promise_is_kept_or_lapses_after_two_round_trips() {
        let (mut all, at) = (Promises::new(Time::from_ms(100)), Time::from_ms);
        all.make(key(1), 5_000, at(0));
        all.make(key(2), 3_000, at(150));
        all.seen(key(1), 1_500, false);
        all.seen(key(3), 1_500, false);
        assert_eq!(all.total(at(199)), 6_500);
        assert_eq!(all.total(at(200)), 3_000, "the first has lapsed");
        all.seen(key(1), 1_500, false);
        all.seen(key(2), 9_000, false);
        assert_eq!((all.total(at(201)), all.is_empty()), (0, true), "no more is kept than was promised");
    }

    #[test]
    fn a_second_promise_takes_the_firsts_place_and_the_last_packet_ends_it() {
        let (mut all, at) = (Promises::new(Time::from_ms(100)), Time::from_ms);
        all.make(key(1), 5_000, at(0));
        all.make(key(1), 2_000, at(100));
        assert_eq!(all.total(at(250)), 2_000, "what stands for the first says nothing of the second");
        all.seen(key(1), 100, true);
        assert_eq!((all.total(at(250)), all.is_empty()), (0, true));
    }

    #[test]
    fn a_flood_of_starts_fills_no_memory() {
        let mut all = Promises::new(Time::from_ms(100));
        (0..100_000).for_each(|flow| all.make(key(flow), 10, Time::ZERO));
        assert_eq!(all.total(Time::ZERO), 10 * MAX_OPEN as u64);
        all.clear();
        assert_eq!(all.total(Time::ZERO), 0);
        (0..100_000).for_each(|_| all.make(key(1), 10, Time::ZERO));
        assert_eq!(all.order.len(), MAX_OPEN, "a flow that starts again and again");
    }
}
