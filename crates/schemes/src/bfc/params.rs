//! Parameters of BFC, each with the origin of its default.

use std::any::Any;
use std::sync::Arc;

use midpath_core::queue::Discipline;
use midpath_core::roles::{Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::endpoint::BfcConfig;
use super::header::MAX_QUEUES;
use super::pauses::Pauses;
use super::port::BfcPort;
use crate::params::require;
use crate::transport::{TcpParams, TcpTable};

/// The parameters of `bfc`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BfcParams {
    /// What all TCPs share.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Queues per port, at most 128. 32 are the authors' ("e.g., 32", talk).
    pub queues: u32,
    /// How long a flow keeps its queue at a port after its last packet has left. Unset: a hop's round trip, ours, so that
    /// a pause under way reaches the flow that it is about.
    pub sticky: Option<Time>,
    /// A frame that pauses is sent again so often; three in a row that do not come end a pause. Ours, for lost frames.
    pub refresh: Time,
    /// The first packet of a flow goes before all queues, as ACKs do, and never pauses one. Off.
    pub first_packet_first: bool,
    /// The window. Unset: what the host's link sends in four round trips of the handshake, ours: a path of full queues
    /// holds no more of a flow.
    pub window: Option<Bytes>,
}

impl Default for BfcParams {
    fn default() -> BfcParams {
        BfcParams {
            tcp: TcpParams::default(),
            queues: 32,
            sticky: None,
            refresh: Time::from_us(50),
            first_packet_first: false,
            window: None,
        }
    }
}

impl TcpTable for BfcParams {
    type Config = BfcConfig;
    fn split(self) -> Result<(TcpParams, BfcConfig), SpecError> {
        require((1..=MAX_QUEUES).contains(&self.queues), "queues", "from 1 to 128")?;
        require(self.refresh >= Time::from_us(1), "refresh", "at least 1 us")?;
        require(self.window.is_none_or(|bytes| bytes > Bytes(0)), "window", "above zero")?;
        Ok((self.tcp, BfcConfig(self)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(*self))
    }
}

/// Hosts' ports are BFC's, too: their neighbours pause flows there in the end.
impl Network for BfcParams {
    fn state(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(Pauses::new(node.links.len(), self.queues as usize)))
    }

    fn port(&self, spec: &PortSpec, node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = spec.queue.drop_tail()?.bound(spec.link.rate);
        Ok(Discipline::of(BfcPort::new(self, bound, node.map.runs(spec.peer))))
    }
}
