//! MPTCP as a scheme: a TCP for the subflows, and what lies above them.

use std::sync::Arc;

use midpath_core::roles::{Endpoint, FlowSpec, Forwarder, Names, NodeSpec, Scheme};
use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;

use super::coupling::CoupledConfig;
use super::forwarder::{ByAddress, Network};
use super::params::MptcpParams;
use super::receiver::Receiver;
use super::sender::Connection;
use crate::tcp::{Tcp, TcpParams};

/// The window of a subflow by itself, which never limits it: RFC 8684, §3.3.4 has one window for all, at the level of data.
pub(super) const SUBFLOW_WINDOW: u64 = 1 << 31;

/// The TCP of the subflows.
pub(super) type Subflows = Tcp<CoupledConfig>;

struct Mptcp {
    name: String,
    params: MptcpParams,
    subflows: Arc<Subflows>,
    network: Network,
}

impl Scheme for Mptcp {
    fn name(&self) -> &str {
        &self.name
    }
    /// Nothing has a name in its parameters; but what it knows of the network is this run's.
    fn bind(&self, _names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let (name, subflows) = (self.name.clone(), self.subflows.clone());
        Ok(Some(Arc::new(Mptcp { name, params: self.params, subflows, network: Network::default() })))
    }
    fn headers(&self) -> u32 {
        self.subflows.headers()
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        Some(Box::new(ByAddress::new(&self.network, node)))
    }
    fn active(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        let first = self.network.first_pair(flow.id, flow.src, flow.dst);
        Box::new(Connection::new(flow, &self.params, self.subflows.clone(), first))
    }
    fn passive(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Receiver::new(flow, &self.params, self.subflows.clone()))
    }
}

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: MptcpParams) -> crate::Built {
    params.check()?;
    params.tcp.check()?;
    let tcp = TcpParams { receive_window: Bytes(SUBFLOW_WINDOW), ..params.tcp };
    let subflows = Arc::new(Tcp::new(name, tcp, CoupledConfig(params.coupling))?);
    Ok(Arc::new(Mptcp { name: name.to_owned(), params, subflows, network: Network::default() }))
}
