//! Faces, and packets that ports give back or use up.

use std::sync::Arc;

use crate::common::{Bench, MS, Nobody, PEERS, RATE};
use midpath_core::node::{Forwarding, Node};
use midpath_core::packet::{FlowId, Kind, Name, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Discipline;
use midpath_core::rng::Streams;
use midpath_core::roles::{Backlog, Drop, Face, ForwardCtx, Forwarder, LinkInfo, Port, PortCtx, Route};
use midpath_core::units::Rate;

const NAME: Name = Name { prefix: NodeId(PEERS + 1), object: 7 };

/// Interests leave through port 1; Data go to two flows here and to the neighbour at port 0, each
/// addressed on its own.
struct Fan;
impl Forwarder for Fan {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        match (ctx.pool[&pkt].kind, from) {
            (Kind::Interest, _) => Route::Port(PortId(1), pkt),
            (Kind::Nack, Some(PortId(1))) => Route::Port(PortId(0), pkt),
            (Kind::Data, _) => {
                let here = ctx.node;
                for flow in [FlowId(3), FlowId(4)] {
                    ctx.copy_to(Face::App(flow), &pkt).readdress(flow, here);
                }
                ctx.copy_to(Face::Port(PortId(0)), &pkt).readdress(FlowId(5), NodeId(PEERS));
                Route::Consumed(pkt)
            }
            _ => Route::Unroutable(pkt),
        }
    }
}

/// Has room for one Interest; gives the second back as a Nack and uses the third up.
#[derive(Default)]
struct Narrow {
    held: Option<Pkt>,
    given: u32,
    reverse: Rate,
}
impl Port for Narrow {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.given += 1;
        self.reverse = ctx.reverse();
        match self.given {
            1 => self.held = Some(pkt),
            2 => {
                ctx.pool[&pkt].answer(Kind::Nack, 0);
                ctx.hand_back(pkt);
            }
            _ => ctx.consume(pkt),
        }
    }
    fn poll_transmit(&mut self, _ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.held.take()
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.is_some().into(), bytes: 0 }
    }
    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {}
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("reverse", self.reverse.as_f64()));
    }
}

/// Rates of the other directions are said, or are those of the links.
fn fan_with(reverse: Option<Vec<Rate>>) -> Bench {
    let links = (0..2).map(|i| LinkInfo { rate: RATE, delay: MS, mtu: 1500, peer: NodeId(PEERS + i) }).collect();
    let port = || Discipline::of(Narrow::default());
    let forwarding = Forwarding::only(vec![Box::new(Fan)]);
    let node = Node::new(
        crate::common::ME,
        links,
        vec![crate::common::ample(), port()],
        forwarding,
        Arc::new(Nobody),
        Streams::of(7, 0),
    );
    let mut b = Bench::new(RATE, vec![crate::common::ample(), crate::common::ample()], Box::new(Fan), Arc::new(Nobody));
    b.node = match reverse {
        Some(rates) => node.with_reverse_rates(rates),
        None => node,
    };
    b
}

fn fan() -> Bench {
    fan_with(Some(vec![RATE, Rate::from_mbps(3)]))
}

/// The rate of the other direction, as port 1 saw it last.
fn reverse_seen(b: &Bench) -> f64 {
    let mut gauges = Vec::new();
    b.node.gauges(PortId(1), &mut gauges);
    gauges[0].1
}

fn interest(segment: u32) -> Packet {
    let mut p = Packet::interest(FlowId(5), NodeId(PEERS), NAME, segment, 1);
    p.measure();
    p
}

#[test]
fn what_a_port_hands_back_goes_to_the_forwarder_and_what_it_uses_up_is_no_drop() {
    let mut b = fan();
    (0..3).for_each(|segment| b.arrive(MS, PortId(0), interest(segment)));
    b.run_out();
    let sent: Vec<_> = b.log.sent.iter().map(|s| (s.port, s.packet.kind, s.packet.segment())).collect();
    assert_eq!(sent, [(PortId(1), Kind::Interest, 0), (PortId(0), Kind::Nack, 1)]);
    assert_eq!((b.log.lost.len(), b.pool.live()), (0, 0));
}

#[test]
fn a_port_knows_the_rate_of_the_other_direction() {
    let mut b = fan();
    b.arrive(MS, PortId(0), interest(0));
    assert!((reverse_seen(&b) - 3e6).abs() < 1.0);
    b.node.set_reverse_rate(PortId(1), Rate::from_mbps(2));
    b.arrive(MS, PortId(0), interest(1));
    assert!((reverse_seen(&b) - 2e6).abs() < 1.0);
}

/// A link that is as fast both ways need not say so; when one way changes the other stays.
#[test]
fn a_rate_that_changes_leaves_the_other_directions_as_it_was() {
    for said in [None, Some(vec![RATE, RATE])] {
        let mut b = fan_with(said);
        b.arrive(MS, PortId(0), interest(0));
        assert!((reverse_seen(&b) - RATE.as_f64()).abs() < 1.0);
        b.set_rate(PortId(1), Rate::from_mbps(2), MS);
        b.arrive(MS, PortId(0), interest(1));
        assert!((reverse_seen(&b) - RATE.as_f64()).abs() < 1.0);
        b.node.set_reverse_rate(PortId(1), Rate::from_mbps(1));
        b.arrive(MS, PortId(0), interest(2));
        assert!((reverse_seen(&b) - 1e6).abs() < 1.0);
    }
}

#[test]
fn copies_differ_by_face() {
    let mut b = fan();
    let mut data = interest(9);
    data.answer(Kind::Data, 100);
    b.arrive(MS, PortId(1), data);
    b.run_out();
    let sent: Vec<_> = b.log.sent.iter().map(|s| (s.port, s.packet.flow, s.packet.dst)).collect();
    assert_eq!(sent, [(PortId(0), FlowId(5), NodeId(PEERS))]);
    // No end of flows 3 and 4 is here: they are offered, and refused.
    let lost: Vec<_> = b.log.lost.iter().map(|l| (l.why, l.packet.flow, l.packet.segment())).collect();
    assert_eq!(lost, [(Drop::Undeliverable, FlowId(3), 9), (Drop::Undeliverable, FlowId(4), 9)]);
    assert_eq!(b.pool.live(), 0);
}
