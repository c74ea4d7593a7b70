//! quinn-proto as the ends of simulated flows: its handshake, loss detection, pacing, MTU discovery and controllers.
//!
//! `scheme = "quinn"`, with `[schemes.quinn]` for parameters. The bytes are TLS 1.3's, of a seed.

pub mod insecure_simulation_crypto;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use insecure_simulation_crypto::{Identity, InsecureSeeded, NAME};
use midpath_core::packet::Ecn;
use midpath_schemes::params::require;
use midpath_schemes::{Built, Catalogue};
use midpath_stack::{Burst, Connection as App, EndSpec, Figures, Stack, StackConfig, StackParams, Work};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, MtuDiscoveryConfig, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};
use ring::{hkdf, hmac};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QuinnParams {
    /// What all stacks share.
    #[serde(flatten)]
    pub stack: StackParams,
    /// The congestion controller.
    pub controller: Controller,
    /// Whether the host's sockets have ECN.
    pub ecn: bool,
    /// Packets that the peer may receive before it acknowledges (draft-ietf-quic-ack-frequency); 0: without the
    /// extension, every second one.
    pub ack_frequency: u32,
    /// Bytes that the receiver lets be in flight: quinn's own default assumes 12.5 MB/s and 100 ms.
    pub receive_window: u32,
}

impl Default for QuinnParams {
    fn default() -> QuinnParams {
        let (stack, controller) = Default::default();
        QuinnParams { stack, controller, ecn: true, ack_frequency: 0, receive_window: 12_500_000 }
    }
}

impl QuinnParams {
    fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self.controller {
            Controller::Cubic => Arc::new(CubicConfig::default()),
            Controller::NewReno => Arc::new(NewRenoConfig::default()),
            Controller::Bbr => Arc::new(BbrConfig::default()),
        }
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with_params::<QuinnParams>("quinn", |name, params| with_controller(name, params, params.factory()))
}

/// The scheme with any controller: yours is a [`ControllerFactory`].
pub fn with_controller(name: &str, params: QuinnParams, factory: Arc<dyn ControllerFactory + Send + Sync>) -> Built {
    require(params.receive_window > 0, "receive_window", "above zero")?;
    midpath_stack::build(name, params.stack, Quinn { params, factory, identity: Identity::default(), base: any_time() })
}

#[expect(clippy::disallowed_methods, reason = "an Instant has no other beginning; nothing depends on which it is")]
fn any_time() -> Instant {
    Instant::now()
}

struct Quinn {
    params: QuinnParams,
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    identity: Identity,
    /// Virtual time begins here; nothing depends on it.
    base: Instant,
}

impl Quinn {
    fn transport(&self, end: &EndSpec) -> Arc<TransportConfig> {
        let (mut transport, window) = (TransportConfig::default(), VarInt::from_u32(self.params.receive_window));
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(1452.min(end.datagram as u16));
        transport.congestion_controller_factory(self.factory.clone()).mtu_discovery_config(Some(discovery));
        transport
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(2 * u64::from(window.into_inner() as u32));
        if self.params.ack_frequency > 0 {
            let mut frequency = AckFrequencyConfig::default();
            frequency.ack_eliciting_threshold(VarInt::from_u32(self.params.ack_frequency));
            transport.ack_frequency_config(Some(frequency));
        }
        Arc::new(transport)
    }

    fn machine(&self, end: &EndSpec, server: impl FnOnce(&InsecureSeeded) -> Option<Arc<ServerConfig>>) -> Machine {
        let seeded = InsecureSeeded::new(end.seed);
        let (reset, ids, rng) = (seeded.draw::<32>(), seeded.clone(), seeded.draw());
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset)));
        config.cid_generator(move || Box::new(ids.clone())).rng_seed(Some(rng));
        let endpoint = Endpoint::new(Arc::new(config), server(&seeded), true, None);
        let (base, ecn, burst, peer) = (self.base, self.params.ecn, end.params.burst, end.peer);
        Machine { base, ecn, burst, peer, endpoint, connections: Vec::new(), replies: Vec::new() }
    }
}

impl StackConfig for Quinn {
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut machine = self.machine(end, |_| None);
        let seeded = InsecureSeeded::new(end.seed.map(|byte| !byte));
        let mut config = ClientConfig::new(self.identity.client(&seeded));
        config.transport_config(self.transport(end)).initial_dst_cid_provider(Arc::new(move || seeded.connection_id()));
        for _ in 0..end.params.connections {
            let opened = machine.endpoint.connect(self.base + end.at, config.clone(), end.peer, NAME);
            let (handle, connection) = opened.expect("a good configuration");
            machine.connections.push(Live::new(handle, connection, true));
        }
        Box::new(machine)
    }

    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        Box::new(self.machine(end, |seeded| {
            let token = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&seeded.draw::<64>());
            let mut config = ServerConfig::new(self.identity.server(seeded), Arc::new(token));
            config.transport_config(self.transport(end)).validation_token_config(Default::default());
            Some(Arc::new(config))
        }))
    }
}

/// A connection, and what is done of its application.
struct Live {
    handle: ConnectionHandle,
    connection: Connection,
    opens: bool,
    ready: bool,
    stream: Option<StreamId>,
    written: u64,
    messages: u64,
    finished: bool,
}

impl Live {
    fn new(handle: ConnectionHandle, connection: Connection, opens: bool) -> Live {
        Live { handle, connection, opens, ready: false, stream: None, written: 0, messages: 0, finished: false }
    }

