//! Parameters of NDP, each with the origin of its default.

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use crate::params::require;

/// The parameters of `ndp`. Unless a source is named, defaults are csg-htsim's (841d9e7, `main_ndp.cpp`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NdpParams {
    /// Packets that a sender sends before any is pulled: what is in flight from then on.
    pub initial_window: u16,
    /// Paths that a sender takes in turn: entropy values, which ECMP hashes (ours: htsim's senders know the paths).
    pub paths: u16,
    /// A packet of which nothing was heard is sent again after this. Unset: 1 ms, or ten round trips without queues of the
    /// run's flows if that is more (ours: a fifth of `DEFAULT_RTO_MIN`, which htsim's timer follows).
    pub rto: Option<Time>,
    /// Whether queues of `kind = "trim"` may cut packets; else they drop them.
    pub trimming: bool,
    /// Whether queues may send a header that finds no room back (§3.2 of the paper). htsim's queues can
    /// (`_return_to_sender`), and its programs do not let them.
    pub return_to_sender: bool,
}

impl Default for NdpParams {
    fn default() -> NdpParams {
        NdpParams { initial_window: 15, paths: 64, rto: None, trimming: true, return_to_sender: false }
    }
}

impl NdpParams {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), SpecError> {
        require(self.initial_window > 0, "initial_window", "at least 1 packet")?;
        require((1..=1 << 15).contains(&self.paths), "paths", "from 1 to 32768, such as 64")?;
        let times = Time::from_ns(1)..=Time::from_secs(60);
        require(self.rto.is_none_or(|t| times.contains(&t)), "rto", "from 1 ns to 60 s")
    }

    /// The timeout where round trips take so long.
    pub fn timeout(&self, rtt: Time) -> Time {
        self.rto.unwrap_or(Time(rtt.0.saturating_mul(10)).max(Time::from_ms(1)))
    }
}
