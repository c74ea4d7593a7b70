//! Starting a node.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use midpath_core::node::Limits;
use midpath_core::rng::Streams;
use midpath_core::units::Time;
use midpath_node::event_loop::{Configured, EventLoop};
use midpath_node::gateway::Gateway;
use midpath_node::host::{Host, Settings};
use midpath_node::overlay::{OVERHEAD, Overlay};
use midpath_node::streams;
use midpath_node::udp::{Outbox, Udp};
use midpath_schemes::Catalogue;
use midpath_sim::setup::Setup;
use rustix::net::sockopt;

use super::Config;
use super::config::KIND;
use super::numbers::Numbers;
use crate::control;
use crate::error::{Error, Tried};
use crate::priority;
use crate::random::random;
use crate::running::Running;
use crate::socket::SocketFile;
use crate::stop;

/// Runs a node until it is told to stop. `path` is where its configuration was read, and is read
/// again.
pub fn up(config: Config, path: &Path) -> Result<(), Error> {
    config.check(None)?;
    let secret = config.secret()?;
    let file = File { path: path.to_owned(), running: config.running(&secret) };
    let host = host(&config)?;
    let socket = UdpSocket::bind(config.listen).tried(|| format!("cannot listen on {}", config.listen))?;
    // Path MTU is found by probes, so nobody on the way may cut datagrams to pieces.
    let _ = sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::PROBE);
    if config.listen.is_ipv6() {
        let _ = sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::PROBE);
    }
    // As much as the kernel lets it have: what comes while the thread sleeps waits there.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, 4 << 20);
    let streams = streams(&config)?;
    let listens = socket.local_addr().tried(|| "the socket has no address".into())?;
    let udp = Udp::new(socket).tried(|| "the socket failed".into())?;
    let links = Overlay::new(secret, &config.neighbours, Time::ZERO)
        .map_err(|e| Error::Machine(format!("cannot set up the links: {e}")))?;
    let gateway =
        Gateway::new(config.entrances.clone(), config.allowed.clone()).tried(|| "cannot set up the gateway".into())?;
    let stop = stop::by_signal()?;
    let commands = SocketFile::bind(&config.control, control::MODE).map_err(|e| e.within("control: "))?;
    tracing::info!("node {} is up on {listens}", config.name);
    if udp.offload().sends == 1 {
        tracing::info!("this kernel has no UDP segmentation offload: datagrams are sent one by one");
    }
    gateway.listens().zip(&config.entrances).for_each(|(at, entrance)| tracing::info!("{:?} at {at}", entrance.kind));
    let listener = commands.listener.try_clone().tried(|| "the control socket failed".into())?;
    let event_loop = EventLoop::new(host, links, gateway, udp, Some(listener));
    let event_loop = event_loop.tried(|| "cannot set up the event loop".into())?;
    let mut event_loop = event_loop.with_bell(hangups()?).tried(|| "cannot set up the event loop".into())?;
    event_loop = event_loop.with_streams(streams).with_stop(stop);
    // Whoever has begun it by `chrt` has decided already.
    if config.real_time && !priority::is_real_time() {
        event_loop = event_loop.with_priority(Box::new(priority::change));
        if event_loop.real_time().is_none() {
            tracing::warn!(
                "real-time priority is not permitted (needs root, CAP_SYS_NICE or an rtprio limit): the node \
                    wakes late on a busy machine"
            );
        }
    }
    event_loop.with_configuration(Box::new(file)).run().tried(|| "the node stopped".into())
}

/// Connections to neighbours whose link goes over one, and from them.
fn streams(config: &Config) -> Result<streams::Streams, Error> {
    let listen = || TcpListener::bind(config.listen).tried(|| format!("cannot listen on {}", config.listen));
    let listener = config.has_streams().then(listen).transpose()?;
    streams::Streams::new(listener).tried(|| "cannot set up connections to neighbours".into())
}

/// Readable when somebody has sent SIGHUP.
fn hangups() -> Result<UnixStream, Error> {
    let failed = || "cannot wait for SIGHUP".to_owned();
    let (bell, rings) = UnixStream::pair().tried(failed)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGHUP, rings).tried(failed)?;
    Ok(bell)
}

/// What a node runs with, and where that was read.
struct File {
    path: PathBuf,
    running: Running,
}

impl Configured<Overlay> for File {
    /// Keys, addresses and rates of neighbours, the node's own key, and what it connects to for others
    /// may have changed.
    fn reload(
        &mut self,
        links: &mut Overlay,
        gateway: &mut Gateway,
        now: Time,
        out: &mut Outbox,
    ) -> Result<String, String> {
        let fresh = Config::read(&self.path).map_err(|e| e.to_string())?;
        let secret = fresh.secret().map_err(|e| e.to_string())?;
        let running = fresh.running(&secret);
        if let Some(what) = self.running.needs_restart(&running) {
            return Err(format!("{what} changed, which needs `down` and `up`; nothing was applied"));
        }
        links.set(secret, &fresh.neighbours, now, out);
        gateway.allow(fresh.allowed);
        self.running = running;
        Ok("neighbours' keys, addresses and rates, the node's key, exit.allow".to_owned())
    }

    fn running(&self) -> serde_json::Value {
        serde_json::json!(self.running)
    }
}

/// What can be found out without anything being up or changed; of a node that runs, what would change.
pub fn check(config: &Config) -> Result<(), Error> {
    let running = Running::ask(&config.control, KIND).map_err(|e| e.within("control: "))?;
    config.check(running.as_ref())?;
    if let Some(running) = running {
        running.changes(&config.running(&config.secret()?)).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// The network of a node whose scheme has numbers that only rise (INRPP's): they go on above those of
/// earlier runs.
fn numbered(config: &Config) -> Result<Option<Setup>, Error> {
    if !config.setup.scenario.scheme.split('+').any(|scheme| scheme == "inrpp") {
        return Ok(None);
    }
    let numbers = Numbers::open(&config.numbers)?;
    let catalogue = Catalogue::standard().after(numbers.first);
    numbers.keep();
    let setup = Setup::new(config.setup.scenario.clone(), &config.base, &catalogue);
    setup.map(Some).map_err(|e| Error::Usage(format!("the network: {e}")))
}

fn host(config: &Config) -> Result<Host, Error> {
    let wrong = |e| Error::Usage(format!("the network: {e}"));
    let numbered = numbered(config)?;
    let setup = numbered.as_ref().unwrap_or(&config.setup);
    let network = setup.pulled_network().map_err(wrong)?;
    let node = network.nodes.into_iter().nth(config.node.0 as usize).expect("the node exists");
    let transport = setup.transport().expect("checked: the scheme carries flows");
    let bytes: [u8; 16] = random()?;
    let (first, second) = bytes.split_at(8);
    let [seed, first_flow] = [first, second].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")));
    // Numbers that nobody else can guess come from these.
    let node = node.with_streams(Streams::of(seed, config.node.0.into()));
    let settings = Settings {
        transport,
        mtu: config.mtu,
        accepts: !config.allowed.is_empty() || !config.entrances.is_empty(),
        windows: config.windows,
        limits: Limits { passive: 40_000, ..Limits::default() },
        first_flow: first_flow as u32,
        overhead: OVERHEAD,
    };
    Ok(Host::new(node, settings).both_ways())
}
