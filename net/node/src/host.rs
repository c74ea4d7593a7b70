//! A node with its applications, without I/O: input is frames and times, output frames. The owner of the sockets
//! calls it; a test may do so in virtual time.
//!
//! A flow carries bytes one way, or both after [`Host::both_ways`].
//! What an application opens here is named by its [`EndId`]; what
//! comes of it is told by [`Host::take_changed`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use midpath_core::node::{Driver, EndId, Flows, Limits, Node, Woken};
use midpath_core::packet::{Carried, FlowId, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::roles::{Accept, Backlog, Drop, Ended, Endpoint, FlowReport, FlowSpec, Transmitter, Transport};
use midpath_core::units::{Rate, Time, TxClock};
use midpath_core::wire::{self, MAX_FLOWS, WireError};
use midpath_link::Due;

use crate::bytes::{Bytes, Incoming, Outgoing, Windows};
use crate::carry_bytes;
use crate::schedule::Schedule;

/// What an application's bytes that are not acknowledged yet take at most. Ours: a bandwidth-delay
/// product of 160 Mbps and 200 ms.
const OUTGOING: usize = 4 << 20;

/// A peer of which nothing has been heard for so long is asked whether it is there. While it answers,
/// and sends nothing, it is asked half as often each time, down to once a minute. If it has not
/// answered three times its flow is given up. Ours: Linux waits for two hours, but an overlay's nodes
/// are restarted, and who only waits would never know.
const QUIET: Time = Time::from_secs(3);
const LONGEST_QUIET: Time = Time::from_secs(60);
const ASKS: u32 = 3;

/// How often all peers are looked at for that. Ours: a sixth of what a peer may be quiet.
const LOOK: Time = Time::from_ms(500);

/// When a flow's peer was heard last, how long it may be quiet, and how often it was asked since.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Time,
    patience: Time,
    asked: u32,
}

impl Heard {
    /// The first packet.
    fn now(at: Time) -> Heard {
        Heard { at, patience: QUIET, asked: 0 }
    }

    /// Another packet, of so many bytes.
    fn again(&mut self, payload: u16, now: Time) {
        if payload > 0 {
            self.patience = QUIET;
        } else if self.asked > 0 {
            self.patience = Time(2 * self.patience.0).min(LONGEST_QUIET);
        }
        (self.at, self.asked) = (now, 0);
    }

    /// When it is asked next, or given up.
    fn due(&self) -> Time {
        self.at.saturating_add(self.patience).saturating_add(Time(QUIET.0 * u64::from(self.asked)))
    }
}

/// How a host is to be set up.
#[derive(Clone)]
pub struct Settings {
    /// What carries its flows.
    pub transport: Arc<dyn Transport>,
    /// The largest packet on the way to any other node.
    pub mtu: u32,
    /// Whether anybody may open a flow to it.
    pub accepts: bool,
    /// What arrives and waits to be read.
    pub windows: Windows,
    /// What peers may open.
    pub limits: Limits,
    /// Where the numbers of its flows begin. Drawn at random: a node that was started anew must not
    /// go on where its peers still know flows.
    pub first_flow: u32,
    /// What each packet takes on its link besides its own bytes.
    pub overhead: u32,
}

/// What has been counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came in and are packets.
    pub received: u64,
    /// Frames whose bytes are no packet.
    pub malformed: u64,
    /// Frames sent.
    pub sent: u64,
    /// Packets that reached an endpoint here.
    pub delivered: u64,
    /// Packets that ended here otherwise.
    pub dropped: u64,
    /// The same by reason, in [`Drop`]'s order.
    pub drops: [u64; DROPS.len()],
}

/// What this node's own flows have sent, those that are over included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets that carry payload, repeats included.
    pub packets: u64,
    /// Packets sent again.
    pub again: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl Sent {
    fn add(&mut self, report: FlowReport) {
        self.packets += report.sent;
        self.again += report.retransmitted;
        self.timeouts += report.timeouts;
    }
}

