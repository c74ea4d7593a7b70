//! The parameters of BBR. The draft's constants are in `constants.rs`.

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use super::controller::Bbr;
use crate::transport::cc::{ControllerConfig, ControllerTraits};
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `bbr`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BbrParams {
    /// What all TCPs share. BBR paces, always.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Send in quanta, as with segmentation offload: 1 ms of the pacing rate, at most 64 KiB. Off: packet by packet,
    /// with an offload budget of zero.
    pub quantum: bool,
    /// Expire `max_bw` if the path delivers less than half of it while packets queue: our addition, for falling
    /// rates with deep buffers. Off: only after two cycles of ProbeBW, as in the draft.
    pub expire_max_bw: bool,
}

impl TcpTable for BbrParams {
    type Config = BbrConfig;
    fn split(self) -> Result<(TcpParams, BbrConfig), SpecError> {
        Ok((self.tcp, BbrConfig { quantum: self.quantum, expire_max_bw: self.expire_max_bw }))
    }
}

/// Builds [`Bbr`].
#[derive(Debug, Clone, Copy)]
pub struct BbrConfig {
    quantum: bool,
    expire_max_bw: bool,
}

impl ControllerConfig for BbrConfig {
    type Controller = Bbr;
    fn build(&self, _tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Bbr {
        let mut bbr = Bbr::new(mss, self.quantum);
        if self.expire_max_bw {
            bbr.bounds.expiry = Some(Box::default());
        }
        bbr
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { paced: true, ..ControllerTraits::default() }
    }
}
