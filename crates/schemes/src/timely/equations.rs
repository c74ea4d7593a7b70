//! Algorithm 1 of TIMELY. Times in seconds, rates in any unit.

/// What the algorithm is told of the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// α, the weight of the newest difference.
    pub alpha: f64,
    /// β, how much of the rate the gradient takes.
    pub beta: f64,
    pub t_low: f64,
    pub t_high: f64,
    /// minRTT.
    pub min_rtt: f64,
    /// δ.
    pub delta: f64,
}

/// A flow's rate, prev_rtt and rtt_diff.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub rate: f64,
    prev_rtt: Option<f64>,
    rtt_diff: f64,
    /// Completion events in a row at which the gradient was not positive.
    calm: u32,
}

/// Completion events after which increases are hyperactive (§4.3): N = 5.
const HYPERACTIVE_AFTER: u32 = 5;
/// The increase is then so many times δ (algorithm 1: N = 5).
const HYPERACTIVE: f64 = 5.0;
/// The rate is never less than so many δ: the artefact's `MIN_RATE` of 100 Mbps, where δ is 10.
const LEAST: f64 = 10.0;

impl State {
    /// A rate to begin with.
    pub fn new(rate: f64) -> State {
        State { rate, prev_rtt: None, rtt_diff: 0.0, calm: 0 }
    }

    /// rtt_diff / minRTT.
    pub fn gradient(&self, min_rtt: f64) -> f64 {
        self.rtt_diff / min_rtt
    }

    /// A completion event: the rate that follows from a new round-trip time.
    pub fn complete(&mut self, path: &Path, rtt: f64) {
        let Some(before) = self.prev_rtt.replace(rtt) else { return };
        self.rtt_diff = (1.0 - path.alpha) * self.rtt_diff + path.alpha * (rtt - before);
        let gradient = self.gradient(path.min_rtt);
        self.calm = if gradient <= 0.0 && rtt <= path.t_high { self.calm + 1 } else { 0 };
        let rate = if rtt < path.t_low {
            self.rate + path.delta
        } else if rtt > path.t_high {
            self.rate * (1.0 - path.beta * (1.0 - path.t_high / rtt))
        } else if gradient <= 0.0 {
            let times = if self.calm >= HYPERACTIVE_AFTER { HYPERACTIVE } else { 1.0 };
            self.rate + times * path.delta
        } else {
            self.rate * (1.0 - path.beta * gradient).max(0.0)
        };
        self.rate = rate.max(LEAST * path.delta);
        debug_assert!(self.rate.is_finite() && self.rate > 0.0, "a rate of {}", self.rate);
    }

    /// Something was lost, which TIMELY's networks do not: half of the rate.
    pub fn halve(&mut self, path: &Path) {
        self.rate = (self.rate / 2.0).max(LEAST * path.delta);
        self.calm = 0;
    }
}
