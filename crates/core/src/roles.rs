//! The three roles of a scheme, and the context that they may use; `scheme.rs` builds them.
//!
//! One rule holds for all: a role is told of events (`on_*`, `outbound`, `inbound`) and leaves requests in the
//! context (send this, wake me then); the node executes the requests after the call returns, in order. No role calls
//! another.

mod application;
mod balance;
mod delivery;
mod discipline;
mod endpoint;
mod forwarder;
mod kinds;
mod port;
mod scheme;
mod standalone;
mod view;
mod walk;

pub use crate::limit::Backlog;
pub use application::{Application, Ended, Half, Supply};
pub use balance::Balancing;
pub use delivery::Delivery;
pub use discipline::Discipline;
pub(crate) use endpoint::Outcome;
pub use endpoint::{Endpoint, EndpointCtx, FlowReport, Received, Shared, Wishes};
pub(crate) use forwarder::WakeAt;
pub use forwarder::{Ecmp, Face, ForwardCtx, Forwarder, Route, Routes, ShortestPath, Way};
pub use kinds::{CutThrough, HopCtx, Timetable};
pub use port::{Action, Drop, Inbound, LinkInfo, Port, PortCtx, Transmitter};
pub(crate) use port::{SentMark, sent_back};
pub use scheme::{Accept, End, Network, Parts, Scheme, Transport};
pub use standalone::StandalonePort;
pub use view::{Verdict, View};
pub use walk::{Step, walk};

use std::sync::Arc;

use crate::packet::{FlowId, Name, NodeId, PortId};
use crate::queue_spec::QueueSpec;
use crate::units::{Bytes, Rate, Time};

/// What a scheme needs to know of a flow to build its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// Its number.
    pub id: FlowId,
    /// Where its data come from.
    pub src: NodeId,
    /// Where they go.
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
    /// The number of the name that says what it spends, for schemes with budgets; `None` where the
    /// flow says nothing.
    pub budget: Option<u32>,
    /// Its weight among other flows, above zero, for schemes and bounds that have weights.
    pub weight: f64,
    /// What it moves, for schemes that go by names. Flows that move the same have the same name and
    /// MTU.
    pub name: Name,
}

impl FlowSpec {
    /// A flow without end in Ethernet's packets of 1500 bytes, with nothing else said.
    pub const fn new(id: FlowId, src: NodeId, dst: NodeId) -> FlowSpec {
        let name = Name { prefix: src, object: id.0 };
        FlowSpec {
            id,
            src,
            dst,
            size: None,
            stop: None,
            rate: None,
            mtu: 1500,
            group: 0,
            budget: None,
            weight: 1.0,
            name,
        }
    }
}

/// What the names in a scheme's parameters stand for.
pub trait Names {
    /// The node of this name.
    fn node(&self, name: &str) -> Option<NodeId>;
    /// The number of this name among flows' groups and budgets.
    fn group(&self, name: &str) -> Option<u32>;
    /// The longest unloaded round trip of the run's flows, without an ACK's transmission; zero when unknown.
    fn rtt(&self) -> Time {
        Time::ZERO
    }
    /// The objects that several nodes have, and these nodes. Of any other its prefix has it.
    fn copies(&self) -> Vec<(Name, Vec<NodeId>)> {
        Vec::new()
    }
}

/// IPv4 (20), TCP (20) and timestamps (12): the headers of a full packet of most schemes (RFC 791,
/// 9293, 7323).
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
    /// Whether its driver asks for each packet (a node on real links). Then what it writes into a packet is
    /// as the port stands when the packet leaves; a timetable is asked on arrival alone.
    pub pulled: bool,
}

/// The network around a node, for schemes that look further than their own links: detours, trees,
/// producers.
pub trait Map {
    /// The links of a node, by port number; empty for a node that isn't there.
    fn links(&self, node: NodeId) -> Vec<LinkInfo>;
    /// Whether a node is a host: hosts never forward.
    fn is_host(&self, node: NodeId) -> bool;
    /// Whether the scheme that asks, with the same parameters, runs at a node, too.
    fn runs(&self, _node: NodeId) -> bool {
        true
    }
    /// Whether the link behind a port is a tunnel, so that routes don't know it.
    fn is_tunnel(&self, _node: NodeId, _port: PortId) -> bool {
        false
    }
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
    pub routes: &'a Arc<dyn Routes>,
    /// How the scenario wants equal-cost paths to be used.
    pub ecmp: Ecmp,
}
