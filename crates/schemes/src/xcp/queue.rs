//! The persistent queue: what does not drain within a propagation delay (§3.5.1).

use midpath_core::units::Time;

/// Q: the smallest queue that an arriving packet has seen in the last queue interval, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PersistentQueue {
    persistent: f64,
    smallest: f64,
    end: Time,
    /// Bytes that waited after the last arrival, and when that was.
    waiting: f64,
    seen: Time,
    /// The shortest interval, in seconds.
    shortest: f64,
}

impl PersistentQueue {
    /// Nothing waits. The first interval ends at `end`; none is shorter than `shortest` seconds.
    pub fn new(now: Time, end: Time, shortest: f64) -> PersistentQueue {
        PersistentQueue { persistent: 0.0, smallest: 0.0, end, waiting: 0.0, seen: now, shortest }
    }

    /// Q in bytes.
    pub fn bytes(&self) -> f64 {
        self.persistent
    }

    /// Bytes that wait at a time after the last arrival, on a link of `capacity` bytes per second.
    fn at(&self, time: Time, capacity: f64) -> f64 {
        (self.waiting - time.saturating_sub(self.seen).as_secs_f64() * capacity).max(0.0)
    }

    /// An arrival found `before` bytes waiting and left `after`.
    #[inline]
    pub fn arrival(&mut self, now: Time, before: f64, after: f64) {
        // Between arrivals a queue only shrinks: what an arrival finds is the least since the one
        // before.
        self.smallest = self.smallest.min(before);
        (self.waiting, self.seen) = (after, now);
    }

    /// Ends the intervals that are over by `now`: Q is the least queue of the last one, and the
    /// next lasts as long as half a round trip without the queue's part of it (the authors'
    /// simulator, "L 33" to "L 36").
    #[inline]
    pub fn catch_up(&mut self, now: Time, rtt: f64, capacity: f64) {
        while now >= self.end {
            let queue = self.at(self.end, capacity);
            self.persistent = self.smallest.min(queue);
            self.smallest = queue;
            let next = Time::from_secs_f64(((rtt - queue / capacity) / 2.0).max(self.shortest));
            // Once it is empty it stays so until the next arrival.
            let idle = if self.persistent == 0.0 && queue == 0.0 { (now - self.end).0 / next.0 } else { 0 };
            self.end = self.end.saturating_add(Time(next.0 * (1 + idle)));
        }
    }
}