/// What each reason to drop a packet is called, in [`Drop`]'s order.
pub const DROPS: [&str; 8] = ["queue", "aqm", "fault", "policy", "too_big", "hops", "undeliverable", "no_route"];

/// Takes the flows that others open, if they may.
struct Applications {
    transport: Arc<dyn Transport>,
    accepts: bool,
}

impl Flows for Applications {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        None // they are opened by `Node::connect`
    }
    fn accept(&self, _node: NodeId, first: &Packet) -> Accept {
        if self.accepts {
            return self.transport.accept(first, None);
        }
        self.refuse(first).map_or(Accept::Ignore, Accept::Refuse)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        self.transport.refuse(packet)
    }
}

/// One port's transmitter.
struct Wire {
    schedule: Schedule,
    rate: Option<Rate>,
    /// As its scheme was told.
    served: Rate,
    /// What carries it has no room now.
    held: bool,
    /// The largest packet that goes whole.
    whole: u32,
}

impl Wire {
    /// Bytes on the link of a packet, with this overhead for each of its parts.
    fn bytes_on_link(&self, packet: u32, overhead: u32) -> u32 {
        let parts = if packet <= self.whole { 1 } else { packet.div_ceil(self.whole.max(1)) };
        packet + parts * overhead
    }

    /// Whether it takes no packet: it is asked again when one has been sent, it has a rate again, or room.
    fn is_shut(&self) -> bool {
        self.held || self.rate.is_none()
    }
}

/// A frame for the neighbour behind a port.
pub type Frame = (PortId, Vec<u8>);

struct Wires {
    of: Vec<Wire>,
    /// When what they send has been sent.
    due: Due,
    bytes: Bytes,
    frames: Vec<Frame>,
    overhead: u32,
    counted: Counters,
    /// By flows that are over.
    sent: Sent,
    /// Of ends that receive: who only waits would never know that its peer is gone.
    heard: BTreeMap<EndId, Heard>,
    now: Time,
}

impl Wires {
    fn bytes(&mut self) -> &mut Bytes {
        &mut self.bytes
    }

    fn on_gone(&mut self, end: EndId) {
        self.heard.remove(&end);
        self.bytes.gone(end);
    }

    /// A packet starts onto a link.
    fn send(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let payload = self.bytes.take(pkt.id());
        let packet = pool.take(pkt);
        let wire = &mut self.of[usize::from(port.0)];
        let bytes = wire.bytes_on_link(packet.size, self.overhead);
        let (ends, _) = wire.schedule.begin(now, bytes);
        self.due.no_later(usize::from(port.0), ends);
        let payload = payload.unwrap_or_else(|| vec![0; usize::from(packet.payload)].into());
        let mut frame = Vec::with_capacity(packet.size as usize);
        wire::encode_with(&packet, &payload, &mut frame);
        self.counted.sent += 1;
        self.frames.push((port, frame));
    }
}

impl Driver for Wires {
    carry_bytes!(bytes, on_gone);
    fn transmitter(&mut self, port: PortId, _now: Time) -> Transmitter {
        let wire = &self.of[usize::from(port.0)];
        if wire.is_shut() { Transmitter::Busy { until: None } } else { wire.schedule.state() }
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        self.send(port, pkt, now, pool);
    }
    fn dropped(&mut self, _port: Option<PortId>, id: PacketId, _packet: Carried<'_>, why: Drop) {
        self.bytes.take(id);
        self.counted.dropped += 1;
        self.counted.drops[why as usize] += 1;
    }
    fn finished(&mut self, _flow: FlowId, _active: bool, report: FlowReport) {
        self.sent.add(report);
    }
    fn delivered(&mut self, id: PacketId, packet: &Packet) {
        self.bytes.delivered(id);
        self.counted.delivered += 1;
        let passive = EndId { flow: packet.flow, peer: packet.src, active: false };
        let active = EndId { active: true, ..passive };
        let receives = |end: &EndId| self.bytes.incoming(*end).is_some();
        let Some(end) = [passive, active].into_iter().find(receives) else { return };
        let now = self.now;
        self.heard.entry(end).and_modify(|peer| peer.again(packet.payload, now)).or_insert_with(|| Heard::now(now));
    }
    fn consumed(&mut self, id: PacketId, _packet: &Packet) {
        self.bytes.take(id);
    }
    fn copied(&mut self, of: PacketId, copy: PacketId) {
        self.bytes.copied(of, copy);
    }
}

