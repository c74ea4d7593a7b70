//! A forwarder's configuration: read and checked before start. An error names the file,
//! the line and the key.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use midpath_core::units::{Bytes, Rate, UnitError};
use midpath_ndn_forwarder::management::{self, Policy, Reach, Who, parse_uri};
use midpath_ndn_forwarder::strategy::Strategy;
use midpath_ndn_forwarder::{Settings, name};
use serde::Deserialize;
use toml::Spanned;

use crate::error::{Error, Tried};
use crate::place;
use crate::running::{Running, list};
use crate::source::Source;

/// The longest frame in a datagram, unless said. Ours: what passes tunnels and an IPv6 header. ndnd
/// takes 1,420.
const MTU: usize = 1420;
/// The least that fragments fit into. Ours.
const LEAST_MTU: usize = 256;
/// The most that a datagram holds.
const MOST_MTU: usize = 65_000;
/// The least rate of a link. Ours: Data of 8,800 bytes take a lifetime of 4 s at less than 18 kbit/s.
const LEAST_RATE: Rate = Rate(50_000);

/// What a forwarder says that it is.
pub const KIND: &str = "ndn";

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The socket for `status` and `down`; beside the configuration unless given.
    control: Option<PathBuf>,
    /// Whether Interests of applications are paced and repaired.
    pace: Option<bool>,
    /// Names that this network goes by.
    #[serde(default)]
    regions: Vec<Spanned<String>>,
    #[serde(default)]
    listen: ListenTable,
    #[serde(default)]
    udp: UdpTable,
    #[serde(default)]
    tables: TablesTable,
    #[serde(default)]
    management: ManagementTable,
    #[serde(default)]
    route: Vec<RouteTable>,
    #[serde(default)]
    face: Vec<FaceTable>,
    #[serde(default)]
    strategy: Vec<StrategyTable>,
}

/// Where faces come from.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListenTable {
    /// The socket of applications on this machine.
    unix: Option<PathBuf>,
    #[serde(default)]
    tcp: Vec<SocketAddr>,
    #[serde(default)]
    udp: Vec<SocketAddr>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UdpTable {
    /// The longest datagram.
    mtu: Spanned<u64>,
    /// Whether who is not known gets a face.
    strangers: bool,
}

impl Default for UdpTable {
    fn default() -> UdpTable {
        UdpTable { mtu: Spanned::new(0..0, MTU as u64), strangers: true }
    }
}