    /// Exchanges events with the endpoint, and what there is with the application.
    fn serve(&mut self, now: Instant, endpoint: &mut Endpoint, app: &mut App) {
        let connection = &mut self.connection;
        while let Some(event) = connection.poll_endpoint_events() {
            endpoint.handle_event(self.handle, event).into_iter().for_each(|event| connection.handle_event(event));
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.ready = true,
                Event::Stream(StreamEvent::Finished { .. }) => app.acknowledged = true,
                _ => {}
            }
        }
        app.over = connection.is_drained();
        if !self.ready || app.over {
            return;
        }
        while let Some(message) = connection.datagrams().recv() {
            app.delivered += message.len() as u64;
        }
        while self.messages < app.messages.0 {
            // Old ones make room for new ones where congestion holds them back.
            connection.datagrams().send(Bytes::from(vec![0; app.messages.1]), true).ok();
            self.messages += 1;
        }
        if app.messages.1 > 0 && app.closed && self.messages == app.messages.0 {
            app.acknowledged |= connection.stats().frame_tx.datagram >= self.messages;
        }
        if self.stream.is_none() && app.messages.1 == 0 {
            let mut streams = connection.streams();
            self.stream = if self.opens { streams.open(Dir::Bi) } else { streams.accept(Dir::Bi) };
        }
        if let Some(id) = self.stream {
            Live::read(connection, id, app);
            self.write(id, app);
        }
        let done = if self.opens { app.acknowledged && (app.complete || app.messages.1 > 0) } else { false };
        if (done || app.abort) && !self.connection.is_closed() {
            self.connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }

    fn read(connection: &mut Connection, id: StreamId, app: &mut App) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => app.delivered += chunk.bytes.len() as u64,
                Ok(None) => {
                    app.complete = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }

    fn write(&mut self, id: StreamId, app: &mut App) {
        const ZEROS: Bytes = Bytes::from_static(&[0; 1 << 16]);
        let mut stream = self.connection.send_stream(id);
        while self.written < app.given {
            let mut piece = [ZEROS.slice(..ZEROS.len().min((app.given - self.written) as usize))];
            match stream.write_chunks(&mut piece) {
                Ok(written) => self.written += written.bytes as u64,
                Err(_) => return,
            }
        }
        if app.closed && !self.finished {
            self.finished = stream.finish().is_ok();
        }
    }
}

/// One end: a socket's endpoint and its connections.
struct Machine {
    base: Instant,
    ecn: bool,
    burst: usize,
    peer: std::net::SocketAddr,
    endpoint: Endpoint,
    connections: Vec<Live>,
    /// Answers without a connection.
    replies: Vec<Vec<u8>>,
}

impl Machine {
    fn reply(&mut self, transmit: Option<Transmit>, bytes: &[u8]) {
        self.replies.extend(transmit.map(|transmit| bytes[..transmit.size].to_vec()));
    }
}

impl Stack for Machine {
    fn receive(&mut self, at: Duration, datagram: &[u8], ecn: Ecn) {
        let (now, mut buffer) = (self.base + at, Vec::new());
        let ecn = EcnCodepoint::from_bits(ecn as u8).filter(|_| self.ecn);
        match self.endpoint.handle(now, self.peer, None, ecn, BytesMut::from(datagram), &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let live =
                    self.connections.iter_mut().find(|live| live.handle == handle && !live.connection.is_drained());
                if let Some(live) = live {
                    live.connection.handle_event(event)
                };
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut buffer, None) {
                    Ok((handle, connection)) => self.connections.push(Live::new(handle, connection, false)),
                    Err(error) => self.reply(error.response, &buffer),
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.reply(Some(transmit), &buffer),
            None => {}
        }
    }

    fn timeout(&mut self, at: Duration) {
        let now = self.base + at;
        let due = |live: &mut &mut Live| live.connection.poll_timeout().is_some_and(|at| at <= now);
        self.connections.iter_mut().filter_map(|mut live| due(&mut live).then_some(live)).for_each(|live| {
            live.connection.handle_timeout(now);
        });
    }

    fn serve(&mut self, at: Duration, work: &mut Work) {
        let Machine { endpoint, connections, base, .. } = self;
        connections.iter_mut().enumerate().for_each(|(i, live)| live.serve(*base + at, endpoint, work.of(i)));
    }

    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        if let Some(reply) = self.replies.pop() {
            out.extend(reply);
            return Some(Burst { ecn: Ecn::NotEct, segment: None });
        }
        let (now, burst) = (self.base + at, self.burst);
        let sent = self.connections.iter_mut().find_map(|live| live.connection.poll_transmit(now, burst, out))?;
        let ecn = match sent.ecn.filter(|_| self.ecn) {
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
            None => Ecn::NotEct,
        };
        Some(Burst { ecn, segment: sent.segment_size })
    }

    fn wake(&mut self) -> Option<Duration> {
        let soonest = self.connections.iter_mut().filter_map(|live| live.connection.poll_timeout()).min()?;
        Some(soonest.saturating_duration_since(self.base))
    }

    fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        for live in &self.connections {
            let path = live.connection.stats().path;
            let rate = live.connection.congestion_state().metrics().pacing_rate.unwrap_or(0);
            (sum.cwnd, sum.lost) = (sum.cwnd + path.cwnd, sum.lost + path.lost_packets);
            (sum.srtt, sum.rate) = (sum.srtt.max(path.rtt), sum.rate + rate);
        }
        sum
    }
}
