//! NDN without MIRCC: forwarders by name, the scenario's queues, consumers with a window.

use std::sync::Arc;

use midpath_core::packet::{ICN_HEADER, IP_HEADER, Kind, Packet};
use midpath_core::roles::{Accept, End, Endpoint, FlowSpec, Forwarder, Names, Network, NodeSpec, Scheme, Transport};
use midpath_core::spec::SpecError;

use super::fetch::WindowFetch;
use super::params::NdnParams;
use crate::icn::fib::{Copies, SharedGraph};
use crate::icn::forwarder::IcnForwarder;
use crate::icn::object::Object;
use crate::icn::params::ForwarderParams;
use crate::icn::producer::Producer;

/// Bytes of headers on Data.
pub const HEADERS: u32 = IP_HEADER + ICN_HEADER;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: NdnParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Ndn { name: name.to_owned(), params: Arc::new(params), copies: Arc::default() }))
}

/// The scheme, with the objects that several nodes have.
struct Ndn {
    name: String,
    params: Arc<NdnParams>,
    copies: Arc<Copies>,
}

impl Scheme for Ndn {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let copies = Arc::new(names.copies().into_iter().collect());
        Ok(Some(Arc::new(Ndn { name: self.name.clone(), params: self.params.clone(), copies })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(Chunks { name: self.name.clone(), params: self.params.clone() }))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        let (params, copies) = (self.params.forwarders(), self.copies.clone());
        Some(Arc::new(Nodes { params, copies, graph: SharedGraph::new() }))
    }
}

/// What carries flows: a consumer at `to` fetches what the producer at `from` has.
struct Chunks {
    name: String,
    params: Arc<NdnParams>,
}

impl Transport for Chunks {
    fn headers(&self) -> u32 {
        HEADERS
    }
    fn opener(&self) -> End {
        End::Destination
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(WindowFetch::new(flow, self.params.clone()))
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match expected {
            Some(flow) if first.kind == Kind::Interest => {
                // A mark that an Interest has got on its way up goes back with its Data.
                let answer = |interest: &Packet, data: &mut Packet| data.ecn = interest.ecn;
                Accept::Take(Box::new(Producer::new(Object::of(flow, HEADERS), answer)))
            }
            _ => Accept::Ignore,
        }
    }
    fn needs(&self) -> Option<&str> {
        Some(&self.name)
    }
    fn finds_paths(&self) -> bool {
        true
    }
}

/// What nodes run: forwarders by name; ports are the queues that the scenario asks for.
struct Nodes {
    params: ForwarderParams,
    copies: Arc<Copies>,
    graph: SharedGraph,
}

impl Network for Nodes {
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        Some(Box::new(IcnForwarder::new(&self.params, node, &self.copies, &self.graph)))
    }
}
