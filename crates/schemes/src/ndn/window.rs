//! A consumer's window: the number of pending Interests allowed. AIMD and CUBIC as `ndncatchunks` of
//! ndn-tools has them.

use midpath_core::units::Time;

use super::params::{NdnParams, Window as Rule};

/// A window never falls below this: ndn-tools' least ssthresh.
const LEAST: f64 = 2.0;

/// C of CUBIC, in packets per second cubed. 0.4: RFC 9438, §5, and ndn-tools.
const CUBIC_C: f64 = 0.4;

/// The window.
#[derive(Debug, Clone)]
pub struct Window {
    rule: Rule,
    initial: f64,
    step: f64,
    beta: f64,
    fast_convergence: bool,
    size: f64,
    ssthresh: f64,
    /// CUBIC's W_max, the one before, and when the window was last made smaller.
    max: f64,
    last_max: f64,
    decreased: Option<Time>,
}

impl Window {
    /// A window at its start.
    pub fn new(params: &NdnParams) -> Window {
        let NdnParams { window: rule, initial_window: initial, step, fast_convergence, .. } = *params;
        Window {
            rule,
            initial,
            step,
            beta: params.beta(),
            fast_convergence,
            size: initial,
            ssthresh: f64::INFINITY,
            max: 0.0,
            last_max: 0.0,
            decreased: None,
        }
    }

    /// How many Interests may be on their way.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Called with each Data that is not marked.
    pub fn grow(&mut self, now: Time, rtt: Option<Time>) {
        if self.size < self.ssthresh {
            self.size += self.step;
            return;
        }
        match self.rule {
            Rule::Aimd => self.size += self.step / self.size.floor(),
            Rule::Cubic => self.size += self.cubic_increment(now, rtt),
        }
    }

    /// RFC 9438, (1), (2) and (4), without its bounds on the increment; as ndn-tools has them.
    fn cubic_increment(&mut self, now: Time, rtt: Option<Time>) -> f64 {
        // Without a decrease so far the curve begins at the window that there is.
        if self.max < self.initial {
            self.max = self.size;
        }
        let since = now.saturating_sub(*self.decreased.get_or_insert(now)).as_secs_f64();
        let k = (self.max * (1.0 - self.beta) / CUBIC_C).cbrt();
        let cubic = CUBIC_C * (since - k).powi(3) + self.max;
        let rtt = rtt.map_or(f64::INFINITY, |rtt| rtt.as_secs_f64().max(1e-6));
        let reno = self.max * self.beta + 3.0 * (1.0 - self.beta) / (1.0 + self.beta) * since / rtt;
        (cubic.max(reno) - self.size).max(0.0) / self.size
    }

