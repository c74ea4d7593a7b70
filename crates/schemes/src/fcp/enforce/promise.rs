//! Whether a host does what it announces (§6.1.3): "comparing the expected incoming budget
//! calculated in the previous averaging window to the actual incoming budget of the current
//! averaging window".
//!
//! Time is divided into windows. A host is expected to pay what it paid in the previous window plus what it has
//! announced since: a packet at time t says that the budget changes by paid·size·preload/rtt one round trip later,
//! at t + rtt. The share of the change in a window is computed from that moment, so an honest host meets the
//! expectation on average. The expectation never exceeds the budget. Packets that the policer drops count, too: the
//! host sent them.

use midpath_core::units::Time;

/// A window is as long as the link's averaging window: twice the average round-trip time (§5),
/// within these bounds. Ours: below, a window holds few packets; above, those who claim long round
/// trips would be judged late.
const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 2.0;

/// "Consistently": in so many windows, one after the other. Ours: a path that fails or a transfer
/// that is broken off is off in one, or in two when it falls between them; a host with a churn of
/// short flows over a congested path was seen off in up to three.
pub const CONSISTENTLY: i32 = 5;

/// Off is a factor of two between the expected and the actual (ours: equation (4) itself counts a
/// new budget up to 1.5 times), if their difference is also more than this share of the host's
/// budget, below which it does no harm. Ours.
const SHARE: f64 = 0.1;

/// What one host has promised and done.
#[derive(Debug, Clone, Default)]
pub struct Promise {
    /// The host's budget, $/s.
    budget: f64,
    start: Time,
    /// Of the present window, s.
    length: f64,
    /// What was paid in it, $.
    paid: f64,
    /// Σ rtt over its packets, s, and how many.
    rtt: f64,
    packets: f64,
    /// The average of the last window that had any, s.
    average: f64,
    /// The actual income of the window before, $/s.
    before: f64,
    /// By how much the income of this window and of the next two should differ from that before
    /// each, $/s.
    change: [f64; 3],
    /// Windows in a row that were off: above zero with less than expected, below with more.
    off: i32,
}

impl Promise {
    /// Of a host with this budget, $/s.
    pub fn new(budget: f64) -> Promise {
        Promise { budget, length: SHORTEST, ..Promise::default() }
    }

    /// A packet pays `paid` $ and announces a change of `change` $/s that holds after `rtt` s.
    /// Whether the host is to be kept out.
    pub fn count(&mut self, paid: f64, change: f64, rtt: f64, now: Time) -> bool {
        let broken = self.pass(now);
        self.paid += paid;
        self.rtt += rtt;
        self.packets += 1.0;
        self.announce(change, rtt, now);
        broken
    }

    /// The same for what is announced without being paid for: by a SYN.
    pub fn announce(&mut self, change: f64, rtt: f64, now: Time) {
        // When it begins to hold, in windows from the start of the present one; later than the end
        // of the next is as its end.
        let from = ((now.saturating_sub(self.start).as_secs_f64() + rtt) / self.length).min(2.0);
        // The parts of the present window, the next, and the one after that in which it holds.
        let mut before = 0.0;
        for (window, sum) in self.change.iter_mut().enumerate() {
            let part = (window as f64 + 1.0 - from).clamp(0.0, 1.0);
            *sum += change * (part - before);
            before = part;
        }
    }

    /// Closes the windows that have ended. Whether the last of them was one too many.
    fn pass(&mut self, now: Time) -> bool {
        let mut broken = false;
        // After a pause nothing is expected any more.
        if now.saturating_sub(self.start).as_secs_f64() > 4.0 * self.length {
            *self = Promise { start: now, length: self.length, average: self.average, ..Promise::new(self.budget) };
        }
        while now.saturating_sub(self.start).as_secs_f64() >= self.length {
            broken |= self.close();
        }
        broken
    }

