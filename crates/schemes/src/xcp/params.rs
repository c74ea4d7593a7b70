//! Parameters of XCP, each with the origin of its default.

use std::sync::Arc;

use midpath_core::roles::Network;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::XcpConfig;
use crate::params::require;
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `xcp`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct XcpParams {
    /// What all TCPs share; an ACK per packet unless said otherwise, for each brings its packet's
    /// feedback.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Share of spare capacity allocated per control interval (§3.5.1, §4).
    pub alpha: f64,
    /// Share of the persistent queue drained per control interval (§3.5.1, §4).
    pub beta: f64,
    /// Share of traffic shuffled per control interval (§3.5.2).
    pub gamma: f64,
    /// Control interval before any reported RTT, and after an interval without packets.
    pub initial_interval: Time,
    /// Minimum control interval; the persistent queue is measured over at least two of these.
    pub min_interval: Time,
}

impl Default for XcpParams {
    fn default() -> XcpParams {
        XcpParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() },
            alpha: 0.4,
            beta: 0.226,
            gamma: 0.1,
            initial_interval: Time::from_ms(50),
            min_interval: Time::from_ms(1),
        }
    }
}

impl TcpTable for XcpParams {
    type Config = XcpConfig;
    fn split(self) -> Result<(TcpParams, XcpConfig), SpecError> {
        let gain = |x: f64| x.is_finite() && x >= 0.0;
        require(gain(self.alpha) && self.alpha > 0.0, "alpha", "a positive number")?;
        require(gain(self.beta), "beta", "a number from 0")?;
        require(gain(self.gamma) && self.gamma < 1.0, "gamma", "from 0 to below 1")?;
        let time = Time::from_us(1)..=Time::from_secs(60);
        require(time.contains(&self.initial_interval), "initial_interval", "from 1 us to 60 s")?;
        require(time.contains(&self.min_interval), "min_interval", "from 1 us to 60 s")?;
        Ok((self.tcp, XcpConfig))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}
