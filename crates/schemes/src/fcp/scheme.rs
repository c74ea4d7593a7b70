//! FCP as a scheme: TCP's ends with FCP's controller, and others for multicast groups.

use std::sync::Arc;

use midpath_core::queue::Discipline;
use midpath_core::roles::{Endpoint, FlowSpec, Forwarder, Names, NodeSpec, PortSpec, Scheme};
use midpath_core::spec::SpecError;

use super::Config;
use super::multicast;
use crate::tcp::cc::ControllerConfig;
use crate::tcp::{Tcp, TcpParams};

/// The scheme.
pub struct Fcp {
    params: TcpParams,
    config: Config,
    tcp: Tcp<Config>,
}

impl Fcp {
    /// The scheme under this name. The parameters are checked.
    pub fn new(name: &str, params: TcpParams, config: Config) -> Result<Fcp, SpecError> {
        Ok(Fcp { params, tcp: Tcp::new(name, params, config.clone())?, config })
    }

    fn multicast(&self, flow: &FlowSpec) -> bool {
        !self.config.plan.receivers(flow.group).is_empty()
    }
}

impl Scheme for Fcp {
    fn name(&self) -> &str {
        self.tcp.name()
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let Some(config) = self.config.bind(names)? else { return Ok(None) };
        Ok(Some(Arc::new(Fcp::new(self.name(), self.params, config)?)))
    }
    fn headers(&self) -> u32 {
        self.tcp.headers()
    }
    fn needs_own_ports(&self) -> bool {
        self.tcp.needs_own_ports()
    }
    fn active(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        match self.multicast(flow) {
            true => Box::new(multicast::Sender::new(self.config.plan.clone(), flow)),
            false => self.tcp.active(flow),
        }
    }
    fn passive(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        match self.multicast(flow) {
            true => Box::new(multicast::Receiver::new(flow)),
            false => self.tcp.passive(flow),
        }
    }
    fn port(&self, spec: &PortSpec) -> Discipline {
        self.tcp.port(spec)
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        self.tcp.forwarder(node)
    }
}
