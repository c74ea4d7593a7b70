//! The over-use detector and its adaptive threshold (§5.4; `trendline_estimator.cc`). Times in milliseconds.

/// overuse_time_th (§5.4).
const OVERUSE_MS: f64 = 10.0;
/// del_var_th(0), its bounds, and what is too far above it to count (§5.4).
const FIRST: f64 = 12.5;
const BOUNDS: (f64, f64) = (6.0, 600.0);
const TOO_FAR: f64 = 15.0;
/// A step is at most this long: `kMaxTimeDeltaMs`.
const LONGEST_STEP_MS: f64 = 100.0;

/// What the delays say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signal {
    #[default]
    Normal,
    Overuse,
    Underuse,
}

/// A threshold that follows the trend.
#[derive(Debug, Clone, Copy)]
pub struct Detector {
    k_up: f64,
    k_down: f64,
    threshold: f64,
    updated: Option<f64>,
    /// How long the trend has been above it, and for how many groups.
    over: Option<f64>,
    count: u32,
    trend: f64,
    signal: Signal,
}

impl Detector {
    pub fn new(k_up: f64, k_down: f64) -> Detector {
        let (updated, over, signal) = (None, None, Signal::Normal);
        Detector { k_up, k_down, threshold: FIRST, updated, over, count: 0, trend: 0.0, signal }
    }
    pub fn signal(&self) -> Signal {
        self.signal
    }
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// A trend and how large it is beside the threshold, of a group that left so long after the one before.
    pub fn update(&mut self, trend: f64, scaled: f64, sent: f64, now: f64) {
        if scaled > self.threshold {
            // Half of the first time has been above it.
            let over = self.over.map_or(sent / 2.0, |over| over + sent);
            (self.over, self.count) = (Some(over), self.count + 1);
            // Not while m(i) < m(i-1) (§5.4).
            if over > OVERUSE_MS && self.count > 1 && trend >= self.trend {
                (self.over, self.count, self.signal) = (Some(0.0), 0, Signal::Overuse);
            }
        } else {
            self.signal = if scaled < -self.threshold { Signal::Underuse } else { Signal::Normal };
            (self.over, self.count) = (None, 0);
        }
        self.trend = trend;
        self.adapt(scaled.abs(), now);
    }

    /// del_var_th(i) (§5.4).
    fn adapt(&mut self, trend: f64, now: f64) {
        let step = (now - self.updated.unwrap_or(now)).clamp(0.0, LONGEST_STEP_MS);
        self.updated = Some(now);
        if trend > self.threshold + TOO_FAR {
            return;
        }
        let k = if trend < self.threshold { self.k_down } else { self.k_up };
        self.threshold = (self.threshold + k * step * (trend - self.threshold)).clamp(BOUNDS.0, BOUNDS.1);
    }
}
