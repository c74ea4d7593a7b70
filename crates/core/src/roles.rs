//! The three roles a scheme is made of, and what they may reach while they run.
//!
//! The rule that holds for all of them is *told, then asked*: a role is told what happened (`on_*`, `outbound`,
//! `inbound`) and leaves its wishes in the context (send this, wake me then); the node carries the wishes out after
//! the call returns, in the order they were left. No role calls another.

mod bench;
mod endpoint;
mod forwarder;
mod port;

pub use bench::PortBench;
pub use endpoint::{Endpoint, EndpointCtx, FlowReport, Shared, Wishes};
pub use forwarder::{Ecmp, ForwardCtx, Forwarder, Route, Routes, ShortestPath};
pub use port::{Action, Backlog, Board, Drop, Inbound, LinkInfo, Port, PortCtx, Transmitter};

use crate::packet::{FlowId, NodeId, PortId};
use crate::queue::{Discipline, QueueSpec};
use crate::spec::SpecError;
use crate::units::{Bytes, Rate, Time};

/// What a scheme needs to know of a flow to build its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// Its number.
    pub id: FlowId,
    /// The active end: a sender, or an ICN consumer.
    pub src: NodeId,
    /// The passive end: a receiver, or an ICN producer.
    pub dst: NodeId,
    /// How much to move; `None` runs until the flow is stopped or the run ends.
    pub size: Option<Bytes>,
    /// When the active end stops sending although data remain.
    pub stop: Option<Time>,
    /// Sending rate of a flow that is no congestion-controlled one.
    pub rate: Option<Rate>,
    /// Largest packet on the path, IP header included.
    pub mtu: u32,
    /// The number of the group that its results are added up in.
    pub group: u32,
    /// Its weight among other flows, above zero, for schemes and bounds that have weights.
    pub weight: f64,
}

/// What the names in a scheme's parameters stand for.
pub trait Names {
    /// The node of this name.
    fn node(&self, name: &str) -> Option<NodeId>;
    /// The group of flows of this name.
    fn group(&self, name: &str) -> Option<u32>;
}

/// IPv4 (20), TCP (20) and timestamps (12): the headers of a full packet of most schemes (RFC 791, 9293, 7323).
pub const TCP_HEADERS: u32 = 52;

/// What a scheme needs to know of a port to build its side of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortSpec {
    /// The node it belongs to.
    pub node: NodeId,
    /// Its number there.
    pub port: PortId,
    /// The node on the other end of its link.
    pub peer: NodeId,
    /// The link.
    pub link: LinkInfo,
    /// Whether the node is a host.
    pub host: bool,
    /// Whether the peer is a host: the network's edge.
    pub edge: bool,
    /// The longest unloaded round trip of the run's flows; zero when unknown.
    pub rtt: Time,
    /// The queue that the scenario asks for.
    pub queue: QueueSpec,
}

/// The network around a node, for schemes that look further than their own links: detours, trees, producers.
pub trait Map {
    /// The links of a node, by port number; empty for a node that isn't there.
    fn links(&self, node: NodeId) -> Vec<LinkInfo>;
    /// Whether a node is a host: hosts never forward.
    fn is_host(&self, node: NodeId) -> bool;
}

/// What a scheme needs to know of a node to build what is the node's own.
#[derive(Clone, Copy)]
pub struct NodeSpec<'a> {
    /// The node.
    pub node: NodeId,
    /// Its links, by port number.
    pub links: &'a [LinkInfo],
    /// The network around it, as link-state routing would tell.
    pub map: &'a dyn Map,
    /// Shortest paths.
    pub routes: &'a std::sync::Arc<dyn Routes>,
    /// How the scenario wants equal-cost paths to be used.
    pub ecmp: Ecmp,
}

/// A congestion-control scheme: it builds the roles that it consists of.
///
/// The value itself holds the parameters, so a scheme of your own needs no change in this crate: implement this, hand
/// it to the catalogue under a name, and scenarios can use it.
pub trait Scheme: Send + Sync {
    /// The name that scenarios use.
    fn name(&self) -> &str;
    /// Called once, when the network and the flows are known: the scheme with the names in its parameters resolved.
    /// `None` leaves it as it is. Keys of errors are relative to its table of parameters.
    fn bind(&self, _names: &dyn Names) -> Result<Option<std::sync::Arc<dyn Scheme>>, SpecError> {
        Ok(None)
    }
    /// Bytes of headers on each of its full packets, for bounds that count what crosses the links.
    fn headers(&self) -> u32 {
        TCP_HEADERS
    }
    /// Called when a flow starts at its source.
    fn active(&self, flow: &FlowSpec) -> Box<dyn Endpoint>;
    /// Called when a flow's first packet arrives at its destination.
    fn passive(&self, flow: &FlowSpec) -> Box<dyn Endpoint>;
    /// Whether its flows make no sense over other schemes' ports. A scenario that gives such a scheme to single flows,
    /// while the run's scheme is another, is refused.
    fn needs_own_ports(&self) -> bool {
        false
    }
    /// Called once per port of the network when the run's default scheme is this one. The default is the queue that the scenario asks for.
    fn port(&self, spec: &PortSpec) -> Discipline {
        spec.queue.build(spec.link.rate)
    }
    /// The same for schemes whose ports need to know the network around them, such as the siblings that a detour leads through.
    fn port_at(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Discipline {
        self.port(spec)
    }
    /// Called once per node when the run's default scheme is this one. `None` is shortest path with ECMP.
    fn forwarder(&self, _node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        None
    }
}
