//! The parameters of `ndn`; each default says where it comes from.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::icn::params::{ForwarderParams, Outage, PathSelection, Steering};
use crate::params::require;

/// How the window follows what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Additive increase, multiplicative decrease.
    Aimd,
    /// RFC 9438, ndn-tools' default.
    #[default]
    Cubic,
}

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NdnParams {
    /// "cubic" or "aimd".
    pub window: Window,
    /// Initial window in Interests. 2: ndn-tools.
    pub initial_window: f64,
    /// Window increase: per Data in slow start, then per window. 1: ndn-tools.
    pub step: f64,
    /// AIMD's decrease. 0.5: ndn-tools, RFC 5681.
    pub aimd_beta: f64,
    /// CUBIC's. 0.7: ndn-tools, RFC 9438.
    pub cubic_beta: f64,
    /// CUBIC's fast convergence (RFC 9438, §4.7). Off: ndn-tools.
    pub fast_convergence: bool,
    /// Mark Data instead of dropping them; the window follows marks. On: PCON and ndn-tools.
    pub marks: bool,
    /// Minimum retransmission timeout of an Interest. 200 ms: ndn-cxx.
    pub min_rto: Time,
    /// Mean deviations in the retransmission timeout. 8: ndn-tools; RFC 6298 has 4.
    pub rto_k: u32,
    /// Size of an Interest; at least its headers, 40 B. Ours: no more.
    pub interest: Bytes,
    /// Lifetime of a pending Interest at a forwarder. 4 s: NDN's packet specification,
    /// InterestLifetime.
    pub lifetime: Time,
    /// Segments in a forwarder's PIT. Ours: 2¹⁸, as `mircc`'s.
    pub pit: usize,
    /// Bytes of Data in a router's content store. Ours: 0, none, as `mircc`'s.
    pub store: Bytes,
}

impl Default for NdnParams {
    fn default() -> NdnParams {
        NdnParams {
            window: Window::Cubic,
            initial_window: 2.0,
            step: 1.0,
            aimd_beta: 0.5,
            cubic_beta: 0.7,
            fast_convergence: false,
            marks: true,
            min_rto: Time::from_ms(200),
            rto_k: 8,
            interest: Bytes(0),
            lifetime: Time::from_secs(4),
            pit: 1 << 18,
            store: Bytes(0),
        }
    }
}

impl NdnParams {
    /// What the window is multiplied by at a decrease.
    pub fn beta(&self) -> f64 {
        match self.window {
            Window::Aimd => self.aimd_beta,
            Window::Cubic => self.cubic_beta,
        }
    }

    /// The forwarders': one path per flow. No header of theirs tells of rates or paths.
    pub fn forwarders(&self) -> ForwarderParams {
        ForwarderParams {
            paths: PathSelection::One,
            stretch: 1.0,
            steering: Steering::Shortcut,
            outage: Outage::Wait,
            largest_rate: Rate(u64::MAX),
            lifetime: self.lifetime,
            pit: self.pit,
            unproven: 0,
            store: self.store,
            known_paths: 1,
        }
    }

    /// Whether these can be run.
    pub fn check(&self) -> Result<(), SpecError> {
        let window = (2.0..=1e6).contains(&self.initial_window);
        require(window, "initial_window", "from 2 to 1000000 Interests")?;
        require((1e-3..=1e3).contains(&self.step), "step", "from 0.001 to 1000")?;
        let part = |x: f64| (0.1..1.0).contains(&x);
        require(part(self.aimd_beta), "aimd_beta", "from 0.1 to below 1")?;
        require(part(self.cubic_beta), "cubic_beta", "from 0.1 to below 1")?;
        let time = |t: Time| (Time::from_ms(1)..=Time::from_secs(60)).contains(&t);
        require(time(self.min_rto), "min_rto", "from 1 ms to 60 s")?;
        require((1..=64).contains(&self.rto_k), "rto_k", "from 1 to 64")?;
        require(self.interest <= Bytes(9000), "interest", "at most 9000 B")?;
        require(time(self.lifetime), "lifetime", "from 1 ms to 60 s")?;
        require((1..=1 << 24).contains(&self.pit), "pit", "from 1 to 16777216 segments")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_allowed_and_errors_name_the_key() {
        let ok = NdnParams::default();
        assert_eq!(ok.check(), Ok(()));
        let key = |p: NdnParams| p.check().expect_err("refused").key;
        assert_eq!(key(NdnParams { initial_window: f64::NAN, ..ok }), "initial_window");
        assert_eq!(key(NdnParams { cubic_beta: 1.0, ..ok }), "cubic_beta");
        assert_eq!(key(NdnParams { pit: 0, ..ok }), "pit");
    }
}
