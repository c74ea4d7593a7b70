//! A TCP as a scheme: its parameters, a controller's configuration, and the two endpoints they make.

use std::sync::Arc;

use midpath_core::queue::Discipline;
use midpath_core::roles::{Endpoint, FlowSpec, Forwarder, Names, NodeSpec, PortSpec, Scheme};
use midpath_core::spec::SpecError;

use super::cc::{ControllerConfig, Echo, Reflect};
use super::params::{Recovery, TcpParams};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::params::Params;

/// A table of parameters that splits into what all TCPs share and a controller's own.
pub trait TcpTable: Params {
    /// What the controller's own parameters become.
    type Config: ControllerConfig;
    /// Checks the controller's own parameters and hands both parts out.
    fn split(self) -> Result<(TcpParams, Self::Config), SpecError>;
}

/// What the endpoints of one scheme share: parameters with everything resolved.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The common parameters.
    pub tcp: TcpParams,
    /// Whether ECN is asked for and granted.
    pub ecn: bool,
    /// How receivers echo marks.
    pub echo: Echo,
    /// Segments to start with.
    pub initial_window: u32,
    /// Bytes of the controller's own header on every packet.
    pub header: u32,
    /// How receivers reflect that header.
    pub reflect: Option<Reflect>,
    /// Whether the network stores what it cannot send yet.
    pub stores: bool,
}

impl Settings {
    /// Bytes of headers on every packet but a SYN.
    pub fn overhead(&self) -> u32 {
        self.tcp.overhead() + self.header
    }

    /// Payload of a full packet on a path with this MTU.
    pub fn mss(&self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.overhead()).clamp(1, u32::from(u16::MAX))
    }
}

/// The window of a sender that the network tells its rate, in segments: never the limit, far below overflow.
pub(super) const UNLIMITED: u32 = 1 << 24;

/// TCP with the congestion controller that `K` builds.
pub struct Tcp<K> {
    name: String,
    settings: Arc<Settings>,
    control: K,
}

impl<K: ControllerConfig> Tcp<K> {
    /// A scheme under this name. The parameters are checked.
    pub fn new(name: &str, mut tcp: TcpParams, control: K) -> Result<Tcp<K>, SpecError> {
        tcp.check()?;
        if control.rate_based() {
            // What is lost is repaired at the rate that the network tells: there is no window to reduce in proportion.
            (tcp.pacing, tcp.recovery) = (true, Recovery::Rfc6675);
        }
        let window = if control.rate_based() { Some(UNLIMITED) } else { control.initial_window() };
        let settings = Settings {
            tcp,
            ecn: tcp.ecn.unwrap_or(control.wants_ecn()),
            echo: control.echo(),
            initial_window: window.unwrap_or(tcp.initial_window),
            header: control.header(),
            reflect: control.reflect(),
            stores: control.stores(),
        };
        Ok(Tcp { name: name.to_owned(), settings: Arc::new(settings), control })
    }

    /// The active end, unboxed: for those who put TCP inside a scheme of their own.
    pub fn sender(&self, flow: &FlowSpec) -> Sender<K::Controller> {
        let mss = self.settings.mss(flow.mtu);
        Sender::new(flow, self.settings.clone(), self.control.build_for(&self.settings.tcp, mss, flow))
    }

    /// The passive end, unboxed.
    pub fn receiver(&self, flow: &FlowSpec) -> Receiver {
        Receiver::new(flow, self.settings.clone())
    }
}

impl<K: ControllerConfig> Scheme for Tcp<K> {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let bound = self.control.bind(names)?;
        Ok(bound.map(|control| {
            let (name, settings) = (self.name.clone(), self.settings.clone());
            Arc::new(Tcp { name, settings, control }) as Arc<dyn Scheme>
        }))
    }
    fn headers(&self) -> u32 {
        self.settings.overhead()
    }
    fn needs_own_ports(&self) -> bool {
        self.control.needs_own_ports()
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        self.control.forwarder(node)
    }
    fn active(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(self.sender(flow))
    }
    fn passive(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(self.receiver(flow))
    }
    fn port(&self, spec: &PortSpec) -> Discipline {
        self.control.port(&self.settings.tcp, spec).unwrap_or_else(|| spec.queue.build(spec.link.rate))
    }
}

/// Builds the scheme `name` from its parameters: what the catalogue calls.
pub fn build<T: TcpTable>(name: &str, params: T) -> crate::Built {
    let (tcp, control) = params.split()?;
    Ok(Arc::new(Tcp::new(name, tcp, control)?))
}
