//! Parameters of Swift, each with the origin of its default.

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::controller::Swift;
use crate::params::{require, share};
use crate::transport::cc::{ControllerConfig, ControllerTraits};
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
        Ok((self.tcp, SwiftConfig(self)))
    }
}

/// Builds [`Swift`].
#[derive(Debug, Clone, Copy)]
pub struct SwiftConfig(SwiftParams);

impl ControllerConfig for SwiftConfig {
    type Controller = Swift;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Swift {
        Swift::new(self.0)
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { paced: true, ..ControllerTraits::default() }
    }
}
