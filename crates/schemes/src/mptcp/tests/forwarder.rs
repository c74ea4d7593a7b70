//! Which way packets go: a host h (5) with two links to router 0 and one to router 2, routers 0, 1,
//! 2 in a line, a host g (6) with one.

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId, Packet, Pool, PortId};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::{Ecmp, ForwardCtx, Forwarder, LinkInfo, Map, NodeSpec, Route, Routes, Scheme};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::mptcp::address::Pair;
use crate::mptcp::hello::Hello;
use crate::mptcp::{MptcpParams, build};

struct World;

const LINKS: [&[u32]; 7] = [&[1, 5, 5], &[0, 2, 6], &[1, 5], &[], &[], &[0, 0, 2], &[1]];

impl Map for World {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        let rate = Rate::from_mbps(10);
        let link = |peer: &u32| LinkInfo { rate, delay: Time::from_ms(1), mtu: 1500, peer: NodeId(*peer) };
        LINKS.get(node.0 as usize).map(|l| l.iter().map(link).collect()).unwrap_or_default()
    }
    fn is_host(&self, node: NodeId) -> bool {
        node.0 >= 5
    }
}

impl Routes for World {
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        match (node.0, dst.0) {
            (0, 1 | 2 | 6) => &[0],
            (0, 5) => &[1, 2],
            (1, 0) => &[0],
            (1, 2) => &[1],
            (1, 5) => &[0, 1],
            (1, 6) => &[2],
            (2, 0 | 1 | 6) => &[0],
            (2, 5) => &[1],
            (5, _) => &[0, 1],
            (6, _) => &[0],
            _ => &[],
        }
    }
    fn peer(&self, node: NodeId, port: u16) -> Option<NodeId> {
        LINKS.get(node.0 as usize)?.get(usize::from(port)).map(|n| NodeId(*n))
    }
}

fn forwarder(scheme: &Arc<dyn Scheme>, node: u32) -> Box<dyn Forwarder> {
    let routes: Arc<dyn Routes> = Arc::new(World);
    let links = World.links(NodeId(node));
    let spec = NodeSpec { node: NodeId(node), links: &links, map: &World, routes: &routes, ecmp: Ecmp::Flow };
    scheme.network().and_then(|n| n.forwarder(&spec)).expect("MPTCP forwards")
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Port(PortId),
    Passed,
}

fn route(f: &mut dyn Forwarder, node: u32, packet: Packet) -> Way {
    let (mut pool, mut out) = (Pool::new(), VecDeque::new());
    let pkt = pool.insert(packet);
    let mut rng = stream(1, Purpose::Ports, 0);
    let mut ctx = ForwardCtx::new((Time::ZERO, NodeId(node)), &mut pool, &mut rng, &mut out);
    match f.route(pkt, None, &mut ctx) {
        Route::Port(port, _) => Way::Port(port),
        Route::Pass(_) => Way::Passed,
        other => panic!("{other:?}"),
    }
}

/// A packet of ours.
fn to(dst: u32, flow: u32, path: u8) -> Packet {
    let mut p = Packet::new(FlowId(flow), NodeId(6), NodeId(dst), 100);
    p.set_interfaces(Pair::new(path >> 4, path & 0xf).interfaces());
    p.set_header(&Hello::Join { address: 1, token: 2, nonce: 3 });
    p
}

#[test]
fn packets_go_to_the_router_of_their_address() {
    let scheme = build("mptcp", MptcpParams::default()).expect("valid");
    let mut at: Vec<_> = [0, 1, 2].map(|n| forwarder(&scheme, n)).into();
    let mut way = |node: u32, path: u8| route(at[node as usize].as_mut(), node, to(5, 1, path));
    let port = |p| Way::Port(PortId(p));
    // Addresses 0 and 1 are at router 0, over different links; address 2 is at router 2.
    assert_eq!([way(1, 0), way(1, 1), way(1, 2)], [port(0), port(0), port(1)]);
    assert_eq!([way(0, 0), way(0, 1), way(0, 2)], [port(1), port(2), port(0)]);
    assert_eq!([way(2, 0), way(2, 1), way(2, 2)], [port(0), port(0), port(1)]);
    // The source's address matters to nobody on the way there.
    assert_eq!(way(1, 0x32), way(1, 2));
}

#[test]
fn others_are_passed_on() {
    let scheme = build("mptcp", MptcpParams::default()).expect("valid");
    let mut f = forwarder(&scheme, 1);
    for flow in 0..50 {
        let plain = Packet::new(FlowId(flow), NodeId(6), NodeId(5), 100);
        assert_eq!(route(f.as_mut(), 1, plain), Way::Passed);
    }
    assert_eq!(route(f.as_mut(), 1, to(1, 0, 0)), Way::Passed);
    assert_eq!(route(f.as_mut(), 1, to(6, 0, 0)), Way::Port(PortId(2)), "one address");
}

proptest! {
    #[test]
    fn any_path_and_destination_goes_somewhere_or_is_passed_on(node in prop::sample::select(vec![0u32, 1, 2, 5, 6]), dst in any::<u32>(), path in (0u8..15, 0u8..15).prop_map(|(s, d)| s << 4 | d), flow in any::<u32>()) {
        let scheme = build("mptcp", MptcpParams::default()).expect("valid");
        let mut f = forwarder(&scheme, node);
        for dst in [dst, dst % 7] {
            match route(f.as_mut(), node, to(dst, flow, path)) {
                Way::Port(p) => prop_assert!(usize::from(p.0) < LINKS[node as usize].len()),
                Way::Passed => {}
            }
        }
    }
}

#[test]
fn the_first_subflow_takes_the_shortest_path() {
    use crate::mptcp::address::Pair;
    use crate::mptcp::forwarder::{Addresses, ByAddress};
    let network = Addresses::default();
    let (g, h) = (NodeId(6), NodeId(5));
    assert_eq!(network.first_pair(FlowId(1), g, h), Pair::new(0, 0), "nothing is known yet");
    let routes: Arc<dyn Routes> = Arc::new(World);
    let links = World.links(g);
    let spec = NodeSpec { node: g, links: &links, map: &World, routes: &routes, ecmp: Ecmp::Flow };
    let _ = ByAddress::new(&network, &spec);
    // From g there are three ways of equal length, one to each address: different flows begin
    // differently.
    let mut ends: Vec<Pair> = (0..200).map(|flow| network.first_pair(FlowId(flow), g, h)).collect();
    ends.sort();
    ends.dedup();
    assert_eq!(ends, [Pair::new(0, 0), Pair::new(0, 1), Pair::new(0, 2)]);
    // Hosts that aren't there have no way.
    assert_eq!(network.first_pair(FlowId(1), g, NodeId(3)), Pair::new(0, 0));
    assert_eq!(network.first_pair(FlowId(1), NodeId(u32::MAX), h), Pair::new(0, 0));
}
