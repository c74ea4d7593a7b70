//! The parameters of RCP. Each names where its default comes from.

use std::sync::Arc;

use midpath_core::roles::Network;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::RcpConfig;
use crate::params::{require, share};
use crate::tcp::params::DelayedAck;
use crate::tcp::{TcpParams, TcpTable};

/// The parameters of `rcp`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RcpParams {
    /// What all TCPs share; an ACK per packet unless said otherwise, for the rate comes back on ACKs.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// How much of the spare capacity is given out per round trip (equation 1).
    pub alpha: f64,
    /// How much of the queue is drained per round trip (equation 1).
    pub beta: f64,
    /// Share of the link that is given out.
    #[serde(deserialize_with = "share")]
    pub eta: f64,
    /// T: R is updated after this time, or after a mean round trip if that is shorter.
    pub interval: Time,
    /// R at the start, as a share of the link.
    #[serde(deserialize_with = "share")]
    pub initial_rate: f64,
    /// The mean round trip d before any packet has told one.
    pub initial_rtt: Time,
    /// R never falls below this many packets per mean round trip.
    pub min_packets: f64,
}

impl Default for RcpParams {
    fn default() -> RcpParams {
        RcpParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() },
            alpha: 0.4,
            beta: 0.4,
            eta: 1.0,
            interval: Time::from_ms(10),
            initial_rate: 0.05,
            initial_rtt: Time::from_ms(200),
            min_packets: 0.01,
        }
    }
}

impl TcpTable for RcpParams {
    type Config = RcpConfig;
    fn split(self) -> Result<(TcpParams, RcpConfig), SpecError> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let whole = |x: f64| positive(x) && x <= 1.0;
        require(positive(self.alpha), "alpha", "a positive number")?;
        require(self.beta.is_finite() && self.beta >= 0.0, "beta", "a number from 0")?;
        require(whole(self.eta), "eta", "above 0 and at most 1")?;
        require(whole(self.initial_rate), "initial_rate", "above 0 and at most 1")?;
        require(positive(self.min_packets), "min_packets", "a positive number")?;
        let time = Time::from_us(1)..=Time::from_secs(60);
        require(time.contains(&self.interval), "interval", "from 1 us to 60 s")?;
        require(time.contains(&self.initial_rtt), "initial_rtt", "from 1 us to 60 s")?;
        Ok((self.tcp, RcpConfig))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}
