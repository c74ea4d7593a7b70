//! An interface's current state, and durations of states.

use midpath_core::units::Time;

use super::algorithm1;
use super::state::{Notification, State, Thresholds};

/// An interface's state, and how long the transitional one lasts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    state: State,
    /// In DB: when its timer expires (algorithm 1, line 5).
    until: Time,
    /// Until when ACKs carry the cancellation.
    cancel_until: Time,
}

/// How long DB and its cancellations last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasting {
    /// The state.
    pub state: Time,
    /// The cancellations: as long as a slow-down holds that nobody has cancelled.
    pub cancel: Time,
}

impl Machine {
    /// The state now.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// When it must be updated although nothing happens.
    #[inline]
    pub fn expires(&self) -> Time {
        if self.state == State::DisableBackpressure { self.until } else { Time::MAX }
    }

    /// Follows the cache's occupancy: lines 2 to 13 of algorithm 1, with the timers that they set.
    ///
    /// Called at every ACK, as the algorithm is, and whenever the occupancy has changed: with the
    /// last ACKs lost, a port that only looks at ACKs would stay in backpressure for ever.
    #[inline]
    pub fn update(&mut self, occupancy: u64, t: &Thresholds, now: Time, lasting: Lasting) -> State {
        let before = self.state;
        self.state = algorithm1::next_state(before, occupancy, t, now >= self.until);
        if before == State::Backpressure && self.state == State::DisableBackpressure {
            // Line 5.
            self.until = now.saturating_add(lasting.state);
            self.cancel_until = now.saturating_add(lasting.cancel);
        }
        self.state
    }

    /// The notification for the next ACK: lines 4 and 8. Cancellations last longer than the transitional
    /// state, as long as a hop upstream may still hold packets back: several may have been slowed
    /// down, and an ACK that waits in a queue downstream may come late.
    #[inline]
    pub fn notification(&self, now: Time) -> Option<Notification> {
        algorithm1::notification(self.state, now < self.cancel_until)
    }
}
