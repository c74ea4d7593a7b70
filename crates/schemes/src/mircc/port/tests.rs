use midpath_core::packet::{FlowId, Name, NodeId};
use midpath_core::roles::StandalonePort;
use proptest::prelude::*;

use super::*;
use crate::icn::header::{Trail, Way};

fn link() -> LinkInfo {
    LinkInfo { rate: Rate::from_mbps(10), delay: Time::from_ms(1), mtu: 1500, peer: NodeId(1) }
}

/// A packet by name with its header, around another one if it has an `inner` one.
fn packet(kind: Kind, segment: u32, path: u64, inner: bool) -> Packet {
    let name = Name { prefix: NodeId(3), object: 1 };
    let mut packet = Packet::interest(FlowId(1), NodeId(2), name, segment, segment);
    if kind != Kind::Interest {
        packet.answer(kind, 1400);
    }
    if inner {
        packet.push_raw(70, &[1, 2, 3]);
    }
    if kind == Kind::Interest {
        let way = if path == 0 { Way::ANY } else { Way::Path(PathId(path)) };
        packet.set_header(&InterestHeader { class: Class::Primary, expected: 1500, rtt: 20_000, way });
    } else {
        let trail = if path == 3 { Trail::Value(7) } else { Trail::None };
        packet.set_header(&Stamped { primary: 9_000_000, secondary: 8_000_000, path: PathId(path), trail });
    }
    packet
}

proptest! {
    /// Two ports with one traffic: one is called with a context and sees Data whose header is not alone,
    /// the other without.
    #[test]
    fn a_port_does_the_same_with_a_context_and_without(
        steps in prop::collection::vec((0..6u8, 0..40u32, 0..4u64, 0..2000u64), 1..400),
    ) {
        let (params, link) = (MirccParams::default(), link());
        let [mut with, mut without] = [0; 2].map(|_| MirccPort::new(&params, Limit::Packets(50)));
        let [mut bench, mut bare] = [0; 2].map(|_| StandalonePort::new(link));
        let mut now = Time::ZERO;
        for (what, segment, path, wait) in steps {
            now += Time::from_us(wait);
            (bench.now, bare.now) = (now, now);
            let kind = [Kind::Interest, Kind::Data, Kind::Nack][usize::from(what % 3)];
            let a = bench.pool.insert(packet(kind, segment, path, kind != Kind::Interest));
            let b = bare.pool.insert(packet(kind, segment, path, false));
            if what < 3 {
                let Inbound::Forward(a) = with.inbound(a, &mut bench.ctx()) else { panic!("it lets all pass") };
                prop_assert!(without.pass_inbound(&b, &mut bare.ctx().hop()));
                prop_assert_eq!(bench.pool[&a].header::<Stamped>(), bare.pool[&b].header::<Stamped>());
                bench.pool.free(a);
                bare.pool.free(b);
                continue;
            }
            // What does not leave at once is kept, and asked for.
            let leaves = without.cut_through(&b, &mut bare.ctx().hop());
            with.outbound(a, &mut bench.ctx());
            let left = with.poll_transmit(&mut bench.ctx());
            let left = (left, if leaves { Some(b) } else {
                without.outbound(b, &mut bare.ctx());
                without.poll_transmit(&mut bare.ctx())
            });
            prop_assert_eq!(left.0.as_ref().map(|a| bench.pool[a].seq), left.1.as_ref().map(|b| bare.pool[b].seq));
            left.0.into_iter().for_each(|a| bench.pool.free(a));
            left.1.into_iter().for_each(|b| bare.pool.free(b));
            prop_assert_eq!((with.backlog().packets, bench.timer), (without.backlog().packets, bare.timer));
            let gauges = [&with, &without].map(|port| {
                let mut all = Vec::new();
                port.gauges(&mut all);
                all
            });
            prop_assert_eq!(&gauges[0], &gauges[1]);
        }
    }
}
