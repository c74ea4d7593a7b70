//! Anything may come in through any port: nothing panics, what is stored is bounded, packets are
//! neither lost nor made.

use midpath_core::packet::{Flags, FlowId, Kind, NodeId, Packet, PortId};
use proptest::prelude::*;

use super::harness::{DOWN, Router, small};
use crate::inrpp::header::set_via;
use crate::inrpp::{Notify, Params};

/// What one packet is: port, flow, tag, flags, kind, payload, header, number, milliseconds until
/// the next.
type Wild = (u16, u32, u8, u8, bool, u16, Vec<u8>, u64, u64);

fn wild() -> impl Strategy<Value = Wild> {
    let byte = prop_oneof![3 => Just(0u8), 2 => 0u8..4, 1 => any::<u8>()];
    let tag = prop_oneof![3 => Just(4u8), 1 => Just(5u8), 1 => Just(0u8), 1 => 0u8..9];
    (
        0u16..3,
        0u32..4,
        tag,
        any::<u8>(),
        any::<bool>(),
        0u16..1433,
        prop_oneof![Just(18usize), Just(28), Just(34), Just(44), 0usize..60]
            .prop_flat_map(move |n| prop::collection::vec(byte.clone(), n)),
        any::<u64>(),
        0u64..4,
    )
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_grows(packets in prop::collection::vec(wild(), 1..150), auth: bool, carry: bool, data: bool) {
        let notify = if data { Notify::Data } else { Notify::Acks };
        let mut r = Router::new(Params { auth, carry_tcp: carry, notify, nonces: 8, ..small() });
        let n = packets.len();
        for (port, flow, tag, flags, control, payload, bytes, number, wait) in packets {
            let ends = if number % 2 == 0 { (NodeId(8), NodeId(9)) } else { (NodeId(9), NodeId(8)) };
            let mut p = Packet::new(FlowId(flow), ends.0, ends.1, 40 + u32::from(payload));
            (p.flags, p.payload, p.seq, p.ack, p.window) = (Flags(flags.into()), payload, (number >> 3) as u32, (number >> 5) as u32, number as u16);
            p.kind = if control && tag == 5 { Kind::Control } else { Kind::Segment };
            p.push_raw(tag, &bytes);
            set_via(&mut p, (flags % 16 == 0).then_some(NodeId(number as u32)));
            r.arrive(PortId(port), p);
            let next = r.now.0 / 1_000_000_000 + wait;
            r.until(next);
            prop_assert!(r.gauge(DOWN, "nonces") <= 8.0 && r.gauge(DOWN, "cache_bytes") <= 15_000.0);
        }
        prop_assert!(r.log.dropped.len() <= n && r.pool.live() as u64 == r.node.stored());
    }
}
