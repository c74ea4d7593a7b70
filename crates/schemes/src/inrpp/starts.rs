//! Flows that start at a port, counted: each of them gets a part of the cache's room to begin with.

use midpath_core::units::Time;

/// Counts SYNs of the last one to two intervals.
#[derive(Debug)]
pub struct Starts {
    /// The longest round trip: so long a flow may send before this port hears an ACK of it.
    interval: Time,
    since: Time,
    /// In the interval at hand, and in the one before it.
    counts: [u64; 2],
}

impl Starts {
    /// With the round trip that a flow takes at most.
    pub fn new(interval: Time) -> Starts {
        Starts { interval: interval.max(Time(1)), since: Time::ZERO, counts: [0; 2] }
    }

    fn intervals(&self, now: Time) -> u64 {
        now.saturating_sub(self.since).0 / self.interval.0
    }

    /// A SYN passes.
    pub fn count(&mut self, now: Time) {
        let passed = self.intervals(now);
        match passed {
            0 => {}
            1 => self.counts = [0, self.counts[0]],
            _ => self.counts = [0; 2],
        }
        self.since = Time(self.since.0 + passed * self.interval.0);
        self.counts[0] += 1;
    }

    /// Flows that have started lately; the one that asks is one at least.
    pub fn recent(&self, now: Time) -> u64 {
        let [last, before] = self.counts;
        let counted = match self.intervals(now) {
            0 => last + before,
            1 => last,
            _ => 0,
        };
        counted.max(1)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts = [0; 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_counts_for_one_to_two_round_trips() {
        let mut starts = Starts::new(Time::from_ms(100));
        assert_eq!(starts.recent(Time::ZERO), 1, "whoever asks has started");
        [10, 20, 90].into_iter().for_each(|ms| starts.count(Time::from_ms(ms)));
        assert_eq!(starts.recent(Time::from_ms(99)), 3);
        assert_eq!(starts.recent(Time::from_ms(199)), 3);
        assert_eq!(starts.recent(Time::from_ms(200)), 1);
        starts.count(Time::from_ms(150));
        assert_eq!(starts.recent(Time::from_ms(150)), 4);
        assert_eq!(starts.recent(Time::from_ms(250)), 1);
        starts.count(Time::from_ms(1_000));
        starts.count(Time::from_ms(1_001));
        assert_eq!(starts.recent(Time::from_ms(1_002)), 2);
        starts.clear();
        assert_eq!(starts.recent(Time::from_ms(1_002)), 1);
    }
}
