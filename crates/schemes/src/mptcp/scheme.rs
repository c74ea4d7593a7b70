//! MPTCP as a scheme: TCP subflows and the layer above.

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Forwarder, Names, Network, NodeSpec, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::coupling::{CoupledConfig, Subflows};
use super::forwarder::{Addresses, ByAddress};
use super::hello::{Hello, Refused};
use super::params::MptcpParams;
use super::receiver::Receiver;
use super::sender::Connection;
use crate::transport::Tcp;
use crate::transport::segment::{opens, reset};

struct Mptcp {
    name: String,
    ends: Arc<Ends>,
}

impl Mptcp {
    fn new(name: &str, params: Arc<MptcpParams>, subflows: Arc<Subflows>) -> Mptcp {
        let ends = Ends { params, subflows, addresses: Arc::default() };
        Mptcp { name: name.to_owned(), ends: Arc::new(ends) }
    }
}

impl Scheme for Mptcp {
    fn name(&self) -> &str {
        &self.name
    }
    /// Nothing has a name in its parameters; but what it knows of the network is this run's.
    fn bind(&self, _names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        Ok(Some(Arc::new(Mptcp::new(&self.name, self.ends.params.clone(), self.ends.subflows.clone()))))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(self.ends.clone())
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(self.ends.addresses.clone())
    }
}

/// What carries MPTCP's flows.
struct Ends {
    params: Arc<MptcpParams>,
    subflows: Arc<Subflows>,
    addresses: Arc<Addresses>,
}

impl Transport for Ends {
    fn headers(&self) -> u32 {
        self.subflows.headers()
    }
    fn ceiling(&self, rtt: Time) -> Option<Rate> {
        self.subflows.ceiling(rtt)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Connection::new(flow, self.params.clone(), self.subflows.clone(), self.addresses.clone()))
    }
    fn accept(&self, first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        // RFC 8684, §3.2: a join of a connection that isn't there is refused, as is (for we don't
        // fall back) a plain TCP's SYN.
        if opens(first) && first.header::<Hello>() == Some(Hello::Capable) {
            return Accept::Take(Box::new(Receiver::new(&self.params, self.subflows.clone())));
        }
        self.refuse(first).map_or(Accept::Ignore, Accept::Refuse)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        let mut reset = reset(packet)?;
        Refused::explain(&mut reset, packet);
        Some(reset)
    }
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        true
    }
    fn finds_paths(&self) -> bool {
        true
    }
}

/// Hosts with several links have an address on each: nodes send packets to the one that they are
/// for.
impl Network for Addresses {
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        Some(Box::new(ByAddress::new(self, node)))
    }
}

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: MptcpParams) -> crate::Built {
    params.check()?;
    params.tcp.check()?;
    let subflows = Arc::new(Tcp::new(name, params.tcp, CoupledConfig(params.coupling))?);
    Ok(Arc::new(Mptcp::new(name, Arc::new(params), subflows)))
}
