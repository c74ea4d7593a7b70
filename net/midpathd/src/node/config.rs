//! A node's configuration: read and checked before start. An error names the file, the
//! line and the key.

mod entrances;
mod file;
mod network;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use midpath_core::packet::{NodeId, PortId};
use midpath_core::units::Rate;
use midpath_link::{PublicKey, SecretKey};
use midpath_node::bytes::Windows;
use midpath_node::gateway::exit::Allowed;
use midpath_node::gateway::{Kind, Listener, connections, is_own};
use midpath_node::overlay;
use midpath_sim::setup::Setup;
use toml::Spanned;

use self::entrances::entrances;
use self::file::{File, Keys};
pub use self::network::{NetworkAt, NoNetwork};
use self::network::{largest_packet, refuse_known_secrets, with_window};
use super::read_key;
use crate::error::{Error, Tried};
use crate::free::free;
use crate::place;
use crate::running::{Running, digest, list};
use crate::source::Source;

/// What a node says that it is.
pub const KIND: &str = "node";

/// A configuration that makes sense.
pub struct Config {
    /// The network.
    pub setup: Setup,
    /// Which node of it this is.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// The file with its key.
    pub key: PathBuf,
    /// Where neighbours' datagrams come in.
    pub listen: SocketAddr,
    /// File, line and key of that, of the key's file, and of each entrance: for what only the machine
    /// knows to be wrong.
    places: Places,
    /// The socket for commands.
    pub control: PathBuf,
    /// What the node's numbers are below, where its scheme has some that only rise.
    pub numbers: PathBuf,
    /// Where names in the network's file are relative to.
    pub base: PathBuf,
    /// Its neighbours, by port.
    pub neighbours: Vec<overlay::Neighbour>,
    /// Where applications connect.
    pub entrances: Vec<Listener>,
    /// What it connects to for others.
    pub allowed: Allowed,
    /// What waits for applications.
    pub windows: Windows,
    /// The largest packet.
    pub mtu: u32,
    /// Whether it takes real-time priority where that is allowed.
    pub real_time: bool,
}

struct Places {
    key: String,
    listen: String,
    entrances: Vec<String>,
}

impl Config {
    /// Reads a configuration, and the network that it names.
    pub fn read(path: &Path) -> Result<Config, Error> {
        let text = fs::read_to_string(path).tried(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text, path, &network::read)
    }

    /// The same from a text that stands at `path`; `network` gives the network.
    pub fn parse(text: &str, path: &Path, network: NetworkAt<'_>) -> Result<Config, Error> {
        let source = Source { name: path.display().to_string(), text };
        let file: File = toml::from_str(text).map_err(|e| source.unreadable(&e))?;
        let base = path.parent().unwrap_or(Path::new("."));
        let setup = network(&base.join(file.network.get_ref())).map_err(|e| match e {
            NoNetwork::Unreadable(what) => source.wrong(Some(file.network.span()), "network", what),
            NoNetwork::Wrong(what) => Error::Usage(what),
        })?;
        let windows = windows(&file, &source)?;
        let setup = with_window(setup, windows.most(), base.join(file.network.get_ref()).parent());
        let id = named(&setup, &file.node, "node", &source)?;
        let (entrances, places) = entrances(&file, &setup, &source)?;
        let allowed = match &file.exit {
            Some(exit) => Allowed::parse(exit.allow.get_ref())
                .map_err(|e| source.wrong(Some(exit.allow.span()), "exit.allow", e))?,
            None => Allowed::default(),
        };
        let mtu = largest_packet(&setup, &source, file.network.span())?;
        refuse_known_secrets(&setup, &source, file.network.span())?;
        let neighbours = neighbours(&file, &setup, id, &source)?;
        let control = file.control.as_ref().map_or_else(|| place::control(path), |c| base.join(c));
        Ok(Config {
            node: id,
            name: file.node.get_ref().clone(),
            key: base.join(file.key.get_ref()),
            listen: *file.listen.get_ref(),
            places: Places {
                key: source.place(Some(file.key.span()), "key"),
                listen: source.place(Some(file.listen.span()), "listen"),
                entrances: places,
            },
            control,
            numbers: place::numbers(path),
            base: base.join(file.network.get_ref()).parent().unwrap_or(Path::new(".")).to_owned(),
            neighbours,
            entrances,
            allowed,
            windows,
            mtu,
            real_time: file.real_time,
            setup,
        })
    }

