//! A node's configuration: read, and checked before anything is up. An error names the file, the
//! line and the key.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::path::{Path, PathBuf};

use midpath_core::packet::{NodeId, PortId};
use midpath_core::units::{Bytes, Rate};
use midpath_link::PublicKey;
use midpath_node::bytes::Windows;
use midpath_node::gateway::exit::Allowed;
use midpath_node::gateway::{Entrance, Kind};
use midpath_node::overlay;
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;
use midpath_sim::setup::Setup;
use serde::Deserialize;
use toml::Spanned;

use super::read_key;
use crate::error::{Error, Tried};

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// A scenario of the simulator: the network and its scheme. Its flows are not run here.
    network: Spanned<PathBuf>,
    /// Which of its nodes this is.
    node: Spanned<String>,
    /// The file with this node's key.
    key: Spanned<PathBuf>,
    /// Where neighbours' datagrams come in.
    listen: Spanned<SocketAddr>,
    /// The socket for `status` and `down`; beside the configuration unless given.
    control: Option<PathBuf>,
    #[serde(default)]
    memory: MemoryTable,
    #[serde(default)]
    neighbour: Vec<Spanned<NeighbourTable>>,
    #[serde(default)]
    forward: Vec<ForwardTable>,
    #[serde(default)]
    socks: Vec<EntranceTable>,
    #[serde(default)]
    connect: Vec<EntranceTable>,
    exit: Option<ExitTable>,
}

/// What waits for applications that do not read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MemoryTable {
    /// For all connections.
    budget: Bytes,
    /// For one.
    connection: Bytes,
}