/// Bounds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TablesTable {
    faces: Option<Spanned<u64>>,
    pending: Option<Spanned<u64>>,
    pending_bytes: Option<Spanned<Bytes>>,
    store: Option<Spanned<Bytes>>,
    routes: Option<Spanned<u64>>,
    dead_nonces: Option<Spanned<u64>>,
    output: Option<Spanned<Bytes>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Whom {
    Nobody,
    Local,
    Anyone,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ManagementTable {
    register: Whom,
    manage: Spanned<Whom>,
}

impl Default for ManagementTable {
    fn default() -> ManagementTable {
        ManagementTable { register: Whom::Local, manage: Spanned::new(0..0, Whom::Local) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteTable {
    prefix: Spanned<String>,
    to: Spanned<String>,
    #[serde(default)]
    cost: u64,
}

/// A neighbour's link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaceTable {
    to: Spanned<String>,
    /// What it carries from here, and to here; the same unless said.
    rate: Spanned<String>,
    back: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StrategyTable {
    prefix: Spanned<String>,
    strategy: Spanned<String>,
}

/// A neighbour, and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// How it is reached.
    pub reach: Reach,
    /// Where it is.
    pub remote: SocketAddr,
    /// Prefixes and costs.
    pub routes: Vec<(Vec<u8>, u64)>,
    /// What its link carries from here and to here, if that was said.
    pub rates: Option<[Rate; 2]>,
}

/// A configuration that makes sense.
#[derive(Debug)]
pub struct Config {
    /// The socket for commands.
    pub control: PathBuf,
    /// Where applications connect.
    pub unix: Option<PathBuf>,
    /// Where TCP connections come in.
    pub tcp: Vec<SocketAddr>,
    /// Where datagrams come in.
    pub udp: Vec<SocketAddr>,
    /// The longest datagram.
    pub mtu: usize,
    /// Whether who is not known gets a face by UDP.
    pub strangers: bool,
    /// Bytes that wait for faces that don't read.
    pub output: usize,
    /// The forwarder's bounds and rules, but for its keys.
    pub settings: Settings,
    /// Neighbours.
    pub peers: Vec<Peer>,
    /// Strategies by prefix.
    pub strategies: Vec<(Vec<u8>, Strategy)>,
}

impl Config {
    /// Reads a configuration.
    pub fn read(path: &Path) -> Result<Config, Error> {
        let text = fs::read_to_string(path).tried(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text, path)
    }

    /// The same from a text that stands at `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
        let source = Source { name: path.display().to_string(), text };
        let file: File = toml::from_str(text).map_err(|e| source.unreadable(&e))?;
        let base = path.parent().unwrap_or(Path::new("."));
        let mtu = within(&file.udp.mtu, "udp.mtu", LEAST_MTU, MOST_MTU, &source)?;
        let control = file.control.as_ref().map_or_else(|| place::control(path), |c| base.join(c));
        if file.listen.unix.is_none() && file.listen.tcp.is_empty() && file.listen.udp.is_empty() {
            return Err(source.wrong(None, "listen", "no listener: set unix, tcp or udp"));
        }
        let unix = file.listen.unix.as_ref().map(|unix| base.join(unix));
        if unix.as_ref() == Some(&control) {
            return Err(source.wrong(None, "listen.unix", "this is the control socket; choose another path"));
        }
        let (settings, output) = settings(&file, &source)?;
        Ok(Config {
            control,
            unix,
            tcp: file.listen.tcp.clone(),
            udp: file.listen.udp.clone(),
            mtu,
            strangers: file.udp.strangers,
            output,
            settings,
            peers: peers(&file, &source)?,
            strategies: strategies(&file, &source)?,
        })
    }

    /// What the forwarder runs with. All of it needs another process.
    pub fn running(&self) -> Running {
        let (mut all, settings) = (Running::new(KIND), &self.settings);
        all.fixed("control", self.control.display());
        all.fixed("listen.unix", list(self.unix.as_ref().map(|path| path.display())));
        all.fixed("listen.tcp", list(&self.tcp));
        all.fixed("listen.udp", list(&self.udp));
        all.fixed("udp.mtu", self.mtu);
        all.fixed("udp.strangers", self.strangers);
        all.fixed("pace", settings.pace);
        all.fixed("regions", list(settings.regions.iter().map(|region| name::show(region))));
        all.fixed("management", format!("{:?}", settings.policy));
        for (key, value) in [
            ("faces", settings.faces),
            ("pending", settings.pending),
            ("pending_bytes", settings.pending_bytes),
            ("store", settings.store_bytes),
            ("routes", settings.routes),
            ("dead_nonces", settings.dead_nonces),
            ("output", self.output),
        ] {
            all.fixed(format!("tables.{key}"), value);
        }
        for peer in &self.peers {
            let uri = management::uri(peer.reach, peer.remote);
            let routes = peer.routes.iter().map(|(prefix, cost)| format!("{} at {cost}", name::show(prefix)));
            all.fixed(format!("routes to {uri}"), list(routes));
            all.fixed(format!("rates of {uri}"), list(peer.rates.into_iter().flatten()));
        }
        for (prefix, strategy) in &self.strategies {
            all.fixed(format!("the strategy of {}", name::show(prefix)), format!("{strategy:?}"));
        }
        self.tcp.iter().for_each(|at| all.port("tcp", *at));
        self.udp.iter().for_each(|at| all.port("udp", *at));
        all
    }
}

/// A number within bounds.
fn within(said: &Spanned<u64>, key: &str, least: usize, most: usize, source: &Source<'_>) -> Result<usize, Error> {
    let number = usize::try_from(*said.get_ref()).unwrap_or(usize::MAX);
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(source.wrong(Some(said.span()), key, format!("must be a number from {least} to {most}")))
}

fn settings(file: &File, source: &Source<'_>) -> Result<(Settings, usize), Error> {
    let (tables, default) = (&file.tables, Settings::default());
    let count = |said: &Option<Spanned<u64>>, key: &str, usual: usize| match said {
        Some(said) => within(said, key, 1, 1 << 24, source),
        None => Ok(usual),
    };
    let bytes = |said: &Option<Spanned<Bytes>>, key: &str, least: u64, usual: usize| match said {
        Some(said) if said.get_ref().0 < least => {
            Err(source.wrong(Some(said.span()), key, format!("must be at least {least} B")))
        }
        Some(said) => Ok(usize::try_from(said.get_ref().0).unwrap_or(usize::MAX)),
        None => Ok(usual),
    };
    if matches!(file.management.manage.get_ref(), Whom::Anyone) {
        let what = "only local applications can manage the forwarder: write \"local\" or \"nobody\"";
        return Err(source.wrong(Some(file.management.manage.span()), "management.manage", what));
    }
    let mut regions = Vec::new();
    for region in &file.regions {
        regions.push(parse_name(region, "regions", source)?);
    }
    let policy = Policy { register: who(file.management.register), manage: who(*file.management.manage.get_ref()) };
    let settings = Settings {
        faces: count(&tables.faces, "tables.faces", default.faces)?,
        pending: count(&tables.pending, "tables.pending", default.pending)?,
        pending_bytes: bytes(&tables.pending_bytes, "tables.pending_bytes", 1 << 16, default.pending_bytes)?,
        store_bytes: bytes(&tables.store, "tables.store", 0, default.store_bytes)?,
        routes: count(&tables.routes, "tables.routes", default.routes)?,
        dead_nonces: count(&tables.dead_nonces, "tables.dead_nonces", default.dead_nonces)?,
        policy,
        regions,
        pace: file.pace.unwrap_or(default.pace),
        ..default
    };
    Ok((settings, bytes(&tables.output, "tables.output", 1 << 16, 64 << 20)?))
}

fn who(said: Whom) -> Who {
    match said {
        Whom::Nobody => Who::Nobody,
        Whom::Local => Who::Local,
        Whom::Anyone => Who::Anyone,
    }
}

fn parse_name(said: &Spanned<String>, key: &str, source: &Source<'_>) -> Result<Vec<u8>, Error> {
    name::parse(said.get_ref()).map_err(|why| source.wrong(Some(said.span()), key, why))
}

/// Neighbours in the order of the file: those of routes first.
fn peers(file: &File, source: &Source<'_>) -> Result<Vec<Peer>, Error> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut peers: Vec<Peer> = Vec::new();
    let mut peer = |to: &Spanned<String>, key: &str| {
        let Some((reach, remote)) = parse_uri(to.get_ref()) else {
            let what = "write a face as udp4://192.0.2.1:6363 (or udp6, tcp4, tcp6)";
            return Err(source.wrong(Some(to.span()), key, what));
        };
        Ok(*places.entry(management::uri(reach, remote)).or_insert_with(|| {
            peers.push(Peer { reach, remote, routes: Vec::new(), rates: None });
            peers.len() - 1
        }))
    };
    let mut routes = Vec::new();
    for route in &file.route {
        let prefix = parse_name(&route.prefix, "route.prefix", source)?;
        routes.push((peer(&route.to, "route.to")?, (prefix, route.cost)));
    }
    let mut rates = Vec::new();
    for face in &file.face {
        let place = peer(&face.to, "face.to")?;
        let out = rate(&face.rate, "face.rate", source)?;
        let back = face.back.as_ref().map_or(Ok(out), |back| rate(back, "face.back", source))?;
        rates.push((place, face, [out, back]));
    }
    routes.into_iter().for_each(|(place, route)| peers[place].routes.push(route));
    for (place, face, said) in rates {
        if peers[place].reach == Reach::Tcp {
            let what = "MIRCC runs over UDP only; a link rate does not apply to TCP";
            return Err(source.wrong(Some(face.to.span()), "face.to", what));
        }
        if peers[place].rates.replace(said).is_some() {
            return Err(source.wrong(Some(face.to.span()), "face.to", "this neighbour's link is already configured"));
        }
    }
    Ok(peers)
}

fn rate(said: &Spanned<String>, key: &str, source: &Source<'_>) -> Result<Rate, Error> {
    let wrong = |what: String| source.wrong(Some(said.span()), key, what);
    let rate: Rate = said.get_ref().parse().map_err(|e: UnitError| wrong(e.to_string()))?;
    if rate < LEAST_RATE {
        return Err(wrong(format!("must be at least {LEAST_RATE}")));
    }
    Ok(rate)
}

fn strategies(file: &File, source: &Source<'_>) -> Result<Vec<(Vec<u8>, Strategy)>, Error> {
    let mut all = Vec::new();
    for table in &file.strategy {
        let prefix = parse_name(&table.prefix, "strategy.prefix", source)?;
        let full = format!("/localhost/nfd/strategy/{}", table.strategy.get_ref());
        let Some(strategy) = name::parse(&full).ok().and_then(|name| Strategy::of(&name)) else {
            let what = "must be \"best-route\" or \"multicast\"";
            return Err(source.wrong(Some(table.strategy.span()), "strategy.strategy", what));
        };
        all.push((prefix, strategy));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/etc/a.toml")).map_err(|e| e.to_string())
    }

    /// What the reader says that it expects, table by table, is what the manual has.
    #[test]
    fn the_manual_has_every_key() {
        let manual = include_str!("../../dist/midpathd-ndn.8");
        let tables = ["[listen]", "[udp]", "[tables]", "[management]", "[[route]]", "[[face]]", "[[strategy]]"];
        for table in std::iter::once("").chain(tables) {
            let said = read(&format!("{table}\nno-such-key = 1\n")).expect_err("it is wrong");
            crate::source::assert_in_manual(manual, table, &said);
        }
    }

    #[test]
    fn a_configuration_is_read() {
        let config = read(
            r#"
            pace = false
            [listen]
            unix = "nfd.sock"
            udp = ["[::1]:6363"]
            [tables]
            store = "1 MB"
            [management]
            register = "anyone"
            [[route]]
            prefix = "/a"
            to = "udp4://192.0.2.1:6363"
            [[route]]
            prefix = "/b"
            to = "udp://192.0.2.1"
            cost = 7
            [[face]]
            to = "udp4://192.0.2.1:6363"
            rate = "20 Mbps"
            back = "10 Mbit/s"
            "#,
        )
        .expect("it is right");
        assert_eq!(config.unix, Some(PathBuf::from("/etc/nfd.sock")));
        assert_eq!(config.control, PathBuf::from("/etc/a.sock"));
        assert_eq!((config.settings.store_bytes, config.settings.pace), (1_000_000, false));
        assert_eq!(config.settings.policy, Policy { register: Who::Anyone, manage: Who::Local });
        assert_eq!(config.peers.len(), 1, "both routes lead to one neighbour");
        assert_eq!(config.peers[0].rates, Some([Rate::from_mbps(20), Rate::from_mbps(10)]));
        assert_eq!(config.peers[0].routes, [(name::of(&["a"]), 0), (name::of(&["b"]), 7)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_key() {
        for (text, said) in [
            ("", "/etc/a.toml: listen: no listener"),
            ("[listen]\nunix = \"a.sock\"", "/etc/a.toml: listen.unix: this is the control socket"),
            ("[listen]\nunux = 1", "/etc/a.toml:2: unknown field `unux`"),
            ("[listen]\nudp = [\"a\"]", "/etc/a.toml:2: udp: "),
            ("[listen]\nunix = \"a\"\n[udp]\nmtu = 10", "/etc/a.toml:4: udp.mtu: must be a number from 256"),
            ("[listen]\nunix = \"a\"\n[tables]\nfaces = 0", "/etc/a.toml:4: tables.faces: must be"),
            ("[listen]\nunix = \"a\"\n[tables]\nstore = \"2 apples\"", "/etc/a.toml:4: store: "),
            ("[listen]\nunix = \"a\"\n[management]\nmanage = \"anyone\"", "/etc/a.toml:4: management.manage: only"),
            (
                "[listen]\nunix = \"a\"\n[[route]]\nprefix = \"a\"\nto = \"udp4://1.1.1.1\"",
                "/etc/a.toml:4: route.prefix: a",
            ),
            ("[listen]\nunix = \"a\"\n[[route]]\nprefix = \"/a\"\nto = \"a\"", "/etc/a.toml:5: route.to: write a face"),
            (
                "[listen]\nunix = \"a\"\n[[face]]\nto = \"udp4://1.1.1.1\"\nrate = \"fast\"",
                "/etc/a.toml:5: face.rate: `fast` is not a rate",
            ),
            (
                "[listen]\nunix = \"a\"\n[[face]]\nto = \"udp4://1.1.1.1\"\nrate = \"1kbps\"",
                "/etc/a.toml:5: face.rate: must be at least 50 kbps",
            ),
            (
                "[listen]\nunix = \"a\"\n[[face]]\nto = \"tcp4://1.1.1.1\"\nrate = \"1Mbps\"",
                "/etc/a.toml:4: face.to: MIRCC runs over UDP",
            ),
            (
                "[listen]\nunix = \"a\"\n[[strategy]]\nprefix = \"/\"\nstrategy = \"x\"",
                "/etc/a.toml:5: strategy.strategy: must be",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{error} has no {said}");
        }
    }
}
