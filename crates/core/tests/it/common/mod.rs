//! A bench for one node: a driver that writes down what the node does, and a clock that calls it in
//! the engine's order (what arrives before what was asked for, then in order of the asking).

pub mod queue;

use std::sync::Arc;

use midpath_core::node::{Driver, Flows, Forwarding, LinkTransmitter, Node, Woken};
use midpath_core::packet::{Carried, Ecn, FlowId, Kind, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::queue::Discipline;
use midpath_core::rng::Streams;
use midpath_core::roles::{Drop, Endpoint, FlowReport, ForwardCtx, Forwarder, LinkInfo, Route, Transmitter};
use midpath_core::units::{Rate, Time};
use proptest::prelude::ProptestConfig;

/// As many cases as asked for in the environment, or `default`.
pub fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// The node under test.
pub const ME: NodeId = NodeId(0);
/// Node on the other end of port `i` is `PEERS + i`.
pub const PEERS: u32 = 10;
/// 1500 bytes take 1.2 ms, exactly.
pub const RATE: Rate = Rate::from_mbps(10);

pub const MS: Time = Time::from_ms(1);

/// A packet on a wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    pub port: PortId,
    pub start: Time,
    pub end: Time,
    pub packet: Packet,
}

/// A packet that ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lost {
    pub port: Option<PortId>,
    pub why: Drop,
    pub at: Time,
    pub packet: Packet,
}

/// Writes down what happens; owns no packets: what is on the wire is over.
#[derive(Debug, Default)]
pub struct Log {
    pub now: Time,
    /// The ports' transmitters, where they are asked for packets.
    pub lines: Vec<LinkTransmitter>,
    pub sent: Vec<Sent>,
    pub lost: Vec<Lost>,
    pub marked: Vec<Packet>,
    pub delivered: Vec<Packet>,
    /// Ids of packets that were delivered or put onto a wire, in order.
    pub named: Vec<(&'static str, PacketId)>,
    pub finished: Vec<(FlowId, bool, FlowReport)>,
}

impl Driver for Log {
    const TIMETABLES: bool = true;
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        self.lines[usize::from(port.0)].state(now)
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let end = self.lines[usize::from(port.0)].start(pool[&pkt].size, now);
        self.book(port, pkt, now, end, pool);
    }
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        assert!(start >= self.now && end > start);
        self.named.push(("sent", pkt.id()));
        let packet = pool.take(pkt);
        self.sent.push(Sent { port, start, end, packet });
    }
    fn dropped(&mut self, port: Option<PortId>, _id: PacketId, (packet, _): Carried<'_>, why: Drop) {
        self.lost.push(Lost { port, why, at: self.now, packet: *packet });
    }
    fn marked(&mut self, _port: PortId, _id: PacketId, packet: &Packet) {
        self.marked.push(*packet);
    }
    fn finished(&mut self, flow: FlowId, active: bool, report: FlowReport) {
        self.finished.push((flow, active, report));
    }
    fn delivered(&mut self, id: PacketId, packet: &Packet) {
        self.named.push(("delivered", id));
        self.delivered.push(*packet);
    }
}

/// No flows live here.
pub struct Nobody;
impl Flows for Nobody {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
}

/// Sends what is for this node to its endpoint, and all else through the port whose peer it is for,
/// or port 1.
pub struct ByPeer;
impl Forwarder for ByPeer {
    fn route(&mut self, pkt: Pkt, _from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        match ctx.pool[&pkt].dst {
            ME => Route::Local(pkt),
            NodeId(n) if n >= PEERS => Route::Port(PortId((n - PEERS) as u16), pkt),
            _ => Route::Port(PortId(1), pkt),
        }
    }
}

/// What the ports share: a word each.
pub struct Words(pub Vec<u64>);

/// A node and what is around it.
pub struct Bench {
    pub node: Node,
    pub pool: Pool,
    pub log: Log,
}

impl Bench {
    /// A node whose ports all run at `rate`.
    pub fn new(rate: Rate, ports: Vec<Discipline>, forwarder: Box<dyn Forwarder>, flows: Arc<dyn Flows>) -> Bench {
        let link = |i: usize| LinkInfo { rate, delay: MS, mtu: 1500, peer: NodeId(PEERS + i as u32) };
        let links = (0..ports.len()).map(link).collect();
        let lines = ports.iter().map(|_| LinkTransmitter::new(rate)).collect();
        let streams = Streams::of(7, 0);
        let all: Vec<PortId> = (0..ports.len() as u16).map(PortId).collect();
        let words = Words(vec![0; all.len()]);
        let node = Node::new(ME, links, ports, Forwarding::only(vec![forwarder]), flows, streams);
        let node = node.sharing(Box::new(words), &all, Some(0));
        Bench { node, pool: Pool::new(), log: Log { lines, ..Log::default() } }
    }

    /// A queue under test at port 1; packets come in through port 0.
    pub fn of_queue(rate: Rate, queue: Discipline) -> Bench {
        Bench::new(rate, vec![ample(), queue], Box::new(ByPeer), Arc::new(Nobody))
    }

    /// Lets the node do what it asked for before `at`.
    pub fn run_until(&mut self, at: Time) {
        while self.node.next_wake() < at {
            self.log.now = self.node.next_wake();
            let woken = self.node.on_wake(self.log.now, &mut self.pool, &mut self.log);
            assert_eq!(woken, Woken::Node);
        }
        self.log.now = at;
    }

    /// Lets it do all that it will ever ask for.
    pub fn run_out(&mut self) {
        self.run_until(Time::MAX);
    }

    /// A packet arrives.
    pub fn arrive(&mut self, at: Time, port: PortId, packet: Packet) {
        self.run_until(at);
        let pkt = self.pool.insert(packet);
        self.node.on_packet(at, port, pkt, &mut self.pool, &mut self.log);
    }

    /// A port's link goes down or comes back.
    pub fn set_up(&mut self, port: PortId, up: bool, now: Time) {
        self.log.lines[usize::from(port.0)].set_up(up);
        self.node.on_link(port, now, &mut self.pool, &mut self.log);
    }

    /// A port gets another rate.
    pub fn set_rate(&mut self, port: PortId, rate: Rate, now: Time) {
        self.log.lines[usize::from(port.0)].set_rate(rate);
        self.node.set_rate(port, rate, now, &mut self.pool, &mut self.log);
    }

    /// Sequence numbers of what was sent through a port, in order.
    pub fn seqs(&self, port: u16) -> Vec<u64> {
        self.log.sent.iter().filter(|s| s.port.0 == port).map(|s| s.packet.seq.into()).collect()
    }
}

/// A queue that is never full.
pub fn ample() -> Discipline {
    use midpath_core::queue::{Limit, QueueSpec};
    QueueSpec::fifo(Limit::Bytes(u64::MAX)).build(RATE)
}

/// A datagram numbered `seq` for the peer at port 1.
pub fn packet(flow: u32, seq: u64, size: u32, ecn: Ecn) -> Packet {
    let mut p = Packet::new(FlowId(flow), NodeId(PEERS), NodeId(PEERS + 1), size);
    (p.seq, p.ecn, p.kind) = (seq as u32, ecn, Kind::Datagram);
    p
}
