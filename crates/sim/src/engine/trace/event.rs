//! One trace event.

use midpath_core::packet::{Flags, FlowId, Kind, NodeId, Packet, PortId};
use midpath_core::units::Time;

/// An event's name: its node, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

impl Key {
    /// No event.
    pub const NONE: Key = Key(u64::MAX);

    pub(super) const fn of(node: NodeId, number: u32) -> Key {
        Key((node.0 as u64) << 32 | number as u64)
    }
    /// The node where it happened.
    pub const fn node(self) -> NodeId {
        NodeId((self.0 >> 32) as u32)
    }
    /// The node, and its number there.
    pub const fn number(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
    }
}

/// Who a packet is, and its last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// The node where it was met first, and its number among those.
    pub packet: u64,
    /// Its last event.
    pub last: Key,
}

impl Life {
    /// Nobody.
    pub const NONE: Life = Life { packet: u64::MAX, last: Key::NONE };
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Its name.
    pub key: Key,
    /// The event before it, in the life of its packet or flow.
    pub cause: Key,
    /// What happened.
    pub what: &'static str,
    /// Why, in a word; empty where `what` says all.
    pub why: &'static str,
    /// A number that belongs to it; NaN for none.
    pub value: f64,
    /// The port of its node.
    pub port: Option<PortId>,
    /// The flow; [`FlowId::NONE`] for none.
    pub flow: FlowId,
    /// The packet; that of [`Life::NONE`] for none.
    pub packet: u64,
    /// What the packet is; empty for none.
    pub kind: &'static str,
    /// The packet's bytes on the link.
    pub size: u32,
    /// The number that tells it apart in its flow, of its transport or of its name.
    pub number: u32,
}

impl Event {
    /// No event.
    pub const NOTHING: Event = Event {
        at: Time::ZERO,
        key: Key::NONE,
        cause: Key::NONE,
        what: "",
        why: "",
        value: f64::NAN,
        port: None,
        flow: FlowId::NONE,
        packet: Life::NONE.packet,
        kind: "",
        size: 0,
        number: 0,
    };

    /// What is to be said of a packet.
    pub(super) fn of_packet(life: Life, packet: &Packet) -> Event {
        let (flow, size) = (packet.flow, packet.size);
        Event { flow, packet: life.packet, kind: kind(packet), size, number: number(packet), ..Event::NOTHING }
    }
}

/// What a packet is, in a word.
fn kind(packet: &Packet) -> &'static str {
    match packet.kind {
        Kind::Segment if packet.flags.has(Flags::RST) => "RST",
        Kind::Segment if packet.flags.has(Flags::SYN.with(Flags::ACK)) => "SYN-ACK",
        Kind::Segment if packet.flags.has(Flags::SYN) => "SYN",
        Kind::Segment if packet.payload > 0 => "data",
        Kind::Segment if packet.flags.has(Flags::FIN) => "FIN",
        Kind::Segment => "ACK",
        Kind::Datagram => "datagram",
        Kind::Interest => "Interest",
        Kind::Data => "Data",
        Kind::Nack => "Nack",
        Kind::Control => "control",
    }
}

/// The number that tells a packet apart in its flow: that of its first byte; of an ACK the byte that it
/// expects; of an Interest, Data or Nack the segment.
fn number(packet: &Packet) -> u32 {
    if packet.kind == Kind::Segment && kind(packet) == "ACK" { packet.ack } else { packet.seq }
}
