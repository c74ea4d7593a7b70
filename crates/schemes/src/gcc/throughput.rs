//! R_hat, the rate that arrives (§5.5; `bitrate_estimator.cc`): samples of windows, weighted by how near they are.

/// `kInitialRateWindowMs`, `kRateWindowMs`. The draft has half a second to a second.
const FIRST_WINDOW_MS: f64 = 500.0;
const WINDOW_MS: f64 = 150.0;
/// `uncertainty_scale_`, the first variance, and what it grows by with a sample.
const UNCERTAINTY: f64 = 10.0;
const FIRST_VARIANCE: f64 = 50.0;
const DRIFT: f64 = 5.0;
/// What a probe's result adds to it.
const FAST: f64 = 200.0;

/// In kilobits per second.
#[derive(Debug, Clone, Copy)]
pub struct Throughput {
    bytes: f64,
    window_ms: f64,
    at: Option<f64>,
    estimate: Option<f64>,
    variance: f64,
}

impl Default for Throughput {
    fn default() -> Throughput {
        Throughput { bytes: 0.0, window_ms: 0.0, at: None, estimate: None, variance: FIRST_VARIANCE }
    }
}

impl Throughput {
    /// In bits per second; none before the first window.
    pub fn bps(&self) -> Option<f64> {
        self.estimate.map(|kbps| 1000.0 * kbps)
    }

    /// A probe has found another rate: `ExpectFastRateChange`.
    pub fn expect_change(&mut self) {
        self.variance += FAST;
    }

    /// So many bytes have come, at a time in milliseconds.
    pub fn add(&mut self, now: f64, bytes: u32) {
        let Some(sample) = self.sample(now, bytes.into()) else { return };
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        let uncertainty = UNCERTAINTY * (estimate - sample).abs() / estimate.max(1e-9);
        let (of_sample, of_estimate) = (uncertainty * uncertainty, self.variance + DRIFT);
        self.estimate = Some((of_sample * estimate + of_estimate * sample) / (of_sample + of_estimate));
        self.variance = of_sample * of_estimate / (of_sample + of_estimate);
    }

    /// The rate of a window, where one has ended.
    fn sample(&mut self, now: f64, bytes: f64) -> Option<f64> {
        let window = if self.estimate.is_some() { WINDOW_MS } else { FIRST_WINDOW_MS };
        let since = now - self.at.replace(now).unwrap_or(now);
        if since < 0.0 {
            (self.bytes, self.window_ms) = (0.0, 0.0);
        } else {
            self.window_ms += since;
            if since > window {
                (self.bytes, self.window_ms) = (0.0, self.window_ms % window);
            }
        }
        let whole = (self.window_ms >= window).then(|| 8.0 * self.bytes / window);
        if whole.is_some() {
            (self.bytes, self.window_ms) = (0.0, self.window_ms - window);
        }
        self.bytes += bytes;
        whole
    }
}
