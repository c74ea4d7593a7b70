//! FCP, the Flexible Control Protocol: links have prices, hosts have budgets, a flow's rate is
//! budget over price.
//!
//! After D. Han, R. Grandl, A. Akella, S. Seshan: "FCP: A Framework for an Evolvable Transport
//! Protocol", CMU-CS-12-125, 2012. The handshake, acknowledgements and repair are TCP's
//! ([`crate::transport`]); FCP sets the rate. Start with `equations.rs` (§4.1), [`price`] (a link's price),
//! [`endpoint`] (a flow's payments), [`host`] (the split of budgets). `README.md` maps the paper to functions.

mod describe;
pub mod disciplines;
pub mod endpoint;
pub mod enforce;
mod equations;
pub mod header;
pub mod host;
pub mod in_flight;
pub mod misbehave;
pub mod multicast;
pub mod network;
pub mod params;
pub mod perturb;
pub mod policy;
pub mod port;
pub mod price;
pub mod pricing;
mod recent;
pub mod resolved;
pub mod scheme;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use midpath_core::packet::Packet;
use midpath_core::queue::Discipline;
use midpath_core::roles::{FlowSpec, Forwarder, Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;

use crate::transport::TcpParams;
use crate::transport::cc::{AssistedConfig, AssistedTraits, Seen};
pub(crate) use describe::schemes;
use endpoint::Sender;
use header::{Echo, WIRE};
pub use params::FcpParams;
use resolved::Resolved;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: FcpParams) -> crate::Built {
    build_with(name, params, policy::CustomPolicies::new())
}

/// Builds the scheme with policies of one's own, which parameters may name.
pub fn build_with(name: &str, params: FcpParams, custom: policy::CustomPolicies) -> crate::Built {
    let tcp = params.tcp;
    Ok(Arc::new(scheme::Fcp::new(name, tcp, params.resolve(custom)?)?))
}

/// What builds FCP's senders and ports.
#[derive(Clone)]
pub struct Config {
    params: Arc<Resolved>,
    /// The network as the forwarders of multicast groups see it: looked up once for all.
    peers: Arc<OnceLock<Arc<multicast::Peers>>>,
}

impl Config {
    fn new(params: Resolved) -> Config {
        Config { params: Arc::new(params), peers: Arc::default() }
    }
}

/// The receiver's part (§4.1): "price and preload value are echoed back by an acknowledgement".
fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(echo) = seen.header::<Echo>() {
        ack.set_header(&echo);
    }
}

impl AssistedConfig for Config {
    type Controller = Sender;

    fn build(&self, _tcp: &TcpParams, _mss: u32, flow: &FlowSpec) -> Sender {
        Sender::new(self.params.clone(), &FlowSpec { group: self.params.group_of(flow), ..*flow })
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits {
            header: WIRE,
            reflect: Some(reflect),
            rate_based: true,
            own_network: true,
            ..AssistedTraits::default()
        }
    }
}

impl Network for Config {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        spec.queue.drop_tail()?;
        Ok(disciplines::port(&self.params, spec))
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        if !self.params.multicasts() {
            return None;
        }
        let peers = self.peers.get_or_init(|| Arc::new(multicast::peers(node.node, node.map))).clone();
        Some(Box::new(multicast::TreeForwarder::new(self.params.clone(), node, peers)))
    }
}
