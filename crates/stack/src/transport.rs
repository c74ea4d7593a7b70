use std::sync::Arc;

use midpath_core::packet::{Kind, NodeId, Packet};
use midpath_core::roles::{Accept, End, Endpoint, FlowSpec, Parts, Transport};
use midpath_core::spec::SpecError;
use midpath_schemes::Built;

use crate::end::{Beginning, StackEnd, UDP_HEADERS};
use crate::{Application, Framing, StackConfig, StackParams};

/// Makes a scheme of a stack: what the catalogue calls.
pub fn build(name: &str, params: StackParams, config: impl StackConfig) -> Built {
    params.check()?;
    if config.framing() == Framing::Tcp && params.connections > 1 {
        return Err(SpecError::new("connections", "a flow has one pair of ports, which is one TCP connection"));
    }
    let transport = StackTransport { name: name.to_owned(), params, config: Arc::new(config) };
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(transport)), network: None }))
}

/// Flows whose ends are stacks.
struct StackTransport {
    name: String,
    params: StackParams,
    config: Arc<dyn StackConfig>,
}

impl StackTransport {
    fn end(&self, active: bool, flow: &FlowSpec, peer: NodeId) -> Box<dyn Endpoint> {
        Box::new(StackEnd::new(Beginning {
            scheme: self.name.clone(),
            config: self.config.clone(),
            params: self.params,
            active,
            flow: *flow,
            peer,
        }))
    }
}

impl Transport for StackTransport {
    /// Without those of the stack itself.
    fn headers(&self) -> u32 {
        UDP_HEADERS
    }
    fn opener(&self) -> End {
        match self.params.application {
            Application::Push | Application::Datagrams => End::Source,
            Application::Fetch => End::Destination,
        }
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        let peer = if self.opener() == End::Source { flow.dst } else { flow.src };
        self.end(true, flow, peer)
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        let kind = match self.config.framing() {
            Framing::Udp => Kind::Datagram,
            Framing::Tcp => Kind::Segment,
        };
        // Nothing else shows a late answer to an end that has gone from a packet that opens a flow.
        match expected {
            Some(flow) if first.kind == kind => Accept::Take(self.end(false, flow, first.src)),
            _ => Accept::Ignore,
        }
    }
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        self.params.application == Application::Push
    }
}
