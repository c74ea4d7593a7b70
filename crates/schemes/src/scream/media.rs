//! Media rate control (§4.4) and packet pacing (§4.3.2).

use super::window::Window;

/// §4.4.
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// §4.3.2.
const RATE_PACE_MIN: f64 = 50_000.0;
pub const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// What the target is divided by beside the two corrections (§4.4).
pub const HEADROOM: f64 = 1.2;

/// The target bitrate of one stream, in bits per second.
#[derive(Debug, Clone)]
pub struct MediaRate {
    min: f64,
    max: f64,
    target: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
}

impl MediaRate {
    pub fn new(min: f64, start: f64, max: f64) -> MediaRate {
        MediaRate { min, max, target: start.clamp(min, max), rate_adjust_factor: 0.0, frame_size_dev: 0.0 }
    }
    pub fn target(&self) -> f64 {
        self.target
    }
    pub fn max(&self) -> f64 {
        self.max
    }

    /// A frame has been encoded: the oldest data unit has waited for `media_qdelay`.
    pub fn on_frame(&mut self, media_qdelay: f64, frame_period: f64, frame_size: f64) {
        let error = (media_qdelay - frame_period / 4.0) / frame_period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target * frame_period / 8.0;
        let deviation = ((frame_size - nominal) / nominal).max(0.0);
        let average = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = average.min(0.2);
    }

    /// The window has been updated.
    pub fn update(&mut self, window: &Window, mss: f64, s_rtt: f64) {
        let small = 1.0 - (window.ratio() - 0.1).clamp(0.0, 0.2);
        let packets = mss / (mss + PACKET_OVERHEAD);
        let scale = small * packets / (HEADROOM + self.rate_adjust_factor + self.frame_size_dev);
        self.target = (scale * 8.0 * window.ref_wnd() / s_rtt).clamp(self.min, self.max);
    }

    /// pace_bitrate.
    pub fn pace_bitrate(&self) -> f64 {
        let relaxed = (self.target / self.max - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        let scale = (1.0 - relaxed.min(1.0)).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        self.target.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale
    }
}
