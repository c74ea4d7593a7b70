//! Parameters of SCReAM, each with the origin of its default. Sections are those of
//! draft-ietf-ccwg-rfc8298bis-screamv2-01.

use midpath_core::packet::Ecn;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::calls::CallConfig;
use crate::params::{require, share};

/// The codepoint of data units, and the reaction to CE (§4.2.1.2, §4.2.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScreamEcn {
    /// Not ECN-capable.
    Off,
    /// ECT(0): a mark scales the window by BETA_ECN.
    #[default]
    Classic,
    /// ECT(1): the window falls with the share of marked data units.
    L4s,
}

impl ScreamEcn {
    /// The ECN field of data units.
    pub fn codepoint(self) -> Ecn {
        match self {
            ScreamEcn::Off => Ecn::NotEct,
            ScreamEcn::Classic => Ecn::Ect0,
            ScreamEcn::L4s => Ecn::Ect1,
        }
    }
}

/// The parameters of `scream`: the encoder's, then the congestion control's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ScreamParams {
    /// TARGET_BITRATE_MIN (§4.4). RFC 8867's example range begins with 150 kbps, as ns3-rmcat has it.
    pub min_rate: Rate,
    /// Target rate before the first feedback, and the first window as far as that is above MIN_REF_WND. Ours:
    /// WebRTC's 300 kbps. The draft begins with MIN_REF_WND.
    pub start_rate: Rate,
    /// TARGET_BITRATE_MAX (§4.4), or the flow's `rate` if lower. Ours.
    pub max_rate: Rate,
    /// Frames per second. Ours, a usual camera's. An application that writes sets the times of its frames itself.
    pub frames: u32,
    /// Scale of the Laplace distribution of frame sizes, relative to the mean: SCALE_B of RFC 8593's statistical model,
    /// .15 in Cisco's syncodecs.
    #[serde(deserialize_with = "share")]
    pub frame_spread: f64,
    /// MSS, with RTP's header: 1000 B (§4.2.2).
    pub mss: Bytes,
    /// Whether data units are ECN-capable, and which reaction marks get. IS_L4S is false (§4.2.2).
    pub ecn: ScreamEcn,
    /// QDELAY_TARGET_LO: 60 ms (§4.2.2).
    pub qdelay_target: Time,
    /// REDUCE_JITTER: growth and headroom follow how much the queue delay varies. Off (§4.2.1.4).
    pub reduce_jitter: bool,
    /// The target follows competing flows, up to QDELAY_TARGET_HI (§4.5.4). Off, as in the authors' implementation
    /// (`kEnableSbd`).
    pub competing_flows: bool,
    /// LOSS_RATE_THRESHOLD: below this loss rate and a quarter of the target delay losses are not congestion (§4.5.2).
    /// Zero, as in §4.2.2: each is.
    #[serde(deserialize_with = "share")]
    pub loss_threshold: f64,
    /// Data units older than this are discarded at the sender, with all that wait. 100 ms, as in the authors'
    /// implementation (`kMaxRtpQueueDelay`); the draft leaves it to the application (§3.3).
    pub max_media_delay: Time,
}

impl Default for ScreamParams {
    fn default() -> ScreamParams {
        ScreamParams {
            min_rate: Rate(150_000),
            start_rate: Rate(300_000),
            max_rate: Rate::from_mbps(20),
            frames: 30,
            frame_spread: 0.15,
            mss: Bytes(1000),
            ecn: ScreamEcn::default(),
            qdelay_target: Time::from_ms(60),
            reduce_jitter: false,
            competing_flows: false,
            loss_threshold: 0.0,
            max_media_delay: Time::from_ms(100),
        }
    }
}

impl ScreamParams {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), SpecError> {
        // Of `mss`: three are MIN_REF_WND times the least headroom.
        self.encoder().check(self.min_rate, self.start_rate)?;
        let target = Time::from_ms(1)..=Time::from_ms(400);
        require(target.contains(&self.qdelay_target), "qdelay_target", "from 1 ms to QDELAY_TARGET_HI, 400 ms")?;
        require((0.0..1.0).contains(&self.loss_threshold), "loss_threshold", "below 1")
    }
}
