use std::collections::VecDeque;

use midpath_core::packet::{FlowId, Pool};
use midpath_core::rng::{Purpose, below, stream};
use midpath_core::roles::{Ecmp, Map};
use midpath_core::units::{Rate, Time};

use super::*;
use crate::icn::header::Class;
use crate::mircc::MirccParams;

const ROUTER: NodeId = NodeId(0);

/// A router with four neighbours; whatever is asked for is two ports away.
struct Net;

impl Map for Net {
    fn links(&self, _: NodeId) -> Vec<LinkInfo> {
        let link =
            |peer| LinkInfo { rate: Rate::from_mbps(10), delay: Time::from_ms(1), mtu: 1500, peer: NodeId(peer) };
        (1..5).map(link).collect()
    }
    fn is_host(&self, _: NodeId) -> bool {
        false
    }
}

impl Routes for Net {
    fn next_ports(&self, _: NodeId, dst: NodeId) -> &[u16] {
        if dst.0 == 9 { &[] } else { &[2, 3] }
    }
}

fn forwarder(params: &MirccParams) -> IcnForwarder {
    let (routes, links): (Arc<dyn Routes>, _) = (Arc::new(Net), Net.links(ROUTER));
    let spec = NodeSpec { node: ROUTER, links: &links, map: &Net, routes: &routes, ecmp: Ecmp::Flow };
    IcnForwarder::new(&params.forwarders(), &spec, &Arc::default(), &SharedGraph::new())
}

/// A packet with the header of `kind`, around another one if it has an `inner` one.
fn packet(kind: Kind, segment: u32, prefix: u32, path: Option<PathId>, inner: bool) -> Packet {
    let name = Name { prefix: NodeId(prefix), object: 1 };
    let mut packet = Packet::interest(FlowId(1), NodeId(1), name, segment, segment);
    if kind != Kind::Interest {
        packet.answer(kind, 1000);
    }
    if inner {
        packet.push_raw(70, &[1, 2, 3]);
    }
    match kind {
        Kind::Interest => {
            let way = path.map_or(Way::ANY, Way::Path);
            packet.set_header(&InterestHeader { class: Class::Primary, expected: 1400, rtt: 0, way })
        }
        _ => {
            let path = path.unwrap_or(PathId::START);
            packet.set_header(&Stamped { primary: 5, secondary: 6, path, trail: Trail::None })
        }
    };
    packet
}

/// Headers that stand alone are looked at in place, others are not: both fare alike.
#[test]
fn what_is_steered_in_place_goes_where_whole_headers_lead() {
    let of = |paths, outage| MirccParams { paths, outage, ..MirccParams::default() };
    for params in [of(PathSelection::All, Outage::Wait), of(PathSelection::One, Outage::Wait)] {
        let mut rng = stream(3, Purpose::Fault, 0);
        let mut sides = [false, true]
            .map(|inner| (inner, forwarder(&params), Pool::new(), stream(1, Purpose::Forwarders, 0), VecDeque::new()));
        let (mut hints, mut steered) = (vec![PathId(1)], 0);
        for i in 0..20_000u64 {
            let kind =
                [Kind::Interest, Kind::Interest, Kind::Data, Kind::Data, Kind::Nack][below(&mut rng, 5) as usize];
            let (segment, prefix) = (below(&mut rng, 40) as u32, 8 + below(&mut rng, 9) as u32 / 8);
            let hint = hints[below(&mut rng, hints.len() as u64) as usize];
            let path = (below(&mut rng, 4) > 0).then_some(hint);
            let from = Some(PortId(below(&mut rng, 4) as u16)).filter(|_| below(&mut rng, 9) > 0);
            let now = Time::from_ms(i);
            let [plain, whole] = sides.each_mut().map(|(inner, forwarder, pool, rng, out)| {
                let pkt = pool.insert(packet(kind, segment, prefix, path, *inner));
                let route = forwarder.route(pkt, from, &mut ForwardCtx::new((now, ROUTER), pool, rng, out));
                let (Route::Port(_, pkt) | Route::Local(pkt) | Route::Consumed(pkt) | Route::Unroutable(pkt)) = route
                else {
                    panic!("packets by name are routed here");
                };
                let seen = (pool[&pkt].kind, pool[&pkt].header::<InterestHeader>(), pool[&pkt].header::<Stamped>());
                pool.free(pkt);
                (seen, out.drain(..).map(|(way, pkt)| (way, pool.take(pkt).flow)).collect::<Vec<_>>())
            });
            assert_eq!(plain, whole, "step {i}");
            steered += u32::from(plain.0.1.is_some_and(|h| path.is_some() && h.way != Way::Path(hint)));
            let learned = plain.0.2.map(|h| h.path).filter(|path| hints.len() < 9 && !hints.contains(path));
            hints.extend(learned);
        }
        assert!(params.paths == PathSelection::One || steered > 500, "{steered} were steered");
    }
}

/// Of two next hops one has a thousandth of the bandwidth.
#[test]
fn who_asks_for_it_is_sent_to_each_next_hop_as_often_as_to_any_other() {
    let hop = |port, weight| Hop { port: PortId(port), weight, extra: 0, takes: 0 };
    let entry = FibEntry { hops: vec![hop(0, 1000), hop(1, 1)], spare: 0 };
    let choice = Choice { entry: &entry, from: None, down: &[], spare: 0 };
    let mut rng = stream(1, Purpose::Forwarders, 0);
    let mut thin = |way: &dyn Fn(u64) -> Way| {
        (0..10_000).filter(|i| choice.drawn(ROUTER, way(*i), &mut rng).expect("a next hop").0 == PortId(1)).count()
    };
    for evenly in [true, false] {
        let (any, value) = (|_| Way::Any { spare: 0, evenly }, |value| Way::Value { value, spare: 0, evenly });
        for count in [thin(&any), thin(&value)] {
            // Five standard deviations of 50.
            assert!(if evenly { (4750..5250).contains(&count) } else { count < 40 }, "{count}");
        }
    }
    // A hint that nobody knows is no request for it: it may be that of a whole flow.
    assert!(thin(&|_| Way::Path(PathId(7))) < 40);
}