    /// What can be found out without anything being up or changed: whether the key can be read, the ports are free and
    /// may be had, and there are files enough. Ports of a node that runs, which this one would replace, are its own.
    pub fn check(&self, running: Option<&Running>) -> Result<(), Error> {
        let free = |protocol: &str, at: SocketAddr, place: &str| match running {
            Some(running) if running.has(protocol, at) => Ok(()),
            _ => free(protocol, at).map_err(|e| unbound(place, at, &e)),
        };
        self.secret()?;
        if !(self.entrances.is_empty() && self.allowed.is_empty()) {
            connections().map_err(|e| Error::Machine(e.to_string()))?;
        }
        free("udp", self.listen, &self.places.listen)?;
        if self.has_streams() {
            free("tcp", self.listen, &self.places.listen)?;
        }
        for (entrance, place) in self.entrances.iter().zip(&self.places.entrances) {
            free("tcp", entrance.listen, place)?;
            if let Kind::Transparent(targets) = &entrance.kind {
                let own = targets.first().is_none_or(is_own);
                if !own {
                    let route = format!("ip route add local {targets} dev lo");
                    let what = format!("{place}packets to {targets} are not routed here; run as root: `{route}`");
                    return Err(Error::Machine(what));
                }
            }
        }
        Ok(())
    }

    /// Whether a neighbour's link goes over a connection.
    pub fn has_streams(&self) -> bool {
        self.neighbours.iter().any(|n| n.kind == overlay::Kind::Tcp)
    }

    /// The node's key.
    pub fn secret(&self) -> Result<SecretKey, Error> {
        read_key(&self.key).map_err(|e| e.within(&self.places.key))
    }

    /// What the node runs with, and which of that `reload` may change.
    pub fn running(&self, secret: &SecretKey) -> Running {
        let mut all = Running::new(KIND);
        all.fixed("node", &self.name);
        all.fixed("listen", self.listen);
        all.fixed("control", self.control.display());
        all.fixed("memory", format!("{:?}", self.windows));
        all.fixed("real-time", self.real_time);
        all.fixed("the network", format!("one with digest {}", digest(&self.setup.scenario)));
        all.variable("key", secret.public());
        all.variable("exit.allow", &self.allowed);
        all.port("udp", self.listen);
        if self.has_streams() {
            all.port("tcp", self.listen);
        }
        for entrance in &self.entrances {
            let exit = &self.setup.topology.nodes()[entrance.exit.0 as usize].name;
            all.fixed(format!("the entrance at {}", entrance.listen), format!("{:?} by {exit}", entrance.kind));
            all.port("tcp", entrance.listen);
        }
        for neighbour in &self.neighbours {
            let key = |what: &str| format!("neighbour {}: {what}", neighbour.name);
            all.fixed(key("kind"), format!("{:?}", neighbour.kind));
            all.variable(key("key"), list(&neighbour.keys));
            all.variable(key("address"), list(neighbour.address));
            all.variable(key("rate"), neighbour.rate);
            all.variable(key("dedicated"), neighbour.dedicated);
        }
        all
    }
}

/// Why a port could not be had, and what would help.
fn unbound(place: &str, at: SocketAddr, error: &io::Error) -> Error {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "; ports below 1024 need root or CAP_NET_BIND_SERVICE",
        io::ErrorKind::AddrInUse => "; another process has this address",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
        _ => "",
    };
    Error::Machine(format!("{place}cannot listen on {at}: {error}{help}"))
}

