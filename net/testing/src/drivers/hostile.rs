//! A driver in virtual time that keeps the contract and nothing beyond it.
//!
//! Links carry bytes. Wake-ups come late, packets arrive in bursts, and a transmitter that could
//! send says now and then that it can't. All of it is drawn from a seed, so that a failure repeats.
//! Order on a link is kept, and every packet's fate is written down by its id: a fate that is told
//! twice, or of a packet that nobody has, stops the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::node::{Driver, Node, Woken};
use midpath_core::packet::{Carried, FlowId, Kind, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::rng::{Purpose, Stream, below, stream, unit};
use midpath_core::roles::{Drop, FlowReport, Transmitter};
use midpath_core::units::{Time, TxClock};
use midpath_core::wire;
use rustc_hash::FxHashSet;

use midpath_node::bytes::Bytes;
use midpath_node::carry_bytes;

use super::{Delivered, Link, LossModel, Network, Transfers};

/// How badly the driver behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultModel {
    /// Wake-ups come up to this much late.
    pub late: Time,
    /// Packets are handed over at multiples of this only, all that have arrived together; zero for
    /// at once.
    pub burst: Time,
    /// How often a transmitter that could send says that it can't, and is asked again later.
    pub refuse: f64,
    /// The seed of it all.
    pub seed: u64,
}

impl FaultModel {
    /// None: on time, packet by packet, always willing.
    pub const NONE: FaultModel = FaultModel { late: Time::ZERO, burst: Time::ZERO, refuse: 0.0, seed: 0 };
}

/// What a run has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Every endpoint's last report: flow, whether it is the active end, report.
    pub reports: Vec<(FlowId, bool, FlowReport)>,
    /// Packets sent by endpoints, ports and forwarders, copies included.
    pub created: u64,
    /// Packets that reached an endpoint.
    pub delivered: u64,
    /// Packets that ended in the network.
    pub dropped: u64,
    /// Packets that ports and forwarders have used up.
    pub consumed: u64,
    /// Packets that nodes keep.
    pub stored: u64,
    /// Packets on wires.
    pub in_flight: u64,
    /// Packets put onto wires.
    pub hops: u64,
    /// How often a transmitter refused.
    pub refusals: u64,
    /// When the last thing happened.
    pub end: Time,
}

impl Outcome {
    /// Whether every packet is somewhere, once.
    pub fn conserved(&self) -> bool {
        self.created == self.delivered + self.dropped + self.consumed + self.stored + self.in_flight
    }

    /// Both ends' reports of a flow as one.
    pub fn flow(&self, flow: FlowId) -> FlowReport {
        let of = self.reports.iter().filter(|r| r.0 == flow).map(|r| r.2);
        of.reduce(FlowReport::merge).unwrap_or_default()
    }
}

/// What happens next.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(u32, PortId, Pkt),
    Sent(u32, PortId),
    Wake(u32),
}

/// One port's transmitter and wire.
struct Wire {
    to: (NodeId, PortId),
    clock: TxClock,
    delay: Time,
    busy: bool,
    idle_since: Time,
    /// Nothing is handed over before this: a link keeps its order.
    last: Time,
}

/// All wires, the clock, and what is to come.
struct Wires {
    of: Vec<Vec<Wire>>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    made: u64,
    malice: FaultModel,
    rng: Stream,
    now: Time,
    out: Outcome,
    /// Packets that a driver has handed to a node and not heard of since.
    inside: FxHashSet<PacketId>,
    /// Where packets are written.
    wire: Vec<u8>,
    /// What packets carry: of all nodes, for they share a pool.
    bytes: Bytes,
    chaos: LossModel,
}

