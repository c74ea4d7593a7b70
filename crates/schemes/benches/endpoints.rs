//! Cost of a data packet and its ACK at both endpoints: two nodes joined by an in-memory queue.
//!
//! `cargo bench -p midpath-schemes`. Prints nanoseconds per data packet; the figure includes the nodes' work
//! (forwarding, ports, timers, packet pool); the `udp` line is that work with almost no endpoint.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use midpath_core::node::{Driver, Flows, Forwarding, Node};
use midpath_core::packet::{FlowId, NodeId, Packet, Pkt, Pool, PortId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{Accept, Ecmp, Endpoint, FlowSpec, LinkInfo, Routes, ShortestPath, Transmitter, Transport};
use midpath_core::units::{Bytes, Rate, Time};
use midpath_schemes::Catalogue;
use serde_json::json;

const PACKETS: u64 = 2_000_000;
const DELAY: Time = Time::from_us(50);

struct One(Arc<dyn Transport>, FlowSpec);
impl Flows for One {
    fn open(&self, _: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(self.0.open(&self.1))
    }
    fn accept(&self, _: NodeId, first: &Packet) -> Accept {
        self.0.accept(first, Some(&self.1))
    }
}

struct OnePort;
impl Routes for OnePort {
    fn next_ports(&self, _: NodeId, _: NodeId) -> &[u16] {
        &[0]
    }
}

/// One direction's packets in order of arrival: a link with constant delay keeps order.
#[derive(Default)]
struct Wire(VecDeque<(Time, Pkt)>);
impl Driver for Wire {
    const TIMETABLES: bool = true;
    fn transmitter(&mut self, _: PortId, now: Time) -> Transmitter {
        Transmitter::Idle { since: now }
    }
    fn start(&mut self, _: PortId, _: Pkt, _: Time, _: &mut Pool) {
        unreachable!("the ports have timetables")
    }
    fn book(&mut self, _: PortId, pkt: Pkt, _: Time, end: Time, _: &mut Pool) {
        self.0.push_back((end + DELAY, pkt));
    }
}

fn node(me: u32, flows: Arc<One>, rate: Rate) -> Node {
    let link = LinkInfo { rate, delay: DELAY, mtu: 1500, peer: NodeId(1 - me) };
    let queue = QueueSpec::fifo(Limit::Packets(1000)).build(rate);
    let path = ShortestPath::new(Arc::new(OnePort), Ecmp::Off);
    let streams = Streams::of(1, u64::from(me));
    Node::new(NodeId(me), vec![link], vec![queue], Forwarding::Shortest(path), flows, streams)
}

/// Nanoseconds that this thread has been on a processor, or wall time where the system does not
/// say.
fn clock(start: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let cpu = stat.and_then(|s| s.split(' ').next().and_then(|n| n.parse().ok()));
    cpu.unwrap_or(start.elapsed().as_nanos() as u64)
}

/// Nanoseconds for [`PACKETS`] data packets.
fn run(scheme: &str, params: &serde_json::Value) -> u64 {
    let scheme = Catalogue::standard().build(scheme, params).expect("valid parameters");
    let rate = Rate::from_gbps(10);
    let flow = FlowSpec {
        size: Some(Bytes(PACKETS * 1448)),
        rate: Some(rate),
        ..FlowSpec::new(FlowId(0), NodeId(0), NodeId(1))
    };
    let flows = Arc::new(One(scheme.transport().expect("carries flows"), flow));
    let mut nodes = [node(0, flows.clone(), rate), node(1, flows, rate)];
    let (mut wires, mut pool) = ([Wire::default(), Wire::default()], Pool::new());
    nodes[0].start_flow(Time::ZERO, FlowId(0));
    let wall = Instant::now();
    let started = clock(wall);
    loop {
        let arrivals = [0, 1].map(|i: usize| wires[1 - i].0.front().map_or(Time::MAX, |e| e.0));
        let wakes = [nodes[0].next_wake(), nodes[1].next_wake()];
        let i = usize::from(arrivals[1].min(wakes[1]) < arrivals[0].min(wakes[0]));
        let now = arrivals[i].min(wakes[i]);
        if now == Time::MAX {
            return clock(wall) - started;
        }
        if arrivals[i] == now {
            let (_, pkt) = wires[1 - i].0.pop_front().expect("it is the first");
            nodes[i].on_packet(now, PortId(0), pkt, &mut pool, &mut wires[i]);
        } else {
            nodes[i].on_wake(now, &mut pool, &mut wires[i]);
        }
    }
}

fn main() {
    let window = json!({"receive_window": "400 kB"});
    let fixed = json!({"receive_window": "400 kB", "delayed_ack": false});
    let paced = json!({"receive_window": "400 kB", "pacing": true});
    let cases = [
        ("udp", "", &json!({})),
        ("fixed-window", "", &json!({"window": 200})),
        ("newreno", "", &window),
        ("newreno", "an ACK for each packet", &fixed),
        ("newreno", "paced", &paced),
        ("cubic", "", &window),
        ("dctcp", "", &window),
    ];
    for (scheme, note, params) in cases {
        let best = (0..5).map(|_| run(scheme, params)).min().unwrap_or(0);
        println!("{scheme:14} {:6.1} ns per data packet  {note}", best as f64 / PACKETS as f64);
    }
}
