//! TCP as a transport: its parameters, a controller's configuration, and the two endpoints they
//! make.

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Network, Parts, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::cc::AssistedConfig;
use super::duplex::FullDuplex;
use super::params::{LossDetection, Recovery, TcpParams};
use super::receiver::Receiver;
use super::segment::{opens, reset};
use super::sender::Sender;
use super::settings::{Settings, UNLIMITED};
use crate::params::Params;

/// A table of parameters that splits into what all TCPs share and a controller's own.
pub trait TcpTable: Params {
    /// What the controller's own parameters become.
    type Config: AssistedConfig;
    /// Checks the controller's own parameters and hands both parts out.
    fn split(self) -> Result<(TcpParams, Self::Config), SpecError>;
    /// What nodes run, if the scheme has a network's side, too.
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }
}

/// TCP with the congestion controller that `K` builds.
pub struct Tcp<K> {
    pub(super) settings: Arc<Settings>,
    pub(super) control: Arc<K>,
    pub(super) needs: Option<String>,
    pub(super) draws_paths: bool,
}

impl<K: AssistedConfig> Tcp<K> {
    /// The transport of the scheme `name`. The parameters are checked.
    pub fn new(name: &str, mut tcp: TcpParams, control: K) -> Result<Tcp<K>, SpecError> {
        tcp.check()?;
        let traits = control.traits();
        if traits.rate_based {
            // What is lost is repaired at the rate that the network tells: there is no window to
            // reduce in proportion.
            (tcp.pacing, tcp.recovery) = (true, Recovery::Rfc6675);
        }
        let controller = traits.controller;
        tcp.pacing |= controller.paced;
        // Receivers count no further; a delayed ACK does not wait for as many.
        tcp.delayed_ack.0 = tcp.delayed_ack.0.min(u16::MAX.into());
        let window = if traits.rate_based { Some(UNLIMITED) } else { controller.initial_window };
        let settings = Settings {
            tcp,
            ecn: tcp.ecn.unwrap_or(controller.ecn),
            echo: controller.echo,
            codepoints: controller.codepoints,
            initial_window: window.unwrap_or(tcp.initial_window),
            header: traits.header,
            reflect: traits.reflect,
            stamp: traits.stamp,
            reflect_apart: traits.reflect_apart,
            asks_and_answers: traits.asks_and_answers,
            acknowledged: traits.acknowledged,
            stores: traits.stores,
            overtaken: traits.overtaken,
            rack_tlp: tcp.loss_detection == LossDetection::RackTlp && !traits.stores && !traits.overtaken,
            plain_acks: traits.reflect.is_none() && traits.acknowledged.is_none() && tcp.receiver.is_none(),
        };
        let needs = traits.own_network.then(|| name.to_owned());
        let draws_paths = traits.draws_paths;
        Ok(Tcp { settings: Arc::new(settings), control: Arc::new(control), needs, draws_paths })
    }

    /// The active end, unboxed: for those who put TCP inside a transport of their own.
    pub fn sender(&self, flow: &FlowSpec) -> Sender<K::Controller> {
        let mss = self.settings.mss(flow.mtu);
        Sender::new(flow, self.settings.clone(), self.control.build(&self.settings.tcp, mss, flow))
    }

    /// The passive end that a SYN opens, unboxed.
    pub fn receiver(&self, syn: &Packet) -> Receiver {
        Receiver::new(syn, self.settings.clone())
    }
}

impl<K: AssistedConfig> Transport for Tcp<K> {
    fn headers(&self) -> u32 {
        self.settings.overhead()
    }
    fn ceiling(&self, rtt: Time) -> Option<Rate> {
        Some(Rate::from_bytes_in(self.settings.tcp.receive_window, rtt))
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(self.sender(flow))
    }
    fn accept(&self, first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        if opens(first) {
            return Accept::Take(Box::new(self.receiver(first)));
        }
        self.refuse(first).map_or(Accept::Ignore, Accept::Refuse)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        reset(packet)
    }
    fn both_ways(&self, window: u64) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(FullDuplex::of(self, window)))
    }
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        true
    }
    fn needs(&self) -> Option<&str> {
        self.needs.as_deref()
    }
    fn draws_paths(&self) -> bool {
        self.draws_paths
    }
}

/// Builds the scheme `name` from its parameters: what the catalogue calls.
pub fn build<T: TcpTable>(name: &str, params: T) -> crate::Built {
    let network = params.network();
    let (tcp, control) = params.split()?;
    let transport = Tcp::new(name, tcp, control)?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(transport)), network }))
}
