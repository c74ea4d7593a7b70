//! Algorithm 1 of Swift, and its target. Windows in packets, times in seconds.

/// What the algorithm is told of the path and the flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// ai.
    pub increase: f64,
    /// β.
    pub beta: f64,
    /// max_mdf.
    pub most_decrease: f64,
    /// The target without flow scaling: base_target + #hops·ħ, or the endpoint's.
    pub target: f64,
    pub scaling: Scaling,
    /// max_cwnd: "a guard for the non-bottlenecked cwnd" (§3.3, footnote 3).
    pub most: f64,
}

/// §3.5: how much more the target is where windows are small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaling {
    /// fs_range.
    pub range: f64,
    /// fs_min_cwnd.
    pub least: f64,
    /// fs_max_cwnd.
    pub most: f64,
}

impl Scaling {
    /// None: only the fabric's target is scaled (§3.5).
    pub const NONE: Scaling = Scaling { range: 0.0, least: 0.1, most: 100.0 };

    /// max(0, min(α/√cwnd + β, fs_range)): α = fs_range/(1/√fs_min_cwnd − 1/√fs_max_cwnd), β = −α/√fs_max_cwnd.
    pub fn delay(&self, cwnd: f64) -> f64 {
        let alpha = self.range / (1.0 / self.least.sqrt() - 1.0 / self.most.sqrt());
        let beta = -alpha / self.most.sqrt();
        (alpha / cwnd.sqrt() + beta).min(self.range).max(0.0)
    }
}

/// §3.3: the endpoint's delay is smoothed, the fabric's is not. The first sample is taken as it is (RFC 6298, (2.2)); ours.
pub(crate) fn smoothed(before: Option<f64>, sample: f64, gain: f64) -> f64 {
    before.map_or(sample, |before| before + gain * (sample - before))
}

/// A flow's window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub cwnd: f64,
    /// t_last_decrease.
    decreased: f64,
    /// retransmit_cnt.
    timeouts: u32,
}

/// No window is smaller: algorithm 1's min_cwnd, .001 packets (§3.4: "down to .001").
pub(crate) const LEAST_WINDOW: f64 = 0.001;
/// RETX_RESET_THRESHOLD: htsim's, which calls it a guess.
const RESET_THRESHOLD: u32 = 5;

impl State {
    /// A window to begin with.
    pub fn new(cwnd: f64) -> State {
        State { cwnd, decreased: f64::NEG_INFINITY, timeouts: 0 }
    }

    /// TargetDelay().
    pub fn target(&self, path: &Path) -> f64 {
        path.target + path.scaling.delay(self.cwnd)
    }

    /// can_decrease.
    fn can_decrease(&self, now: f64, rtt: f64) -> bool {
        now - self.decreased >= rtt
    }

    fn decrease(&mut self, factor: f64, now: f64) {
        self.cwnd = (self.cwnd * factor).max(LEAST_WINDOW);
        self.decreased = now;
    }

    /// On Receiving ACK: of so many packets, after this delay.
    pub fn acknowledge(&mut self, path: &Path, delay: f64, packets: f64, now: f64, rtt: f64) {
        self.timeouts = 0;
        let target = self.target(path);
        if delay < target {
            self.cwnd = (self.cwnd + path.increase * packets / self.cwnd.max(1.0)).min(path.most);
        } else if self.can_decrease(now, rtt) {
            let factor = 1.0 - path.beta * (delay - target) / delay;
            self.decrease(factor.max(1.0 - path.most_decrease), now);
        }
        debug_assert!(self.cwnd.is_finite() && self.cwnd >= LEAST_WINDOW, "a window of {}", self.cwnd);
    }

    /// On Fast Recovery.
    pub fn lose(&mut self, path: &Path, now: f64, rtt: f64) {
        if self.can_decrease(now, rtt) {
            self.decrease(1.0 - path.most_decrease, now);
        }
    }

    /// On Retransmit Timeout.
    pub fn time_out(&mut self, path: &Path, now: f64, rtt: f64) {
        self.timeouts += 1;
        if self.timeouts >= RESET_THRESHOLD {
            self.decrease(0.0, now);
        } else {
            self.lose(path, now, rtt);
        }
    }
}