impl Wires {
    fn push(&mut self, at: Time, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, event)));
    }

    fn of(&mut self, n: u32, port: PortId) -> &mut Wire {
        &mut self.of[n as usize][usize::from(port.0)]
    }

    /// A moment that is a little late.
    fn late(&mut self, at: Time) -> Time {
        at.saturating_add(Time(below(&mut self.rng, self.malice.late.0 + 1)))
    }

    /// Whether the driver says no although it could send.
    fn refuses(&mut self) -> bool {
        let refuses = unit(&mut self.rng) < self.malice.refuse;
        self.out.refusals += u64::from(refuses);
        refuses
    }

    /// Puts a packet onto a wire, as bytes.
    fn send(&mut self, n: u32, port: PortId, pkt: Pkt, pool: &mut Pool) {
        let id = pkt.id();
        self.inside.remove(&id);
        let arrives = self.cross(&pkt, pool);
        let size = pool[&pkt].size;
        self.out.hops += 1;
        let (now, step) = (self.now, self.malice.burst.0.max(1));
        let wire = self.of(n, port);
        assert!(!wire.busy, "two packets in one transmitter");
        let end = now + wire.clock.time(size);
        let handed = Time((end + wire.delay).0.div_ceil(step) * step).max(wire.last);
        (wire.busy, wire.last) = (true, handed);
        let (node, to) = (wire.to.0.0, wire.to.1);
        self.push(end, Event::Sent(n, port));
        let Some(Arrives { late, copy }) = arrives else {
            self.bytes.take(id);
            self.out.dropped += 1;
            return pool.free(pkt);
        };
        if let Some(later) = copy {
            let copy = pool.copy(&pkt);
            self.bytes.copied(id, copy.id());
            self.push(handed + late + later, Event::Arrive(node, to, copy));
        }
        self.push(handed + late, Event::Arrive(node, to, pkt));
    }

    /// What a packet and its bytes are at the other end of a wire; `None` if they don't get there.
    fn cross(&mut self, pkt: &Pkt, pool: &mut Pool) -> Option<Arrives> {
        let packet = pool[pkt];
        let zeros = vec![0; usize::from(packet.payload)];
        let payload = self.bytes.of(pkt.id()).unwrap_or(&zeros);
        self.wire.clear();
        wire::encode_with(&packet, payload, &mut self.wire);
        let mishap = self.chaos.befall(payload.len(), &mut self.rng);
        if mishap.lost {
            return None;
        }
        let covered = matches!(packet.kind, Kind::Segment | Kind::Datagram);
        if let Some((at, by)) = mishap.changed.filter(|_| covered) {
            let place = self.wire.len() - payload.len() + at;
            self.wire[place] = self.wire[place].wrapping_add(by);
            assert!(wire::read(&self.wire).is_err(), "a changed byte is found");
            return None;
        }
        let (mut read, at) = wire::read(&self.wire).expect("a packet's bytes can be read back");
        assert_eq!(&self.wire[at], payload);
        read.queued = packet.queued;
        pool[pkt] = read;
        Some(Arrives { late: mishap.late, copy: mishap.copy })
    }
}

/// A packet that gets to the other end of its wire: how late, and how much later its copy.
struct Arrives {
    late: Time,
    copy: Option<Time>,
}

/// The driver of one node during a call.
struct RecordingDriver<'a> {
    node: u32,
    wires: &'a mut Wires,
}

impl RecordingDriver<'_> {
    fn bytes(&mut self) -> &mut Bytes {
        &mut self.wires.bytes
    }
}

impl Driver for RecordingDriver<'_> {
    carry_bytes!(bytes);
    fn transmitter(&mut self, port: PortId, _now: Time) -> Transmitter {
        let wire = self.wires.of(self.node, port);
        let (busy, since) = (wire.busy, wire.idle_since);
        if busy || self.wires.refuses() { Transmitter::Busy { until: None } } else { Transmitter::Idle { since } }
    }
    fn start(&mut self, port: PortId, pkt: Pkt, _now: Time, pool: &mut Pool) {
        self.wires.send(self.node, port, pkt, pool);
    }
    fn dropped(&mut self, _port: Option<PortId>, id: PacketId, _packet: Carried<'_>, _why: Drop) {
        self.wires.inside.remove(&id);
        self.wires.bytes.take(id);
        self.wires.out.dropped += 1;
    }
    fn delivered(&mut self, id: PacketId, _packet: &Packet) {
        self.wires.inside.remove(&id);
        self.wires.bytes.delivered(id);
        self.wires.out.delivered += 1;
    }
    fn consumed(&mut self, id: PacketId, _packet: &Packet) {
        self.wires.inside.remove(&id);
        self.wires.bytes.take(id);
        self.wires.out.consumed += 1;
    }
    fn copied(&mut self, of: PacketId, copy: PacketId) {
        assert_ne!(of, copy);
        assert!(self.wires.inside.insert(copy), "a copy has the name of a packet that is there");
        self.wires.bytes.copied(of, copy);
    }
    fn finished(&mut self, flow: FlowId, active: bool, report: FlowReport) {
        self.wires.out.reports.push((flow, active, report));
    }
}

/// The network.
struct World {
    nodes: Vec<Node>,
    wires: Wires,
    /// When each node is woken next.
    armed: Vec<Time>,
    pool: Pool,
    delivered: Delivered,
}

/// Runs a network until nothing but housekeeping happens any more, or until `stop`.
pub fn run(network: Network, malice: FaultModel, stop: Time) -> Outcome {
    carry(network, malice, Transfers::default(), stop).0
}

/// The same with bytes in the packets.
pub fn carry(network: Network, malice: FaultModel, load: Transfers, stop: Time) -> (Outcome, Delivered) {
    let mut world = World::new(network, malice, load);
    while let Some(Reverse((at, made, event))) = world.wires.events.pop() {
        if at > stop {
            world.wires.events.push(Reverse((at, made, event)));
            break;
        }
        assert!(at >= world.wires.now, "time went back");
        world.wires.now = at;
        let woken = matches!(event, Event::Wake(_));
        world.happen(event);
        if woken && world.is_resting() {
            break;
        }
    }
    world.finish()
}

