//! Inputs of management and its requests to the driver: plain values, and its state.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::faces::{FaceId, Persistency};

/// Who may have something done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Who {
    /// Nobody.
    Nobody,
    /// Applications on this machine.
    #[default]
    Local,
    /// Neighbours, too.
    Anyone,
}

/// Who may have what done. Neighbours can register prefixes only, by /localhop/nfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Register and unregister prefixes.
    pub register: Who,
    /// Make and end faces, and all that is left.
    pub manage: Who,
}

/// How a face reaches its other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
}

/// The address that a face's URI says: `udp4://192.0.2.1:6363`.
pub fn parse_uri(uri: &str) -> Option<(Reach, SocketAddr)> {
    let (scheme, address) = uri.split_once("://")?;
    // NDN's port unless said.
    let address: SocketAddr = address.parse().ok().or_else(|| format!("{address}:6363").parse().ok())?;
    let (reach, version) = match scheme {
        "udp" | "udp4" | "udp6" => (Reach::Udp, &scheme[3..]),
        "tcp" | "tcp4" | "tcp6" => (Reach::Tcp, &scheme[3..]),
        _ => return None,
    };
    let fits = version.is_empty() || (version == "4") == address.is_ipv4();
    (fits && address.port() != 0).then_some((reach, address))
}

/// The URI of a face to this address.
pub fn uri(reach: Reach, address: SocketAddr) -> String {
    let scheme = if reach == Reach::Udp { "udp" } else { "tcp" };
    format!("{scheme}{}://{address}", if address.is_ipv4() { 4 } else { 6 })
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make a face; `Forwarder::face_made` says what became of it.
    Make {
        /// The number to say it by.
        request: u64,
        /// How.
        reach: Reach,
        /// Where to.
        remote: SocketAddr,
        /// What becomes of it when it fails.
        persistency: Persistency,
        /// The longest frame, if it was said.
        mtu: Option<u64>,
    },
    /// Close a face; `Forwarder::remove_face` says that it is gone.
    Close(FaceId),
}

/// A command that waits for the driver.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub request: u64,
    pub name: Vec<u8>,
}

/// A dataset that was made: its name with its version, and its bytes.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub name: Vec<u8>,
    pub content: Vec<u8>,
}

/// Management's own state.
#[derive(Debug, Default)]
pub struct Management {
    pub(crate) actions: Vec<Action>,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) requests: u64,
    pub(crate) datasets: VecDeque<Dataset>,
    pub(crate) version: u64,
}

impl Management {
    /// Nothing yet.
    pub fn new() -> Management {
        Management::default()
    }

    /// What the driver is to do.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}
