//! Parameters of Falcon, each with the origin of its default: `Swift::DefaultConfiguration` of Google's simulator (isekai),
//! as the specification gives none.

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::endpoint::FalconConfig;
use crate::params::require;
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `falcon`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FalconParams {
    /// What all TCPs share; an ACK per packet, and isekai's shortest timeout, 1 ms.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// `base_delay_target`. Unset: isekai's 25 us, or 5/4 of the flow's shortest fabric delay where that is more (ours).
    pub base_delay: Option<Time>,
    /// `topology_scaling_per_hop` (isekai's).
    pub per_hop: Time,
    /// `max_flow_scaling` (isekai's).
    pub max_flow_scaling: Time,
    /// `max_fcwnd` and `max_ncwnd`, in packets (isekai's).
    pub max_window: f64,
    /// `target_rx_buffer_level`, 0 to 31 (isekai's).
    pub target_level: u8,
    /// PLB. On; isekai's `randomize_path` is off.
    pub plb: bool,
    /// `plb_attempt_threshold`: congested rounds in a row after which the path changes (isekai's).
    pub plb_rounds: u32,
}

impl Default for FalconParams {
    fn default() -> FalconParams {
        FalconParams {
            tcp: TcpParams { delayed_ack: DelayedAck(1), min_rto: Time::from_ms(1), ..TcpParams::default() },
            base_delay: None,
            per_hop: Time::from_us(1),
            max_flow_scaling: Time::from_us(100),
            max_window: 256.0,
            target_level: 15,
            plb: true,
            plb_rounds: 5,
        }
    }
}

impl TcpTable for FalconParams {
    type Config = FalconConfig;
    fn split(self) -> Result<(TcpParams, FalconConfig), SpecError> {
        require(self.base_delay.is_none_or(|t| !t.is_zero()), "base_delay", "above zero")?;
        require((1.0..=1e6).contains(&self.max_window), "max_window", "from 1 to 1000000")?;
        require((1..32).contains(&self.target_level), "target_level", "from 1 to 31")?;
        require(self.plb_rounds >= 1, "plb_rounds", "at least 1")?;
        Ok((self.tcp, FalconConfig(self)))
    }
}
