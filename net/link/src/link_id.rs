//! What a datagram came by, or goes by.

use std::fmt;
use std::net::SocketAddr;

/// A way to a neighbour: an address for UDP, or a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkId {
    /// UDP, to and from this address.
    Udp(SocketAddr),
    /// Our own connection to the neighbour of this number.
    Opened(u32),
    /// The connection of this number that was opened to us.
    Accepted(u32),
}

impl LinkId {
    /// Whether it is a [stream](crate::stream) of datagrams.
    pub fn is_stream(self) -> bool {
        !matches!(self, LinkId::Udp(_))
    }

    /// The neighbour that a connection of ours leads to.
    pub fn opened_to(self) -> Option<u32> {
        match self {
            LinkId::Opened(neighbour) => Some(neighbour),
            LinkId::Udp(_) | LinkId::Accepted(_) => None,
        }
    }

    /// The address of a neighbour behind UDP.
    pub fn udp(self) -> Option<SocketAddr> {
        match self {
            LinkId::Udp(address) => Some(address),
            LinkId::Opened(_) | LinkId::Accepted(_) => None,
        }
    }
}

impl From<SocketAddr> for LinkId {
    fn from(address: SocketAddr) -> LinkId {
        LinkId::Udp(address)
    }
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkId::Udp(address) => address.fmt(f),
            LinkId::Opened(neighbour) => write!(f, "connection to neighbour {neighbour}"),
            LinkId::Accepted(number) => write!(f, "accepted connection {number}"),
        }
    }
}
