//! Deliveries per round trip.

use midpath_core::units::Time;

/// What is delivered in a round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeliveredPerRtt {
    pub(super) since: Time,
    pub(super) now: u64,
    pub(super) before: u64,
    /// The most of any, less a sixteenth with each that has passed since.
    pub(super) most: u64,
}

impl DeliveredPerRtt {
    /// `bytes` more, at a round trip of `trip`. Whether they are the first of a new one.
    pub(super) fn add(&mut self, bytes: u64, trip: Time, now: Time) -> bool {
        let new = now.saturating_sub(self.since) >= trip;
        if new {
            self.most = self.now.max(self.most - self.most / 16);
            (self.before, self.now, self.since) = (self.now, 0, now);
        }
        self.now += bytes;
        new
    }

    /// Of this round trip, or of the last if that is more.
    pub(super) fn bytes(&self) -> u64 {
        self.now.max(self.before)
    }
}
