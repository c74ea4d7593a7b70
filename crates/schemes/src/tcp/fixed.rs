//! A window that never changes: the baseline, and the smallest controller to copy from.

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use crate::params::require;
use crate::transport::TcpTable;
use crate::transport::cc::{
    Ack, Congestion, CongestionController, ControllerConfig, ControllerTraits, NetworkAssisted, Window,
};
use crate::transport::params::TcpParams;

/// The parameters of `fixed-window`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FixedWindowParams {
    /// What all TCPs share.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// The window in segments. Our choice: the 64 KiB that TCP had before window scaling, in full
    /// packets.
    pub window: u32,
}

impl Default for FixedWindowParams {
    fn default() -> FixedWindowParams {
        FixedWindowParams { tcp: TcpParams::default(), window: 45 }
    }
}

impl TcpTable for FixedWindowParams {
    type Config = FixedWindow;
    fn split(self) -> Result<(TcpParams, FixedWindow), SpecError> {
        require(self.window >= 1, "window", "at least 1 segment")?;
        Ok((self.tcp, FixedWindow { segments: self.window }))
    }
}

/// Both the configuration and the controller: there is no state.
#[derive(Debug, Clone, Copy)]
pub struct FixedWindow {
    segments: u32,
}

impl FixedWindow {
    fn bytes(&self, window: &Window) -> u64 {
        u64::from(self.segments) * window.mss
    }
}

impl ControllerConfig for FixedWindow {
    type Controller = FixedWindow;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> FixedWindow {
        *self
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { initial_window: Some(self.segments), ..ControllerTraits::default() }
    }
}

impl NetworkAssisted for FixedWindow {}

impl CongestionController for FixedWindow {
    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        window.set(self.bytes(window)); // a timeout has set it to one segment
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.bytes(window)
    }
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.bytes(window)
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.bytes(window)
    }
}
