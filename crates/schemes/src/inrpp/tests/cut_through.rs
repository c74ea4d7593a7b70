//! A router whose ports and forwarder know which packets change nothing, beside one in which they look at each:
//! whatever comes, all that can be seen is the same.

use midpath_core::packet::{Flags, FlowId, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Limit;
use midpath_core::roles::{ForwardCtx, Forwarder, LinkInfo, Map, Route};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::harness::{ME, RECEIVER, Router, SENDER, small};
use crate::inrpp::header::{Control, Direction, Feedback, InrppHeader, Nonce, Nonces, Slow};
use crate::inrpp::port::idle::NEVER_IDLE;
use crate::inrpp::{Additions, Notify, Params};

/// The forwarder, asked for each packet.
struct AskedAlways(Box<dyn Forwarder>);

impl Forwarder for AskedAlways {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        self.0.route(pkt, from, ctx)
    }
    fn on_routes(&mut self, state: u32) {
        self.0.on_routes(state);
    }
}

/// The router and its neighbours 0 and 2 are linked with each other: each can be gone around.
struct Triangle;
impl Map for Triangle {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        let link =
            |peer| LinkInfo { rate: Rate::from_mbps(12), delay: Time::from_ms(1), mtu: 1500, peer: NodeId(peer) };
        match node.0 {
            0 => vec![link(1), link(2)],
            1 => vec![link(0), link(2), link(3)],
            2 => vec![link(1), link(0)],
            _ => Vec::new(),
        }
    }
    fn is_host(&self, node: NodeId) -> bool {
        node.0 >= 3
    }
}

#[derive(Debug, Clone)]
enum Event {
    /// A packet comes in through this port, of this flow and size, with a header and flags; signed if it
    /// has anything for the next hop.
    Packet {
        port: u16,
        flow: u32,
        full: bool,
        syn: bool,
        signed: bool,
        header: Option<InrppHeader>,
    },
    /// A probe of the neighbour behind this port, or an answer to the router's own for another port.
    Control {
        port: u16,
        answers: Option<u16>,
    },
    Later {
        us: u64,
    },
    Link {
        port: u16,
        up: bool,
    },
    Rate {
        port: u16,
        mbps: u64,
    },
    Restart,
}

fn headers() -> impl Strategy<Value = InrppHeader> {
    let nonce = || prop_oneof![4 => Just(None), 1 => (1u32..4).prop_map(|n| Some(Nonce(n)))];
    let slow = prop_oneof![3 => Just(None), 1 => (1u32..4, 0u16..3).prop_map(|(n, release)| Some(Slow { nonce: Nonce(n), release }))];
    let via = prop_oneof![12 => Just(None), 1 => (0u32..4).prop_map(|n| Some(NodeId(n)))];
    let flags = (any::<bool>(), prop::bool::weighted(0.05), prop::bool::weighted(0.05));
    (any::<bool>(), flags, (nonce(), nonce(), nonce()), slow, via).prop_map(
        |(bare, (ack, idle, carried), (echo, cancel, far_slow), slow, via)| {
            let direction = if ack { Direction::Ack } else { Direction::Data };
            if bare {
                return InrppHeader { direction, ..InrppHeader::default() };
            }
            let mut nonces = Nonces::default();
            echo.into_iter().for_each(|n| nonces.add(n));
            InrppHeader { direction, nonces, slow, cancel, far_slow, via, idle, carried, ..InrppHeader::default() }
        },
    )
}

fn events() -> impl Strategy<Value = Event> {
    let rare = prop::bool::weighted(0.1);
    prop_oneof![
        60 => (0u16..3, 0u32..4, any::<bool>(), rare, any::<bool>(), prop::option::weighted(0.95, headers()))
            .prop_map(|(port, flow, full, syn, signed, header)| Event::Packet { port, flow, full, syn, signed, header }),
        30 => prop_oneof![3 => 1u64..3_000, 1 => 3_000u64..200_000].prop_map(|us| Event::Later { us }),
        4 => (0u16..2, prop::option::of(0u16..2)).prop_map(|(port, answers)| Event::Control { port, answers }),
        2 => (0u16..3, any::<bool>()).prop_map(|(port, up)| Event::Link { port, up }),
        2 => (0u16..3, 4u64..40).prop_map(|(port, mbps)| Event::Rate { port, mbps }),
        1 => Just(Event::Restart),
    ]
}

