//! A consumer's round trips and timeouts.

use midpath_core::units::Time;

use crate::transport::lazy_box::{Initial, LazyBox};

/// How long the least RTT is remembered, at least. Ours: as BBR does.
const WINDOW: Time = Time::from_secs(10);

/// Longest timeout of a first Interest. RFC 6298, §2.5: at least 60 s.
const MAX_TIMEOUT: Time = Time::from_secs(60);

/// RFC 6298, §2.3: G. Without it a round trip that stays the same ends at the timeout. Ours: 10 ms, a coarse clock's.
const GRANULARITY: Time = Time::from_ms(10);

/// RFC 6298, §2.2: mean deviations above the mean round trip.
pub const RTO_K: u32 = 4;

/// Silence says nothing before. Ours: what a shaper's wait may come to at once.
const LEAST_PATIENCE: Time = Time::from_ms(10);

/// Data of what was asked for more than once after which a known round trip is doubted, if nothing else comes. Ours: a
/// few losses in a row are usual where a queue is full.
const UNSURE: u32 = 16;

/// A mean round trip and its mean deviation (RFC 6298).
#[derive(Debug, Clone, Copy)]
pub struct Smoothed {
    mean: Time,
    /// [`Time::MAX`] before the first sample.
    var: Time,
}

impl Default for Smoothed {
    fn default() -> Smoothed {
        Smoothed::NONE
    }
}

impl Smoothed {
    /// Before the first sample.
    const NONE: Smoothed = Smoothed { mean: Time::ZERO, var: Time::MAX };

    /// Called with each sample. RFC 6298, §2.2 and §2.3.
    pub fn add(&mut self, rtt: Time) {
        let Smoothed { mean, var } = *self;
        *self = if var == Time::MAX {
            Smoothed { mean: rtt, var: Time(rtt.0 / 2) }
        } else {
            let away = Time(mean.0.abs_diff(rtt.0));
            Smoothed { mean: Time((mean.0 / 8) * 7 + rtt.0 / 8), var: Time((var.0 / 4) * 3 + away.0 / 4) }
        };
    }

    /// The mean.
    pub fn mean(self) -> Option<Time> {
        (self.var < Time::MAX).then_some(self.mean)
    }

    /// The mean and so many deviations.
    pub fn with_deviation(self, k: u32) -> Option<Time> {
        self.mean().map(|mean| mean.saturating_add(Time(self.var.0.saturating_mul(u64::from(k)))))
    }

    /// How long to wait for the last Interest: two round trips, as RFC 8985's probe, or longer where they
    /// vary.
    pub fn patience(self) -> Option<Time> {
        let (mean, usual) = self.mean().zip(self.with_deviation(RTO_K))?;
        Some((mean * 2).max(usual).max(LEAST_PATIENCE))
    }
}

/// What is known of a round trip where it is not sure which Interests were answered.
#[derive(Debug, Clone)]
struct Doubts {
    /// What may be the round trip, as a first sample.
    longest: Smoothed,
    /// How often that came in a row.
    unsure: u32,
}

impl Initial for Doubts {
    const INITIAL: &'static Doubts = &Doubts { longest: Smoothed::NONE, unsure: 0 };
}

/// Round trips: the least of late for the links, the smoothed one for the timeout (RFC 6298).
#[derive(Debug)]
pub struct RoundTrips {
    smoothed: Smoothed,
    /// Where only what was asked for again has come since.
    doubts: LazyBox<Doubts>,
    least: [Time; 2],
    window: Time,
    min_timeout: Time,
    /// RFC 6298's K.
    k: u32,
}

impl RoundTrips {
    /// None so far.
    pub fn new(min_timeout: Time, k: u32) -> RoundTrips {
        RoundTrips {
            smoothed: Smoothed::default(),
            doubts: LazyBox::default(),
            least: [Time::MAX; 2],
            window: Time::ZERO,
            min_timeout,
            k,
        }
    }

    /// Called where a timeout was too short, or its Interest was lost: the round trip is no longer than this.
    ///
    /// By Karn's rule alone a timeout below the round trip would stay for ever: all is asked for twice, and
    /// nothing tells a round trip. It counts for the timeout alone, until one is sure. Interests are lost, too: once a
    /// round trip is known it counts where Data came sooner after the last Interest than any do, so that the first
    /// one was answered (as Eifel, RFC 3522), or after sixteen in a row.
    pub fn add_longest(&mut self, now: Time, (longest, after_last): (Time, Time)) {
        self.doubts.unsure += 1;
        if self.least(now).is_none_or(|least| after_last < least) || self.doubts.unsure >= UNSURE {
            self.doubts.longest = Smoothed::default();
            self.doubts.longest.add(longest);
        }
    }

