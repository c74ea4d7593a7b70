//! Microbenchmarks of the engine: cost of a packet in the pool, at a port, in the wire format, in a histogram.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use midpath_core::packet::{Flags, FlowId, NodeId, Packet, Pool};
use midpath_core::ranges::RangeSet;
use midpath_core::stats::DelayHistogram;
use midpath_core::units::{Rate, Time, TxClock};
use midpath_core::wire;

fn packet() -> Packet {
    let mut p = Packet::new(FlowId(7), NodeId(1), NodeId(2), 1500);
    (p.seq, p.flags, p.payload) = (1_448_000, Flags::ACK, 1448);
    p
}

fn parts(c: &mut Criterion) {
    let mut group = c.benchmark_group("part");
    group.throughput(Throughput::Elements(1));
    group.bench_function("pool: insert and take", |b| {
        let mut pool = Pool::new();
        b.iter(|| {
            let pkt = pool.insert(black_box(packet()));
            black_box(pool.take(pkt).seq)
        });
    });
    group.bench_function("serialisation delay", |b| {
        let clock = TxClock::new(Rate::from_mbps(155));
        b.iter(|| clock.time(black_box(1500)));
    });
    group.bench_function("delay histogram: add", |b| {
        let (mut h, mut t) = (DelayHistogram::default(), 1u64);
        b.iter(|| {
            t = t.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            h.add(Time(black_box(t >> 30)));
        });
    });
    group.bench_function("ranges: insert in order, remove", |b| {
        let (mut r, mut at) = (RangeSet::new(), 0u64);
        b.iter(|| {
            r.insert(at, at + 1448);
            r.remove_below(at);
            at += 1448;
        });
    });
    group.bench_function("wire: encode and decode", |b| {
        let p = packet();
        let mut bytes = Vec::with_capacity(1500);
        b.iter(|| {
            bytes.clear();
            wire::encode(&p, &mut bytes);
            bytes.resize(1500, 0);
            black_box(wire::decode(&bytes).is_ok())
        });
    });
    group.finish();
}

criterion_group!(benches, parts);
criterion_main!(benches);
