//! The trend of delays: libwebrtc's trendline filter, and the draft's Kalman filter (§5.3). Times in milliseconds.

use std::collections::VecDeque;

use super::arrivals::Delta;

/// `kDefaultTrendlineWindowSize`, `kDefaultTrendlineSmoothingCoeff`, `kDefaultTrendlineThresholdGain`, `kMinNumDeltas`.
const POINTS: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MOST_DELTAS: u32 = 60;

/// A line through the delays of the last groups.
#[derive(Debug, Clone)]
pub struct Trendline {
    smoothing: f64,
    gain: f64,
    deltas: u32,
    first_at: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    /// Arrival, smoothed delay.
    points: VecDeque<(f64, f64)>,
    trend: f64,
}

impl Default for Trendline {
    fn default() -> Trendline {
        Trendline::new(SMOOTHING, GAIN)
    }
}

impl Trendline {
    pub fn new(smoothing: f64, gain: f64) -> Trendline {
        Trendline {
            smoothing,
            gain,
            deltas: 0,
            first_at: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            trend: 0.0,
        }
    }

    /// A group. Says the trend, and how large it is beside the threshold.
    pub fn update(&mut self, delta: &Delta) -> Option<(f64, f64)> {
        self.deltas = (self.deltas + 1).min(MOST_DELTAS);
        let at = delta.at - *self.first_at.get_or_insert(delta.at);
        self.accumulated += delta.came - delta.sent;
        self.smoothed = self.smoothing * self.smoothed + (1.0 - self.smoothing) * self.accumulated;
        self.points.push_back((at, self.smoothed));
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
        if self.points.len() == POINTS {
            self.trend = slope(&self.points).unwrap_or(self.trend);
        }
        (self.deltas > 1).then(|| (self.trend, f64::from(self.deltas) * self.trend * self.gain))
    }
}

/// The slope of the line with the least squares.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (square > 0.0).then(|| both / square)
}

/// q, e(0) (§5.3, "q(i) = 10^-3, e(0) = 0.1"); chi, of which the draft says .1 to .001.
const Q: f64 = 1e-3;
const FIRST_E: f64 = 0.1;
const CHI: f64 = 0.01;
/// K: f_max is of so many groups. Ours, as the trendline's.
const RATES: usize = POINTS;

/// m(i), how long the queue grows from group to group, from d(i) = m(i) and noise.
#[derive(Debug, Clone, Default)]
pub struct Kalman {
    m: f64,
    e: Option<f64>,
    var_v: f64,
    sent: VecDeque<f64>,
}

impl Kalman {
    /// A group. Says m(i).
    pub fn update(&mut self, delta: &Delta) -> f64 {
        self.sent.push_back(delta.sent.max(1.0));
        if self.sent.len() > RATES {
            self.sent.pop_front();
        }
        let f_max = 1.0 / self.sent.iter().copied().fold(f64::MAX, f64::min);
        let z = delta.came - delta.sent - self.m;
        let alpha = (1.0 - CHI).powf(30.0 / (1000.0 * f_max));
        let most = 3.0 * self.var_v.max(1.0).sqrt();
        let z = z.clamp(-most, most);
        self.var_v = (alpha * self.var_v + (1.0 - alpha) * z * z).max(1.0);
        let e = self.e.unwrap_or(FIRST_E) + Q;
        let k = e / (self.var_v + e);
        self.m += k * z;
        self.e = Some((1.0 - k) * e);
        self.m
    }
}
