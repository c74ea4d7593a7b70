//! Hosts that take time to take in what arrives: in order, each packet for its time, up to a buffer.

use std::sync::{Arc, Mutex};

use crate::common::{Bench, ByPeer, ME, PEERS, RATE, ample, cases};
use midpath_core::node::{Flows, Host};
use midpath_core::packet::{FlowId, NodeId, Packet, PortId};
use midpath_core::roles::{Accept, Drop, Endpoint, EndpointCtx, FlowReport, Received};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

/// What each packet's endpoint was told: its number, when, and how it was received.
type Told = Arc<Mutex<Vec<(u32, Time, Option<Received>)>>>;

#[derive(Clone)]
struct Recorder(Told);

impl Endpoint for Recorder {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().expect("one thread").push((packet.seq, ctx.now, ctx.received.copied()));
    }
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        FlowReport::default()
    }
}

struct Recording(Told);

impl Flows for Recording {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
    fn accept(&self, _node: NodeId, _packet: &Packet) -> Accept {
        Accept::Take(Box::new(Recorder(self.0.clone())))
    }
}

fn bench(host: Option<Host>) -> (Bench, Told) {
    let records = Told::default();
    let mut bench = Bench::new(RATE, vec![ample(), ample()], Box::new(ByPeer), Arc::new(Recording(records.clone())));
    if let Some(host) = host {
        bench.node = bench.node.with_host(host);
    }
    (bench, records)
}

fn packet(seq: u32, size: u32) -> Packet {
    let mut p = Packet::new(FlowId(0), NodeId(PEERS), ME, size);
    p.seq = seq;
    p
}

const US: u64 = 1000;

/// A byte per nanosecond and 500 ns a packet: three of 1000 bytes and one of 500, two at once.
#[test]
fn packets_wait_for_those_before_them() {
    let host = Host { rate: Some(Rate::from_gbps(8)), per_packet: Time::from_ns(500), buffer: 10_000 };
    let (mut bench, records) = bench(Some(host));
    for (at, seq, size) in [(0, 0, 1000), (0, 1, 1000), (200, 2, 500), (9000, 3, 1000)] {
        bench.arrive(Time::from_ns(at), PortId(0), packet(seq, size));
    }
    bench.run_out();
    let received = |waited, held| Some(Received { waited: Time::from_ns(waited), held, buffer: 10_000 });
    assert_eq!(
        *records.lock().expect("one thread"),
        [
            (0, Time::from_ns(1500), received(1500, 1500)),
            (1, Time::from_ns(3000), received(3000, 500)),
            (2, Time::from_ns(4000), received(3800, 0)),
            (3, Time::from_ns(10_500), received(1500, 0)),
        ]
    );
    assert_eq!(bench.node.stored(), 0);
}

#[test]
fn others_take_packets_as_they_come() {
    let (mut bench, records) = bench(None);
    bench.arrive(Time::from_ns(7), PortId(0), packet(0, 1000));
    assert_eq!(*records.lock().expect("one thread"), [(0, Time::from_ns(7), None)]);
}

/// What finds no room is lost, and so is what waits when the node restarts; what comes later has its whole time.
#[test]
fn a_full_buffer_and_a_restart_lose_packets() {
    let host = Host { rate: None, per_packet: Time::from_us(1), buffer: 3000 };
    let (mut bench, records) = bench(Some(host));
    (0..5).for_each(|seq| bench.arrive(Time::ZERO, PortId(0), packet(seq, 1000)));
    let lost = |bench: &Bench| bench.log.lost.iter().map(|lost| lost.why).collect::<Vec<_>>();
    assert_eq!((lost(&bench), bench.node.stored()), (vec![Drop::Queue; 2], 3));
    let half = Time::from_ns(US / 2);
    bench.run_until(half);
    bench.node.restart(half, &mut bench.pool, &mut bench.log);
    assert_eq!((lost(&bench)[2..].to_vec(), bench.node.stored()), (vec![Drop::Fault; 3], 0));
    bench.arrive(half, PortId(0), packet(5, 1000));
    bench.run_out();
    let records = records.lock().expect("one thread");
    assert_eq!(
        records.iter().map(|records| (records.0, records.1)).collect::<Vec<_>>(),
        [(5, Time::from_ns(US + US / 2))]
    );
}

proptest! {
    #![proptest_config(cases(64))]

    /// Lindley: w(n+1) = max(0, w(n) + s(n) − t(n)), where no packet is lost.
    #[test]
    fn waits_are_those_of_a_queue_with_one_server(
        arrivals in prop::collection::vec((0u64..4000, 40u32..1500), 1..60), per_packet in 0u64..2000, gbps in 1u64..20,
    ) {
        let host = Host { rate: Some(Rate::from_gbps(gbps)), per_packet: Time::from_ns(per_packet), buffer: 1 << 20 };
        let (mut bench, records) = bench(Some(host));
        let (mut at, mut free, mut expected) = (Time::ZERO, Time::ZERO, Vec::new());
        for (seq, (gap, size)) in (0..).zip(arrivals) {
            at += Time::from_ns(gap);
            let time = Time::from_ns(per_packet) + Rate::from_gbps(gbps).time_for(midpath_core::units::Bytes(size.into()));
            free = free.max(at) + time;
            expected.push((seq, free, free.saturating_sub(at)));
            bench.arrive(at, PortId(0), packet(seq, size));
        }
        bench.run_out();
        let records = records.lock().expect("one thread");
        let found: Vec<_> = records.iter().map(|(seq, at, how)| (*seq, *at, how.expect("a host").waited)).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn levels_are_equal_parts_of_the_buffer() {
    let level = |held| Received { waited: Time::ZERO, held, buffer: 32_000 }.level(32);
    assert_eq!([0, 999, 1000, 15_999, 31_999, 32_000].map(level), [0, 0, 1, 15, 31, 31]);
}
