//! Parameters of GCC, each with the origin of its default. Sections are those of draft-ietf-rmcat-gcc-02, files those of
//! libwebrtc's `modules/congestion_controller/goog_cc` and `modules/remote_bitrate_estimator`.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::calls::CallConfig;
use crate::params::{require, share};

/// What estimates the trend of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GccFilter {
    /// The slope of a line through smoothed delays (libwebrtc, `trendline_estimator.cc`).
    #[default]
    Trendline,
    /// A Kalman filter of delay differences (the draft, §5.3).
    Kalman,
}

/// The parameters of `gcc`: the encoder's, then the congestion control's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GccParams {
    /// Least target rate, as `scream` has it.
    pub min_rate: Rate,
    /// Target rate before the first report: libwebrtc's 300 kbps.
    pub start_rate: Rate,
    /// Highest target rate, or the flow's `rate` if lower. Ours.
    pub max_rate: Rate,
    /// Frames per second. Ours, a usual camera's. An application that writes sets the times of its frames itself.
    pub frames: u32,
    /// Scale of the Laplace distribution of frame sizes, relative to the mean: SCALE_B of RFC 8593's statistical model,
    /// .15 in Cisco's syncodecs.
    #[serde(deserialize_with = "share")]
    pub frame_spread: f64,
    /// Largest data unit, with RTP's header: 1200 B (§5.5; libwebrtc).
    pub mss: Bytes,
    /// What estimates the trend of delays. The draft's is `kalman`.
    pub filter: GccFilter,
    /// K_u, per millisecond: .0087, libwebrtc's. The draft's is .01 (§5.4).
    pub k_up: f64,
    /// K_d, per millisecond: .039, libwebrtc's. The draft's is .00018 (§5.4).
    pub k_down: f64,
    /// β: what a decrease leaves of the rate that arrives. .85 (§5.5).
    #[serde(deserialize_with = "share")]
    pub backoff: f64,
    /// By what the loss-based rate grows at most in a second without losses: 1.08, libwebrtc's. The draft grows by 1.05 (§6).
    pub loss_growth: f64,
    /// Bursts at three and six times `start_rate`, and at twice what they find, as libwebrtc. The draft has none.
    pub probing: bool,
    /// Data units older than this are discarded at the sender, with all that wait. Ours, as `scream` has it.
    pub max_media_delay: Time,
}

impl Default for GccParams {
    fn default() -> GccParams {
        GccParams {
            min_rate: Rate(150_000),
            start_rate: Rate(300_000),
            max_rate: Rate::from_mbps(20),
            frames: 30,
            frame_spread: 0.15,
            mss: Bytes(1200),
            filter: GccFilter::default(),
            k_up: 0.0087,
            k_down: 0.039,
            backoff: 0.85,
            loss_growth: 1.08,
            probing: true,
            max_media_delay: Time::from_ms(100),
        }
    }
}

impl GccParams {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), SpecError> {
        self.encoder().check(self.min_rate, self.start_rate)?;
        let gain = |k: f64| k > 0.0 && k <= 0.1;
        require(gain(self.k_up), "k_up", "above 0 and at most 0.1")?;
        require(gain(self.k_down), "k_down", "above 0 and at most 0.1")?;
        require(self.backoff > 0.0 && self.backoff < 1.0, "backoff", "above 0 and below 1")?;
        require(self.loss_growth > 1.0 && self.loss_growth <= 2.0, "loss_growth", "above 1 and at most 2")
    }
}
