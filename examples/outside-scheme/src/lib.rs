//! A congestion-control scheme of one's own, without touching Midpath: *gauge*.
//!
//! Every port writes into the packet the longest queueing delay on the way so far; the receiver echoes it; the sender
//! holds a window that grows by one packet per round trip while the delay is below a target and shrinks by a tenth
//! when it is above. Three roles, one header, one line in the catalogue:
//!
//! | part | file |
//! |---|---|
//! | what the packet carries | [`header`] |
//! | what the port does | [`port`] |
//! | what the two ends do | [`endpoint`] |
//! | what it says of itself: who must run it, what its gauges show | `describe.rs` |
//! | the scheme that builds them, and its name in scenarios | here |
//!
//! And two parts of ports, which need no transport of their own: an AQM, [`blue`], and a signal, [`reverse`].

pub mod blue;
mod describe;
pub mod endpoint;
pub mod header;
pub mod port;
pub mod reverse;

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::queue::{Ce, Discipline, Fifo, Loss, Queue};
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Network, NodeSpec, Parts, PortSpec, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;

use header::Reading;

/// What scenarios call it.
const NAME: &str = "gauge";

/// The scheme's parameters.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// The queueing delay to hold.
    pub target: Time,
}

/// What carries gauge's flows.
impl Transport for Gauge {
    fn headers(&self) -> u32 {
        endpoint::HEADERS
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(endpoint::Sender::new(*flow, self.target))
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match first.header::<Reading>() {
            Some(_) if first.payload > 0 => Accept::Take(Box::new(endpoint::Receiver::new(first, expected))),
            _ => Accept::Ignore,
        }
    }
    fn needs(&self) -> Option<&str> {
        Some(NAME) // without stamps the sender would take every queue for empty
    }
}

/// What the network's nodes run.
struct Stamps;

impl Network for Stamps {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let limit = port.queue.drop_tail()?;
        Ok(Discipline::of(Queue::new(port::Stamp::default(), Fifo::new(limit.bound(port.link.rate)), Loss)))
    }
}

/// Builds the scheme from its table in a scenario: `[schemes.gauge]` with `target`, 5 ms unless said.
fn build(params: &serde_json::Value) -> Result<Arc<dyn Scheme>, SpecError> {
    let mut gauge = Gauge { target: Time::from_ms(5) };
    for (key, value) in params.as_object().into_iter().flatten() {
        match (key.as_str(), value.as_str()) {
            ("target", Some(text)) => {
                gauge.target = text.parse().map_err(|e| SpecError::new("target", format!("{e}")))?;
            }
            _ => return Err(SpecError::new(key.clone(), "unknown; gauge takes `target`, a time such as \"5 ms\"")),
        }
    }
    Ok(Arc::new(Parts { name: NAME.to_owned(), transport: Some(Arc::new(gauge)), network: Some(Arc::new(Stamps)) }))
}

/// Ports under BLUE, which mark who can be marked.
struct BluePorts;

impl Network for BluePorts {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = port.queue.drop_tail()?.bound(port.link.rate);
        Ok(Discipline::of(Queue::new(blue::Blue::default(), Fifo::new(bound), Ce)))
    }
}

/// The scenario's queues with another signal.
struct ReversePorts;

impl Network for ReversePorts {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(port.queue.build_with(reverse::ReverseEce::default(), port.link.rate))
    }
}

/// A scheme of the network alone, without parameters.
fn ports(name: &str, network: Arc<dyn Network>) -> Result<Arc<dyn Scheme>, SpecError> {
    Ok(Arc::new(Parts { name: name.to_owned(), transport: None, network: Some(network) }))
}

/// Midpath's schemes and these.
pub fn catalogue() -> Catalogue {
    Catalogue::standard()
        .with(NAME, build)
        .described(NAME, describe::gauge())
        .with("blue", |_| ports("blue", Arc::new(BluePorts)))
        .described("blue", describe::blue())
        .with("reverse-ece", |_| ports("reverse-ece", Arc::new(ReversePorts)))
        .described("reverse-ece", describe::reverse_ece())
}
