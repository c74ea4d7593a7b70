//! Starting a forwarder.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use midpath_ndn_forwarder::{Forwarder, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Config;
use super::station::{Listener, Station};
use super::udp::Udp;
use crate::control::Commands;
use crate::error::{Error, Tried};
use crate::random::random;
use crate::stop;

/// Runs a forwarder until it is told to stop.
pub fn up(config: &Config) -> Result<(), Error> {
    raise_limit();
    let stop = stop::by_signal()?;
    let sockets = Sockets::open(config)?;
    let commands = Commands::new(&config.control)?;
    let mut forwarder = Forwarder::new(keyed(&config.settings)?);
    for (prefix, strategy) in &config.strategies {
        forwarder.set_strategy_of(prefix, *strategy);
    }
    sockets.say();
    let listener = commands.listener.try_clone().tried(|| "the control socket could not be used".into())?;
    let Sockets { listeners, udp, file } = sockets;
    let station = Station::new(forwarder, config, listeners, udp, Some(listener));
    let ended = station.and_then(|mut station| station.run(&stop)).tried(|| "the forwarder has stopped".into());
    drop(file);
    ended
}

/// What can be found out without anything being up: whether the sockets may be had.
pub fn check(config: &Config) -> Result<(), Error> {
    Sockets::open(config).map(drop)
}

/// The forwarder's rules with keys that nobody else can guess.
fn keyed(settings: &Settings) -> Result<Settings, Error> {
    let random: [u8; 24] = random()?;
    let (mut key, mut seed) = ([0; 16], [0; 8]);
    key.copy_from_slice(&random[..16]);
    seed.copy_from_slice(&random[16..]);
    #[expect(clippy::disallowed_methods, reason = "management says when the forwarder began")]
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Settings { key, seed: u64::from_le_bytes(seed), epoch_ms: epoch as u64, ..settings.clone() })
}

/// The sockets of a configuration.
struct Sockets {
    listeners: Vec<Listener>,
    udp: Vec<Udp>,
    /// The unix socket's file goes with it.
    file: Option<SocketFile>,
}

struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
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
        let mut file = None;
        if let Some(path) = &config.unix {
            listeners.push(Listener::Unix(listen_at(path)?));
            file = Some(SocketFile(path.clone()));
        }
        Ok(Sockets { listeners, udp, file })
    }

    /// Says where faces come from.
    fn say(&self) {
        for listener in &self.listeners {
            match listener {
                Listener::Unix(_) => self.file.iter().for_each(|file| println!("unix://{}", file.0.display())),
                Listener::Tcp(socket) => socket.local_addr().iter().for_each(|at| println!("tcp://{at}")),
            }
        }
        self.udp.iter().for_each(|udp| println!("udp://{}", udp.local()));
        println!("the forwarder is up");
    }
}

fn unbound(key: &str, at: SocketAddr, error: &io::Error) -> Error {
    Error::Machine(format!("{key}: {at} cannot be listened at: {error}"))
}

/// The socket of applications; all on this machine may connect.
fn listen_at(path: &Path) -> Result<UnixListener, Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).tried(|| format!("listen.unix: {} could not be made", folder.display()))?;
    }
    // A file that a killed forwarder has left behind: nobody answers there.
    if path.exists() && UnixStream::connect(path).is_err() {
        let _ = fs::remove_file(path);
    }
    let failed = || format!("listen.unix: {} could not be made; does a forwarder run already?", path.display());
    let listener = UnixListener::bind(path).tried(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).tried(failed)?;
    Ok(listener)
}

/// As many faces as go without rights: by default there are 1,024 files, for programs of the
/// seventies' `select`.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
