use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use midpath_schemes::params::require;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who opens a flow's connections, and what they carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    /// The source opens and sends: the flow's size, what the flow's `write` gives, or at the flow's `rate`.
    #[default]
    Push,
    /// The destination opens and sends a request, which the source answers with the flow's size.
    Fetch,
    /// The source sends datagrams that are not repeated, at the flow's `rate`.
    Datagrams,
}

/// The parameters that all stacks share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StackParams {
    /// What the flow's connections carry.
    pub application: Application,
    /// Connections of a flow, over one pair of ports. They share its size.
    pub connections: u32,
    /// Bytes of a request (`application = "fetch"`). Ours: an HTTP/3 request with a few headers.
    pub request: Bytes,
    /// Bytes of a datagram's payload (`application = "datagrams"`) and of what the application writes at once under
    /// `rate`. Ours: fits QUIC's smallest packet of 1,200 bytes.
    pub message: Bytes,
    /// Datagrams that the stack may hand over at once, as segmentation offload takes them. 10 is quinn's own limit
    /// (`MAX_TRANSMIT_SEGMENTS`).
    pub burst: usize,
    /// Whether the host's UDP sockets have ECN.
    pub ecn: bool,
}

impl Default for StackParams {
    fn default() -> StackParams {
        StackParams {
            application: Application::Push,
            connections: 1,
            request: Bytes(200),
            message: Bytes(1000),
            burst: 10,
            ecn: true,
        }
    }
}

impl StackParams {
    /// Checks them.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        require((1..=1000).contains(&self.connections), "connections", "from 1 to 1000")?;
        require(self.request.0 > 0, "request", "above zero")?;
        require((1..=65_000).contains(&self.message.0), "message", "from 1 B to 65000 B")?;
        require((1..=64).contains(&self.burst), "burst", "from 1 to 64")
    }
}
