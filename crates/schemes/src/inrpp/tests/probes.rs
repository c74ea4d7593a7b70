//! Detours of one port (§III-A): a router 3 beside the link from here to router 2, linked to both.

use midpath_core::packet::{Kind, NodeId, Packet};
use midpath_core::roles::{LinkInfo, Map};
use midpath_core::units::{Rate, Time};

use super::harness::{DOWN, HOST, ME, Router, small};
use crate::inrpp::header::{Control, Feedback, Signed, via};

/// Where the detour leads through.
const BESIDE: NodeId = NodeId(3);
const NEXT: NodeId = NodeId(2);

struct Triangle;
impl Map for Triangle {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        let link = |peer| LinkInfo { rate: Rate::from_mbps(12), delay: Time::from_ms(1), mtu: 1500, peer };
        match node {
            ME => vec![link(NodeId(0)), link(NEXT), link(BESIDE)],
            BESIDE => vec![link(ME), link(NEXT)],
            _ => Vec::new(),
        }
    }
    fn is_host(&self, node: NodeId) -> bool {
        node.0 >= 8
    }
}

fn router() -> Router {
    Router::among(&Triangle, false, small(), |forwarder| forwarder)
}

/// Hands this to the port to the router beside, signed by it.
fn says(r: &mut Router, control: Control) {
    let mut p = Packet::control(BESIDE, ME);
    p.set_header(&r.lines[2].sign_control(&r.keys, r.now, BESIDE, ME, control));
    r.arrive(HOST, p);
}

fn controls(r: &Router) -> Vec<(Time, Control)> {
    let sent = r.log.sent.iter().filter(|(port, _, p)| *port == HOST && p.kind == Kind::Control);
    sent.map(|(_, at, p)| (*at, p.header::<Signed>().expect("signed").control)).collect()
}

/// Keeps packets in the cache for 27 ms.
fn store(r: &mut Router) {
    let from = r.now.as_ns() / 1_000_000;
    r.data(1, 3); // so that it is never empty
    for ms in [9, 18, 27] {
        r.data(1, 9);
        r.until(from + ms);
    }
}

fn answer(push: bool) -> Control {
    let feedback = Feedback { push, up: 150_000.0, down: 0.0 };
    Control::Feedback { origin: ME, port: DOWN.0, target: NEXT, feedback }
}

#[test]
fn a_port_that_stores_probes_its_detour_every_interval() {
    let mut r = router();
    r.until(100);
    assert!(controls(&r).is_empty(), "nothing waits");
    store(&mut r);
    let probes = controls(&r);
    assert!(probes.iter().all(|(_, c)| *c == Control::Probe { origin: ME, port: DOWN.0, target: NEXT, more: 0 }));
    let ms: Vec<u64> = probes.iter().map(|(at, _)| at.as_ns() / 1_000_000).collect();
    assert_eq!(ms, [100, 110, 120], "every T_p");
}

#[test]
fn a_probe_comes_back_with_what_the_link_to_its_target_can_spare() {
    let mut r = router();
    r.data(1, 1); // what a port has never sent through says nothing of itself
    r.until(100);
    says(&mut r, Control::Probe { origin: BESIDE, port: 7, target: NEXT, more: 0 });
    r.until(101);
    let [(_, Control::Feedback { origin: BESIDE, port: 7, target: NEXT, feedback })] = controls(&r)[..] else {
        panic!("{:?}", controls(&r));
    };
    // (1), (2): α of 1.5 MB/s, for one router.
    assert!(feedback.push && (feedback.up - 600_000.0).abs() < 6_000.0, "{feedback:?}");
}

#[test]
fn a_packet_on_a_detour_is_tagged_with_its_next_hop_and_takes_it_while_both_push() {
    let tagged = |r: &Router| r.log.sent.iter().filter(|s| s.0 == HOST && via(&s.2) == Some(NEXT)).count();
    let data = |r: &Router| r.log.sent.iter().filter(|s| s.0 == HOST && s.2.payload > 0).count();
    for (said, some) in [(None, false), (Some(false), false), (Some(true), true)] {
        let mut r = router();
        r.data(1, 9);
        if let Some(push) = said {
            says(&mut r, answer(push));
        }
        store(&mut r);
        assert_eq!((tagged(&r) > 0, data(&r)), (some, tagged(&r)), "{said:?}");
    }
}