    /// Called with each sample.
    pub fn add(&mut self, now: Time, rtt: Time) {
        if let Some(doubts) = self.doubts.get_mut() {
            *doubts = Doubts::INITIAL.clone();
        }
        self.smoothed.add(rtt);
        if now.saturating_sub(self.window) >= WINDOW {
            (self.least, self.window) = ([Time::MAX, self.least[0]], now);
        }
        self.least[0] = self.least[0].min(rtt);
    }

    /// The smoothed one.
    pub fn smoothed(&self) -> Option<Time> {
        self.smoothed.mean()
    }

    /// How long to wait for the last Interest at most: by the round trips of all paths together.
    pub fn patience(&self) -> Option<Time> {
        self.smoothed.patience()
    }

    /// The least of the last 10 to 20 s.
    pub fn least(&self, now: Time) -> Option<Time> {
        let old = now.saturating_sub(self.window) >= WINDOW;
        let least = if old { self.least[0] } else { self.least[0].min(self.least[1]) };
        (least < Time::MAX).then_some(least)
    }

    /// The smoothed one, and the deviations of RFC 6298, §2.3, above it.
    pub fn with_deviation(&self) -> Option<Time> {
        self.smoothed.with_deviation(self.k)
    }

    /// RFC 6298, §2.3 and §2.4; before the first sample the least timeout.
    pub fn timeout(&self) -> Time {
        let Smoothed { mean, var } = self.smoothed;
        let mut wait = Time::ZERO;
        if var < Time::MAX {
            let away = Time(var.0.saturating_mul(u64::from(self.k))).max(GRANULARITY);
            wait = mean.saturating_add(away);
        }
        if let Some(longest) = self.doubts.get().and_then(|doubts| doubts.longest.with_deviation(self.k)) {
            wait = wait.max(longest);
        }
        wait.max(self.min_timeout).min(MAX_TIMEOUT.max(self.min_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const S: fn(u64) -> Time = Time::from_secs;

    #[test]
    fn round_trips_are_smoothed_and_the_least_is_forgotten_in_time() {
        let mut rtts = RoundTrips::new(MS(10), 4);
        assert_eq!((rtts.timeout(), rtts.least(S(0)), rtts.smoothed()), (MS(10), None, None));
        // At most so long: as a first sample, and for the timeout alone.
        rtts.add_longest(S(0), (MS(100), MS(50)));
        assert_eq!((rtts.timeout(), rtts.least(S(0)), rtts.smoothed()), (MS(300), None, None));
        rtts.add(S(0), MS(80));
        // RFC 6298: 80 + 4 · 40.
        assert_eq!((rtts.timeout(), rtts.least(S(1))), (MS(240), Some(MS(80))));
        rtts.add(S(1), MS(160));
        assert_eq!((rtts.smoothed(), rtts.timeout()), (Some(MS(90)), MS(90 + 4 * 50)));
        rtts.add(S(12), MS(100));
        (0..50).for_each(|_| rtts.add(S(23), MS(100)));
        assert!(rtts.timeout() >= MS(109), "above a round trip that stays the same: {:?}", rtts.timeout());
        assert_eq!(rtts.least(S(24)), Some(MS(100)));
    }

    #[test]
    fn a_known_round_trip_is_doubted_where_data_come_too_soon_or_many_in_a_row_are_unsure() {
        let known = || {
            let mut rtts = RoundTrips::new(MS(10), 4);
            (0..50).for_each(|_| rtts.add(S(0), MS(100)));
            rtts
        };
        // The Interest before was lost: Data come a round trip after the last.
        let mut rtts = known();
        let usual = rtts.timeout();
        (1..UNSURE).for_each(|_| rtts.add_longest(S(0), (MS(400), MS(110))));
        assert_eq!(rtts.timeout(), usual);
        rtts.add_longest(S(0), (MS(400), MS(110)));
        assert_eq!(rtts.timeout(), MS(1200));
        // It was not: Data of the last one cannot be there yet.
        let mut rtts = known();
        rtts.add_longest(S(0), (MS(400), MS(90)));
        assert_eq!(rtts.timeout(), MS(1200));
    }
}