impl World {
    fn new(network: Network, malice: FaultModel, load: Transfers) -> World {
        let bytes = load.bytes();
        let nodes: Vec<Node> = network.nodes.into_iter().map(Node::without_timetables).collect();
        let mut of: Vec<Vec<Option<Wire>>> = nodes.iter().map(|n| (0..n.ports()).map(|_| None).collect()).collect();
        for Link { from: (node, port), to, rate, delay } in network.links {
            let (clock, zero) = (TxClock::new(rate), Time::ZERO);
            let wire = Wire { to, clock, delay, busy: false, idle_since: zero, last: zero };
            of[node.0 as usize][usize::from(port.0)] = Some(wire);
        }
        let connect = |ports: Vec<Option<Wire>>| ports.into_iter().map(|w| w.expect("each port has a link")).collect();
        let wires = Wires {
            of: of.into_iter().map(connect).collect(),
            events: BinaryHeap::new(),
            made: 0,
            malice,
            rng: stream(malice.seed, Purpose::Fault, 0),
            now: Time::ZERO,
            out: Outcome::default(),
            inside: FxHashSet::default(),
            wire: Vec::new(),
            bytes,
            chaos: load.chaos,
        };
        let mut world = World {
            armed: vec![Time::MAX; nodes.len()],
            nodes,
            wires,
            pool: Pool::new(),
            delivered: Delivered::default(),
        };
        (0..world.nodes.len()).for_each(|n| world.arm(n as u32));
        world
    }

    /// Whether nothing but housekeeping is left to be done.
    fn is_resting(&self) -> bool {
        let waking = |Reverse((_, _, event)): &Reverse<(Time, u64, Event)>| matches!(event, Event::Wake(_));
        self.nodes.iter().all(Node::is_resting) && self.wires.events.iter().all(waking)
    }

    /// Sees to it that a node is woken, a little late.
    fn arm(&mut self, n: u32) {
        let wish = self.nodes[n as usize].next_wake();
        if wish < self.armed[n as usize] {
            self.armed[n as usize] = wish;
            let at = self.wires.late(wish.max(self.wires.now));
            self.wires.push(at, Event::Wake(n));
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.wires.now;
        match event {
            Event::Arrive(n, port, pkt) => {
                assert!(self.wires.inside.insert(pkt.id()), "a packet that is on a wire is in a node");
                let mut ear = RecordingDriver { node: n, wires: &mut self.wires };
                self.nodes[n as usize].on_packet(now, port, pkt, &mut self.pool, &mut ear);
                self.settle(n);
            }
            Event::Sent(n, port) => {
                let wire = self.wires.of(n, port);
                (wire.busy, wire.idle_since) = (false, now);
                self.pull(n, port);
                self.settle(n);
            }
            Event::Wake(n) => {
                self.armed[n as usize] = Time::MAX;
                loop {
                    let mut ear = RecordingDriver { node: n, wires: &mut self.wires };
                    let woken = self.nodes[n as usize].on_wake(now, &mut self.pool, &mut ear);
                    self.settle(n);
                    if woken == Woken::Nothing {
                        break;
                    }
                }
            }
        }
    }

    /// After each call: the ports that have something are asked.
    fn settle(&mut self, n: u32) {
        for end in self.delivered.read(&mut self.wires.bytes) {
            let (now, mut ear) = (self.wires.now, RecordingDriver { node: n, wires: &mut self.wires });
            self.nodes[n as usize].poke_end(end, now, &mut self.pool, &mut ear);
        }
        while let Some(port) = self.nodes[n as usize].ready() {
            self.pull(n, port);
        }
        self.arm(n);
    }

    /// Takes a port's next packet, if its transmitter is idle and willing.
    fn pull(&mut self, n: u32, port: PortId) {
        if self.wires.of(n, port).busy {
            return; // it is asked when that packet has been sent
        }
        let now = self.wires.now;
        if self.wires.refuses() {
            self.wires.of(n, port).busy = true;
            let at = self.wires.late(now + Time(1));
            return self.wires.push(at, Event::Sent(n, port));
        }
        let mut ear = RecordingDriver { node: n, wires: &mut self.wires };
        let pulled = self.nodes[n as usize].poll_transmit(now, port, &mut self.pool, &mut ear);
        if let Some(pkt) = pulled {
            self.wires.send(n, port, pkt, &mut self.pool);
        }
    }

    fn finish(self) -> (Outcome, Delivered) {
        let Wires { events, mut out, inside, now, bytes, .. } = self.wires;
        assert!(self.pool.live() > 0 || bytes.on_packets() == 0, "no bytes without a packet");
        let flying = events.iter().filter(|Reverse((_, _, e))| matches!(e, Event::Arrive(..))).count();
        for node in &self.nodes {
            out.reports.extend(node.reports());
            out.stored += node.stored();
        }
        (out.in_flight, out.created, out.end) = (flying as u64, self.pool.created(), now);
        assert_eq!(self.pool.live() as u64, out.stored + out.in_flight, "what lives is stored or on a wire");
        assert!(inside.len() as u64 <= out.stored, "nodes have told what became of all that they don't keep");
        (out, self.delivered)
    }
}
