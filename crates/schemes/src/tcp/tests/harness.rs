//! Two nodes with one TCP between them, and a pipe whose treatment of each packet the test decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard};

use midpath_core::node::{Driver, EndId, Flows, Forwarding, LinkTransmitter, Node};
use midpath_core::packet::{Ecn, Flags, FlowId, NodeId, Packet, PacketId, Pkt, Pool, PortId, SackBlock, Sequence};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{
    Accept, Drop, Ecmp, Endpoint, FlowReport, FlowSpec, LinkInfo, ShortestPath, Supply, Transmitter,
};
use midpath_core::units::{Bytes, Rate, Time};

use proptest::prelude::*;

use crate::tcp::newreno::NewRenoConfig;
use crate::testing::{FirstPort, Watched, accept_as};
use crate::transport::cc::AssistedConfig;
use crate::transport::ecn::{self, EcnMode};
use crate::transport::params::LossDetection;
use crate::transport::receiver::Receiver;
use crate::transport::segment::reset;
use crate::transport::sender::Sender;
use crate::transport::{Tcp, TcpParams};

pub const MSS: u64 = 1448;

/// Losses are found by RFC 6675, and by the timer.
pub fn rfc6675() -> TcpParams {
    TcpParams { loss_detection: LossDetection::Rfc6675, ..TcpParams::default() }
}

pub const FLOW: FlowId = FlowId(7);
pub const HOSTS: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// What the pipe does to a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Pass,
    Lose,
    Mark,
    /// Arrives this much later than it would.
    Late(Time),
    /// Arrives, and once more this much later.
    Twice(Time),
    /// Arrives without the flags that speak of ECN.
    Clear,
}

/// A packet as it went onto the wire.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at: Time,
    /// 0: from the sender; 1: from the receiver.
    pub from: usize,
    pub packet: Packet,
    /// Its numbers as offsets: 0 is the first byte of data, and a SYN's own.
    pub seq: u64,
    pub ack: u64,
    pub fate: Fate,
}

impl Sent {
    pub fn is_data(&self) -> bool {
        self.from == 0 && self.packet.payload > 0
    }
    pub fn flags(&self) -> Flags {
        self.packet.flags
    }
}

type Treatment = Box<dyn FnMut(&Sent) -> Fate>;

struct Wire {
    arrivals: BinaryHeap<Reverse<(Time, u64, usize, Pkt)>>,
    lines: [LinkTransmitter; 2],
    made: u64,
    /// Where each end's numbers begin: what its SYN says.
    numbers: [Sequence; 2],
    delay: Time,
    treat: Treatment,
    log: Vec<Sent>,
    keep_log: bool,
    drops: u64,
    finished: [Option<Time>; 2],
    /// What the sender's application has handed over, where there is one.
    supply: Option<Supply>,
}

impl Wire {
    fn arrive(&mut self, at: Time, to: usize, pkt: Pkt) {
        self.made += 1;
        self.arrivals.push(Reverse((at, self.made, to, pkt)));
    }
}

struct Tap<'a> {
    wire: &'a mut Wire,
    me: usize,
    now: Time,
}

impl Driver for Tap<'_> {
    const TIMETABLES: bool = true;
    const BYTES: bool = true;
    fn supply(&mut self, end: EndId) -> Option<Supply> {
        self.wire.supply.filter(|_| end.active)
    }
    fn transmitter(&mut self, _port: PortId, now: Time) -> Transmitter {
        self.wire.lines[self.me].state(now)
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let end = self.wire.lines[self.me].start(pool[&pkt].size, now);
        self.book(port, pkt, now, end, pool);
    }
    fn book(&mut self, _port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        let packet = pool[&pkt];
        if packet.flags.has(Flags::SYN) {
            self.wire.numbers[self.me] = Sequence::after_syn(packet.seq);
        }
        let seq = self.wire.numbers[self.me].offset(packet.seq, 0).unwrap_or(0);
        let ack = self.wire.numbers[1 - self.me].offset(packet.ack, 0).filter(|_| packet.flags.has(Flags::ACK));
        let mut sent = Sent { at: start, from: self.me, packet, seq, ack: ack.unwrap_or(0), fate: Fate::Pass };
        sent.fate = (self.wire.treat)(&sent);
        let at = end + self.wire.delay;
        match sent.fate {
            Fate::Pass => self.wire.arrive(at, 1 - self.me, pkt),
            Fate::Lose => pool.free(pkt),
            Fate::Mark => {
                pool[&pkt].ecn = Ecn::Ce;
                self.wire.arrive(at, 1 - self.me, pkt);
            }
            Fate::Clear => {
                pool[&pkt].flags = Flags(pool[&pkt].flags.0 & !ecn::flags(0b111).0);
                self.wire.arrive(at, 1 - self.me, pkt);
            }
            Fate::Late(by) => self.wire.arrive(at + by, 1 - self.me, pkt),
            Fate::Twice(by) => {
                let copy = pool.copy(&pkt);
                self.wire.arrive(at, 1 - self.me, pkt);
                self.wire.arrive(at + by, 1 - self.me, copy);
            }
        }
        if self.wire.keep_log {
            self.wire.log.push(sent);
        }
    }
    fn dropped(&mut self, port: Option<PortId>, _id: PacketId, _packet: &Packet, _why: Drop) {
        self.wire.drops += u64::from(port.is_some());
    }
    fn finished(&mut self, _flow: FlowId, active: bool, _report: FlowReport) {
        self.wire.finished[usize::from(!active)] = Some(self.now);
    }
}

