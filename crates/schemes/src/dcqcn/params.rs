//! Parameters of DCQCN, each with the origin of its default.

use std::sync::Arc;

use midpath_core::queue::{AqmSpec, Limit, RedParams};
use midpath_core::roles::{FlowSpec, Network, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use super::controller::Dcqcn;
use crate::marking::{half, marking};
use crate::params::{require, share};
use crate::transport::cc::{ControllerConfig, ControllerTraits};
use crate::transport::ecn::EcnMode;
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `dcqcn`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DcqcnParams {
    /// What all TCPs share. DCQCN paces, always; accurate ECN brings its congestion notifications.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// g: the weight of a notification in α. 1/256 (§5.2, table 14).
    #[serde(deserialize_with = "share")]
    pub g: f64,
    /// F: increases that halve the gap (§5.2).
    pub fast_recovery: u32,
    /// N: minimum time between notifications. Unset: 50 us (§3.1), or the minimum RTT if longer.
    pub cnp_interval: Option<Time>,
    /// T and K: interval of rate increases and of α's decay. Unset: 55 us (§5.2, table 14), or the minimum RTT if
    /// longer.
    pub timer: Option<Time>,
    /// B: bytes per increase of the byte counter. 10 MB (§5.2, table 14).
    pub byte_counter: Bytes,
    /// R_AI: additive increase of the target rate. Unset: .18 packets per `timer`, which is the paper's 40 Mbps at
    /// 55 us.
    pub rate_ai: Option<Rate>,
    /// The window, in minimum RTTs at the current rate; 0: none, as in the paper. HPCC's artefact has 0 or 1 (`vwin`).
    pub window_rtts: u32,
    /// R_HAI: its hyper increase. Unset: ten times `rate_ai`, as in the artefact (5 and 50
    /// Mbps).
    pub rate_hai: Option<Rate>,
}

impl Default for DcqcnParams {
    fn default() -> DcqcnParams {
        DcqcnParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() },
            g: 1.0 / 256.0,
            fast_recovery: 5,
            cnp_interval: None,
            timer: None,
            byte_counter: Bytes(10_000_000),
            rate_ai: None,
            window_rtts: 4,
            rate_hai: None,
        }
    }
}

impl TcpTable for DcqcnParams {
    type Config = DcqcnConfig;
    fn split(self) -> Result<(TcpParams, DcqcnConfig), SpecError> {
        require(self.g > 0.0 && self.g <= 1.0, "g", "above 0 and at most 1")?;
        require(self.tcp.ecn != Some(EcnMode::Off), "ecn", "true or \"accurate\": DCQCN needs ECN marks")?;
        require(self.timer.is_none_or(|t| !t.is_zero()), "timer", "above zero")?;
        require(self.byte_counter > Bytes(0), "byte_counter", "above zero")?;
        require(self.rate_ai.is_none_or(|r| r > Rate::ZERO), "rate_ai", "above zero")?;
        Ok((self.tcp, DcqcnConfig(self)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        marking(|spec| AqmSpec::Red(red(spec)))
    }
}

/// The paper's switch: K_min 5 kB, K_max 200 kB, P_max 1 % (§5.2), by the queue's length now. In a queue of less than
/// twice K_max, K_max is half of it and K_min at most half of that: marks come before drops.
fn red(spec: &PortSpec) -> RedParams {
    let max = half(spec.queue.limit, spec.link.rate, spec.link.mtu).clamp(2, 200_000);
    let min = 5_000.min(max / 2);
    RedParams { min: Limit::Bytes(min), max: Limit::Bytes(max), max_p: 0.01, weight: 1.0, gentle: false }
}

/// Builds [`Dcqcn`].
#[derive(Debug, Clone, Copy)]
pub struct DcqcnConfig(DcqcnParams);

impl ControllerConfig for DcqcnConfig {
    type Controller = Dcqcn;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Dcqcn {
        Dcqcn::new(self.0)
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { ecn: EcnMode::Accurate, paced: true, ..ControllerTraits::default() }
    }
}
