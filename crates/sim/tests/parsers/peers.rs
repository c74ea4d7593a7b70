//! Peers of an MPTCP that say anything: both ends on nodes with two ports, and packets made of
//! bytes. The fuzz target calls it.

use std::sync::{Arc, OnceLock};

use midpath_core::node::{Driver, Flows, Forwarding, Node};
use midpath_core::packet::{
    Flags, FlowId, Interfaces, NodeId, Options, Packet, Pkt, Pool, PortId, Sequence, TCP_OPTION,
};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{Accept, Ecmp, Endpoint, FlowSpec, LinkInfo, Routes, ShortestPath, Transmitter, Transport};
use midpath_core::units::{Bytes, Rate, Time};
use midpath_core::wire;
use midpath_schemes::Catalogue;
use midpath_schemes::internals::mptcp::announce::AddAddr;
use midpath_schemes::internals::mptcp::header::{Dss, Mapping};
use midpath_schemes::internals::mptcp::hello::Hello;
use midpath_schemes::internals::mptcp::keys::{Key, Keys};
use rustc_hash::FxHashMap;

const BUFFER: u64 = 100_000;
const HOSTS: [NodeId; 2] = [NodeId(0), NodeId(1)];

struct One(Arc<dyn Transport>, FlowSpec);
impl Flows for One {
    fn open(&self, _: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(self.0.open(&self.1))
    }
    fn accept(&self, _: NodeId, first: &Packet) -> Accept {
        self.0.accept(first, None)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        self.0.refuse(packet)
    }
}

struct First;
impl Routes for First {
    fn next_ports(&self, _: NodeId, _: NodeId) -> &[u16] {
        &[0]
    }
}

/// The key and the nonce of whoever talks to an end.
const KEY: u64 = 0x0123_4567_89ab_cdef;
const NONCE: u32 = 77;

/// What is sent goes nowhere; it is counted, and where its numbers begin is remembered, with the
/// keys and nonces that an end tells.
#[derive(Default)]
struct Sink {
    sent: u64,
    numbers: FxHashMap<(NodeId, Interfaces), Sequence>,
    keys: [Option<Key>; 2],
    nonces: [u32; 2],
}

impl Sink {
    fn learn(&mut self, packet: &Packet) {
        let from = packet.src.0 as usize;
        match packet.header::<Hello>() {
            Some(Hello::Listener(key) | Hello::Keys { own: key, .. }) => self.keys[from] = Some(Key::new(key)),
            Some(Hello::Join { nonce, .. } | Hello::Joined { nonce, .. }) => self.nonces[from] = nonce,
            _ => {}
        }
    }
}

impl Driver for Sink {
    const TIMETABLES: bool = true;
    fn transmitter(&mut self, _: PortId, now: Time) -> Transmitter {
        Transmitter::Idle { since: now }
    }
    fn start(&mut self, _: PortId, pkt: Pkt, _: Time, pool: &mut Pool) {
        self.sent += 1;
        let packet = &pool[&pkt];
        if packet.flags.has(Flags::SYN) {
            self.numbers.insert((packet.src, packet.interfaces), Sequence::after_syn(packet.seq));
        }
        self.learn(packet);
        pool.free(pkt);
    }
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, _: Time, pool: &mut Pool) {
        self.start(port, pkt, start, pool);
    }
}

fn node(me: usize, transport: &Arc<dyn Transport>) -> Node {
    let rate = Rate::from_mbps(10);
    let link = LinkInfo { rate, delay: Time::from_ms(1), mtu: 1500, peer: HOSTS[1 - me] };
    let queues = || QueueSpec::fifo(Limit::Packets(20)).build(rate);
    let forwarding = Forwarding::Shortest(ShortestPath::new(Arc::new(First), Ecmp::Off));
    let [src, dst] = HOSTS;
    let size = Some(Bytes(1 << 40));
    let flow = FlowSpec { size, ..FlowSpec::new(FlowId(0), src, dst) };
    let flows = Arc::new(One(transport.clone(), flow));
    Node::new(HOSTS[me], vec![link; 2], vec![queues(), queues()], forwarding, flows, Streams::of(1, 0))
}

