//! Measures at run time whether several threads are faster than one, as the machine may have no spare core.

use std::time::{Duration, Instant};

/// Compares what all threads get done with what the first does alone. Nothing of a result depends
/// on it.
pub(super) struct Pace {
    /// Whether the first thread works alone at the moment, and whether it is usual.
    alone: bool,
    usual: bool,
    since: Instant,
    events: u64,
    /// Events per second of the usual way, from its last look.
    rate: f64,
    /// How long the usual way goes on before the other is tried.
    stretch: Duration,
    rounds: u32,
}

impl Pace {
    /// Ours: long enough to see a thread lose its core, which it does for some milliseconds.
    const TRY: Duration = Duration::from_millis(12);
    /// Ours: how long the usual way goes on at first, and at most. The other takes 1 % of it, then.
    const STRETCH: (Duration, Duration) = (Duration::from_millis(60), Duration::from_millis(1_200));
    /// Ours: by how much the other way has to be faster to become the usual one.
    const MARGIN: f64 = 1.05;
    /// The clock is looked at once in so many rounds.
    const ROUNDS: u32 = 16;

    pub fn new(now: Instant) -> Pace {
        Pace { alone: false, usual: false, since: now, events: 0, rate: 0.0, stretch: Pace::STRETCH.0, rounds: 0 }
    }

    /// Whether it is time to look at the clock. Called once a round.
    pub fn is_due(&mut self) -> bool {
        self.rounds = (self.rounds + 1) % Pace::ROUNDS;
        self.rounds == 0
    }

    /// Says whether the first thread is to work alone from now on, after so many events in all.
    pub fn look(&mut self, now: Instant, events: u64) -> bool {
        let trial = self.alone != self.usual;
        let elapsed = now.duration_since(self.since);
        // Before the first trial there is nothing to wait for.
        let due = if trial || self.rate == 0.0 { Pace::TRY } else { self.stretch };
        if elapsed < due {
            return self.alone;
        }
        let rate = (events - self.events) as f64 / elapsed.as_secs_f64();
        if !trial {
            self.rate = rate;
            self.alone = !self.usual;
        } else if rate > Pace::MARGIN * self.rate {
            (self.usual, self.rate, self.stretch) = (self.alone, rate, Pace::STRETCH.0);
        } else {
            self.alone = self.usual;
            self.stretch = (2 * self.stretch).min(Pace::STRETCH.1);
        }
        (self.since, self.events) = (now, events);
        self.alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs for 10 s where both ways have such rates, in events a millisecond. Gives the share of time
    /// that the first thread was alone, before and after the rates change at 5 s.
    fn shares(first: (u64, u64), then: (u64, u64)) -> [f64; 2] {
        #[expect(clippy::disallowed_methods, reason = "a time to count from")]
        let begin = Instant::now();
        let (mut pace, mut events, mut alone) = (Pace::new(begin), 0, false);
        let mut shares = [0.0; 2];
        for ms in 0..10_000 {
            let (together, single) = if ms < 5_000 { first } else { then };
            events += if alone { single } else { together };
            shares[ms / 5_000] += f64::from(alone) / 5_000.0;
            alone = pace.look(begin + Duration::from_millis(ms as u64 + 1), events);
        }
        shares
    }

    #[test]
    fn the_clock_is_looked_at_once_in_so_many_rounds() {
        #[expect(clippy::disallowed_methods, reason = "a time to count from")]
        let mut pace = Pace::new(Instant::now());
        assert_eq!((0..10 * Pace::ROUNDS).filter(|_| pace.is_due()).count(), 10);
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_is_tried_at_times() {
        let [before, after] = shares((190, 100), (100, 190));
        assert!((0.005..0.05).contains(&before), "together is faster: {before}");
        assert!(after > 0.7, "alone is faster, which the next trial finds: {after}");
        let [before, after] = shares((6, 100), (190, 100));
        assert!(before > 0.97, "sixteen times as slow: {before}");
        assert!(after < 0.3, "{after}");
    }
}
