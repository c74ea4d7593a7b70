//! Parameters of PowerTCP, each with the origin of its default.

use std::sync::Arc;

use midpath_core::queue::{Discipline, Queue};
use midpath_core::roles::{Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::PowerTcpConfig;
use crate::hpcc::Int;
use crate::hpcc::port::HpccPort;
use crate::params::{require, share};
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `powertcp`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PowerTcpParams {
    /// What all TCPs share; paced, and an ACK per packet unless said otherwise, for each brings
    /// telemetry.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// γ: weight of the newest reading.
    #[serde(deserialize_with = "share")]
    pub gamma: f64,
    /// N: number of flows whose β together fill the path.
    pub flows: u32,
    /// τ: RTT without queues. Unset: the flow's minimum RTT.
    pub base_rtt: Option<Time>,
}

impl Default for PowerTcpParams {
    fn default() -> PowerTcpParams {
        let tcp = TcpParams { delayed_ack: DelayedAck(1), pacing: true, ..TcpParams::default() };
        PowerTcpParams { tcp, gamma: 0.9, flows: 100, base_rtt: None }
    }
}

impl TcpTable for PowerTcpParams {
    type Config = PowerTcpConfig;
    fn split(self) -> Result<(TcpParams, PowerTcpConfig), SpecError> {
        require(self.gamma > 0.0 && self.gamma <= 1.0, "gamma", "above 0 and at most 1")?;
        require(self.flows > 0, "flows", "from 1")?;
        let time = Time::from_us(1)..=Time::from_secs(60);
        require(self.base_rtt.is_none_or(|t| time.contains(&t)), "base_rtt", "from 1 us to 60 s")?;
        Ok((self.tcp, PowerTcpConfig(self)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(Telemetry))
    }
}

/// What nodes run: HPCC's ports, which write into data as they leave. Hosts' write nothing.
struct Telemetry;

impl Network for Telemetry {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = spec.queue.drop_tail()?.bound(spec.link.rate);
        let int = (!spec.host).then_some(Int::Data);
        Ok(Queue::of(HpccPort::new(int, bound, spec.link.rate)).discipline())
    }
}
