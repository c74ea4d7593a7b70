//! What runs a node, and what tells it of flows: the two sides that a node is used from.

use crate::packet::{FlowId, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use crate::roles::{Accept, Drop, Endpoint, FlowReport, Transmitter};
use crate::units::Time;

/// Whoever runs a node: the simulator in virtual time, a daemon on real packets, a test.
///
/// **Pull.** A port gives a packet when the driver can send one. The node asks
/// [`Driver::transmitter`] whenever a port has news. If that is idle, the port's next packet goes
/// to [`Driver::start`]. If it is busy, the node asks again at the time that the driver gave, or
/// leaves it to the driver to come back: [`Node::ready`] names the ports that have something,
/// [`Node::poll_transmit`] takes a packet.
///
/// **Timetables.** A simulator may know more: a FIFO whose rule goes by the order of arrivals alone
/// sends each packet when the one before it has left. A driver with [`Driver::TIMETABLES`] is told
/// that time at once, by [`Driver::book`], and needs no second event. Nodes of other drivers are
/// made with [`Discipline::held`] ports; their decisions are the same.
///
/// **Fates.** Each packet that a driver hands in or is told of ends in exactly one of `start`,
/// `book`, `delivered`, `consumed` and `dropped`, or is kept by the node. The driver may keep what
/// it knows of a packet beside it, by its [`PacketId`]: it hears of each fate before the packet's
/// place, and with it the id, is given to another packet.
///
/// [`Node::ready`]: super::Node::ready
/// [`Node::poll_transmit`]: super::Node::poll_transmit
/// [`Discipline::held`]: crate::roles::Discipline::held
pub trait Driver {
    /// Whether [`Driver::book`] is there.
    const TIMETABLES: bool = false;
    /// Called when a port may have something to send: whether its transmitter can take a packet
    /// now. A driver that pulls by itself is always busy here.
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter;
    /// Called with the packet that an idle transmitter is given: it starts now. The driver owns the
    /// packet from here.
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool);
    /// Called when a packet has got its place on a timetable: it starts at `start` (which may lie
    /// ahead) and its last bit leaves at `end`. The driver owns the packet from here.
    fn book(&mut self, _port: PortId, _pkt: Pkt, _start: Time, _end: Time, _pool: &mut Pool) {
        unreachable!("a driver without timetables runs nodes with held ports only");
    }
    /// Called when a packet ended at `port` (`None`: at the node itself). The node frees it after
    /// the call.
    fn dropped(&mut self, _port: Option<PortId>, _id: PacketId, _packet: &Packet, _why: Drop) {}
    /// Called when a packet got its CE mark at `port`.
    fn marked(&mut self, _port: PortId, _id: PacketId, _packet: &Packet) {}
    /// Called when an endpoint finished.
    fn finished(&mut self, _flow: FlowId, _active: bool, _report: FlowReport) {}
    /// Called when a packet reached the endpoint of its flow, before the endpoint sees it.
    fn delivered(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a port or forwarder has used a packet up: a probe answered, an ACK merged into
    /// another.
    fn consumed(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a packet has been copied: the copy has a fate of its own.
    fn copied(&mut self, _of: PacketId, _copy: PacketId) {}
}

/// The applications of a network: which flows start, and who takes what arrives.
pub trait Flows: Send + Sync {
    /// Called at the node where a flow starts: its active end.
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>>;
    /// Called at `node` with a packet of a flow that has no end there.
    fn accept(&self, _node: NodeId, _first: &Packet) -> Accept {
        Accept::Ignore
    }
    /// Called instead with a packet of a flow whose passive end has finished there: the answer, if
    /// there is one.
    fn refuse(&self, _packet: &Packet) -> Option<Packet> {
        None
    }
}

/// What a wake-up was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something of the node's own.
    Node,
    /// The driver's wish with this token.
    Driver(u32),
    /// Nothing was due.
    Nothing,
}
