//! DCTCP: RFC 8257.

use std::sync::Arc;

use midpath_core::queue::{AqmSpec, Limit};
use midpath_core::roles::{FlowSpec, Network, PortSpec};
use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use super::equations;
use super::marked::MarkedShare;
use crate::marking::{half, marking_everywhere};
use crate::params::share;
use crate::transport::TcpTable;
use crate::transport::cc::{
    Ack, Congestion, CongestionController, ControllerConfig, ControllerTraits, Echo, NetworkAssisted, Window,
};
use crate::transport::ecn::EcnMode;
use crate::transport::growth::Growth;
use crate::transport::params::{HyStartRule, TcpParams};

/// The parameters of `dctcp`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DctcpParams {
    /// What all TCPs share.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Weight of the newest window in the estimate of the marked share. 1/16 is RFC 8257, §4.2.
    #[serde(deserialize_with = "share")]
    pub g: f64,
    /// The estimate before the first window. 1 is Linux's `dctcp_alpha_on_init`: the first mark
    /// halves the window.
    #[serde(deserialize_with = "share")]
    pub initial_alpha: f64,
}

impl Default for DctcpParams {
    fn default() -> DctcpParams {
        DctcpParams { tcp: TcpParams::default(), g: 1.0 / 16.0, initial_alpha: 1.0 }
    }
}

impl TcpTable for DctcpParams {
    type Config = DctcpConfig;
    fn split(self) -> Result<(TcpParams, DctcpConfig), SpecError> {
        MarkedShare::check(self.g, self.initial_alpha)?;
        Ok((self.tcp, DctcpConfig { g: self.g, initial_alpha: self.initial_alpha }))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        marking_everywhere(|spec| AqmSpec::Step { threshold: Limit::Bytes(threshold(spec, spec.queue.limit)) })
    }
}

/// Builds [`Dctcp`].
#[derive(Debug, Clone, Copy)]
pub struct DctcpConfig {
    g: f64,
    initial_alpha: f64,
}

impl ControllerConfig for DctcpConfig {
    type Controller = Dctcp;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Dctcp {
        Dctcp {
            growth: Growth::new(tcp, mss, HyStartRule::Off),
            g: self.g,
            share: MarkedShare::new(self.initial_alpha),
        }
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { ecn: EcnMode::Classic, echo: Echo::Exact, ..ControllerTraits::default() }
    }
}

/// Full packets that a threshold leaves room for at least. Our choice: below it the bursts that
/// delayed ACKs and window growth make (two to four packets) are marked in an otherwise idle queue,
/// and utilisation falls.
const MIN_THRESHOLD_PACKETS: u64 = 5;

/// The marking threshold K for a port: RFC 8257, §4.1 takes K > C·RTT/7 from the DCTCP paper's
/// analysis. At least [`MIN_THRESHOLD_PACKETS`], at most half of the queue so that marks come
/// before drops.
pub fn threshold(spec: &PortSpec, limit: Limit) -> u64 {
    let mtu = u64::from(spec.link.mtu);
    let seventh = spec.link.rate.bytes_in(spec.rtt).0 / 7;
    seventh.max(MIN_THRESHOLD_PACKETS * mtu).min(half(limit, spec.link.rate, spec.link.mtu))
}

/// Falls in proportion to the share of marked bytes.
#[derive(Debug, Clone)]
pub struct Dctcp {
    growth: Growth,
    g: f64,
    share: MarkedShare,
}

impl Dctcp {
    #[cfg(test)]
    /// The estimated share of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.share.alpha()
    }
}

impl NetworkAssisted for Dctcp {}

impl CongestionController for Dctcp {
    const DONE_WITH_DATA: bool = true;

    #[inline]
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.share.count(ack);
        // RFC 8257, §3.3: once per window.
        if self.share.is_over(ack) {
            self.share.learn(self.g);
            self.share.begin(ack);
        }
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.growth.on_ack(window, ack);
    }
    fn on_loss(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        self.growth.restart();
        // RFC 8257, §3.5: a loss is answered as by any TCP, even if marks have lowered the window a
        // little already.
        congestion.flight / 2
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.growth.restart();
        equations::dctcp_cwnd(window.cwnd as f64, self.share.alpha()) as u64
    }
}