/// A node and its applications' side.
pub struct Host {
    node: Node,
    pool: Pool,
    wires: Wires,
    settings: Settings,
    next_flow: u32,
    look_at: Time,
}

impl Host {
    /// A node's host. Its links are down until they are given a rate.
    pub fn new(node: Node, settings: Settings) -> Host {
        let flows = Applications { transport: settings.transport.clone(), accepts: settings.accepts };
        let node = node.without_timetables().with_limits(settings.limits).with_flows(Arc::new(flows));
        let wire = |port| {
            let clock = TxClock::new(node.rate(PortId(port as u16)));
            Wire { schedule: Schedule::new(clock), rate: None, served: Rate(0), held: false, whole: u32::MAX }
        };
        let wires = Wires {
            of: (0..node.ports()).map(wire).collect(),
            due: Due::new(node.ports(), Time::MAX),
            bytes: Bytes::new(settings.windows),
            frames: Vec::new(),
            overhead: settings.overhead,
            counted: Counters::default(),
            sent: Sent::default(),
            heard: BTreeMap::new(),
            now: Time::ZERO,
        };
        Host { node, pool: Pool::new(), wires, next_flow: settings.first_flow, settings, look_at: Time::ZERO }
    }

    /// The node's number.
    pub fn id(&self) -> NodeId {
        self.node.id()
    }

    /// The node, to be looked at.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Its flows carry data both ways, where the transport can: to be said before any is opened, and
    /// alike at both ends.
    #[must_use]
    pub fn both_ways(mut self) -> Host {
        if let Some(transport) = self.settings.transport.both_ways(self.settings.windows.most()) {
            let flows = Applications { transport: transport.clone(), accepts: self.settings.accepts };
            self.node = self.node.with_flows(Arc::new(flows));
            self.settings.transport = transport;
            self.wires.bytes.carry_both_ways(OUTGOING);
        }
        self
    }

    /// Whether its flows carry data both ways.
    pub fn goes_both_ways(&self) -> bool {
        self.wires.bytes.goes_both_ways()
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.wires.counted
    }

    /// What this node's flows have sent.
    pub fn sent(&self) -> Sent {
        let mut sent = self.wires.sent;
        self.node.reports().for_each(|(_, _, report)| sent.add(report));
        sent
    }

    /// Bytes that peers may send, or have sent and nobody has read; those on packets here; and those
    /// that applications have written and that are not acknowledged.
    pub fn held(&self) -> [u64; 3] {
        let bytes = &self.wires.bytes;
        [bytes.promised(), bytes.on_packets(), bytes.written()]
    }

    /// What waits at a port.
    pub fn backlog(&mut self, port: PortId, now: Time) -> Backlog {
        self.node.backlog(port, now)
    }

    /// Flows that others have opened, and how many they may.
    pub fn passive(&self) -> (usize, usize) {
        let ends = self.node.endpoints().filter(|(_, active, _)| !active);
        (ends.count(), self.settings.limits.passive)
    }

    /// The bounds on the first and the last of these.
    pub fn windows(&self) -> Windows {
        self.settings.windows
    }

    /// A link sends at this rate from now on, everything counted that goes with a packet; not at all
    /// with `None`. The port's scheme is told what is left for packets.
    pub fn set_rate(&mut self, port: PortId, rate: Option<Rate>, now: Time) {
        let wire = &mut self.wires.of[usize::from(port.0)];
        if wire.rate == rate {
            return;
        }
        wire.rate = rate;
        if let Some(rate) = rate {
            wire.schedule.set_clock(TxClock::new(rate));
            self.set_served(port, rate, now);
        } else {
            self.node.on_link(port, now, &mut self.pool, &mut self.wires);
        }
        self.pull(port, now);
        self.settle(now);
    }

