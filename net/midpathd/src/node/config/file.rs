//! The file format, table by table.

use std::net::SocketAddr;
use std::path::PathBuf;

use midpath_core::units::{Bytes, Rate};
use midpath_node::overlay::Kind;
use serde::Deserialize;
use toml::Spanned;

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// A scenario of the simulator: the network and its scheme. Its flows are not run here.
    pub network: Spanned<PathBuf>,
    /// Which of its nodes this is.
    pub node: Spanned<String>,
    /// The file with this node's key.
    pub key: Spanned<PathBuf>,
    /// Where neighbours' datagrams come in.
    pub listen: Spanned<SocketAddr>,
    /// The socket for `status` and `down`; beside the configuration unless given.
    pub control: Option<PathBuf>,
    /// Whether it takes real-time priority where that is allowed.
    #[serde(default = "yes", rename = "real-time")]
    pub real_time: bool,
    #[serde(default)]
    pub memory: MemoryTable,
    #[serde(default)]
    pub neighbour: Vec<Spanned<NeighbourTable>>,
    #[serde(default)]
    pub forward: Vec<ForwardTable>,
    #[serde(default)]
    pub socks: Vec<EntranceTable>,
    #[serde(default)]
    pub connect: Vec<EntranceTable>,
    #[serde(default)]
    pub transparent: Vec<TransparentTable>,
    #[serde(default)]
    pub application: Vec<ApplicationTable>,
    pub exit: Option<ExitTable>,
}

fn yes() -> bool {
    true
}

/// What waits for applications that do not read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTable {
    /// For all connections.
    pub budget: Spanned<Bytes>,
    /// For one.
    pub connection: Spanned<Bytes>,
}

impl Default for MemoryTable {
    fn default() -> MemoryTable {
        let nowhere = |bytes| Spanned::new(0..0, Bytes(bytes));
        MemoryTable { budget: nowhere(64 << 20), connection: nowhere(4 << 20) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourTable {
    /// Its name in the network.
    pub node: Spanned<String>,
    /// Its public key, or several while it changes them; none for a neighbour that is not let in.
    pub key: Spanned<Keys>,
    /// Where it is; a neighbour without one is waited for.
    pub address: Option<SocketAddr>,
    /// What the link goes over.
    #[serde(default)]
    pub kind: Kind,
    /// At most so fast, all headers counted; the network's rate unless given.
    pub rate: Option<Rate>,
    /// The line below is this link's alone, and carries that rate.
    #[serde(default)]
    pub dedicated: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Keys {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntranceTable {
    pub listen: Spanned<SocketAddr>,
    pub exit: Spanned<String>,
    /// Other machines may connect.
    #[serde(default)]
    pub open: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardTable {
    pub listen: Spanned<SocketAddr>,
    pub exit: Spanned<String>,
    pub to: Spanned<String>,
    #[serde(default)]
    pub open: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransparentTable {
    /// Connections of this machine to these addresses and this port: `address/prefix:port`.
    pub to: Spanned<String>,
    pub exit: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationTable {
    pub listen: Spanned<SocketAddr>,
    #[serde(default)]
    pub open: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitTable {
    pub allow: Spanned<Vec<String>>,
}
