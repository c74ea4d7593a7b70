use std::any::Any;
use std::sync::Arc;

use super::{Discipline, Endpoint, FlowSpec, Forwarder, Names, NodeSpec, PortSpec, TCP_HEADERS};
use crate::packet::Packet;
use crate::spec::SpecError;
use crate::units::{Rate, Time};

/// A scheme as scenarios name it: what carries flows, what the network's nodes run, or both.
///
/// The value itself holds the parameters, so a scheme of your own needs no change in this crate:
/// implement this (or fill in [`Parts`]), hand it to the catalogue under a name, and scenarios can
/// use it.
pub trait Scheme: Send + Sync {
    /// The name that scenarios use.
    fn name(&self) -> &str;
    /// Called once, when the network and the flows are known: the scheme with the names in its
    /// parameters resolved. `None` leaves it as it is. Keys of errors are relative to its table of
    /// parameters.
    fn bind(&self, _names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        Ok(None)
    }
    /// What carries its flows. `None`: a scheme of the network alone, under other schemes' flows.
    fn transport(&self) -> Option<Arc<dyn Transport>>;
    /// What nodes run. `None`: ports are the scenario's queues, packets take shortest paths.
    fn network(&self) -> Option<Arc<dyn Network>>;
}

/// One of a flow's two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// Where the data come from.
    #[default]
    Source,
    /// Where they go.
    Destination,
}

/// What carries flows: it opens and accepts them, acknowledges, repairs, and refuses what it
/// doesn't know.
pub trait Transport: Send + Sync {
    /// Bytes of headers on each of its full packets, for bounds that count what crosses the links.
    fn headers(&self) -> u32 {
        TCP_HEADERS
    }
    /// The most that a flow carries over a path of this round-trip time, whatever the network does:
    /// its receiver's window, or a rate of its own. `None` where nothing bounds it.
    fn ceiling(&self, _rtt: Time) -> Option<Rate> {
        None
    }
    /// Which end opens a flow, and so is the active one: a sender is at its source, an ICN consumer
    /// at its destination.
    fn opener(&self) -> End {
        End::Source
    }
    /// Called when a flow starts, at the end that opens it.
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint>;
    /// Called with a packet of a flow that has no end here. `expected` is what the application here
    /// knows of the flow (a sink of datagrams knows how much it waits for); `None` for a
    /// stranger's.
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept;
    /// Called instead with a packet of a flow that has ended here or that nobody here waits for:
    /// the answer, if there is one.
    fn refuse(&self, _packet: &Packet) -> Option<Packet> {
        None
    }
    /// The same with ends that carry data both ways in one flow, and never offer a window of more
    /// than `window` bytes. `None` where a flow's data go one way.
    fn both_ways(&self, _window: u64) -> Option<Arc<dyn Transport>> {
        None
    }
    /// The network scheme without which its flows make no sense. A scenario that has it nowhere is
    /// refused.
    fn needs(&self) -> Option<&str> {
        None
    }
    /// Whether this flow's active end goes by what its application has written so far
    /// ([`EndpointCtx::supply`](super::EndpointCtx::supply)). A scenario in which others have such an application is
    /// refused.
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        false
    }
    /// Whether such a flow can be a connection that carries a message whole. A call cuts pictures to its rate.
    fn carries_messages(&self, flow: &FlowSpec) -> bool {
        self.takes_writes(flow)
    }
    /// Whether its flows find their own ways, so that a scenario can't give them a path.
    fn finds_paths(&self) -> bool {
        false
    }
    /// Whether a flow's packets may be hashed to other ways than its key's.
    fn draws_paths(&self) -> bool {
        self.finds_paths()
    }
}

/// What a transport makes of a packet whose flow has no end at this node. All but the first count
/// it as undeliverable.
#[allow(clippy::large_enum_variant)] // One at a time, for a moment.
pub enum Accept {
    /// It opens the flow: the passive end, which gets the packet.
    Take(Box<dyn Endpoint>),
    /// It doesn't, and its sender is told so by this packet.
    Refuse(Packet),
    /// It doesn't, and its sender is told nothing.
    Ignore,
}

/// What the ports and the forwarder of a node are.
pub trait Network: Send + Sync {
    /// Called once per node where this scheme runs, before its ports and forwarder are asked for:
    /// what they share there, beyond their node's links.
    fn state(&self, _node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        None
    }
    /// Called once per port of each node where this scheme runs. The default is the queue that the
    /// scenario asks for. Keys of errors are relative to the port's table in the scenario, that of
    /// its queue.
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(port.queue.build(port.link.rate))
    }
    /// Whether its ports are queues alone, whose AQM drops or marks: no rates, prices or shapers of
    /// its own.
    fn has_plain_queues(&self) -> bool {
        false
    }
    /// Whether its nodes send through tunnels to each other ([`Map::is_tunnel`](super::Map)) where
    /// plain nodes lie between.
    fn takes_tunnels(&self) -> bool {
        false
    }
    /// Called once per node where this scheme runs. Packets that it passes on, and all where there
    /// is none, take shortest paths.
    fn forwarder(&self, _node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        None
    }
}

/// A scheme put together from a name and parts that have no names to resolve.
#[derive(Clone)]
pub struct Parts {
    /// The name that scenarios use.
    pub name: String,
    /// What carries its flows.
    pub transport: Option<Arc<dyn Transport>>,
    /// What nodes run.
    pub network: Option<Arc<dyn Network>>,
}

impl Scheme for Parts {
    fn name(&self) -> &str {
        &self.name
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.transport.clone()
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        self.network.clone()
    }
}