    /// A link that sends at one rate is served at another over time, for it is [held](Host::hold) now
    /// and then: the port's scheme is told so.
    pub fn set_served(&mut self, port: PortId, rate: Rate, now: Time) {
        let wire = &mut self.wires.of[usize::from(port.0)];
        if wire.rate.is_none() || wire.served == rate {
            return;
        }
        wire.served = rate;
        let full = u64::from(wire.bytes_on_link(self.settings.mtu, self.settings.overhead));
        let inner = Rate((rate.0 / full * u64::from(self.settings.mtu)).max(1));
        self.node.set_rate(port, inner, now, &mut self.pool, &mut self.wires);
        self.settle(now);
    }

    /// Larger packets go in parts from now on, each with an overhead of its own: the port's scheme is told the rate
    /// that this leaves.
    pub fn set_whole(&mut self, port: PortId, whole: u32, now: Time) {
        let wire = &mut self.wires.of[usize::from(port.0)];
        if std::mem::replace(&mut wire.whole, whole) != whole {
            let served = std::mem::replace(&mut wire.served, Rate(0));
            self.set_served(port, served, now);
        }
    }

    /// Nothing leaves a port while what carries it has no room. To its scheme it is busy, as while it
    /// sends.
    pub fn hold(&mut self, port: PortId, held: bool, now: Time) {
        let wire = &mut self.wires.of[usize::from(port.0)];
        if std::mem::replace(&mut wire.held, held) && !held {
            self.pull(port, now);
            self.settle(now);
        }
    }

    /// A frame has come in from the neighbour behind a port.
    pub fn on_frame(&mut self, port: PortId, frame: &[u8], now: Time) -> Result<(), WireError> {
        let (packet, payload) = wire::read(frame).inspect_err(|_| self.wires.counted.malformed += 1)?;
        self.wires.counted.received += 1;
        self.wires.now = now;
        let pkt = self.pool.insert(packet);
        self.wires.bytes.pin(pkt.id(), frame[payload].into());
        self.node.on_packet(now, port, pkt, &mut self.pool, &mut self.wires);
        self.settle(now);
        Ok(())
    }

    /// Does what is due: packets that have been sent, wake-ups.
    pub fn on_time(&mut self, now: Time) {
        while let Some(port) = self.wires.due.pop(now) {
            self.wires.of[port].schedule.end();
            self.pull(PortId(port as u16), now);
        }
        while self.node.next_wake() <= now {
            if self.node.on_wake(now, &mut self.pool, &mut self.wires) == Woken::Nothing {
                break;
            }
        }
        self.settle(now);
    }

    /// When something is due next.
    pub fn next_wake(&self) -> Time {
        self.wires.due.next_wake().min(self.node.next_wake())
    }

