//! Parameters of HPCC, each with the origin of its default.

use std::sync::Arc;

use midpath_core::roles::Network;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::HpccConfig;
use crate::params::{require, share};
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// What ports write their telemetry (INT) into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Int {
    /// Packets with data, as they leave; the receiver returns it. HPCC.
    Data,
    /// ACKs, as they come back through the port that their data left through. FNCC.
    Ack,
}

/// The parameters of `hpcc`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HpccParams {
    /// What all TCPs share; paced, and an ACK per packet unless said otherwise, for each brings
    /// telemetry.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Packets that carry the ports' telemetry.
    pub int: Int,
    /// η: target utilisation of a link.
    #[serde(deserialize_with = "share")]
    pub eta: f64,
    /// maxStage: round trips of additive increase before multiplicative adjustment.
    pub max_stage: u32,
    /// N: number of flows whose additive increases together are 1 − η of the path.
    pub flows: u32,
    /// T: RTT without queues. Unset: the flow's minimum RTT.
    pub base_rtt: Option<Time>,
}

impl Default for HpccParams {
    fn default() -> HpccParams {
        HpccParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), pacing: true, ..TcpParams::default() },
            int: Int::Data,
            eta: 0.95,
            max_stage: 5,
            flows: 100,
            base_rtt: None,
        }
    }
}

impl TcpTable for HpccParams {
    type Config = HpccConfig;
    fn split(self) -> Result<(TcpParams, HpccConfig), SpecError> {
        require(self.eta > 0.0 && self.eta < 1.0, "eta", "above 0 and below 1")?;
        require(self.flows > 0, "flows", "from 1")?;
        let time = Time::from_us(1)..=Time::from_secs(60);
        require(self.base_rtt.is_none_or(|t| time.contains(&t)), "base_rtt", "from 1 us to 60 s")?;
        Ok((self.tcp, HpccConfig(self)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}
