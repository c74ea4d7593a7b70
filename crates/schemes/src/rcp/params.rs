//! Parameters of RCP, each with the origin of its default.

use std::sync::Arc;

use midpath_core::roles::Network;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::RcpConfig;
use crate::params::{require, share};
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// α and β that have been published together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RcpGains {
    /// 0.4 and 0.4: the authors' simulator, unless its scripts say otherwise.
    #[default]
    Simulator,
    /// 0.4 and 1: the authors' scripts.
    Scripts,
    /// 0.1 and 1: the authors' scripts for flows that come and go slowly.
    Gentle,
    /// 0.4 and 0.226: XCP's.
    Xcp,
}

impl RcpGains {
    /// α and β.
    pub const fn values(self) -> (f64, f64) {
        match self {
            RcpGains::Simulator => (0.4, 0.4),
            RcpGains::Scripts => (0.4, 1.0),
            RcpGains::Gentle => (0.1, 1.0),
            RcpGains::Xcp => (0.4, 0.226),
        }
    }
}

/// The parameters of `rcp`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RcpParams {
    /// What all TCPs share; an ACK per packet unless said otherwise, for the rate comes back on
    /// ACKs.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// α and β by the name of their publication.
    pub gains: RcpGains,
    /// Share of spare capacity allocated per RTT (equation 1); overrides `gains`.
    pub alpha: Option<f64>,
    /// Share of the queue drained per RTT (equation 1); overrides `gains`.
    pub beta: Option<f64>,
    /// Allocated share of the link.
    #[serde(deserialize_with = "share")]
    pub eta: f64,
    /// T: update interval of R, or a mean RTT if shorter.
    pub interval: Time,
    /// R at the start, as a share of the link.
    #[serde(deserialize_with = "share")]
    pub initial_rate: f64,
    /// Mean RTT d before any reported RTT.
    pub initial_rtt: Time,
    /// R never falls below this many packets per mean round trip.
    pub min_packets: f64,
    /// Senders offered less than a packet per two RTTs probe with a bare header per RTT.
    pub probes: bool,
}

impl RcpParams {
    /// α of equation (1).
    pub fn alpha(&self) -> f64 {
        self.alpha.unwrap_or(self.gains.values().0)
    }
    /// β of equation (1).
    pub fn beta(&self) -> f64 {
        self.beta.unwrap_or(self.gains.values().1)
    }
}

impl Default for RcpParams {
    fn default() -> RcpParams {
        RcpParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() },
            gains: RcpGains::default(),
            alpha: None,
            beta: None,
            eta: 1.0,
            interval: Time::from_ms(10),
            initial_rate: 0.05,
            initial_rtt: Time::from_ms(200),
            min_packets: 0.01,
            probes: true,
        }
    }
}

impl TcpTable for RcpParams {
    type Config = RcpConfig;
    fn split(self) -> Result<(TcpParams, RcpConfig), SpecError> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let whole = |x: f64| positive(x) && x <= 1.0;
        require(positive(self.alpha()), "alpha", "a positive number")?;
        require(self.beta().is_finite() && self.beta() >= 0.0, "beta", "a number from 0")?;
        require(whole(self.eta), "eta", "above 0 and at most 1")?;
        require(whole(self.initial_rate), "initial_rate", "above 0 and at most 1")?;
        require(positive(self.min_packets), "min_packets", "a positive number")?;
        let time = Time::from_us(1)..=Time::from_secs(60);
        require(time.contains(&self.interval), "interval", "from 1 us to 60 s")?;
        require(time.contains(&self.initial_rtt), "initial_rtt", "from 1 us to 60 s")?;
        Ok((self.tcp, RcpConfig { probes: self.probes }))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}
