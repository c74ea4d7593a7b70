use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId, Packet, Pkt, Pool, PortId};
use midpath_core::rng::Stream;
use midpath_core::roles::{Ecmp, ForwardCtx, Forwarder, LinkInfo, Map, NodeSpec, Route, Routes};
use midpath_core::units::{Rate, Time};

use super::*;
use crate::fcp::header::FcpHeader;
use crate::fcp::params::FcpParams;
use crate::fcp::policy::CustomPolicies;
use crate::fcp::resolved::Resolved;

/// Node 0 sends; 1 is a router in front of 2 and 3, which lead to 4 and 5. 5 can also be reached
/// through 2, but 3 comes first.
struct Net;

const ENDS: [&[u32]; 6] = [&[1], &[0, 2, 3], &[1, 4, 5], &[1, 5], &[2], &[3, 2]];

impl Map for Net {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        let link =
            |peer: &u32| LinkInfo { rate: Rate::from_mbps(1), delay: Time::ZERO, mtu: 1500, peer: NodeId(*peer) };
        ENDS.get(node.0 as usize).map_or(Vec::new(), |ends| ends.iter().map(link).collect())
    }
    fn is_host(&self, node: NodeId) -> bool {
        [0, 4, 5].contains(&node.0)
    }
}

impl Routes for Net {
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        match (node.0, dst.0) {
            (0, _) => &[0],
            (1, 4) => &[1],
            (1, 5) => &[2, 1],
            (2, 4) => &[1],
            (2, 5) => &[2],
            (3, 5) => &[1],
            _ => &[],
        }
    }
}

struct Names;

impl midpath_core::roles::Names for Names {
    fn node(&self, name: &str) -> Option<NodeId> {
        name.parse().ok().map(NodeId)
    }
    fn group(&self, _name: &str) -> Option<u32> {
        Some(0)
    }
}

fn params() -> Arc<Resolved> {
    let value = serde_json::json!({"groups": {"tree": {"multicast": ["4", "5"]}}});
    let params: FcpParams = crate::params::read(&value).expect("valid");
    Arc::new(params.resolve(CustomPolicies::new()).and_then(|p| p.bind(&Names)).expect("valid"))
}

/// Where a packet goes.
#[derive(Debug, Clone, PartialEq)]
enum Way {
    Port(PortId),
    Copies(Vec<PortId>),
    Consumed,
    Nowhere,
    Passed,
}

/// Node 1's forwarder and what it needs to be called.
struct Bench {
    forwarder: TreeForwarder,
    pool: Pool,
    rng: Stream,
    now: Time,
}

impl Bench {
    fn new() -> Bench {
        let (routes, links): (Arc<dyn Routes>, _) = (Arc::new(Net), Net.links(NodeId(1)));
        let spec = NodeSpec { node: NodeId(1), links: &links, map: &Net, routes: &routes, ecmp: Ecmp::Flow };
        let forwarder = TreeForwarder::new(params(), &spec, Arc::new(peers(NodeId(1), &Net)));
        Bench {
            forwarder,
            pool: Pool::new(),
            rng: midpath_core::rng::stream(1, midpath_core::rng::Purpose::Ports, 0),
            now: Time::from_ms(1),
        }
    }

    fn route(&mut self, src: u32, dst: u32, from: u16, header: FcpHeader) -> (Way, FcpHeader) {
        let mut packet = Packet::new(FlowId(7), NodeId(src), NodeId(dst), 1500);
        packet.set_header(&header);
        self.call(packet, from, self.now)
    }

    fn call(&mut self, packet: Packet, from: u16, now: Time) -> (Way, FcpHeader) {
        let pkt = self.pool.insert(packet);
        let mut out = VecDeque::new();
        let mut ctx = ForwardCtx::new((now, NodeId(1)), &mut self.pool, &mut self.rng, &mut out);
        let (way, pkt) = match self.forwarder.route(pkt, Some(PortId(from)), &mut ctx) {
            Route::Port(port, pkt) => (Way::Port(port), pkt),
            Route::Consumed(pkt) if !out.is_empty() => (Way::Copies(self.copied_to(out)), pkt),
            Route::Consumed(pkt) => (Way::Consumed, pkt),
            Route::Unroutable(pkt) => (Way::Nowhere, pkt),
            Route::Pass(pkt) => (Way::Passed, pkt),
            other => panic!("{other:?}"),
        };
        let packet = self.pool.take(pkt);
        (way, packet.header::<FcpHeader>().expect("there"))
    }

    /// The ports that copies left through; they are freed.
    fn copied_to(&mut self, out: VecDeque<(midpath_core::roles::Way, Pkt)>) -> Vec<PortId> {
        let port = |(way, copy)| {
            self.pool.free(copy);
            match way {
                midpath_core::roles::Way::Port(port) => port,
                other => panic!("{other:?}"),
            }
        };
        out.into_iter().map(port).collect()
    }

