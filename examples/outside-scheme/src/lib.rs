//! A congestion-control scheme of one's own, without touching Midpath: *aimd*.
//!
//! Every port writes into the packet the longest queueing delay on the way so far, and the receiver
//! echoes it. While the delay is below a target, the sender's window grows by a constant each round
//! trip (additive increase). Above the target it shrinks by a factor (multiplicative decrease).
//!
//! | part | file |
//! |---|---|
//! | what the packet carries | [`header`] |
//! | what the port does | [`port`] |
//! | what the two ends do | [`endpoint`] |
//! | parameters, and where their defaults come from | [`params`] |
//! | what it says of itself: who must run it, what its gauges show | `describe.rs` |
//! | the extension module, which brings the scheme into the `midpath` command | `python.rs` |
//! | the scheme that builds these, and its name in scenarios | here |

mod describe;
pub mod endpoint;
pub mod header;
pub mod params;
pub mod port;
#[cfg(feature = "python")]
mod python;

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::queue::{Discipline, Fifo, Loss, Queue};
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Network, NodeSpec, Parts, PortSpec, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;

use header::Reading;
use params::AimdParams;

/// What scenarios call it.
const NAME: &str = "aimd";

/// What carries the scheme's flows.
struct Aimd(AimdParams);

impl Transport for Aimd {
    fn headers(&self) -> u32 {
        endpoint::HEADERS
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(endpoint::Sender::new(*flow, self.0))
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
        Ok(Discipline::with_shortcuts(Queue::new(port::Stamp::default(), Fifo::new(limit.bound(port.link.rate)), Loss)))
    }
}

/// Builds the scheme from its table in a scenario, `[schemes.aimd]`.
fn build(name: &str, params: AimdParams) -> Result<Arc<dyn Scheme>, SpecError> {
    params.check()?;
    Ok(Arc::new(Parts {
        name: name.to_owned(),
        transport: Some(Arc::new(Aimd(params))),
        network: Some(Arc::new(Stamps)),
    }))
}

/// Midpath's schemes and this one.
pub fn catalogue() -> Catalogue {
    Catalogue::standard().with_params::<AimdParams>(NAME, build).described(NAME, describe::own())
}
