//! Peers who open and never answer: a node with limits keeps so many ends and no more, and honest
//! ones stay.

use std::sync::Arc;

use midpath_core::node::{Driver, Flows, Forwarding, Limits, Node};
use midpath_core::packet::{Flags, FlowId, Interfaces, NodeId, Packet, Pkt, Pool, PortId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{Accept, Ecmp, Endpoint, LinkInfo, ShortestPath, Transmitter, Transport};
use midpath_core::units::{Rate, Time};
use serde_json::json;

use crate::Catalogue;
use crate::mptcp::hello::Hello;
use crate::testing::FirstPort;

const ME: NodeId = NodeId(1);
const PEER: NodeId = NodeId(2);
const LIMITS: Limits = Limits { passive: 40, half_open: 16 };

struct Listening(Arc<dyn Transport>);
impl Flows for Listening {
    fn open(&self, _: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
    fn accept(&self, _: NodeId, first: &Packet) -> Accept {
        self.0.accept(first, None)
    }
}

/// Remembers what was sent last.
#[derive(Default)]
struct Last(Option<Packet>);
impl Driver for Last {
    fn transmitter(&mut self, _: PortId, now: Time) -> Transmitter {
        Transmitter::Idle { since: now }
    }
    fn start(&mut self, _: PortId, pkt: Pkt, _: Time, pool: &mut Pool) {
        self.0 = Some(pool.take(pkt));
    }
}

struct Server {
    node: Node,
    pool: Pool,
    last: Last,
    now: Time,
}

impl Server {
    fn new(scheme: &str) -> Server {
        let transport = Catalogue::standard().build(scheme, &json!({})).unwrap().transport().unwrap();
        let rate = Rate::from_mbps(1000);
        let link = LinkInfo { rate, delay: Time::from_ms(1), mtu: 1500, peer: PEER };
        let forwarding = Forwarding::Shortest(ShortestPath::new(Arc::new(FirstPort), Ecmp::Off));
        let queue = QueueSpec::fifo(Limit::Packets(20)).build(rate);
        let flows = Arc::new(Listening(transport));
        let node = Node::new(ME, vec![link], vec![queue], forwarding, flows, Streams::of(1, 0));
        let node = node.without_timetables().with_limits(LIMITS);
        Server { node, pool: Pool::new(), last: Last::default(), now: Time::ZERO }
    }

    /// A packet comes a microsecond after the last; the answer, if there is one.
    fn say(&mut self, packet: Packet) -> Option<Packet> {
        self.now += Time::from_us(1);
        self.last.0 = None;
        let pkt = self.pool.insert(packet);
        self.node.on_packet(self.now, PortId(0), pkt, &mut self.pool, &mut self.last);
        self.last.0
    }

    fn packet(flow: u32, flags: Flags) -> Packet {
        let mut p = Packet::new(FlowId(flow), PEER, ME, 60);
        (p.flags, p.seq, p.interfaces) = (flags, 1000, Interfaces(0x11));
        p
    }

    fn syn(&mut self, scheme: &str, flow: u32) -> Option<Packet> {
        let mut syn = Server::packet(flow, Flags::SYN);
        if scheme == "mptcp" {
            assert!(syn.set_header(&Hello::Capable));
        }
        syn.size = syn.wire_size();
        self.say(syn)
    }

    /// A peer who hears the answer and says so.
    fn connect(&mut self, scheme: &str, flow: u32) {
        let answer = self.syn(scheme, flow).expect("a SYN-ACK");
        let mut ack = Server::packet(flow, Flags::ACK);
        (ack.seq, ack.ack) = (1001, answer.seq.wrapping_add(1));
        if let Some(Hello::Listener(peer)) = answer.header::<Hello>() {
            assert!(ack.set_header(&Hello::Keys { own: 77, peer, data: None }));
        }
        ack.size = ack.wire_size();
        self.say(ack);
    }

    fn ends(&self) -> (usize, usize) {
        (self.node.endpoints().count(), self.node.endpoints().filter(|(_, _, e)| e.is_half_open()).count())
    }
}

#[test]
fn a_flood_of_syns_fills_no_memory_and_closes_no_connection() {
    for scheme in ["newreno", "mptcp"] {
        let mut s = Server::new(scheme);
        (0..10).for_each(|flow| s.connect(scheme, flow));
        assert_eq!(s.ends(), (10, 0), "{scheme}");
        for flow in 100..10_100 {
            let answer = s.syn(scheme, flow);
            assert!(answer.is_some_and(|a| a.flags.has(Flags::SYN)), "{scheme}: each is answered");
            let (all, half_open) = s.ends();
            assert!(half_open <= LIMITS.half_open && all == 10 + half_open, "{scheme}: {all}, {half_open}");
        }
        // In the midst of the flood an honest peer gets in, for he answers before sixteen others
        // have come.
        s.connect(scheme, 50);
        for flow in 20_000..20_100 {
            s.syn(scheme, flow);
        }
        let open: Vec<u32> = s.node.endpoints().filter(|(_, _, e)| !e.is_half_open()).map(|(f, _, _)| f.0).collect();
        assert_eq!(open.len(), 11, "{scheme}: {open:?}");
        assert!(open.contains(&50));
    }
}

#[test]
fn an_end_that_had_to_go_opens_again() {
    let mut s = Server::new("newreno");
    for flow in 0..100 {
        s.syn("newreno", flow);
    }
    assert!(s.node.endpoints().all(|(flow, _, _)| flow != FlowId(0)));
    s.connect("newreno", 0);
    assert!(s.node.endpoints().any(|(flow, _, e)| flow == FlowId(0) && !e.is_half_open()));
}

#[test]
fn a_full_node_opens_nothing_more() {
    let mut s = Server::new("newreno");
    (0..LIMITS.passive as u32).for_each(|flow| s.connect("newreno", flow));
    assert_eq!(s.ends(), (LIMITS.passive, 0));
    assert_eq!(s.syn("newreno", 1000), None);
    assert_eq!(s.ends(), (LIMITS.passive, 0));
}
