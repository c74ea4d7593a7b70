//! Cost of a packet at a router with two ports: MIRCC's forwarder and ports, the same forwarder
//! over plain queues (`ndn`), and plain forwarding.
//!
//! `cargo bench -p midpath-schemes --bench forwarder`. An Interest comes in and goes out; after 256
//! more its Data come and go back. Prints nanoseconds per packet, with what the node does around
//! its parts. Instructions: the same for a number of Interests and Data and for none, under
//! `valgrind --tool=cachegrind --cache-sim=no target/release/deps/forwarder-… SCHEME PAIRS`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use midpath_core::node::{Driver, Flows, Forwarding, Node, Woken};
use midpath_core::packet::{Carried, FlowId, Kind, Name, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::queue::{Discipline, Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{
    Drop, Ecmp, Endpoint, LinkInfo, Map, Network, NodeSpec, PortSpec, Routes, ShortestPath, Transmitter,
};
use midpath_core::units::{Rate, Time};
use midpath_schemes::Catalogue;
use midpath_schemes::internals::icn::header::{Class, InterestHeader, Stamped, Trail, Way};
use serde_json::json;

const PAIRS: u64 = 1_000_000;
const IN_FLIGHT: usize = 256;
const RATE: Rate = Rate(10_000_000_000);
/// Data of 1500 B fill 0.75 of the link.
const GAP: Time = Time::from_ns(1600);
const ROUTER: NodeId = NodeId(0);
const CONSUMER: NodeId = NodeId(1);
const PRODUCER: NodeId = NodeId(2);

/// The router is the only one that is not a host.
struct Around;

impl Around {
    fn link(peer: NodeId) -> LinkInfo {
        LinkInfo { rate: RATE, delay: Time::from_us(50), mtu: 1500, peer }
    }
}

impl Map for Around {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        let peers: &[NodeId] = if node == ROUTER { &[CONSUMER, PRODUCER] } else { &[ROUTER] };
        peers.iter().map(|peer| Around::link(*peer)).collect()
    }
    fn is_host(&self, node: NodeId) -> bool {
        node != ROUTER
    }
}

impl Routes for Around {
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        if node == ROUTER && dst == PRODUCER { &[1] } else { &[0] }
    }
}

struct NoFlows;
impl Flows for NoFlows {
    fn open(&self, _: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
}

/// Lines that are free when a packet has been sent; remembers what went out.
#[derive(Default)]
struct Lines {
    free: [Time; 2],
    out: VecDeque<(PortId, Pkt)>,
    dropped: u64,
}

impl Driver for Lines {
    const TIMETABLES: bool = true;
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        let free = self.free[usize::from(port.0)];
        if free <= now { Transmitter::Idle { since: free } } else { Transmitter::Busy { until: Some(free) } }
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        self.free[usize::from(port.0)] = now + Time(u64::from(pool[&pkt].size) * 800);
        self.out.push_back((port, pkt));
    }
    fn book(&mut self, port: PortId, pkt: Pkt, _: Time, _: Time, _: &mut Pool) {
        self.out.push_back((port, pkt));
    }
    fn dropped(&mut self, _: Option<PortId>, _: PacketId, _: Carried<'_>, _: Drop) {
        self.dropped += 1;
    }
}

/// The router with a scheme's network, or without one.
fn router(scheme: &str) -> Node {
    let routes: Arc<dyn Routes> = Arc::new(Around);
    let links = Around.links(ROUTER);
    let spec = NodeSpec { node: ROUTER, links: &links, map: &Around, routes: &routes, ecmp: Ecmp::Flow };
    let scheme = Catalogue::standard().build(scheme, &json!({})).expect("its defaults are valid");
    let network: Option<Arc<dyn Network>> = scheme.network();
    let queue = QueueSpec::fifo(Limit::Packets(1000));
    let port = |(port, link): (usize, &LinkInfo)| -> Discipline {
        let (peer, link) = (link.peer, *link);
        let (port, rtt) = (PortId(port as u16), Time::ZERO);
        let (host, edge, pulled) = (false, true, false);
        let of_port = PortSpec { node: ROUTER, port, peer, link, host, edge, rtt, queue, pulled };
        match &network {
            Some(network) => network.port(&of_port, &spec).expect("drop-tail is allowed"),
            None => queue.build(link.rate),
        }
    };
    let ports = links.iter().enumerate().map(port).collect();
    let chain = network.as_ref().and_then(|network| network.forwarder(&spec)).into_iter().collect();
    let forwarding = Forwarding::new(chain, ShortestPath::new(routes.clone(), Ecmp::Flow));
    Node::new(ROUTER, links, ports, forwarding, Arc::new(NoFlows), Streams::of(1, 0))
}

