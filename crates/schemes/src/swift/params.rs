//! Parameters of Swift, each with the origin of its default.

use std::sync::Arc;

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::controller::Swift;
use super::header;
use crate::params::{require, share};
use crate::transport::cc::{AssistedConfig, AssistedTraits, ControllerTraits};
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `swift`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SwiftParams {
    /// What all TCPs share; an ACK per packet, whose delay is its own.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// The target delay without flow scaling, base_target + #hops·ħ: hosts here do not know their hops.
    /// Unset: two minimum RTTs of the flow. htsim's 20 us and 3 us a hop are 2.3 of its fat-tree's.
    pub target: Option<Time>,
    /// fs_range: maximum growth of the target. Unset: five minimum RTTs; htsim's is five
    /// base targets of 20 us.
    pub fs_range: Option<Time>,
    /// fs_min_cwnd: window below which flow scaling adds no more, in packets (§3.5; htsim's).
    pub fs_min_cwnd: f64,
    /// fs_max_cwnd: window above which flow scaling adds nothing, in packets (§3.5; htsim's).
    pub fs_max_cwnd: f64,
    /// ai: additive increase in packets per RTT (htsim's).
    pub ai: f64,
    /// β: multiplicative decrease per excess delay (htsim's).
    #[serde(deserialize_with = "share")]
    pub beta: f64,
    /// max_mdf: maximum decrease at once (htsim's).
    #[serde(deserialize_with = "share")]
    pub max_mdf: f64,
    /// endpoint-delay-target: that of the window for the hosts' delay (§3.3), whose sum with the fabric's is the round trip.
    /// Unset: one window, for all of the round trip (Swift-v0 of §5.4, where it is 100 us).
    pub endpoint_target: Option<Time>,
    /// Weight of a new sample in the endpoint's delay, which §3.3 smooths without a number: RFC 6298's.
    pub endpoint_gain: f64,
    /// max_cwnd: maximum of each window, in packets. Unset: none, or with two windows 256, Falcon's in Google's simulator.
    pub max_cwnd: Option<f64>,
}

/// `max_fcwnd` and `max_ncwnd` of isekai.
const MOST_OF_TWO: f64 = 256.0;

impl SwiftParams {
    /// max_cwnd.
    pub(super) fn max_cwnd(&self) -> f64 {
        let unset = if self.endpoint_target.is_some() { MOST_OF_TWO } else { f64::INFINITY };
        self.max_cwnd.unwrap_or(unset)
    }
}

impl Default for SwiftParams {
    fn default() -> SwiftParams {
        SwiftParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() },
            target: None,
            fs_range: None,
            fs_min_cwnd: 0.1,
            fs_max_cwnd: 100.0,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            endpoint_target: None,
            endpoint_gain: 0.125,
            max_cwnd: None,
        }
    }
}

impl TcpTable for SwiftParams {
    type Config = SwiftConfig;
    fn split(self) -> Result<(TcpParams, SwiftConfig), SpecError> {
        require(self.target.is_none_or(|t| !t.is_zero()), "target", "above zero")?;
        let small = self.fs_min_cwnd > 0.0 && self.fs_min_cwnd < self.fs_max_cwnd && self.fs_max_cwnd.is_finite();
        require(small, "fs_min_cwnd", "above 0 and below fs_max_cwnd")?;
        require(self.ai > 0.0 && self.ai.is_finite(), "ai", "a positive number")?;
        require(self.beta > 0.0 && self.beta <= 1.0, "beta", "above 0 and at most 1")?;
        require(self.max_mdf > 0.0 && self.max_mdf < 1.0, "max_mdf", "above 0 and below 1")?;
        require(self.endpoint_target.is_none_or(|t| !t.is_zero()), "endpoint_target", "above zero")?;
        require(self.endpoint_gain > 0.0 && self.endpoint_gain <= 1.0, "endpoint_gain", "above 0 and at most 1")?;
        require(self.max_cwnd.is_none_or(|most| (1.0..=1e6).contains(&most)), "max_cwnd", "from 1 to 1000000")?;
        Ok((self.tcp, SwiftConfig(Arc::new(self))))
    }
}

/// Builds [`Swift`].
#[derive(Debug, Clone)]
pub struct SwiftConfig(Arc<SwiftParams>);

impl AssistedConfig for SwiftConfig {
    type Controller = Swift;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Swift {
        Swift::new(Arc::clone(&self.0))
    }
    fn traits(&self) -> AssistedTraits {
        let controller = ControllerTraits { paced: true, ..ControllerTraits::default() };
        let alone = AssistedTraits { controller, ..AssistedTraits::default() };
        if self.0.endpoint_target.is_none() {
            return alone;
        }
        AssistedTraits { header: header::SIZE, reflect: Some(header::reflect), stamp: Some(header::stamp), ..alone }
    }
}
