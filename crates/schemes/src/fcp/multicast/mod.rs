//! Multicast-aware congestion control (§4.2, §6.3): a flow that pays for every link of its tree,
//! each once.
//!
//! [`tree`] computes the tree, the same at every node; [`forwarder`] copies packets down the tree and returns one
//! price; [`sender`] is paced at budget over that price; [`receiver`] echoes each packet. There are no
//! retransmissions: reliability needs a code above.

mod forwarder;
mod receiver;
mod sender;
mod tree;

#[cfg(test)]
mod tests;

pub use forwarder::TreeForwarder;
pub use receiver::{Receiver, opens};
pub use sender::Sender;
pub use tree::{Peers, Place, peers, place};

use midpath_core::packet::{IP_HEADER, UDP_HEADER};

use super::header::WIRE_TREE;

/// IPv4 (20) and UDP (8), and the congestion header with the tree's address: on every packet.
pub const OVERHEAD: u32 = IP_HEADER + UDP_HEADER + WIRE_TREE;