/// An Interest, or where nothing goes by name a segment as large.
fn interest(scheme: &str, segment: u32) -> Packet {
    if scheme == "newreno" {
        return Packet::new(FlowId(7), CONSUMER, PRODUCER, 64);
    }
    let name = Name { prefix: PRODUCER, object: 3 };
    let mut packet = Packet::interest(FlowId(7), CONSUMER, name, segment, segment);
    if scheme == "mircc" {
        packet.set_header(&InterestHeader { class: Class::Primary, expected: 1500, rtt: 410, way: Way::ANY });
    }
    packet.measure();
    packet
}

/// What answers it.
fn answer(scheme: &str, asked: &Packet) -> Packet {
    if scheme == "newreno" {
        return Packet::new(FlowId(7), PRODUCER, CONSUMER, 1500);
    }
    let mut data = *asked;
    data.answer(Kind::Data, 1400);
    if scheme == "mircc" {
        data.set_header(&Stamped::start(10_000_000_000_000, Trail::None));
    }
    data
}

/// Nanoseconds that this thread has been on a processor, or wall time where the system does not
/// say.
fn clock(start: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let cpu = stat.and_then(|s| s.split(' ').next().and_then(|n| n.parse().ok()));
    cpu.unwrap_or(start.elapsed().as_nanos() as u64)
}

/// Nanoseconds for so many Interests and their Data.
fn run(scheme: &str, pairs: u64) -> u64 {
    let (mut node, mut pool, mut lines) = (router(scheme), Pool::new(), Lines::default());
    let mut asked: VecDeque<Packet> = VecDeque::new();
    let (wall, mut returned) = (Instant::now(), 0);
    let started = clock(wall);
    for i in 0..pairs {
        let now = GAP * (i + 1);
        while node.next_wake() <= now {
            let due = node.next_wake();
            if node.on_wake(due, &mut pool, &mut lines) == Woken::Nothing {
                break;
            }
        }
        let pkt = pool.insert(interest(scheme, i as u32));
        node.on_packet(now, PortId(0), pkt, &mut pool, &mut lines);
        if asked.len() > IN_FLIGHT
            && let Some(first) = asked.pop_front()
        {
            let pkt = pool.insert(answer(scheme, &first));
            node.on_packet(now, PortId(1), pkt, &mut pool, &mut lines);
        }
        while let Some((port, pkt)) = lines.out.pop_front() {
            let packet = pool.take(pkt);
            match port {
                PortId(1) => asked.push_back(packet),
                _ => returned += 1,
            }
        }
    }
    let took = clock(wall) - started;
    // What is measured is what was meant: all but those in flight came back, and nothing was
    // dropped.
    assert_eq!(lines.dropped, 0, "{scheme}");
    assert!(returned + 2 * IN_FLIGHT as u64 >= pairs, "{scheme}: {returned} of {pairs} Data came back");
    took
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [scheme, pairs] = args.as_slice() {
        run(scheme, pairs.parse().expect("a number of pairs"));
        return;
    }
    for scheme in ["newreno", "ndn", "mircc"] {
        let best = (0..7).map(|_| run(scheme, PAIRS)).min().unwrap_or(0);
        println!("{scheme:8} {:6.1} ns per packet", best as f64 / (2 * PAIRS) as f64);
    }
}
