//! Parameters of Bolt, each with the origin of its default.

use std::sync::Arc;

use midpath_core::queue::Discipline;
use midpath_core::roles::{Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use serde::{Deserialize, Serialize};

use super::endpoint::BoltConfig;
use super::port::BoltPort;
use crate::params::require;
use crate::transport::params::DelayedAck;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `bolt`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoltParams {
    /// What all TCPs share; an ACK per packet, for each says whether the window may grow.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// CCThreshold: queue that counts as congestion. Unset: two of the link's largest packets, as in the
    /// artefact's scenarios.
    pub threshold: Option<Bytes>,
    /// The first window. Unset: what the host's link sends in the handshake's RTT plus one packet, at most 100 kB
    /// (the artefact's `BandwidthDelayProduct` is a number of the scenario's, and at most that).
    pub first_window: Option<Bytes>,
    /// Maximum window. Unset: what the host's link sends in a smoothed RTT plus one packet. The artefact uses the
    /// first window, or 373,760 B.
    pub max_window: Option<Bytes>,
    /// Supply matching: ports let one ACK raise a window per packet of unused link capacity.
    pub sm: bool,
    /// Proactive ramp-up: ports promise the capacity freed by a flow's last window to others.
    pub pru: bool,
}

impl Default for BoltParams {
    fn default() -> BoltParams {
        let tcp = TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() };
        BoltParams { tcp, threshold: None, first_window: None, max_window: None, sm: true, pru: true }
    }
}

impl TcpTable for BoltParams {
    type Config = BoltConfig;
    fn split(self) -> Result<(TcpParams, BoltConfig), SpecError> {
        let given =
            [("threshold", self.threshold), ("first_window", self.first_window), ("max_window", self.max_window)];
        for (key, value) in given {
            require(value.is_none_or(|bytes| bytes > Bytes(0)), key, "above zero")?;
        }
        Ok((self.tcp, BoltConfig(self)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}

/// Hosts' ports are Bolt's, too, as in the artefact's stars and fat-trees: a host's flows share its link.
impl Network for BoltParams {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = spec.queue.drop_tail()?.bound(spec.link.rate);
        Ok(Discipline::cut_through(BoltPort::new(self, bound)))
    }
}
