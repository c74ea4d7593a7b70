//! MIRCC as a scheme: consumers and producers, ports and forwarders.

use std::any::Any;
use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::queue::Discipline;
use midpath_core::roles::{
    Accept, End, Endpoint, FlowSpec, Forwarder, Names, Network, NodeSpec, PortSpec, Scheme, Transport,
};
use midpath_core::spec::SpecError;

use super::fetch::Fetch;
use super::params::MirccParams;
use super::port::MirccPort;
use crate::icn::fib::{Copies, SharedGraph};
use crate::icn::forwarder::{Down, IcnForwarder};
use crate::icn::header::{InterestHeader, Stamped, Trail, Way, data_headers};
use crate::icn::object::Object;
use crate::icn::params::{Outage, Steering};
use crate::icn::producer::Producer;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: MirccParams) -> crate::Built {
    let params = params.settled();
    params.check()?;
    Ok(Arc::new(Mircc { name: name.to_owned(), params: Arc::new(params), copies: Arc::default() }))
}

/// The scheme, with the objects that several nodes have.
struct Mircc {
    name: String,
    params: Arc<MirccParams>,
    copies: Arc<Copies>,
}

impl Scheme for Mircc {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let copies = Arc::new(names.copies().into_iter().collect());
        Ok(Some(Arc::new(Mircc { name: self.name.clone(), params: self.params.clone(), copies })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(Icn { name: self.name.clone(), params: self.params.clone() }))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        let (params, copies) = (self.params.clone(), self.copies.clone());
        Some(Arc::new(Nodes { params, copies, graph: SharedGraph::new() }))
    }
}

/// What carries flows: a consumer at `to` fetches what the producer at `from` has.
struct Icn {
    name: String,
    params: Arc<MirccParams>,
}

impl Transport for Icn {
    fn headers(&self) -> u32 {
        data_headers(self.params.steering)
    }
    fn opener(&self) -> End {
        End::Destination
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Fetch::new(flow, self.params.clone()))
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match expected {
            Some(flow) if first.kind == Kind::Interest => {
                let object = Object::of(flow, data_headers(self.params.steering));
                let params = self.params.clone();
                Accept::Take(Box::new(Producer::new(object, move |interest, data| start(&params, interest, data))))
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

/// Data set out with the largest rate, and with what tells the path that their Interest was steered
/// by.
fn start(params: &MirccParams, interest: &Packet, data: &mut Packet) {
    let trail = match params.steering {
        Steering::Shortcut => Trail::None,
        steering => steering.trail(interest.header::<InterestHeader>().map_or(Way::ANY, |h| h.way)),
    };
    data.set_header(&Stamped::start(params.rates.largest_rate.0, trail));
}

/// What nodes run.
struct Nodes {
    params: Arc<MirccParams>,
    copies: Arc<Copies>,
    graph: SharedGraph,
}

impl Network for Nodes {
    fn state(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        let watch = self.params.outage == Outage::Around;
        watch.then(|| -> Box<dyn Any + Send> { Box::new(Down(vec![false; node.links.len()])) })
    }
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(Discipline::cut_through(MirccPort::new(&self.params, port.queue.drop_tail()?)))
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        Some(Box::new(IcnForwarder::new(&self.params.forwarders(), node, &self.copies, &self.graph)))
    }
}
