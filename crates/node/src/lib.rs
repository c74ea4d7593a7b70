//! Drivers for [`midpath_core::node::Node`] besides the simulator's: they own the clock and the
//! wires, the nodes are the same.
//!
//! [`hostile`] runs a network in virtual time as badly as the contract between a node and its
//! driver allows: it wakes late, hands packets over in bursts, and refuses to send now and then.
//! What holds there holds under an operating system.

//!
//! [`realtime`] runs it in real time on one machine: a thread for each node, and datagrams over the
//! loopback interface for links.

pub mod hostile;
pub mod realtime;

use midpath_core::node::Node;
use midpath_core::packet::{NodeId, PortId};
use midpath_core::units::{Rate, Time};

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Sending end.
    pub from: (NodeId, PortId),
    /// Receiving end.
    pub to: (NodeId, PortId),
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
}

/// What a driver runs. Node `i` has number `i`; each port has a link.
pub struct Network {
    /// The nodes, with their flows' starts already asked for.
    pub nodes: Vec<Node>,
    /// Every direction of every link.
    pub links: Vec<Link>,
}
