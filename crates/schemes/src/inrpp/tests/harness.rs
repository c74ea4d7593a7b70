//! One router between three neighbours: 0 upstream, 2 downstream, 3 a host; flows go from host 8
//! (behind 0) to host 9 (behind 2).

use std::sync::Arc;

use midpath_core::node::{Driver, Flows, Forwarding, LinkTransmitter as Transmits, Node};
use midpath_core::packet::{Carried, Flags, FlowId, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{
    Drop, Ecmp, Endpoint, Forwarder, LinkInfo, Map, NodeSpec, PortSpec, Routes, ShortestPath, Transmitter,
};
use midpath_core::units::{Bytes, Rate, Time};

use crate::inrpp::auth::{Keys, LinkMac};
use crate::inrpp::header::{Direction, InrppHeader};
use crate::inrpp::{Params, build};

pub const ME: NodeId = NodeId(1);
pub const UP: PortId = PortId(0);
pub const DOWN: PortId = PortId(1);
pub const HOST: PortId = PortId(2);
pub const SENDER: NodeId = NodeId(8);
pub const RECEIVER: NodeId = NodeId(9);

struct World;
impl Map for World {
    fn links(&self, _: NodeId) -> Vec<LinkInfo> {
        Vec::new()
    }
    fn is_host(&self, node: NodeId) -> bool {
        node.0 >= 3
    }
}
impl Routes for World {
    fn next_ports(&self, _: NodeId, dst: NodeId) -> &[u16] {
        match dst {
            SENDER | NodeId(0) => &[0],
            RECEIVER | NodeId(2) => &[1],
            _ => &[2],
        }
    }
}
impl Flows for World {
    fn open(&self, _: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
}

/// What left, and what ended here.
#[derive(Default)]
pub struct Log {
    pub sent: Vec<(PortId, Time, Packet)>,
    pub dropped: Vec<(Drop, Packet)>,
    pub transmitters: Vec<Transmits>,
}
impl Driver for Log {
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        self.transmitters[usize::from(port.0)].state(now)
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let packet = pool.take(pkt);
        self.transmitters[usize::from(port.0)].start(packet.size, now);
        self.sent.push((port, now, packet));
    }
    fn dropped(&mut self, _port: Option<PortId>, _id: PacketId, (packet, _): Carried<'_>, why: Drop) {
        self.dropped.push((why, *packet));
    }
}

pub struct Router {
    pub node: Node,
    pub pool: Pool,
    pub log: Log,
    pub now: Time,
    pub keys: Keys,
    pub lines: [LinkMac; 3],
}

/// A cache of ten full packets above a buffer of two, S_high six and S_low three packets; links of
/// 12 Mbps: a packet a millisecond.
pub fn small() -> Params {
    Params {
        cache: Some(Limit::Bytes(15_000)),
        high: Some(Limit::Bytes(9_000)),
        buffer: Some(Limit::Bytes(3_000)),
        tcp_cache: Some(Limit::Bytes(4_500)),
        ..Params::default()
    }
}

impl Router {
    pub fn new(params: Params) -> Router {
        Router::among(&World, false, params, |forwarder| forwarder)
    }

    /// The same in another network, with ports of a host or a router, and with what is made of its
    /// forwarder.
    pub fn among(
        map: &dyn Map,
        host: bool,
        params: Params,
        forwarder: impl Fn(Box<dyn Forwarder>) -> Box<dyn Forwarder>,
    ) -> Router {
        let link =
            |peer| LinkInfo { rate: Rate::from_mbps(12), delay: Time::from_ms(1), mtu: 1500, peer: NodeId(peer) };
        let links = vec![link(0), link(2), link(3)];
        let keys = Keys::new(params.auth, &params.secret);
        let scheme = build("inrpp", params).unwrap_or_else(|e| panic!("{e}"));
        let network = scheme.network().expect("ports of its own");
        let routes: Arc<dyn Routes> = Arc::new(World);
        let spec = NodeSpec { node: ME, links: &links, map, routes: &routes, ecmp: Ecmp::Off };
        let port = |i: usize| {
            let queue = QueueSpec::fifo(Limit::Bytes(Bytes(1).0));
            let (rtt, peer) = (Time::from_ms(20), links[i].peer);
            let edge = peer.0 >= 3;
            let port = PortId(i as u16);
            let port = PortSpec { node: ME, port, peer, link: links[i], host, edge, rtt, queue, pulled: false };
            network.port(&port, &spec).expect("any queue will do")
        };
        let chain = vec![forwarder(network.forwarder(&spec).expect("a router's"))];
        let forwarding = Forwarding::new(chain, ShortestPath::new(routes.clone(), Ecmp::Off));
        let ports = (0..3).map(port).collect();
        let state = network.state(&spec).expect("what interfaces share");
        let node = Node::new(ME, links.clone(), ports, forwarding, Arc::new(World), Streams::of(1, 1)).sharing(
            state,
            &[UP, DOWN, HOST],
            None,
        );
        let lines: [LinkMac; 3] = Default::default();
        let transmitters = links.iter().map(|l| Transmits::new(l.rate)).collect();
        let log = Log { transmitters, ..Log::default() };
        Router { node, pool: Pool::new(), log, now: Time::ZERO, keys, lines }
    }

    pub fn gauge(&self, port: PortId, name: &str) -> f64 {
        let mut all = Vec::new();
        self.node.gauges(port, &mut all);
        all.iter().find(|g| g.0 == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    pub fn state(&self) -> u8 {
        self.gauge(DOWN, "state") as u8
    }

    /// Lets everything happen that is due up to `ms` and a little: 12 Mbps is no round number of
    /// picoseconds.
    pub fn until(&mut self, ms: u64) {
        self.run_to(Time::from_ms(ms) + Time::from_us(1));
    }

    /// The same up to `end`.
    pub fn run_to(&mut self, end: Time) {
        while self.node.next_wake() <= end {
            self.now = self.now.max(self.node.next_wake());
            self.node.on_wake(self.now, &mut self.pool, &mut self.log);
        }
        self.now = self.now.max(end);
    }

    pub fn arrive(&mut self, port: PortId, packet: Packet) {
        let pkt = self.pool.insert(packet);
        self.node.on_packet(self.now, port, pkt, &mut self.pool, &mut self.log);
    }

    /// A full data packet of a flow from upstream, with this option.
    pub fn data_with(&mut self, flow: u32, option: Option<InrppHeader>) {
        let mut p = Packet::new(FlowId(flow), SENDER, RECEIVER, 1500);
        (p.payload, p.flags) = (1432, Flags::ACK);
        if let Some(option) = option {
            p.set_header(&option);
            p.size = 1500;
        }
        self.arrive(UP, p);
    }

    pub fn data(&mut self, flow: u32, n: usize) {
        (0..n).for_each(|_| self.data_with(flow, Some(InrppHeader::default())));
    }

    /// An ACK of a flow from downstream; what it was turned into.
    pub fn ack(&mut self, flow: u32) -> InrppHeader {
        self.ack_with(flow, DOWN, InrppHeader::default(), true)
    }

    /// An ACK with this option from the neighbour behind `port`, signed by it or not.
    pub fn ack_with(&mut self, flow: u32, port: PortId, option: InrppHeader, sign: bool) -> InrppHeader {
        self.back(flow, port, Flags::ACK, option, sign)
    }

    /// The second packet of a handshake, signed.
    pub fn syn_ack_with(&mut self, flow: u32, port: PortId, option: InrppHeader) -> InrppHeader {
        self.back(flow, port, Flags::SYN.with(Flags::ACK), option, true)
    }

    fn back(&mut self, flow: u32, port: PortId, flags: Flags, option: InrppHeader, sign: bool) -> InrppHeader {
        let mut p = Packet::new(FlowId(flow), RECEIVER, SENDER, 68);
        p.flags = flags;
        let mut option = InrppHeader { direction: Direction::Ack, ..option };
        if sign && option.notifies() {
            let from = [NodeId(0), NodeId(2), NodeId(3)][usize::from(port.0)];
            self.lines[usize::from(port.0)].sign(&self.keys, self.now, from, ME, &p, &mut option);
        }
        p.set_header(&option);
        let before = self.log.sent.len();
        self.arrive(port, p);
        // It leaves when the way back is free.
        let t = self.now.0 / 1_000_000_000 + 1;
        self.until(t);
        let back = self.log.sent[before..].iter().find(|(port, _, p)| *port == UP && p.flow.0 == flow);
        back.expect("the ACK goes on").2.header().expect("it is INRPP's")
    }

    /// Data packets that have left downstream, by flow.
    pub fn passed(&self, flow: u32) -> usize {
        self.log.sent.iter().filter(|(port, _, p)| *port == DOWN && p.flow.0 == flow && p.payload > 0).count()
    }

    /// Whether the MAC of what has been sent upstream is the one that the neighbour expects.
    pub fn verifies(&self, packet: &Packet) -> bool {
        let option: InrppHeader = packet.header().expect("an option");
        LinkMac::default().verify(&self.keys, ME, NodeId(0), packet, &option)
    }
}
