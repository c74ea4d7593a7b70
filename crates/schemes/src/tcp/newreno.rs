//! NewReno's congestion control: RFC 5681 with byte counting (RFC 3465).

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use crate::transport::TcpTable;
use crate::transport::cc::{Ack, Congestion, CongestionController, ControllerConfig, NetworkAssisted, Window};
use crate::transport::growth::Growth;
use crate::transport::params::{HyStartRule, TcpParams};

/// The parameters of `newreno`: those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NewRenoParams {
    /// What all TCPs share.
    #[serde(flatten)]
    pub tcp: TcpParams,
}

impl TcpTable for NewRenoParams {
    type Config = NewRenoConfig;
    fn split(self) -> Result<(TcpParams, NewRenoConfig), SpecError> {
        Ok((self.tcp, NewRenoConfig))
    }
}

/// Builds [`NewReno`].
#[derive(Debug, Clone, Copy)]
pub struct NewRenoConfig;

impl ControllerConfig for NewRenoConfig {
    type Controller = NewReno;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> NewReno {
        NewReno { growth: Growth::new(tcp, mss, HyStartRule::Off) }
    }
}

/// Additive increase, multiplicative decrease by one half.
#[derive(Debug, Clone)]
pub struct NewReno {
    growth: Growth,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<crate::transport::sender::Sender<NewReno>>() == 256);

impl NetworkAssisted for NewReno {}

impl CongestionController for NewReno {
    const DONE_WITH_DATA: bool = true;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.growth.on_ack(window, ack);
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.growth.restart();
        // RFC 3168, §6.1.2: no second reduction for one window of data.
        if congestion.ecn_reduced { window.ssthresh } else { congestion.flight / 2 }
    }
    fn on_rto(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        self.growth.restart();
        // RFC 5681, equation 4: ssthresh = max(FlightSize / 2, 2*SMSS).
        congestion.flight / 2
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.growth.restart();
        // RFC 3168, §6.1.2: halve cwnd.
        window.cwnd / 2
    }
}
