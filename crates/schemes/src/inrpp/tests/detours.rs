use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::{Ecmp, LinkInfo, Map, NodeSpec, Routes};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::inrpp::detour::{DetourInterface, detour_interfaces, second, seconds};

/// A network by its links; nodes from `hosts` on are hosts.
pub struct Net {
    links: BTreeMap<NodeId, Vec<LinkInfo>>,
    hosts: u32,
}

impl Net {
    fn new(pairs: &[(u32, u32)], hosts: u32) -> Net {
        let mut links: BTreeMap<NodeId, Vec<LinkInfo>> = BTreeMap::new();
        for (a, b) in pairs {
            for (x, y) in [(a, b), (b, a)] {
                let link = LinkInfo { rate: Rate::from_mbps(1), delay: Time::ZERO, mtu: 1500, peer: NodeId(*y) };
                links.entry(NodeId(*x)).or_default().push(link);
            }
        }
        Net { links, hosts }
    }
}

impl Map for Net {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        self.links.get(&node).cloned().unwrap_or_default()
    }
    fn is_host(&self, node: NodeId) -> bool {
        node.0 >= self.hosts
    }
}

struct Nowhere;
impl Routes for Nowhere {
    fn next_ports(&self, _: NodeId, _: NodeId) -> &[u16] {
        &[]
    }
}

fn at<R>(net: &Net, node: u32, ask: impl FnOnce(&NodeSpec<'_>) -> R) -> R {
    let links = net.links(NodeId(node));
    let routes: Arc<dyn Routes> = Arc::new(Nowhere);
    ask(&NodeSpec { node: NodeId(node), links: &links, map: net, routes: &routes, ecmp: Ecmp::Off })
}

fn interfaces(net: &Net, node: u32, port: u16, two: bool) -> Vec<DetourInterface> {
    at(net, node, |spec| detour_interfaces(spec, PortId(port), two))
}

#[test]
fn table_iii() {
    // Figure 2: R1 (0) to R2 (1), R3 (2) and R4 (3); R3 to R2; a host (4) at both R1 and R2.
    let net = Net::new(&[(0, 1), (0, 2), (0, 3), (2, 1), (0, 4), (4, 1)], 4);
    let one = |port| DetourInterface { port: PortId(port), two: false };
    assert_eq!(interfaces(&net, 0, 0, false), [one(1)], "1 detours through 2, not through the host");
    assert_eq!(interfaces(&net, 0, 1, false), [one(0)]);
    assert_eq!(interfaces(&net, 0, 2, false), []);
    assert_eq!(interfaces(&net, 0, 3, false), [], "no detour around a host");
    assert_eq!(interfaces(&net, 4, 0, false), [], "and none at one");
}

#[test]
fn two_hops_only_where_one_does_not_do() {
    // A square 0–1–2–3 and a chord 4 beside 0–1.
    let square = Net::new(&[(0, 1), (1, 2), (2, 3), (3, 0)], 9);
    assert_eq!(interfaces(&square, 0, 0, false), []);
    assert_eq!(interfaces(&square, 0, 0, true), [DetourInterface { port: PortId(1), two: true }]);
    let chord = Net::new(&[(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 1)], 9);
    assert_eq!(interfaces(&chord, 0, 0, true), [DetourInterface { port: PortId(2), two: false }]);
    // At 3, what comes from 0 for 1 goes on to 2; never back to 0 although 0 is linked to 1.
    assert_eq!(second(&square, NodeId(3), NodeId(0), NodeId(1)), [PortId(0)]);
    assert_eq!(at(&square, 3, |s| seconds(s, NodeId(0))), BTreeMap::from([(NodeId(1), PortId(0))]));
}

proptest! {
    /// A detour's routers are real, distinct, and none is a host; the last is linked to the
    /// original next hop.
    #[test]
    fn detours_lead_around_and_never_back(pairs in prop::collection::vec((0u32..8, 0u32..8), 1..24)) {
        let pairs: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
        let net = Net::new(&pairs, 7);
        for node in 0..7 {
            let links = net.links(NodeId(node));
            for (port, link) in links.iter().enumerate() {
                for through in interfaces(&net, node, port as u16, true) {
                    let first = links[usize::from(through.port.0)].peer;
                    prop_assert!(first != link.peer && first != NodeId(node) && !net.is_host(first));
                    let linked = |a: NodeId| net.links(a).iter().any(|l| l.peer == link.peer);
                    if !through.two {
                        prop_assert!(linked(first));
                        continue;
                    }
                    let on = at(&net, first.0, |s| seconds(s, NodeId(node)))[&link.peer];
                    let middle = net.links(first)[usize::from(on.0)].peer;
                    prop_assert!(middle != NodeId(node) && middle != link.peer && !net.is_host(middle) && linked(middle));
                }
            }
        }
    }
}
