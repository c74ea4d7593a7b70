//! Queueing delay in the underlying network.
//!
//! A report has the arrival time of the last packet by the receiver's clock. Minus its send time by ours, it is the
//! path delay plus queueing plus the clock offset. The minimum is the path without queues.

use std::collections::VecDeque;

use midpath_core::units::Time;

/// Packets whose times are kept. Ours: a second at 50 Mbps.
const KEPT: usize = 4096;
/// The least is that of this time and the one before it: paths change, and clocks drift.
const PERIOD: Time = Time::from_secs(30);
/// A queue that waits longer than this is ours to empty. Ours: less than lines have room for, and more
/// than threads that wake late.
const LONG: Time = Time::from_ms(40);
/// Up to this the rate may grow.
const SHORT: Time = Time::from_ms(20);
/// Below this nothing waits.
const NONE: Time = Time::from_ms(5);

/// What is known of a link's delays.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    sent: VecDeque<(u64, Time)>,
    /// In ps: clocks may differ by anything.
    least: Option<i128>,
    least_before: Option<i128>,
    since: Time,
    queue: Time,
}

impl Delays {
    /// A packet of this number leaves.
    pub fn sent(&mut self, number: u64, now: Time) {
        if self.sent.len() == KEPT {
            self.sent.pop_front();
        }
        self.sent.push_back((number, now));
    }

    /// A report has come: the last of all packets below `next` came at `clock`, in µs.
    pub fn reported(&mut self, next: u64, clock: u64, now: Time) {
        let mut last = None;
        while self.sent.front().is_some_and(|(number, _)| *number < next) {
            last = self.sent.pop_front();
        }
        let Some((number, at)) = last else { return };
        if number + 1 != next {
            return;
        }
        if now.saturating_sub(self.since) >= PERIOD {
            (self.least_before, self.least, self.since) = (self.least, None, now);
        }
        let took = i128::from(clock) * 1_000_000 - i128::from(at.0);
        self.least = Some(self.least.map_or(took, |least| least.min(took)));
        let least = self.least.into_iter().chain(self.least_before).min().unwrap_or(took);
        self.queue = Time(u64::try_from(took - least).unwrap_or_default());
    }

    /// Nothing is known of the packets that have been sent so far.
    pub fn forget(&mut self) {
        self.sent.clear();
        self.queue = Time::ZERO;
    }

    /// What the last packet waited.
    pub const fn queue(&self) -> Time {
        self.queue
    }

    /// Nothing waits, but for threads that wake late.
    pub fn is_none(&self) -> bool {
        self.queue < NONE
    }

    /// Too much waits.
    pub fn is_long(&self) -> bool {
        self.queue > LONG
    }

    /// So much waits that no more is sent than now.
    pub fn grows(&self) -> bool {
        self.queue > SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_what_takes_longer_than_the_least() {
        let (ms, mut delays) = (Time::from_ms, Delays::default());
        for number in 0..100 {
            delays.sent(number, ms(number));
        }
        // Their clock is a month ahead of ours.
        let ahead = 30 * 86_400_000_000;
        delays.reported(10, ahead + 1000 * (9 + 20), ms(40));
        assert_eq!((delays.queue(), delays.grows()), (Time::ZERO, false));
        delays.reported(50, ahead + 1000 * (49 + 20 + 30), ms(200));
        assert_eq!((delays.queue(), delays.grows(), delays.is_long()), (ms(30), true, false));
        delays.reported(100, ahead + 1000 * (99 + 20 + 60), ms(200));
        assert!(delays.is_long());
        // A path that has become longer is known as such after a while.
        for number in 100..1000 {
            delays.sent(number, ms(100 * number));
            delays.reported(number + 1, ahead + 1000 * (100 * number + 80), ms(100 * number + 200));
        }
        assert_eq!(delays.queue(), Time::ZERO);
    }
}
