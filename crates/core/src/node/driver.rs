//! The two interfaces of a node's user: the driver that runs it, and the source of flows.

use super::timers::Release;
use super::trace::Step;
use crate::packet::{Carried, FlowId, NodeId, Note, Packet, PacketId, Pkt, Pool, PortId};
use crate::roles::{Accept, Drop, Ended, Endpoint, FlowReport, Half, Supply, Transmitter};
use crate::units::Time;

/// One end of a flow as its node and the driver know it. Two peers may use the same number for
/// different flows with one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndId {
    /// The flow.
    pub flow: FlowId,
    /// The node at the other end; [`EndId::ANYONE`] where the flow's number says enough.
    pub peer: NodeId,
    /// Whether it is the active end.
    pub active: bool,
}

impl EndId {
    /// The peer of an end that takes its flow's packets from wherever they come: those that the
    /// node's [`Flows`] open.
    pub const ANYONE: NodeId = NodeId(u32::MAX);
}

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
/// **Bytes.** A driver with [`Driver::BYTES`] has applications and what they send. A packet's
/// payload is fixed when an endpoint makes it ([`Driver::made`]): from then on it goes with the
/// packet's id, for what is acknowledged meanwhile is forgotten. After each call to an endpoint the
/// driver hears first what the call has done, in the order of the methods below, before anything
/// that the endpoint has sent goes on.
///
/// [`Node::ready`]: super::Node::ready
/// [`Node::poll_transmit`]: super::Node::poll_transmit
/// [`Discipline::held`]: crate::roles::Discipline::held
pub trait Driver {
    /// Whether [`Driver::book`] is there.
    const TIMETABLES: bool = false;
    /// Whether packets carry bytes, and what follows [`Driver::supply`] is there. Else none of it
    /// is asked or told.
    const BYTES: bool = false;
    /// Whether [`Driver::step`], [`Driver::called`] and [`Driver::noted`] are there. Else none of it is
    /// told, and it costs nothing.
    const TRACES: bool = false;
    /// Called when a port may have something to send: whether its transmitter can take a packet
    /// now. A driver that pulls by itself is always busy here.
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter;
    /// Called with the packet that an idle transmitter is given: it starts now. The driver owns the
    /// packet from here.
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool);
    /// The same, and what [`Driver::transmitter`] says then. For speed alone.
    #[inline(always)]
    fn start_and_look(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) -> Transmitter {
        self.start(port, pkt, now, pool);
        self.transmitter(port, now)
    }
    /// Called when a packet has got its place on a timetable: it starts at `start` (which may lie
    /// ahead) and its last bit leaves at `end`. The driver owns the packet from here.
    fn book(&mut self, _port: PortId, _pkt: Pkt, _start: Time, _end: Time, _pool: &mut Pool) {
        unreachable!("a driver without timetables runs nodes with held ports only");
    }
    /// Called after `start` when a port whose packets the driver [gathers](super::Node::gather) has no more for now, or the
    /// transmitter takes no more: it sends what it has. When it wants to be called again although nothing may wait.
    fn gathered(&mut self, _port: PortId, _now: Time, _pool: &mut Pool) -> Option<Time> {
        None
    }
    /// Called when a packet ended at `port` (`None`: at the node itself). The node frees it after
    /// the call.
    fn dropped(&mut self, _port: Option<PortId>, _id: PacketId, _packet: Carried<'_>, _why: Drop) {}
    /// Called when a packet got its CE mark at `port`.
    fn marked(&mut self, _port: PortId, _id: PacketId, _packet: &Packet) {}
    /// Called before the next packet begins at a port of which [`Node::enable_sent_marks`](super::Node::enable_sent_marks) said
    /// yes: the one before it, which has been sent now, gets a CE mark. False if it is no more.
    fn mark_sent(&mut self, _port: PortId, _id: PacketId, _pool: &mut Pool) -> bool {
        false
    }
    /// Called when an endpoint finished.
    fn finished(&mut self, _flow: FlowId, _active: bool, _report: FlowReport) {}
    /// Called when a packet reached the endpoint of its flow, before the endpoint sees it.
    fn delivered(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a port or forwarder has used a packet up: a probe answered, an ACK merged into
    /// another.
    fn consumed(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a packet has been copied: the copy has a fate of its own.
    fn copied(&mut self, _of: PacketId, _copy: PacketId) {}

    /// Called when something happens to a packet that is neither its beginning on a wire nor its fate.
    fn step(&mut self, _id: PacketId, _packet: &Packet, _step: Step) {}
    /// Called after each call to an endpoint, before what it has sent goes on.
    fn called(&mut self, _end: EndId, _endpoint: &dyn Endpoint) {}
    /// Called with what a scheme has noted, soon after, and before the packet's fate.
    fn noted(&mut self, _note: Note, _packet: Option<&Packet>) {}

    /// Called before an endpoint is called: what its application has handed over so far. `None`
    /// where the flow's length is known without.
    fn supply(&mut self, _end: EndId) -> Option<Supply> {
        None
    }
    /// Called before an endpoint is called: up to which offset its application takes what arrives.
    /// `None` where it takes all.
    fn room(&mut self, _end: EndId) -> Option<u64> {
        None
    }
    /// Called when an endpoint has made a packet with a payload, which begins at the offset `at` of
    /// what its application sends.
    fn made(&mut self, _end: EndId, _id: PacketId, _packet: &Packet, _at: u64) {}
    /// Called when an endpoint has taken a packet in: the payload of the one that
    /// [`Driver::delivered`] named last belongs at the offset `at`.
    fn arrived(&mut self, _end: EndId, _at: u64) {}
    /// Called when all below the offset `up_to` is known to have arrived at the other end.
    fn acknowledged(&mut self, _end: EndId, _up_to: u64) {}
    /// Called when one direction of the flow is complete, also by drivers without bytes. Where data go one
    /// way, that is the flow.
    fn completed(&mut self, _end: EndId, _half: Half) {}
    /// Called when so many bytes of a flow have been delivered, where an endpoint says so.
    fn delivered_bytes(&mut self, _flow: FlowId, _bytes: u64, _now: Time) {}
    /// Called after these, and after an alarm, until there is none left: what happens here because of it, and when. Without
    /// bytes only.
    fn released(&mut self) -> Option<(Time, Release)> {
        None
    }
    /// Called after that until there is none left: which releases have become needless.
    fn cancelled(&mut self) -> Option<(Time, Release)> {
        None
    }
    /// Called when the time of an alarm has come that was [released](Driver::released).
    fn alarm(&mut self, _token: u32, _now: Time) {}
    /// Called when a flow is to start: whether its application still needs it.
    fn starts(&mut self, _flow: FlowId, _now: Time) -> bool {
        true
    }
    /// Called when the flow is over for the application before it was complete. The endpoint may go
    /// on for some time.
    fn ended(&mut self, _end: EndId, _why: Ended) {}
    /// Called when an endpoint is gone, whatever it has said before.
    fn gone(&mut self, _end: EndId) {}
}

/// The applications of a network: which flows start, and who takes what arrives.
pub trait Flows: Send + Sync {
    /// Called where a flow starts: the connection whose message it is, if it has no packets of its own.
    fn connection(&self, _flow: FlowId) -> Option<FlowId> {
        None
    }
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
