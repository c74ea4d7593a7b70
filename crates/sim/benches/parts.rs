//! Microbenchmarks of the engine: cost of a packet in the pool, at a port, in the wire format, in a histogram.

mod timing;

use std::hint::black_box;

use midpath_core::packet::{Flags, FlowId, NodeId, Packet, Pool};
use midpath_core::ranges::RangeSet;
use midpath_core::stats::DelayHistogram;
use midpath_core::units::{Rate, Time, TxClock};
use midpath_core::wire;
use timing::time;

fn packet() -> Packet {
    let mut p = Packet::new(FlowId(7), NodeId(1), NodeId(2), 1500);
    (p.seq, p.flags, p.payload) = (1_448_000, Flags::ACK, 1448);
    p
}

fn main() {
    let mut pool = Pool::new();
    time("pool: insert and take", 1, || {
        let pkt = pool.insert(black_box(packet()));
        pool.take(pkt).seq
    });
    let clock = TxClock::new(Rate::from_mbps(155));
    time("serialisation delay", 1, || clock.time(black_box(1500)));
    let (mut h, mut t) = (DelayHistogram::default(), 1u64);
    time("delay histogram: add", 1, || {
        t = t.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        h.add(Time(black_box(t >> 30)));
    });
    let (mut r, mut at) = (RangeSet::new(), 0u64);
    time("ranges: insert in order, remove", 1, || {
        r.insert(at, at + 1448);
        r.remove_below(at);
        at += 1448;
    });
    let (p, mut bytes) = (packet(), Vec::with_capacity(1500));
    time("wire: encode and decode", 1, || {
        bytes.clear();
        wire::encode(&p, &mut bytes);
        bytes.resize(1500, 0);
        wire::decode(&bytes).is_ok()
    });
}