    /// What is to be sent to neighbours.
    pub fn frames(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.wires.frames)
    }

    /// Opens a flow to `peer`. Bytes may be written at once.
    pub fn connect(&mut self, peer: NodeId, now: Time) -> EndId {
        loop {
            // Of two nodes the one with the higher number has the odd ones, so that both may open
            // flows to each other.
            self.next_flow = (self.next_flow + 1) % (MAX_FLOWS as u32 / 2);
            let flow = FlowId(2 * self.next_flow + u32::from(self.id() > peer));
            let end = EndId { flow, peer, active: true };
            if self.connect_as(end, now) {
                return end;
            }
        }
    }

    /// Opens the flow of this end; false if the node knows one of this number already.
    fn connect_as(&mut self, end: EndId, now: Time) -> bool {
        self.wires.bytes.send_from(end, OUTGOING);
        let spec = FlowSpec { mtu: self.settings.mtu, ..FlowSpec::new(end.flow, self.id(), end.peer) };
        let endpoint = self.settings.transport.open(&spec);
        let opened = self.node.connect(end.flow, end.peer, endpoint, now, &mut self.pool, &mut self.wires);
        if opened {
            self.settle(now);
        } else {
            self.wires.bytes.forget(end);
        }
        opened
    }

    /// What an end's application sends, if it does.
    pub fn outgoing(&self, end: EndId) -> Option<&Outgoing> {
        self.wires.bytes.outgoing(end)
    }

    /// How much an end's application may write now.
    pub fn room_to_write(&self, end: EndId) -> usize {
        self.wires.bytes.room_to_write(end)
    }

    /// What has arrived for an end's application, if anything may.
    pub fn incoming(&self, end: EndId) -> Option<&Incoming> {
        self.wires.bytes.incoming(end)
    }

    /// Takes as much of `bytes` as there is room for; says how much.
    pub fn write(&mut self, end: EndId, bytes: &[u8], now: Time) -> usize {
        let written = self.wires.bytes.write(end, bytes);
        if written > 0 {
            self.poke(end, now);
        }
        written
    }

    /// Nothing follows what has been written.
    pub fn close(&mut self, end: EndId, now: Time) {
        if self.wires.bytes.close(end) {
            self.poke(end, now);
        }
    }

    /// Up to `most` bytes that have come, in order.
    pub fn read(&mut self, end: EndId, most: usize, out: &mut Vec<u8>, now: Time) -> usize {
        let read = self.wires.bytes.read(end, most, out);
        if read > 0 {
            self.poke(end, now);
        }
        read
    }

    /// Gives a flow up: the peer is told, and what was written or has come is gone.
    pub fn abort(&mut self, end: EndId, now: Time) {
        self.node.abort(end, now, &mut self.pool, &mut self.wires);
        self.wires.bytes.forget(end);
        self.settle(now);
    }

    /// The application is done with an end. A flow that has not arrived as a whole is given up: its
    /// bytes are gone.
    pub fn forget(&mut self, end: EndId, now: Time) {
        let sends = self.outgoing(end).is_some_and(|outgoing| outgoing.ended() != Some(Ended::Complete));
        let receives = self.incoming(end).is_some_and(|incoming| incoming.ended().is_none());
        if sends || receives {
            return self.abort(end, now);
        }
        self.wires.bytes.forget(end);
    }

    /// Ends that something has happened to since this was asked last.
    pub fn take_changed(&mut self) -> BTreeSet<EndId> {
        self.wires.bytes.take_changed()
    }

    /// To be called now and then: peers whose window the budget had no room for are told of it, and
    /// peers that are silent are asked whether they are there.
    pub fn on_tick(&mut self, now: Time) {
        if now < self.look_at {
            return;
        }
        self.look_at = now.saturating_add(LOOK);
        for end in self.wires.bytes.starved() {
            self.poke(end, now);
        }
        let quiet = |(_, peer): &(&EndId, &mut Heard)| now >= peer.due();
        let (mut ask, mut lost) = (Vec::new(), Vec::new());
        for (end, peer) in self.wires.heard.iter_mut().filter(quiet) {
            if peer.asked == ASKS {
                lost.push(*end);
            } else {
                peer.asked += 1;
                ask.push(*end);
            }
        }
        ask.into_iter().for_each(|end| self.node.probe(end, now, &mut self.pool, &mut self.wires));
        for end in lost {
            self.wires.bytes.ended(end, Ended::TimedOut);
            self.node.abort(end, now, &mut self.pool, &mut self.wires);
        }
        self.settle(now);
    }

    fn poke(&mut self, end: EndId, now: Time) {
        self.node.poke_end(end, now, &mut self.pool, &mut self.wires);
        self.settle(now);
    }

    /// After each call: the ports that have something are asked.
    fn settle(&mut self, now: Time) {
        while let Some(port) = self.node.ready() {
            self.pull(port, now);
        }
    }

    /// Takes a port's next packet, if nothing is being sent there.
    fn pull(&mut self, port: PortId, now: Time) {
        let wire = &self.wires.of[usize::from(port.0)];
        if wire.schedule.is_busy() || wire.is_shut() {
            return;
        }
        match self.node.poll_transmit(now, port, &mut self.pool, &mut self.wires) {
            Some(pkt) => self.wires.send(port, pkt, now, &mut self.pool),
            None => self.wires.of[usize::from(port.0)].schedule.rest(),
        }
    }
}
