//! The parameters of scenarios, and endpoints configured by them.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use midpath_core::spec::SpecError;
use midpath_schemes::params::require;
use midpath_schemes::{Built, Catalogue};
use midpath_stack::{EndSpec, Stack, StackConfig, StackParams, instant};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Endpoint, EndpointConfig, MtuDiscoveryConfig, QlogConfig, QlogStream,
    ServerConfig, TransportConfig, VarInt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::insecure_simulation_crypto::{Identity, InsecureSeeded, NAME};
use crate::{Live, Machine};

/// Makes congestion controllers.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// quinn's controllers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// Its default.
    #[default]
    Cubic,
    /// RFC 9002's.
    NewReno,
    /// BBR, version 1.
    Bbr,
}

/// What `[schemes.quinn]` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QuinnParams {
    /// What all stacks share.
    #[serde(flatten)]
    pub stack: StackParams,
    /// The congestion controller.
    pub controller: Controller,
    /// Packets that the peer may receive before it acknowledges (draft-ietf-quic-ack-frequency); 0: without the
    /// extension, every second one.
    pub ack_frequency: u32,
    /// Bytes that the receiver lets be in flight: quinn's own default assumes 12.5 MB/s and 100 ms.
    pub receive_window: u32,
    /// The folder in which each end writes its qlog: `ADDRESS-PORT.sqlog`, in the clock of the simulation.
    pub qlog: Option<PathBuf>,
}

impl Default for QuinnParams {
    fn default() -> QuinnParams {
        let (stack, controller) = Default::default();
        QuinnParams { stack, controller, ack_frequency: 0, receive_window: 12_500_000, qlog: None }
    }
}

/// An end's qlog; none where no file can be made.
fn qlog(folder: &Path, end: &EndSpec) -> Option<QlogStream> {
    let file = File::create(folder.join(format!("{}-{}.sqlog", end.local.ip(), end.local.port()))).ok()?;
    let mut log = QlogConfig::default();
    log.writer(Box::new(BufWriter::new(file))).start_time(instant(Duration::ZERO));
    log.into_stream()
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<QuinnParams>("quinn", |name, params| {
        let factory: Factory = match params.controller {
            Controller::Cubic => Arc::new(CubicConfig::default()),
            Controller::NewReno => Arc::new(NewRenoConfig::default()),
            Controller::Bbr => Arc::new(BbrConfig::default()),
        };
        with_controller(name, params, factory)
    })
}

/// The scheme with any controller: yours is a [`ControllerFactory`].
pub fn with_controller(name: &str, params: QuinnParams, factory: Factory) -> Built {
    require(params.receive_window > 0, "receive_window", "above zero")?;
    if let Some(folder) = &params.qlog {
        std::fs::create_dir_all(folder).map_err(|error| SpecError::new("qlog", error.to_string()))?;
    }
    midpath_stack::build(name, params.stack, Quinn { params, factory, identity: Identity::default() })
}

/// Opens and accepts connections.
struct Quinn {
    params: QuinnParams,
    factory: Factory,
    identity: Identity,
}

impl Quinn {
    fn transport(&self, end: &EndSpec) -> Arc<TransportConfig> {
        let window = VarInt::from_u32(self.params.receive_window);
        let mut transport = TransportConfig::default();
        let (mut discovery, mut frequency) = (MtuDiscoveryConfig::default(), AckFrequencyConfig::default());
        discovery.upper_bound(1452.min(end.datagram as u16));
        frequency.ack_eliciting_threshold(self.params.ack_frequency.into());
        transport
            .congestion_controller_factory(self.factory.clone())
            .mtu_discovery_config(Some(discovery))
            .ack_frequency_config((self.params.ack_frequency > 0).then_some(frequency))
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(2 * u64::from(self.params.receive_window));
        transport.qlog_stream(self.params.qlog.as_ref().and_then(|folder| qlog(folder, end)));
        Arc::new(transport)
    }

    fn machine(&self, end: &EndSpec, accepts: bool) -> Machine {
        let seeded = InsecureSeeded::new(end.seed);
        let (reset, ids, rng) = (seeded.reset_key(), seeded.clone(), seeded.draw());
        let mut config = EndpointConfig::new(reset);
        config.cid_generator(move || Box::new(ids.clone())).rng_seed(Some(rng));
        let server = accepts.then(|| {
            let mut config = ServerConfig::new(self.identity.server(&seeded), seeded.token_key());
            config.transport_config(self.transport(end));
            Arc::new(config)
        });
        let endpoint = Endpoint::new(Arc::new(config), server, true, None);
        Machine { end: *end, opens: !accepts, endpoint, connections: Vec::new(), replies: Vec::new() }
    }
}

impl StackConfig for Quinn {
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut machine = self.machine(end, false);
        let seeded = InsecureSeeded::new(end.seed.map(|byte| !byte));
        let mut config = ClientConfig::new(self.identity.client(&seeded));
        config.transport_config(self.transport(end));
        config.initial_dst_cid_provider(Arc::new(move || seeded.connection_id()));
        for _ in 0..end.params.connections {
            let opened = machine.endpoint.connect(instant(end.at), config.clone(), end.peer, NAME);
            machine.connections.push(Live::new(opened.expect("a good configuration")));
        }
        Box::new(machine)
    }

    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        Box::new(self.machine(end, true))
    }
}