struct Pair<C> {
    sender: Arc<Mutex<C>>,
    receiver: Arc<Mutex<Receiver>>,
}

impl<C: Endpoint + 'static> Flows for Pair<C> {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Watched(self.sender.clone())))
    }
    fn accept(&self, _node: NodeId, first: &Packet) -> Accept {
        accept_as(first, &self.receiver)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        reset(packet)
    }
}

/// The path and the flow of one test.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub size: Option<u64>,
    pub stop: Option<Time>,
    pub rate: Rate,
    /// One way.
    pub delay: Time,
    pub queue: QueueSpec,
    pub mtu: u32,
}

impl Default for Setup {
    /// 10 Gbps, 50 ms each way, no queue limit: a segment's own time is negligible beside the round
    /// trip of 100 ms.
    fn default() -> Setup {
        Setup {
            size: Some(100 * MSS),
            stop: None,
            rate: Rate::from_gbps(10),
            delay: Time::from_ms(50),
            queue: QueueSpec::fifo(Limit::Bytes(u64::MAX)),
            mtu: 1500,
        }
    }
}

/// The laboratory: run it, look at what was sent and at both ends.
pub struct Lab<K: AssistedConfig> {
    nodes: [Node; 2],
    pool: Pool,
    wire: Wire,
    pub now: Time,
    sender: Arc<Mutex<Sender<K::Controller>>>,
    receiver: Arc<Mutex<Receiver>>,
}

impl<K: AssistedConfig> Lab<K> {
    pub fn new(setup: Setup, tcp: TcpParams, control: K) -> Lab<K> {
        let scheme = Tcp::new("test", tcp, control).expect("valid parameters");
        let flow = FlowSpec {
            size: setup.size.map(Bytes),
            stop: setup.stop,
            mtu: setup.mtu,
            ..FlowSpec::new(FLOW, HOSTS[0], HOSTS[1])
        };
        let sender = Arc::new(Mutex::new(scheme.sender(&flow)));
        let receiver = Arc::new(Mutex::new(scheme.receiver(&Packet::new(FLOW, HOSTS[0], HOSTS[1], 60))));
        let flows = Arc::new(Pair { sender: sender.clone(), receiver: receiver.clone() });
        let node = |i: usize| {
            let link = LinkInfo { rate: setup.rate, delay: setup.delay, mtu: setup.mtu, peer: HOSTS[1 - i] };
            let queue = setup.queue.build(setup.rate);
            let forwarding = Forwarding::Shortest(ShortestPath::new(Arc::new(FirstPort), Ecmp::Off));
            let streams = Streams::of(1, i as u64);
            Node::new(HOSTS[i], vec![link], vec![queue], forwarding, flows.clone(), streams)
        };
        let mut nodes = [node(0), node(1)];
        nodes[0].start_flow(Time::ZERO, FLOW);
        let wire = Wire {
            arrivals: BinaryHeap::new(),
            lines: [LinkTransmitter::new(setup.rate), LinkTransmitter::new(setup.rate)],
            made: 0,
            numbers: [Sequence::default(); 2],
            delay: setup.delay,
            treat: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            keep_log: true,
            drops: 0,
            finished: [None; 2],
            supply: None,
        };
        Lab { nodes, pool: Pool::new(), wire, now: Time::ZERO, sender, receiver }
    }

    /// Decides what the pipe does to each packet.
    pub fn treat(mut self, treat: impl FnMut(&Sent) -> Fate + 'static) -> Self {
        self.wire.treat = Box::new(treat);
        self
    }

    /// Whether anything of that has not been acknowledged.
    pub fn is_sending(&self) -> bool {
        let given = self.wire.supply.map_or(0, |supply| supply.given);
        let sender = self.sender();
        sender.flight() > 0 || sender.progress() < given
    }

    /// The sender's application has handed over all up to the offset `given`, so far.
    pub fn give(&mut self, given: u64) {
        let begun = self.wire.supply.replace(Supply { given, closed: false }).is_some();
        if begun {
            let end = EndId { flow: FLOW, peer: EndId::ANYONE, active: true };
            let mut tap = Tap { wire: &mut self.wire, me: 0, now: self.now };
            self.nodes[0].poke_end(end, self.now, &mut self.pool, &mut tap);
        }
    }

    /// Puts a TCP with other parameters at the other end.
    pub fn with_peer(self, tcp: TcpParams) -> Self {
        let peer = Tcp::new("peer", tcp, NewRenoConfig).expect("valid parameters");
        *self.receiver() = peer.receiver(&Packet::new(FLOW, HOSTS[0], HOSTS[1], 60));
        self
    }