impl Router {
    fn happens(&mut self, event: &Event) {
        match *event {
            Event::Packet { port, flow, full, syn, signed, header } => {
                let back = header.map_or(port == 1, |h| h.direction == Direction::Ack);
                let (src, dst) = if back { (RECEIVER, SENDER) } else { (SENDER, RECEIVER) };
                let mut packet = Packet::new(FlowId(flow), src, dst, if full { 1500 } else { 68 });
                packet.payload = if full { 1432 } else { 0 };
                packet.flags = if syn { Flags::SYN.with(Flags::ACK) } else { Flags::ACK };
                if let Some(mut header) = header {
                    if signed && header.notifies() {
                        let line = &mut self.lines[usize::from(port)];
                        line.sign(&self.keys, self.now, peer(port), ME, &packet, &mut header);
                    }
                    packet.set_header(&header);
                    packet.size = if full { 1500 } else { packet.size };
                }
                self.arrive(PortId(port), packet);
            }
            Event::Control { port, answers } => {
                let feedback = Feedback { push: true, up: 1e5, down: 0.0 };
                let control = match answers {
                    None => Control::Probe { origin: peer(port), port: 1, target: peer(1 - port), more: 0 },
                    Some(for_port) => {
                        Control::Feedback { origin: ME, port: for_port, target: peer(for_port), feedback }
                    }
                };
                let line = &mut self.lines[usize::from(port)];
                let signed = line.sign_control(&self.keys, self.now, peer(port), ME, control);
                let mut packet = Packet::control(peer(port), ME);
                packet.set_header(&signed);
                self.arrive(PortId(port), packet);
            }
            Event::Later { us } => self.run_to(self.now + Time::from_us(us)),
            Event::Link { port, up } => {
                self.log.transmitters[usize::from(port)].set_up(up);
                self.node.on_link(PortId(port), self.now, &mut self.pool, &mut self.log);
            }
            Event::Rate { port, mbps } => {
                let rate = Rate::from_mbps(mbps);
                self.log.transmitters[usize::from(port)].set_rate(rate);
                self.node.set_rate(PortId(port), rate, self.now, &mut self.pool, &mut self.log);
            }
            Event::Restart => self.node.restart(self.now, &mut self.pool, &mut self.log),
        }
    }

    fn gauges(&self) -> Vec<(&'static str, u64)> {
        let mut all = Vec::new();
        (0..3).for_each(|port| self.node.gauges(PortId(port), &mut all));
        all.into_iter().map(|(name, value)| (name, value.to_bits())).collect()
    }
}

fn peer(port: u16) -> NodeId {
    [NodeId(0), NodeId(2), NodeId(3)][usize::from(port)]
}

/// Parameters under which ports differ in what they look at.
fn params() -> impl Strategy<Value = Params> {
    let kinds = (0..3, any::<bool>(), any::<bool>(), any::<bool>(), 0u8..2);
    kinds.prop_map(|(own, auth, on_data, steer, detours)| {
        let base = match own {
            0 => small(),
            // Here S_high leaves too little room: flows that start are promised some.
            1 => Params { high: None, cache: Some(Limit::Bytes(60_000)), ..small() },
            _ => Params { buffer: Some(Limit::Bytes(3_000)), ..Params::default() },
        };
        let notify = if on_data { Notify::Data } else { Notify::Acks };
        let additions = Additions { steer, ..Additions::default() };
        Params { auth, notify, additions, detours, ..base }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn cut_through_changes_nothing(host: bool, params in params(), events in prop::collection::vec(events(), 1..120)) {
        NEVER_IDLE.set(false);
        let mut short = Router::among(&Triangle, host, params.clone(), |forwarder| forwarder);
        let mut plain = Router::among(&Triangle, host, params, |forwarder| Box::new(AskedAlways(forwarder)));
        for event in &events {
            short.happens(event);
            NEVER_IDLE.set(true);
            plain.happens(event);
            NEVER_IDLE.set(false);
            prop_assert_eq!(short.gauges(), plain.gauges(), "after {:?}", event);
            prop_assert_eq!(short.node.next_wake(), plain.node.next_wake(), "after {:?}", event);
        }
        for r in [&mut short, &mut plain] {
            r.run_to(r.now + Time::from_secs(2));
            NEVER_IDLE.set(true);
        }
        NEVER_IDLE.set(false);
        prop_assert_eq!(&short.log.sent, &plain.log.sent);
        prop_assert_eq!(&short.log.dropped, &plain.log.dropped);
        let counted = |r: &Router| (0..3).map(|port| format!("{:?}", r.node.counters(PortId(port)))).collect::<Vec<_>>();
        prop_assert_eq!(counted(&short), counted(&plain));
    }
}