/// Bounds below which nothing would work.
fn windows(file: &File, source: &Source<'_>) -> Result<Windows, Error> {
    let (budget, connection) = (&file.memory.budget, &file.memory.connection);
    for (key, bytes, least) in [("memory.budget", budget, 1 << 16), ("memory.connection", connection, 1 << 12)] {
        if bytes.get_ref().0 < least {
            return Err(source.wrong(Some(bytes.span()), key, format!("must be at least {least} B")));
        }
    }
    Ok(Windows::new(budget.get_ref().0, connection.get_ref().0))
}

fn named(setup: &Setup, name: &Spanned<String>, key: &str, source: &Source<'_>) -> Result<NodeId, Error> {
    let found = setup.topology.named(name.get_ref());
    found.map(|n| NodeId(n as u32)).map_err(|e| source.wrong(Some(name.span()), key, e))
}

/// The links of the network that begin at a node: port, and whom it leads to.
fn links(setup: &Setup, id: NodeId) -> Result<BTreeMap<PortId, (NodeId, Rate)>, Error> {
    setup.refuse_pfc().map_err(|e| Error::Usage(format!("the network: {e}")))?;
    let network = setup.network().map_err(|e| Error::Usage(format!("the network: {e}")))?;
    let own = network.links.iter().filter(|link| link.from.0 == id);
    Ok(own.map(|link| (link.from.1, (link.to.0, link.rate))).collect())
}

/// Each link of the node needs a neighbour, and each neighbour a link.
fn neighbours(file: &File, setup: &Setup, id: NodeId, source: &Source<'_>) -> Result<Vec<overlay::Neighbour>, Error> {
    let mut tables = BTreeMap::new();
    for table in &file.neighbour {
        let node = named(setup, &table.get_ref().node, "neighbour.node", source)?;
        if tables.insert(node, table).is_some() {
            return Err(source.wrong(Some(table.span()), "neighbour", "a neighbour is configured twice"));
        }
    }
    let links = links(setup, id)?;
    let mut all = Vec::new();
    for (peer, rate) in links.values() {
        let name = setup.topology.nodes()[peer.0 as usize].name.clone();
        let Some(table) = tables.remove(peer) else {
            let twice = links.values().filter(|(other, _)| other == peer).count() > 1;
            let why = if twice { "has several links to" } else { "has a link to" };
            let what = format!("the node {why} `{name}`, which needs a [[neighbour]] of its own");
            return Err(source.wrong(None, "neighbour", what));
        };
        let table = table.get_ref();
        let keys = match table.key.get_ref() {
            Keys::One(key) => vec![key],
            Keys::Several(keys) => keys.iter().collect(),
        };
        let parsed: Result<Vec<PublicKey>, _> = keys.into_iter().map(|key| PublicKey::parse(key)).collect();
        let keys = parsed.map_err(|e| source.wrong(Some(table.key.span()), "neighbour.key", e))?;
        let (address, kind, dedicated) = (table.address, table.kind, table.dedicated);
        let rate = table.rate.unwrap_or(*rate);
        all.push(overlay::Neighbour { name, keys, address, kind, rate, dedicated });
    }
    match tables.into_values().next() {
        None => Ok(all),
        Some(table) => {
            let (name, own) = (table.get_ref().node.get_ref(), file.node.get_ref());
            Err(source.wrong(
                Some(table.span()),
                "neighbour",
                format!("the network has no link from `{own}` to `{name}`"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the reader says that it expects, table by table, is what the manual has.
    #[test]
    fn the_manual_has_every_key() {
        let manual = include_str!("../../dist/midpathd-node.8");
        let at = |text: &str| {
            let nowhere = |_: &Path| Err(NoNetwork::Unreadable(String::new()));
            Config::parse(text, Path::new("a.toml"), &nowhere).err().expect("it is wrong").to_string()
        };
        let tables = ["[[neighbour]]", "[[forward]]", "[[socks]]", "[[connect]]", "[[transparent]]", "[[application]]"];
        for table in ["", "[memory]", "[exit]"].into_iter().chain(tables) {
            let said = at(&format!("{table}\nno-such-key = 1\n"));
            crate::source::assert_in_manual(manual, table, &said);
        }
    }
}