    fn data(&mut self, nonce: u32, price: f32) -> (Way, f32) {
        let (way, header) =
            self.route(0, 4, 0, FcpHeader { exchange: 1.0, tree: 1, nonce, price, ..FcpHeader::default() });
        (way, header.price)
    }

    fn ack(&mut self, from: u16, nonce: u32, price: f32) -> Option<(u32, f32)> {
        let header = FcpHeader { exchange: 1.0, tree: 1, nonce, price, echo: true, ..FcpHeader::default() };
        let (way, header) = self.route(4, 0, from, header);
        (way == Way::Port(PortId(0))).then_some((header.nonce, header.price))
    }
}

#[test]
fn every_node_has_its_place() {
    let all = peers(NodeId(3), &Net);
    assert_eq!(all.len(), 6);
    let at = |n| place(NodeId(n), NodeId(0), &[NodeId(4), NodeId(5)], &all, &Net);
    assert_eq!(at(0), Place { parent: None, children: vec![PortId(0)], receives: false });
    assert_eq!(at(1), Place { parent: Some(NodeId(0)), children: vec![PortId(1), PortId(2)], receives: false });
    // 5 is behind 3, the first of the equal paths: 2 has one child.
    assert_eq!(at(2), Place { parent: Some(NodeId(1)), children: vec![PortId(1)], receives: false });
    assert_eq!(at(5), Place { parent: Some(NodeId(3)), children: vec![], receives: true });
}

#[test]
fn prices_are_reset_down_and_summed_up() {
    let mut b = Bench::new();
    assert_eq!(b.data(1, 0.5), (Way::Copies(vec![PortId(1), PortId(2)]), 0.0));
    // Waits for both children; then upstream and both subtrees.
    assert_eq!(b.ack(1, 1, 2.0), None);
    assert_eq!(b.ack(2, 1, 4.0), Some((1, 6.5)));
    // The faster child alone is no news.
    assert_eq!(b.ack(1, 2, 3.0), None);
    assert_eq!(b.ack(1, 3, 3.0), None);
    assert_eq!(b.ack(2, 2, 4.0), Some((2, 7.5)));
    // Old, repeated, and from where no child is.
    assert_eq!(b.ack(2, 2, 9.0), None);
    assert_eq!(b.ack(2, 1, 9.0), None);
    assert_eq!(b.ack(0, 9, 9.0), None);
}

#[test]
fn packets_from_elsewhere_than_the_parent_go_nowhere() {
    let mut b = Bench::new();
    let header = FcpHeader { exchange: 1.0, tree: 1, ..FcpHeader::default() };
    assert_eq!(b.route(0, 4, 1, header).0, Way::Nowhere);
    assert_eq!(b.route(0, 4, 0, FcpHeader { tree: 99, ..header }).0, Way::Nowhere);
    assert_eq!(b.route(0, 4, 0, FcpHeader { tree: u32::MAX, ..header }).0, Way::Nowhere);
    // Others are passed on.
    assert_eq!(b.route(0, 4, 0, FcpHeader { tree: 0, ..header }).0, Way::Passed);
}

#[test]
fn silent_children_age_out_and_come_back() {
    let mut b = Bench::new();
    let _ = (b.data(1, 0.0), b.ack(1, 1, 2.0), b.ack(2, 1, 4.0));
    b.now = Time::from_ms(2900);
    assert_eq!(b.ack(1, 2, 2.0), None);
    b.now = Time::from_ms(3100);
    assert_eq!(b.ack(1, 3, 2.0), Some((3, 2.0)));
    assert_eq!(b.ack(2, 3, 4.0), None);
    assert_eq!(b.ack(1, 4, 2.0), None);
    assert_eq!(b.ack(2, 4, 4.0), Some((4, 6.0)));
}

#[test]
fn after_a_restart_the_next_packet_builds_the_tree() {
    let mut b = Bench::new();
    let _ = (b.data(1, 0.5), b.ack(1, 1, 2.0));
    b.forwarder.reset(&mut Vec::new());
    assert_eq!(b.ack(2, 1, 4.0), None);
    let _ = (b.data(2, 0.5), b.ack(1, 2, 2.0));
    assert_eq!(b.ack(2, 2, 4.0), Some((2, 6.5)));
}

#[test]
fn trees_are_bounded() {
    let mut b = Bench::new();
    for flow in 0..3000 {
        let mut packet = Packet::new(FlowId(flow), NodeId(0), NodeId(4), 1500);
        packet.set_header(&FcpHeader { exchange: 1.0, tree: 1, ..FcpHeader::default() });
        b.call(packet, 0, b.now + Time::from_us(flow.into()));
    }
    assert_eq!(b.forwarder.len(), 1024);
}
