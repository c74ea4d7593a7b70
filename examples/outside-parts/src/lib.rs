//! A port part without a transport: a signal, [`reverse`].

mod describe;
pub mod reverse;

use std::sync::Arc;

use midpath_core::queue::Discipline;
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;

/// The scenario's queues with another signal.
struct ReversePorts;

impl Network for ReversePorts {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(port.queue.build_with(reverse::ReverseEce::default(), port.link.rate))
    }
}

/// What this crate brings into a simulator: a scheme of the network alone, without parameters.
pub fn schemes() -> Catalogue {
    let build = |name: &str| Parts { name: name.to_owned(), transport: None, network: Some(Arc::new(ReversePorts)) };
    Catalogue::empty()
        .with("reverse-ece", move |_| Ok(Arc::new(build("reverse-ece"))))
        .described("reverse-ece", describe::reverse_ece())
}
