//! Algorithm 1 of HPCC: utilisation of the path, and the window.

use super::header::Reading;

/// What the algorithm is told of the flow and its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// η.
    pub eta: f64,
    /// maxStage.
    pub max_stage: u32,
    /// W_AI in bytes.
    pub increase: f64,
    /// W is between these: a packet, and what fills the slowest link.
    pub least: f64,
    pub most: f64,
}

/// A flow's W, W_c, incStage and U.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub window: f64,
    pub reference: f64,
    stage: u32,
    load: f64,
}

impl State {
    /// A window to begin with.
    pub fn new(window: f64) -> State {
        State { window, reference: window, stage: 0, load: 0.0 }
    }

    /// The window was set by something else.
    pub fn restart(&mut self, window: f64) {
        (self.window, self.reference, self.stage) = (window, window, 0);
    }

    /// U.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Lines 1 to 10: U, smoothed over T, from two readings of each port on the path.
    pub fn measure(&mut self, before: &[Reading], now: &[Reading], base_rtt: f64) {
        let (mut busiest, mut elapsed) = (0.0, 0.0);
        for (a, b) in before.iter().zip(now) {
            let seconds = f64::from(b.time.wrapping_sub(a.time)) / 1e9;
            if seconds > 0.0 {
                let rate = f64::from(b.rate) / 8.0;
                let sending = f64::from(b.sent.wrapping_sub(a.sent)) / seconds;
                // Line 5.
                let u = f64::from(a.queue.min(b.queue)) / (rate * base_rtt) + sending / rate;
                if u > busiest {
                    (busiest, elapsed) = (u, seconds);
                }
            }
        }
        let weight = elapsed.min(base_rtt) / base_rtt;
        self.load += weight * (busiest - self.load);
        debug_assert!(self.load.is_finite() && self.load >= 0.0, "a load of {}", self.load);
    }

    /// Lines 11 to 20: W. `first` in a round trip: W_c follows.
    pub fn adapt(&mut self, path: &Path, first: bool) {
        let follows = self.load >= path.eta || self.stage >= path.max_stage;
        let scaled = if follows { self.reference / (self.load / path.eta) } else { self.reference };
        // An idle path would have an endless window.
        self.window = (scaled + path.increase).min(path.most).max(path.least);
        if first {
            self.stage = if follows { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}
