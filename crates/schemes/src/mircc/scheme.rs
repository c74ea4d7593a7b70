//! MIRCC as a scheme: consumers and producers, ports and forwarders.

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::queue::Discipline;
use midpath_core::roles::{
    Accept, End, Endpoint, EndpointCtx, FlowReport, FlowSpec, Forwarder, Network, NodeSpec, Parts, PortSpec, Transport,
};
use midpath_core::spec::SpecError;

use super::fetch::{Fetch, Object};
use super::forwarder::IcnForwarder;
use super::header::{DATA_HEADERS, Stamped};
use super::params::MirccParams;
use super::path::PathId;
use super::port::MirccPort;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: MirccParams) -> crate::Built {
    params.check()?;
    let params = Arc::new(params);
    let transport = Arc::new(Icn { name: name.to_owned(), params: params.clone() });
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(transport), network: Some(Arc::new(Nodes(params))) }))
}

/// What carries flows: a consumer at `to` fetches what the producer at `from` has.
struct Icn {
    name: String,
    params: Arc<MirccParams>,
}

impl Transport for Icn {
    fn headers(&self) -> u32 {
        DATA_HEADERS
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
                let largest_rate = self.params.rates.largest_rate.0;
                Accept::Take(Box::new(Producer { object: Object::of(flow), largest_rate, sent: 0 }))
            }
            _ => Accept::Ignore,
        }
    }
    fn needs(&self) -> Option<&str> {
        Some(&self.name)
    }
}

/// Answers Interests in its object (§3.2: "The producer endpoint in ICN has no responsibilities").
struct Producer {
    object: Object,
    largest_rate: u64,
    sent: u64,
}

impl Endpoint for Producer {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, interest: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = interest.segment();
        let mine = interest.kind == Kind::Interest && interest.name() == Some(self.object.name);
        if !mine || u64::from(segment) >= self.object.segments() {
            return;
        }
        let mut data = *interest;
        data.answer(Kind::Data, self.object.payload_of(segment));
        // §3.1: MaxRate, and the beginning of the pathId.
        let rate = self.largest_rate;
        data.set_header(&Stamped { primary: rate, secondary: rate, path: PathId::START });
        ctx.send(data);
        self.sent += 1;
    }

    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn report(&self) -> FlowReport {
        FlowReport::default()
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("data_sent", self.sent as f64));
    }
}

/// What nodes run.
struct Nodes(Arc<MirccParams>);

impl Network for Nodes {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(Discipline::Held(Box::new(MirccPort::new(&self.0, port.queue.drop_tail()?))))
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        Some(Box::new(IcnForwarder::new(&self.0, node)))
    }
}
