//! Liveness of the neighbour. While packets are in flight, the neighbour sends something ten times a second. If
//! nothing arrives it is probed, and without an answer it counts as silent: only probes are sent to it until
//! something arrives.

use midpath_core::units::Time;

/// Nothing has been heard for so long: the neighbour is asked. Ours: two reports are missing.
const ASK: Time = Time::from_ms(250);
/// So much later, and two round trips, it is silent. Ours: two questions were in vain.
const PATIENCE: Time = Time::from_ms(250);
/// How often it is asked then.
const AGAIN: Time = Time::from_ms(100);
/// For so long after the last packet it matters whether it is there. Ours.
const MATTERS: Time = Time::from_secs(2);

/// What is known of whether a neighbour answers.
#[derive(Debug, Clone, Default)]
pub struct Silence {
    /// When anything came last, or packets began to be on their way.
    since: Time,
    sent_at: Time,
    asked_at: Option<Time>,
    /// The longest round trip of an answer; before the first nobody is called silent.
    round_trip: Option<Time>,
    silent: bool,
    times: u64,
}

impl Silence {
    /// Nothing was on its way until now.
    pub fn begin(&mut self, now: Time) {
        self.since = self.since.max(now);
    }

    /// A packet leaves.
    pub fn sent(&mut self, now: Time) {
        self.sent_at = now;
    }

    /// Anything has come; says whether the neighbour was silent.
    pub fn heard(&mut self, now: Time) -> bool {
        (self.since, self.asked_at) = (now, None);
        std::mem::take(&mut self.silent)
    }

    /// The longest round trip of an answer.
    pub const fn round_trip(&self) -> Option<Time> {
        self.round_trip
    }

    /// A question was answered so long after it was asked.
    pub fn answered(&mut self, took: Time) {
        self.round_trip = Some(self.round_trip.map_or(took, |longest| longest.max(took)));
    }

    /// Whether it is silent.
    pub const fn is_silent(&self) -> bool {
        self.silent
    }

    /// How often it was.
    pub const fn times(&self) -> u64 {
        self.times
    }

    fn matters(&self, waits: bool, now: Time) -> bool {
        self.silent || (waits && now < self.sent_at.saturating_add(MATTERS))
    }

    /// Whether it is to be asked now; then it has been.
    pub fn asks(&mut self, waits: bool, now: Time) -> bool {
        let due = self.asked_at.map_or(self.since.saturating_add(ASK), |at| at.saturating_add(AGAIN));
        let asks = self.round_trip.is_some() && self.matters(waits, now) && now >= due;
        if asks {
            self.asked_at = Some(now);
        }
        asks
    }

    /// Called when the time may have come.
    pub fn poll(&mut self, waits: bool, now: Time) {
        if !self.silent && self.asked_at.is_some() && self.matters(waits, now) && now >= self.silent_at() {
            (self.silent, self.times) = (true, self.times + 1);
        }
    }

    fn silent_at(&self) -> Time {
        let Some(round_trip) = self.round_trip else { return Time::MAX };
        self.since.saturating_add(ASK).saturating_add(PATIENCE).saturating_add(Time(2 * round_trip.0))
    }

    /// When something is due.
    pub fn next_wake(&self, waits: bool) -> Time {
        if self.round_trip.is_none() || !(self.silent || waits) {
            return Time::MAX;
        }
        match self.asked_at {
            None => self.since.saturating_add(ASK),
            Some(at) if self.silent => at.saturating_add(AGAIN),
            Some(at) => at.saturating_add(AGAIN).min(self.silent_at()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn known() -> Silence {
        let mut silence = Silence::default();
        silence.answered(MS(40));
        silence
    }

    #[test]
    fn who_does_not_answer_is_silent_until_anything_comes() {
        let mut silence = known();
        silence.begin(MS(1000));
        silence.sent(MS(1000));
        assert!(!silence.asks(true, MS(1249)) && silence.asks(true, MS(1250)) && !silence.asks(true, MS(1251)));
        silence.poll(true, MS(1579));
        assert!(!silence.is_silent());
        silence.poll(true, MS(1580));
        assert!(silence.is_silent() && silence.asks(true, MS(1580)));
        // For as long as it takes.
        assert!(silence.asks(true, MS(9000)));
        assert!(silence.heard(MS(9050)) && !silence.is_silent());
        assert_eq!(silence.times(), 1);
    }

    /// A packet that is lost, and none after it: the answer says that the neighbour is there, and after
    /// a while nobody asks any more.
    #[test]
    fn who_answers_is_not_silent() {
        let mut silence = known();
        silence.sent(MS(1000));
        silence.begin(MS(1000));
        let mut asked = 0;
        for ms in 1000..10_000 {
            asked += u64::from(silence.asks(true, MS(ms)));
            silence.poll(true, MS(ms));
            if ms % 40 == 39 && silence.asked_at.is_some() {
                silence.heard(MS(ms));
            }
            assert!(!silence.is_silent());
        }
        assert!((3..9).contains(&asked), "{asked}");
    }

    /// Without a round trip nobody knows how long to wait: a path of seconds is no silence.
    #[test]
    fn before_the_first_answer_nobody_is_silent() {
        let mut silence = Silence::default();
        silence.sent(MS(0));
        silence.poll(true, MS(5000));
        assert!(!silence.is_silent() && !silence.asks(true, MS(5000)));
        assert_eq!(silence.next_wake(true), Time::MAX);
    }
}
