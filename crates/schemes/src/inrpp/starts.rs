//! Counts starting flows at a port: each gets a share of the cache's free space.

use midpath_core::units::Time;

use super::intervals::Intervals;

/// Counts SYNs of the last one to two intervals.
#[derive(Debug)]
pub struct Starts(Intervals<2>);

impl Starts {
    /// With the longest round trip: so long a flow may send before this port hears an ACK of it.
    pub fn new(trip: Time) -> Starts {
        Starts(Intervals::new(trip))
    }

    /// A SYN passes.
    pub fn count(&mut self, now: Time) {
        self.0.add(now, 1);
    }

    /// Flows that have started lately; the one that asks is one at least.
    pub fn recent(&self, now: Time) -> u64 {
        self.0.at(now).iter().sum::<u64>().max(1)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
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
