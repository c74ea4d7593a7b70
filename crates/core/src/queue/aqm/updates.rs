use crate::units::Time;

/// When a controller updates: at multiples of a period, until an update would change nothing. From
/// then on it rests until the next arrival, and decides the same as if it had never rested.
#[derive(Debug, Clone)]
pub(super) struct Updates {
    pub period: Time,
    /// An update is asked for.
    pub awake: bool,
    wish: Option<Time>,
}

impl Updates {
    /// At multiples of `period`, which is above zero; it rests.
    pub const fn every(period: Time) -> Updates {
        Updates { period, awake: false, wish: None }
    }

    /// Called with each arrival.
    pub fn arrival(&mut self, now: Time) {
        if !self.awake {
            self.next(now, true);
        }
    }

    /// Called after an update: whether another one follows.
    pub fn next(&mut self, now: Time, follows: bool) {
        self.awake = follows;
        self.wish = follows.then(|| Time((now.0 / self.period.0 + 1).saturating_mul(self.period.0)));
    }

    /// What [`Aqm::timer`](super::Aqm::timer) says.
    pub fn wish(&mut self) -> Option<Time> {
        self.wish.take()
    }
}
