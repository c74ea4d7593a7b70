//! The effective rate of a link: below the configured one if the machine or the other end can't keep up. Schemes
//! compute with the rate that ports report, so it must be true.

use midpath_core::units::{Rate, Time};

/// How long is looked at for each answer. Ours: about what schemes reckon with, a round trip.
const INTERVAL: Time = Time::from_ms(10);
/// A link that has lost less of its time than this is served at its rate. Ours: a pause of a millisecond
/// in ten is a thread that woke late.
const LOSS: f64 = 0.1;
/// How much of the way to what an interval says is gone. Ours: a single pause is not the rate.
const GAIN: f64 = 0.125;
/// By how much more is tried after an interval without a loss. Ours: back at twice the rate in a third
/// of a second.
const MORE: f64 = 1.02;

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Served {
    configured: Rate,
    rate: f64,
    since: Time,
    /// For how long packets waited while the transmitter should have sent.
    lost: Time,
}

impl Served {
    /// A link at its rate.
    pub fn new(configured: Rate) -> Served {
        Served { configured, rate: configured.0 as f64, since: Time::ZERO, lost: Time::ZERO }
    }

    /// A packet that waited started so much later than the last one ended.
    pub fn lost(&mut self, time: Time) {
        self.lost += time;
    }

    /// The rate, if it has changed.
    pub fn changed_rate(&mut self, now: Time) -> Option<Rate> {
        let took = now.saturating_sub(self.since);
        if took < INTERVAL {
            return None;
        }
        let (before, most) = (self.rate, self.configured.0 as f64);
        let lost = self.lost.as_secs_f64() / took.as_secs_f64();
        let kept = most * (1.0 - lost).max(0.01);
        self.rate = match () {
            () if lost <= LOSS => (self.rate * MORE).min(most),
            // More than it is said to be served at: that has not changed.
            () => self.rate + GAIN * (kept.min(self.rate) - self.rate),
        };
        (self.since, self.lost) = (now, Time::ZERO);
        (self.rate != before).then_some(Rate(self.rate as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With half of the time lost the rate becomes half; without a loss it comes back, and no further.
    #[test]
    fn lost_time_is_rate_that_is_not_served() {
        let mut served = Served::new(Rate::from_mbps(100));
        assert_eq!(served.changed_rate(Time::from_ms(10)), None);
        served.lost(Time::from_us(900));
        assert_eq!(served.changed_rate(Time::from_ms(20)), None, "a thread that woke late");
        served.lost(Time::from_ms(5));
        assert_eq!(served.changed_rate(Time::from_ms(25)), None, "too early to say");
        assert_eq!(served.changed_rate(Time::from_ms(30)), Some(Rate(93_750_000)), "an eighth of the way");
        let lossy = (4..50).filter_map(|i| {
            served.lost(Time::from_ms(5));
            served.changed_rate(Time::from_ms(10 * i))
        });
        assert!(lossy.last().is_some_and(|rate| (50e6..51e6).contains(&(rate.0 as f64))));
        let rates: Vec<_> = (50..150).filter_map(|i| served.changed_rate(Time::from_ms(10 * i))).collect();
        assert!(rates.len() > 20 && rates.is_sorted(), "{rates:?}");
        assert_eq!(rates.last(), Some(&Rate::from_mbps(100)));
    }
}
