//! Parameters of TIMELY, each with the origin of its default.

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::controller::Timely;
use crate::params::{require, share};
use crate::transport::cc::{ControllerConfig, ControllerTraits};
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `timely`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TimelyParams {
    /// What all TCPs share. TIMELY paces, always; an ACK per packet, whose delay is its own.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// α: weight of the newest RTT difference. The artefact's.
    #[serde(deserialize_with = "share")]
    pub alpha: f64,
    /// β: multiplicative decrease by the gradient (§4.3).
    #[serde(deserialize_with = "share")]
    pub beta: f64,
    /// T_low: RTT below which the rate grows. Unset: 2.5 minimum RTTs, the paper's 50 us at its minRTT of 20 us.
    pub t_low: Option<Time>,
    /// T_high: RTT above which the rate falls at any gradient. Unset: 25 minimum RTTs, the paper's 500 us.
    pub t_high: Option<Time>,
    /// δ: additive increase of the rate. Unset: a sixtieth of a packet per minimum RTT, the paper's 10 Mbps at 20 us.
    pub delta: Option<Rate>,
}

impl Default for TimelyParams {
    fn default() -> TimelyParams {
        let tcp = TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() };
        TimelyParams { tcp, alpha: 0.875, beta: 0.8, t_low: None, t_high: None, delta: None }
    }
}

impl TcpTable for TimelyParams {
    type Config = TimelyConfig;
    fn split(self) -> Result<(TcpParams, TimelyConfig), SpecError> {
        require(self.alpha > 0.0 && self.alpha <= 1.0, "alpha", "above 0 and at most 1")?;
        require(self.beta > 0.0 && self.beta <= 1.0, "beta", "above 0 and at most 1")?;
        let ordered = self.t_low.zip(self.t_high).is_none_or(|(low, high)| low <= high);
        require(ordered, "t_low", "at most t_high")?;
        require(self.delta.is_none_or(|d| d > Rate::ZERO), "delta", "above zero")?;
        Ok((self.tcp, TimelyConfig(self)))
    }
}

/// Builds [`Timely`].
#[derive(Debug, Clone, Copy)]
pub struct TimelyConfig(TimelyParams);

impl ControllerConfig for TimelyConfig {
    type Controller = Timely;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Timely {
        Timely::new(self.0)
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { paced: true, ..ControllerTraits::default() }
    }
}
