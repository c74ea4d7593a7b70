//! Starting a forwarder.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::{SystemTime, UNIX_EPOCH};

use midpath_ndn_forwarder::{Forwarder, Settings};
use midpath_node::gateway::raise_limit;

use super::Config;
use super::config::KIND;
use super::event_loop::{EventLoop, Listener};
use super::udp::Udp;
use crate::control;
use crate::error::{Error, Tried};
use crate::free::free;
use crate::random::random;
use crate::running::Running;
use crate::socket::{self, Name, SocketFile};
use crate::stop;

/// The key of applications' socket, before what is wrong with it.
const UNIX: &str = "listen.unix: ";

/// Runs a forwarder until it is told to stop.
pub fn up(config: &Config) -> Result<(), Error> {
    raise_limit();
    let stop = stop::by_signal()?;
    let sockets = Sockets::open(config)?;
    let commands = SocketFile::bind(&config.control, control::MODE).map_err(|e| e.within("control: "))?;
    let mut forwarder = Forwarder::new(keyed(&config.settings)?);
    for (prefix, strategy) in &config.strategies {
        forwarder.set_strategy_of(prefix, *strategy);
    }
    sockets.say();
    let listener = commands.listener.try_clone().tried(|| "the control socket failed".into())?;
    let Sockets { listeners, udp, unix } = sockets;
    let event_loop = EventLoop::new(forwarder, config, listeners, udp, Some(listener));
    let ended = event_loop.and_then(|mut event_loop| event_loop.run(&stop)).tried(|| "the forwarder stopped".into());
    drop(unix);
    ended
}

/// What can be found out without anything being up or changed: whether the sockets may be had. Of a
/// forwarder that runs, what would change.
pub fn check(config: &Config) -> Result<(), Error> {
    let running = Running::ask(&config.control, KIND).map_err(|e| e.within("control: "))?;
    let is_own = |protocol: &str, at: &SocketAddr| running.as_ref().is_some_and(|r| r.has(protocol, *at));
    for (protocol, key, all) in [("tcp", "listen.tcp", &config.tcp), ("udp", "listen.udp", &config.udp)] {
        for at in all.iter().filter(|at| !is_own(protocol, at)) {
            free(protocol, *at).map_err(|e| unbound(key, *at, &e))?;
        }
    }
    if let Some(path) = &config.unix {
        let name = socket::look(path).map_err(|e| e.within(UNIX))?;
        if name == Name::Answers && running.is_none() {
            return Err(Error::Machine(format!("{UNIX}{}: another process already answers there", path.display())));
        }
    }
    if let Some(running) = running {
        running.changes(&config.running()).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// The forwarder's rules with keys that nobody else can guess.
fn keyed(settings: &Settings) -> Result<Settings, Error> {
    let random: [u8; 24] = random()?;
    let (mut key, mut seed) = ([0; 16], [0; 8]);
    key.copy_from_slice(&random[..16]);
    seed.copy_from_slice(&random[16..]);
    #[expect(clippy::disallowed_methods, reason = "management reports the start time")]
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Settings { key, seed: u64::from_le_bytes(seed), epoch_ms: epoch as u64, ..settings.clone() })
}

/// The sockets of a configuration.
struct Sockets {
    listeners: Vec<Listener>,
    udp: Vec<Udp>,
    /// Where applications of this machine connect.
    unix: Option<SocketFile>,
}

impl Sockets {
    fn open(config: &Config) -> Result<Sockets, Error> {
        let (mut listeners, mut udp) = (Vec::new(), Vec::new());
        for at in &config.tcp {
            listeners.push(Listener::Tcp(TcpListener::bind(at).map_err(|e| unbound("listen.tcp", *at, &e))?));
        }
        for at in &config.udp {
            udp.push(Udp::bind(*at).map_err(|e| unbound("listen.udp", *at, &e))?);
        }
        // All on this machine may connect.
        let unix = config.unix.as_deref().map(|path| SocketFile::bind(path, 0o666));
        let unix = unix.transpose().map_err(|e| e.within(UNIX))?;
        if let Some(unix) = &unix {
            let listener = unix.listener.try_clone().tried(|| format!("{UNIX}the socket failed"))?;
            listeners.push(Listener::Unix(listener));
        }
        Ok(Sockets { listeners, udp, unix })
    }

    /// Says where faces come from.
    fn say(&self) {
        for listener in &self.listeners {
            match listener {
                Listener::Unix(_) => self.unix.iter().for_each(|unix| tracing::info!("unix://{}", unix.path.display())),
                Listener::Tcp(socket) => socket.local_addr().iter().for_each(|at| tracing::info!("tcp://{at}")),
            }
        }
        self.udp.iter().for_each(|udp| tracing::info!("udp://{}", udp.local()));
        tracing::info!("the forwarder is up");
    }
}

fn unbound(key: &str, at: SocketAddr, error: &io::Error) -> Error {
    Error::Machine(format!("{key}: cannot listen on {at}: {error}"))
}
