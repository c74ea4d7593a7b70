//! Parameters of EQDS, each with the origin of its default.

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use crate::params::require;
use crate::uec::UecParams;
use crate::uec::credits::Rules;
use crate::uec::params::{Control, EntropyKind, Profile};

/// The parameters of `eqds`. Unless a source is named, defaults are csg-htsim's (841d9e7, `main_eqds.cpp`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EqdsParams {
    /// Packets of credit that a sender begins with, and asks for at most.
    pub window: u16,
    /// Entropy values, a power of two.
    pub paths: u16,
    /// Retransmission timeout, and the least time between two requests (RTS). Unset: 150 us and six full queues of a round trip
    /// at the host's rate.
    pub rto: Option<Time>,
    /// Whether queues of `kind = "trim"` may cut packets; else they drop them.
    pub trimming: bool,
}

impl Default for EqdsParams {
    fn default() -> EqdsParams {
        EqdsParams { window: 50, paths: 64, rto: None, trimming: true }
    }
}

impl EqdsParams {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), SpecError> {
        require(self.window > 0, "window", "at least 1 packet")?;
        let paths = self.paths.is_power_of_two() && self.paths <= 1 << 15;
        require(paths, "paths", "a power of two up to 32768, such as 64")?;
        let times = Time::from_ns(1)..=Time::from_secs(60);
        require(self.rto.is_none_or(|t| times.contains(&t)), "rto", "from 1 ns to 60 s")
    }

    /// The timeout where round trips take so long.
    pub fn timeout(rtt: Time) -> Time {
        Time::from_us(150).saturating_add(Time(rtt.0.saturating_mul(6)))
    }

    /// What both ends go by.
    pub fn profile(&self) -> Profile {
        // `_rtt` of EQDS's senders is `_min_rto`. Where nothing is known of the network, UET's reference network's round trip.
        let rto = self.rto.unwrap_or(EqdsParams::timeout(UecParams::default().rtt()));
        let params = UecParams {
            cc: Control::Rccc,
            entropy: EntropyKind::Bitmap,
            paths: self.paths,
            network_rtt: Some(rto),
            rto: Some(rto),
            trimming: self.trimming,
            ..UecParams::default()
        };
        Profile { params, rules: Rules::Eqds(self.window) }
    }
}
