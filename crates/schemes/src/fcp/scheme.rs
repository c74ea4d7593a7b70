//! FCP as a scheme: TCP's ends with FCP's controller, others for multicast groups, and ports with
//! prices.

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Names, Network, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::Config;
use super::multicast;
use super::resolved::Resolved;
use crate::transport::{Tcp, TcpParams};

/// The scheme.
pub struct Fcp {
    name: String,
    tcp: TcpParams,
    ends: Arc<Ends>,
    network: Arc<Config>,
}

impl Fcp {
    /// The scheme under this name. The parameters are checked.
    pub fn new(name: &str, tcp: TcpParams, params: Resolved) -> Result<Fcp, SpecError> {
        let config = Config::new(params);
        let ends = Ends { params: config.params.clone(), tcp: Tcp::new(name, tcp, config.clone())? };
        Ok(Fcp { name: name.to_owned(), tcp, ends: Arc::new(ends), network: Arc::new(config) })
    }
}

impl Scheme for Fcp {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        Ok(Some(Arc::new(Fcp::new(&self.name, self.tcp, self.network.params.bind(names)?)?)))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(self.ends.clone())
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(self.network.clone())
    }
}

/// What carries FCP's flows.
struct Ends {
    params: Arc<Resolved>,
    tcp: Tcp<Config>,
}

impl Transport for Ends {
    fn headers(&self) -> u32 {
        self.tcp.headers()
    }
    fn ceiling(&self, rtt: Time) -> Option<Rate> {
        self.tcp.ceiling(rtt)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        let flow = &FlowSpec { group: self.params.group_of(flow), ..*flow };
        match self.params.receivers(flow.group).is_empty() {
            true => self.tcp.open(flow),
            false => Box::new(multicast::Sender::new(self.params.clone(), flow)),
        }
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match multicast::opens(first) {
            true => Accept::Take(Box::new(multicast::Receiver::new(expected))),
            false => self.tcp.accept(first, expected),
        }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        self.tcp.refuse(packet)
    }
    fn both_ways(&self, window: u64) -> Option<Arc<dyn Transport>> {
        self.tcp.both_ways(window)
    }
    fn takes_writes(&self, flow: &FlowSpec) -> bool {
        self.params.receivers(self.params.group_of(flow)).is_empty()
    }
    fn needs(&self) -> Option<&str> {
        self.tcp.needs()
    }
}