    /// For long runs: nothing is logged.
    pub fn without_log(mut self) -> Self {
        self.wire.keep_log = false;
        self
    }

    /// Does the next thing; false when nothing is left or `until` has come.
    pub fn step(&mut self, until: Time) -> bool {
        let arrival = self.wire.arrivals.peek().map_or(Time::MAX, |e| e.0.0);
        let wake = [self.nodes[0].next_wake(), self.nodes[1].next_wake()];
        let next = arrival.min(wake[0]).min(wake[1]);
        if next > until || next == Time::MAX {
            self.now = self.now.max(if until == Time::MAX { self.now } else { until });
            return false;
        }
        assert!(next >= self.now, "time went back");
        self.now = next;
        if arrival == next {
            let Reverse((_, _, to, pkt)) = self.wire.arrivals.pop().expect("peeked");
            let mut tap = Tap { wire: &mut self.wire, me: to, now: next };
            self.nodes[to].on_packet(next, PortId(0), pkt, &mut self.pool, &mut tap);
        } else {
            let me = usize::from(wake[0] != next);
            let mut tap = Tap { wire: &mut self.wire, me, now: next };
            self.nodes[me].on_wake(next, &mut self.pool, &mut tap);
        }
        true
    }

    pub fn run_until(&mut self, until: Time) {
        while self.step(until) {}
    }

    /// Runs until nothing is left to do.
    pub fn run(&mut self) {
        self.run_until(Time::MAX);
        assert_eq!(self.pool.live(), 0, "packets are left over");
    }

    /// What waits in the sender's port, in bytes.
    pub fn backlog(&mut self) -> u64 {
        self.nodes[0].backlog(PortId(0), self.now).bytes
    }
    /// Bytes that the sender's port has sent.
    pub fn carried(&self) -> u64 {
        self.nodes[0].counters(PortId(0)).bytes
    }

    /// Hands a packet to one end as if it had come from the other. Its numbers, and those of its
    /// SACK blocks, are offsets.
    pub fn inject(&mut self, to: usize, mut packet: Packet) {
        let [theirs, own] = [self.wire.numbers[1 - to], self.wire.numbers[to]];
        let isn = |s: Sequence| if packet.flags.has(Flags::SYN) { s.isn() } else { s.wire(packet.seq.into()) };
        (packet.seq, packet.ack) = (isn(theirs), own.wire(packet.ack.into()));
        *packet.sack_mut() =
            packet.sack_mut().map(|b| SackBlock { from: own.wire(b.from.into()), to: own.wire(b.to.into()) });
        (packet.src, packet.dst, packet.flow) = (HOSTS[1 - to], HOSTS[to], FLOW);
        let pkt = self.pool.insert(packet);
        self.wire.arrive(self.now, to, pkt);
    }

    /// The application of the sending end gives the flow up.
    pub fn abort(&mut self) {
        let mut tap = Tap { wire: &mut self.wire, me: 0, now: self.now };
        let end = EndId { flow: FLOW, peer: EndId::ANYONE, active: true };
        self.nodes[0].abort(end, self.now, &mut self.pool, &mut tap);
    }

    pub fn sender(&self) -> MutexGuard<'_, Sender<K::Controller>> {
        self.sender.lock().unwrap()
    }
    pub fn receiver(&self) -> MutexGuard<'_, Receiver> {
        self.receiver.lock().unwrap()
    }
    pub fn report(&self) -> FlowReport {
        self.sender().report().merge(self.receiver().report())
    }
    pub fn log(&self) -> &[Sent] {
        &self.wire.log
    }
    /// The data packets in order of sending.
    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.wire.log.iter().filter(|s| s.is_data())
    }
    /// Packets that the queues refused.
    pub fn drops(&self) -> u64 {
        self.wire.drops
    }
    /// When each end finished.
    pub fn finished(&self) -> [Option<Time>; 2] {
        self.wire.finished
    }
}

/// Loses the first transmission of each of these segments (by number, in full segments).
pub fn lose_segments(segments: &[u64]) -> impl FnMut(&Sent) -> Fate + 'static {
    let mut left: Vec<u64> = segments.iter().map(|s| s * MSS).collect();
    move |sent| match left.iter().position(|at| sent.is_data() && *at == sent.seq) {
        Some(i) => {
            left.swap_remove(i);
            Fate::Lose
        }
        None => Fate::Pass,
    }
}

/// Segment numbers sent more than once, each as often as it was repeated.
pub fn repeats<K: AssistedConfig>(lab: &Lab<K>) -> Vec<u64> {
    let mut seen = rustc_hash::FxHashSet::default();
    lab.data().filter(|s| !seen.insert(s.seq)).map(|s| s.seq / MSS).collect()
}

/// All modes of ECN.
pub fn ecn_mode() -> impl Strategy<Value = EcnMode> {
    prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Accurate])
}

/// Cases of a property: `PROPTEST_CASES` when it is set, for long searches.
pub fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