impl Default for MemoryTable {
    fn default() -> MemoryTable {
        MemoryTable { budget: Bytes(64 << 20), connection: Bytes(4 << 20) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeighbourTable {
    /// Its name in the network.
    node: Spanned<String>,
    /// Its public key, or several while it changes them.
    key: Spanned<Keys>,
    /// Where it is; a neighbour without one is waited for.
    address: Option<SocketAddr>,
    /// At most so fast, all headers counted; the network's rate unless given.
    rate: Option<Rate>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Keys {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntranceTable {
    listen: Spanned<SocketAddr>,
    exit: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardTable {
    listen: Spanned<SocketAddr>,
    exit: Spanned<String>,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExitTable {
    allow: Spanned<Vec<String>>,
}

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
    /// The socket for commands.
    pub control: PathBuf,
    /// Its neighbours, by port.
    pub neighbours: Vec<overlay::Neighbour>,
    /// Where applications connect.
    pub entrances: Vec<Entrance>,
    /// What it connects to for others.
    pub allowed: Allowed,
    /// What waits for applications.
    pub windows: Windows,
    /// The largest packet.
    pub mtu: u32,
}

/// The text of a file, to say where something is.
struct Source<'a> {
    name: String,
    text: &'a str,
}

impl Source<'_> {
    fn wrong(&self, at: Option<Range<usize>>, key: &str, what: impl std::fmt::Display) -> Error {
        let line = at.map(|at| self.text[..at.start.min(self.text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        Error::Usage(format!("{}{place}: {key}{what}", self.name))
    }
}

impl Config {
    /// Reads a configuration.
    pub fn read(path: &Path) -> Result<Config, Error> {
        let text = fs::read_to_string(path).tried(|| format!("{} could not be read", path.display()))?;
        let source = Source { name: path.display().to_string(), text: &text };
        let file: File = toml::from_str(&text).map_err(|e| source.wrong(e.span(), "", e.message()))?;
        let base = path.parent().unwrap_or(Path::new("."));
        let setup = read_network(&base.join(file.network.get_ref()), &source, file.network.span())?;
        let windows = Windows::new(file.memory.budget.0, file.memory.connection.0);
        let setup = with_window(setup, windows.most(), base.join(file.network.get_ref()).parent());
        let id = named(&setup, &file.node, "node", &source)?;
        let entrances = entrances(&file, &setup, &source)?;
        let allowed = match &file.exit {
            Some(exit) => Allowed::parse(exit.allow.get_ref())
                .map_err(|e| source.wrong(Some(exit.allow.span()), "exit.allow", e))?,
            None => Allowed::default(),
        };
        let mtu = largest_packet(&setup, &source, file.network.span())?;
        refuse_known_secrets(&setup, &source, file.network.span())?;
        let neighbours = neighbours(&file, &setup, id, &source)?;
        let control = file.control.as_ref().map_or_else(|| path.with_extension("sock"), |c| base.join(c));
        Ok(Config {
            node: id,
            name: file.node.get_ref().clone(),
            key: base.join(file.key.get_ref()),
            listen: *file.listen.get_ref(),
            control,
            neighbours,
            entrances,
            allowed,
            windows,
            mtu,
            setup,
        })
    }

    /// What can be found out without anything being up: whether the key can be read, and the ports
    /// are free.
    pub fn check(&self) -> Result<(), Error> {
        read_key(&self.key)?;
        UdpSocket::bind(self.listen).tried(|| format!("{} cannot be listened at", self.listen))?;
        for entrance in &self.entrances {
            TcpListener::bind(entrance.listen).tried(|| format!("{} cannot be listened at", entrance.listen))?;
        }
        Ok(())
    }
}

fn read_network(path: &Path, source: &Source<'_>, at: Range<usize>) -> Result<Setup, Error> {
    let text = fs::read_to_string(path)
        .map_err(|e| source.wrong(Some(at), "network", format!("{} could not be read: {e}", path.display())))?;
    let base = path.parent().unwrap_or(Path::new("."));
    midpath_sim::prepare(&text, base, &RunOptions::default(), &Catalogue::standard())
        .map_err(|e| Error::Usage(format!("{}: {e}", path.display())))
}

/// Windows are told in units that follow from the largest one (RFC 7323, §2.3): with the simulator's
/// default, which never limits, a window of less than 16 KiB would be none.
fn with_window(setup: Setup, window: u64, base: Option<&Path>) -> Setup {
    let (base, mut setup) = (base.unwrap_or(Path::new(".")), setup);
    for name in setup.scenario.scheme.clone().split('+') {
        let mut scenario = setup.scenario.clone();
        let table = scenario.schemes.entry(name.to_owned()).or_insert_with(|| serde_json::json!({}));
        if let Some(table) = table.as_object_mut() {
            let window = serde_json::json!(format!("{} B", window.min(1 << 30)));
            table.entry("receive_window").or_insert(window);
        }
        // A scheme that has no such parameter stays as it is.
        if let Ok(told) = Setup::new(scenario, base, &Catalogue::standard()) {
            setup = told;
        }
    }
    setup
}

fn named(setup: &Setup, name: &Spanned<String>, key: &str, source: &Source<'_>) -> Result<NodeId, Error> {
    let found = setup.topology.named(name.get_ref());
    found.map(|n| NodeId(n as u32)).map_err(|e| source.wrong(Some(name.span()), key, e))
}

/// The links of the network that begin at a node: port, and whom it leads to.
fn links(setup: &Setup, id: NodeId) -> Result<BTreeMap<PortId, (NodeId, Rate)>, Error> {
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
            return Err(source.wrong(Some(table.span()), "neighbour", "a neighbour is there twice"));
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
        all.push(overlay::Neighbour { name, keys, address: table.address, rate: table.rate.unwrap_or(*rate) });
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

fn entrances(file: &File, setup: &Setup, source: &Source<'_>) -> Result<Vec<Entrance>, Error> {
    let forwards = file.forward.iter().map(|f| (&f.listen, &f.exit, Kind::Forward(f.to.clone()), "forward"));
    let socks = file.socks.iter().map(|s| (&s.listen, &s.exit, Kind::Socks, "socks"));
    let connect = file.connect.iter().map(|c| (&c.listen, &c.exit, Kind::Connect, "connect"));
    let (mut all, mut own) = (Vec::new(), Vec::new());
    for (listen, exit, kind, key) in forwards.chain(socks).chain(connect) {
        if exit.get_ref() == file.node.get_ref() {
            let what = "a node is no exit of its own";
            return Err(source.wrong(Some(exit.span()), &format!("{key}.exit"), what));
        }
        let exit = named(setup, exit, &format!("{key}.exit"), source)?;
        if own.contains(listen.get_ref()) && listen.get_ref().port() != 0 {
            let what = format!("{} is there twice", listen.get_ref());
            return Err(source.wrong(Some(listen.span()), &format!("{key}.listen"), what));
        }
        own.push(*listen.get_ref());
        all.push(Entrance { listen: *listen.get_ref(), exit, kind });
    }
    Ok(all)
}

/// The largest packet that all links of the network carry, inside a datagram.
fn largest_packet(setup: &Setup, source: &Source<'_>, at: Range<usize>) -> Result<u32, Error> {
    let transport = setup.transport().ok_or_else(|| {
        source.wrong(Some(at.clone()), "network", "its `scheme` carries no flows; name one that does, such as cubic")
    })?;
    let least = setup.topology.links().iter().map(|link| link.mtu).min().unwrap_or(overlay::MTU);
    let (mtu, headers) = (least.min(overlay::MTU), transport.headers());
    // RFC 9293, §3.7.1: what any host takes.
    let least = headers + 536;
    if mtu < least {
        let what =
            format!("packets of {mtu} B have no room for the scheme's headers of {headers} B; take at least {least} B");
        return Err(source.wrong(Some(at), "network", what));
    }
    Ok(mtu)
}

/// A secret that stands in everybody's sources is none.
fn refuse_known_secrets(setup: &Setup, source: &Source<'_>, at: Range<usize>) -> Result<(), Error> {
    let scenario = &setup.scenario;
    let runs = scenario.scheme.split('+').any(|name| name == "inrpp")
        || scenario.deploy.iter().any(|d| d.scheme.as_deref() == Some("inrpp"));
    let secret = scenario.schemes.get("inrpp").and_then(|table| table.get("secret")).and_then(|s| s.as_str());
    if runs && secret.is_none_or(|secret| secret == "midpath" || secret.is_empty()) {
        let what = "INRPP's routers sign what they say; give them `[schemes.inrpp] secret = \"…\"` of your own";
        return Err(source.wrong(Some(at), "network", what));
    }
    Ok(())
}
