//! Two parts of ports, which need no transport of their own: an AQM, [`blue`], and a signal,
//! [`reverse`].

pub mod blue;
mod describe;
pub mod reverse;

use std::sync::Arc;

use midpath_core::queue::{Ce, Discipline, Fifo, Queue};
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec, Scheme};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;

/// Ports under BLUE, which mark who can be marked.
struct BluePorts;

impl Network for BluePorts {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = port.queue.drop_tail()?.bound(port.link.rate);
        Ok(Discipline::with_shortcuts(Queue::new(blue::Blue::default(), Fifo::new(bound), Ce)))
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

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with("blue", |_| ports("blue", Arc::new(BluePorts)))
        .described("blue", describe::blue())
        .with("reverse-ece", |_| ports("reverse-ece", Arc::new(ReversePorts)))
        .described("reverse-ece", describe::reverse_ece())
}
