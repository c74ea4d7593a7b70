//! The parameters of scenarios, and sockets configured by them.

use std::net::SocketAddr;

use midpath_core::units::Bytes;
use midpath_schemes::params::require;
use midpath_schemes::{Built, Catalogue};
use midpath_stack::{EndSpec, Framing, Stack, StackConfig, StackParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::wire::IpEndpoint;

use crate::Host;

/// smoltcp's controllers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// No window but the receiver's: its default.
    None,
    /// Reno.
    Reno,
    /// CUBIC.
    #[default]
    Cubic,
}

/// What `[schemes.smoltcp]` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SmoltcpParams {
    /// What all stacks share.
    #[serde(flatten)]
    pub stack: StackParams,
    /// The congestion controller.
    pub controller: Controller,
    /// Bytes of each of a socket's two buffers. Ours: 1 MB is 80 Mbps at 100 ms.
    pub buffer: Bytes,
}

impl Default for SmoltcpParams {
    fn default() -> SmoltcpParams {
        SmoltcpParams { stack: StackParams::default(), controller: Controller::default(), buffer: Bytes(1 << 20) }
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<SmoltcpParams>("smoltcp", |name, params| -> Built {
        require((1..=1 << 30).contains(&params.buffer.0), "buffer", "from 1 B to 1 GiB")?;
        midpath_stack::build(name, params.stack, Smoltcp(params))
    })
}

struct Smoltcp(SmoltcpParams);

impl Smoltcp {
    fn socket(&self) -> Socket<'static> {
        let buffer = || SocketBuffer::new(vec![0; self.0.buffer.0 as usize]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(match self.0.controller {
            Controller::None => CongestionControl::None,
            Controller::Reno => CongestionControl::Reno,
            Controller::Cubic => CongestionControl::Cubic,
        });
        // For requests: an end with more to send does not wait for an ACK.
        socket.set_nagle_enabled(false);
        socket
    }
}

/// An address as smoltcp has it.
pub fn endpoint(at: SocketAddr) -> IpEndpoint {
    let SocketAddr::V4(at) = at else { unreachable!("simulated nodes have IPv4 addresses") };
    at.into()
}

impl StackConfig for Smoltcp {
    fn framing(&self) -> Framing {
        Framing::Tcp
    }
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut host = Host::new(self.socket(), end);
        let socket = host.sockets.get_mut::<Socket>(host.socket);
        let opened = socket.connect(host.interface.context(), endpoint(end.peer), endpoint(end.local));
        opened.expect("a fresh socket and good addresses");
        Box::new(host)
    }
    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut socket = self.socket();
        socket.listen(endpoint(end.local)).expect("a fresh socket and a good address");
        Box::new(Host::new(socket, end))
    }
}
