//! The round trips of a face, and how long to wait for an answer (RFC 6298).

use midpath_core::units::Time;

/// The least wait. RFC 6298 wants a second, for TCP; ours: an Interest that is sent again too early
/// costs one packet, for Data come to both.
const LEAST: Time = Time::from_ms(50);
/// The wait while no round trip is known. Ours.
const FIRST: Time = Time::from_ms(250);
/// The longest.
const MOST: Time = Time::from_secs(2);

/// Mean and deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundTrips {
    known: Option<(Time, Time)>,
}

impl RoundTrips {
    /// Called with the round trip of an Interest that was sent once.
    pub fn add(&mut self, rtt: Time) {
        self.known = Some(match self.known {
            // (2.2)
            None => (rtt, Time(rtt.0 / 2)),
            // (2.3), with 1/8 and 1/4.
            Some((mean, deviation)) => {
                let off = mean.0.abs_diff(rtt.0);
                (Time(mean.0 - mean.0 / 8 + rtt.0 / 8), Time(deviation.0 - deviation.0 / 4 + off / 4))
            }
        });
    }

    /// The smoothed round trip.
    pub fn mean(&self) -> Option<Time> {
        self.known.map(|(mean, _)| mean)
    }

    /// How long to wait before an Interest counts as lost, the `tries`th time it is sent.
    pub fn wait(&self, tries: u32) -> Time {
        let once = self.known.map_or(FIRST, |(mean, deviation)| mean.saturating_add(deviation * 4).max(LEAST));
        Time(once.0.saturating_mul(1 << tries.min(10))).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_mean_and_four_deviations() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.wait(0), FIRST);
        trips.add(Time::from_ms(80));
        assert_eq!(trips.wait(0), Time::from_ms(80 + 4 * 40));
        for _ in 0..100 {
            trips.add(Time::from_ms(80));
        }
        assert!(trips.wait(0) < Time::from_ms(81), "{:?}", trips.wait(0));
        assert!(trips.wait(1) > Time::from_ms(159));
        assert_eq!(trips.wait(30), MOST);
    }
}