    /// Called at a mark, a timeout or a Nack, at most once per round trip.
    pub fn shrink(&mut self, now: Time) {
        if self.rule == Rule::Cubic {
            // RFC 9438, §4.7: a flow whose window is smaller than the last time makes more room.
            let shrunk = self.fast_convergence && self.size < self.last_max;
            self.last_max = self.size;
            self.max = if shrunk { self.size * (1.0 + self.beta) / 2.0 } else { self.size };
            self.decreased = Some(now);
        }
        self.ssthresh = (self.size * self.beta).max(LEAST);
        self.size = self.ssthresh;
        debug_assert!(self.size.is_finite() && self.size >= LEAST, "a window of {}", self.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(rule: Rule) -> Window {
        Window::new(&NdnParams { window: rule, ..NdnParams::default() })
    }

    #[test]
    fn aimd_doubles_then_adds_one_per_round_trip_and_halves() {
        let mut w = window(Rule::Aimd);
        (0..30).for_each(|_| w.grow(Time::ZERO, None));
        assert_eq!(w.size(), 32.0);
        w.shrink(Time::ZERO);
        assert_eq!(w.size(), 16.0);
        (0..16).for_each(|_| w.grow(Time::ZERO, None));
        assert!((w.size() - 17.0).abs() < 1e-9);
        (0..9).for_each(|_| w.shrink(Time::ZERO));
        assert_eq!(w.size(), 2.0);
    }

    #[test]
    fn cubic_is_back_at_its_window_after_k_seconds() {
        let mut w = window(Rule::Cubic);
        (0..98).for_each(|_| w.grow(Time::ZERO, None));
        w.shrink(Time::ZERO);
        assert_eq!((w.size(), w.max), (70.0, 100.0));
        // K = (100 · 0.3 / 0.4)^(1/3) = 4.217 s. The RTT is long, so that (4) counts for nothing.
        let rtt = Some(Time::from_secs(100));
        for ms in 1..=4217 {
            (0..4).for_each(|_| w.grow(Time::from_ms(ms), rtt));
        }
        assert!((99.0..=100.1).contains(&w.size()), "{}", w.size());
    }

    #[test]
    fn cubic_is_no_slower_than_reno_on_short_paths() {
        let mut w = window(Rule::Cubic);
        (0..8).for_each(|_| w.grow(Time::ZERO, None));
        w.shrink(Time::ZERO);
        // (4) after 1 s of 10 ms: 10 · 0.7 + 3 · 0.3/1.7 · 100 = 59.9; the cubic is at 0.4 (1 −
        // 1.957)³ + 10 = 9.6.
        for ms in 1..=1000 {
            (0..100).for_each(|_| w.grow(Time::from_ms(ms), Some(Time::from_ms(10))));
        }
        assert!((58.0..60.0).contains(&w.size()), "{}", w.size());
    }

    /// Of ndn-tools' own tests, `tests/chunks/pipeline-interests-aimd.t.cpp`, with its margin of 0.01 %:
    /// from a window of 1 with a threshold of 4, so many Data (`+`) and decreases (`-`), and the windows.
    #[test]
    fn aimd_has_the_windows_of_ndn_tools() {
        let cases =
            [("++++", 4.25), ("++++-", 2.125), ("++++-+", 2.625), ("+++++", 4.5), ("++++++", 4.75), ("++++--", 2.0)];
        for (steps, expected) in cases {
            let mut w = window(Rule::Aimd);
            (w.size, w.ssthresh) = (1.0, 4.0);
            walk(&mut w, steps);
            assert!((w.size() / expected - 1.0).abs() <= 1e-4, "{steps}: {} for {expected}", w.size());
        }
    }

    /// The same of `pipeline-interests-cubic.t.cpp`, with its margin of 0.001 %: from a window of 2.
    #[test]
    fn cubic_has_the_windows_of_ndn_tools() {
        let cases = [
            ("+++", 5.0),
            ("+++++", 7.0),
            ("+++++-", 4.9),
            ("+++++-+", 4.9),
            ("+++++--", 3.43),
            ("++++++", 8.0),
            ("+++++++", 9.0),
        ];
        for (steps, expected) in cases {
            let mut w = window(Rule::Cubic);
            walk(&mut w, steps);
            assert!((w.size() / expected - 1.0).abs() <= 1e-5, "{steps}: {} for {expected}", w.size());
        }
    }

    fn walk(w: &mut Window, steps: &str) {
        for (i, step) in (0..).zip(steps.chars()) {
            let now = Time::from_ns(i);
            if step == '-' { w.shrink(now) } else { w.grow(now, Some(Time::from_ms(100))) }
        }
    }

    #[test]
    fn a_flow_that_lost_room_gives_more() {
        for (fast_convergence, max) in [(true, 70.0 * 0.85), (false, 70.0)] {
            let mut w = Window::new(&NdnParams { window: Rule::Cubic, fast_convergence, ..NdnParams::default() });
            (0..98).for_each(|_| w.grow(Time::ZERO, None));
            w.shrink(Time::ZERO);
            w.shrink(Time::ZERO);
            assert!((w.max - max).abs() < 1e-9, "{}", w.max);
        }
    }

    proptest! {
        #[test]
        fn it_stays_a_window(steps in prop::collection::vec((0u8..10, 0u64..5000, 1u64..1000), 0..300), cubic: bool) {
            let mut w = window(if cubic { Rule::Cubic } else { Rule::Aimd });
            let mut now = Time::ZERO;
            for (what, later, rtt) in steps {
                now += Time::from_ms(later);
                if what == 0 { w.shrink(now) } else { w.grow(now, Some(Time::from_ms(rtt))) }
                prop_assert!(w.size().is_finite() && w.size() >= 2.0);
            }
        }
    }
}