    fn close(&mut self) -> bool {
        let actual = self.paid / self.length;
        let expected = (self.before + self.change[0]).clamp(0.0, self.budget);
        let matters = (actual - expected).abs() > SHARE * self.budget;
        self.off = match (matters, actual < expected / 2.0, actual > expected * 2.0) {
            (true, true, _) => self.off.max(0) + 1,
            (true, _, true) => self.off.min(0) - 1,
            _ => 0,
        };
        self.start += Time::from_secs_f64(self.length);
        self.before = actual;
        self.change = [self.change[1], self.change[2], 0.0];
        if self.packets > 0.0 {
            self.average = self.rtt / self.packets;
        }
        self.length = (2.0 * self.average).clamp(SHORTEST, LONGEST);
        (self.paid, self.rtt, self.packets) = (0.0, 0.0, 0.0);
        let broken = self.off.abs() >= CONSISTENTLY;
        if broken {
            self.off = 0;
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that spends and announces by what `step` says for each millisecond: ($ paid, $/s
    /// announced), with a round trip of 40 ms. When it is caught, in ms.
    fn caught(mut step: impl FnMut(u64) -> (f64, f64)) -> Option<u64> {
        let mut promise = Promise::new(1.0);
        (1..20_000).find(|ms| {
            let (paid, change) = step(*ms);
            promise.count(paid, change, 0.04, Time::from_ms(*ms))
        })
    }

    #[test]
    fn who_keeps_its_promises_is_left_alone() {
        // 1 $/s from 40 ms on, announced over the first round trip.
        assert_eq!(caught(|ms| (if ms >= 40 { 1e-3 } else { 0.0 }, if ms <= 40 { 1.0 / 40.0 } else { 0.0 })), None);
        // On and off, every 130 ms, and announced.
        let on = |ms: u64| ms >= 40 && ((ms - 40) / 130).is_multiple_of(2);
        let step = |ms: u64| {
            let change = match ms % 130 {
                0..40 if (ms / 130).is_multiple_of(2) => 1.0 / 40.0,
                0..40 => -1.0 / 40.0,
                _ => 0.0,
            };
            (if on(ms) { 1e-3 } else { 0.0 }, change)
        };
        assert_eq!(caught(step), None);
        // Broken off once, without a word.
        assert_eq!(caught(|ms| (if (1000..2000).contains(&ms) { 0.0 } else { 1e-3 }, 0.0)), None);
    }

    #[test]
    fn who_announces_and_sends_nothing_is_caught() {
        // 1 $/s on a packet in 80 ms.
        let at = caught(|ms| if ms % 80 == 1 { (1e-4, 1.0) } else { (0.0, 0.0) });
        assert!(at.is_some_and(|ms| ms < 1000), "{at:?}");
    }

    #[test]
    fn who_announces_less_and_goes_on_is_caught() {
        // Half of what each packet pays is taken back: −0.5·10^-3/0.04.
        let at = caught(|_| (1e-3, -0.5e-3 / 0.04));
        assert!(at.is_some_and(|ms| ms < 1000), "{at:?}");
    }

    #[test]
    fn who_spends_far_beyond_its_budget_is_caught() {
        assert!(caught(|_| (3e-3, 0.0)).is_some_and(|ms| ms < 1000));
        assert_eq!(caught(|_| (1.9e-3, 0.0)), None); // the policer's
    }

    #[test]
    fn once_is_not_consistently() {
        assert_eq!(caught(|ms| (0.0, if ms == 500 { 1.0 } else { 0.0 })), None);
    }

    /// Windows of 0.1 s: what holds from the middle of one on is half of it there, and whole from the next on.
    #[test]
    fn a_change_is_expected_from_the_moment_that_it_holds() {
        for (rtt, expected) in
            [(0.05, [0.3, 0.3, 0.0]), (0.1, [0.0, 0.6, 0.0]), (0.15, [0.0, 0.3, 0.3]), (9.0, [0.0, 0.0, 0.6])]
        {
            let mut promise = Promise::new(1.0);
            promise.announce(0.6, rtt, Time::ZERO);
            assert!(
                promise.change.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
                "{rtt}: {:?}",
                promise.change
            );
        }
    }
}