/// Each 100 bytes are a packet: to whom, how much later, header fields, the option's bytes. What is
/// held stays within the buffer, and what is sent in proportion to what is answers. Returns the
/// most that an end has taken.
pub fn mptcp(bytes: &[u8]) -> u64 {
    static MPTCP: OnceLock<Arc<dyn Transport>> = OnceLock::new();
    let build = || {
        let params = serde_json::json!({ "receive_window": "100 kB" });
        Catalogue::standard().build("mptcp", &params).expect("valid").transport().expect("carries flows")
    };
    let mptcp = MPTCP.get_or_init(build);
    let mut nodes = [node(0, mptcp), node(1, mptcp)];
    let (mut pool, mut sink, mut now, mut answers) = (Pool::new(), Sink::default(), Time::ZERO, 0);
    nodes[0].start_flow(now, FlowId(0));
    for part in bytes.chunks(100).take(128) {
        let mut chunk = [0; 100];
        chunk[..part.len()].copy_from_slice(part);
        let to = usize::from(chunk[0] & 1);
        // Up to 255 steps of 1 ms to 8 s.
        now += Time::from_ms(u64::from(chunk[1]) << (chunk[2] % 6));
        for node in &mut nodes {
            while node.next_wake() <= now {
                node.on_wake(node.next_wake(), &mut pool, &mut sink);
                answers += 1;
            }
        }
        let pkt = pool.insert(packet(&chunk, to, &sink));
        nodes[to].on_packet(now, PortId(u16::from(chunk[3] & 1)), pkt, &mut pool, &mut sink);
        answers += 1;
        look(&nodes);
    }
    assert!(sink.sent <= (40 + 4 * answers) * (2 + answers), "{} packets for {answers}", sink.sent);
    assert_eq!(pool.live(), 0);
    let ends = nodes.iter().flat_map(Node::endpoints);
    ends.map(|(_, _, end)| end.report().delivered).max().unwrap_or(0)
}

/// A packet whose numbers are offsets in the bytes: a peer who sees what is sent knows where they
/// begin.
fn packet(chunk: &[u8; 100], to: usize, sink: &Sink) -> Packet {
    let short = |at: usize| u64::from(u16::from_be_bytes([chunk[at], chunk[at + 1]]));
    let payload = short(4) as u16;
    let mut p = Packet::new(FlowId(0), HOSTS[1 - to], HOSTS[to], 80 + u32::from(payload));
    p.flags = Flags(u16::from(chunk[6]));
    p.interfaces = Interfaces(if chunk[7] < 200 { [0x11, 0x22][usize::from(chunk[7] & 1)] } else { chunk[7] });
    let own = sink.numbers.get(&(HOSTS[to], p.interfaces.reversed())).copied().unwrap_or_default();
    let far = |at: usize| (short(at) << (8 * (chunk[8] % 3))) as u32;
    p.seq = if p.flags.has(Flags::SYN) { 0 } else { far(10).wrapping_add(1) };
    (p.payload, p.ack, p.window) = (payload, own.wire(far(12).into()), short(14) as u16);
    (p.options, p.window_scale, p.mss) = (Options(chunk[8] >> 4), chunk[28], chunk[27].into());
    (p.ts_val, p.ts_ecr, p.sack_len) = (far(16), far(18), chunk[9] % 4);
    for (i, block) in p.sack_mut().iter_mut().enumerate() {
        (block.from, block.to) = (own.wire(short(20 + 2 * i)), own.wire(short(22 + 2 * i)));
    }
    if chunk[9] < 128 {
        put_option(&mut p, chunk, to, sink);
    } else {
        p.push_raw(TCP_OPTION | 30, &chunk[30..30 + usize::from(chunk[29]) % 71]);
    }
    p
}

/// Most options are MPTCP's, of a peer who has the keys: what they say is in the bytes, counted
/// from where the keys begin.
fn put_option(p: &mut Packet, chunk: &[u8; 100], to: usize, sink: &Sink) {
    let own = Key::new(KEY);
    let keys = Keys { own, peer: sink.keys[to].unwrap_or(own) };
    let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| chunk[at + i]));
    let (address, len) = (chunk[31], u16::from_be_bytes([chunk[52], chunk[53]]));
    match chunk[9] & 7 {
        which @ 0..3 => {
            let mapping = Mapping { data: own.first.wrapping_add(long(40)), subflow: (long(48) >> 32) as u32, len };
            let mapping = (which > 0).then_some(mapping);
            p.set_header(&Dss { ack: keys.peer.first.wrapping_add(long(32)), mapping, fin: which == 2 })
        }
        3 => p.set_header(&match (p.flags.has(Flags::SYN), to) {
            (true, 0) => Hello::Listener(KEY),
            (true, _) => Hello::Capable,
            (false, _) => Hello::Keys { own: KEY, peer: keys.peer.bits, data: Some(len).filter(|n| *n > 0) },
        }),
        4 => p.set_header(&Hello::Join { address, token: keys.peer.token, nonce: NONCE }),
        5 => {
            let proof = keys.short_proof(NONCE, sink.nonces[to]);
            p.set_header(&Hello::Joined { address, proof, nonce: NONCE })
        }
        6 => p.set_header(&Hello::Proof(keys.proof(NONCE, sink.nonces[to]))),
        _ => {
            let named = wire::address(HOSTS[1 - to], address & 0xf);
            let proof = (chunk[30] & 1 == 0).then(|| keys.vouch(address, named));
            p.set_header(&AddAddr { id: address, address: named, proof })
        }
    };
}

fn look(nodes: &[Node; 2]) {
    let mut gauges = Vec::new();
    for (_, _, endpoint) in nodes.iter().flat_map(Node::endpoints) {
        endpoint.gauges(&mut gauges);
        let report = endpoint.report();
        assert!(report.delivered <= 1 << 40);
    }
    for (name, value) in gauges {
        assert!(value.is_finite() && value >= 0.0, "{name} {value}");
        assert!(name != "held_bytes" || value <= BUFFER as f64, "{value} held");
    }
}
