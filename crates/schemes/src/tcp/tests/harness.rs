//! Two nodes with one TCP between them, and a pipe whose treatment of each packet the test decides.

use midpath_core::node::{Driver, EndId, LinkTransmitter};
use midpath_core::packet::{Carried, Flags, FlowId, Packet, PacketId, Pkt, Pool, PortId, SackBlock, Sequence};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::roles::{Drop, Endpoint, FlowReport, FlowSpec, LinkInfo, Supply, Transmitter};
use midpath_core::units::{Bytes, Rate, Time};

use proptest::prelude::*;

use crate::tcp::newreno::NewRenoConfig;
use crate::testing::{Arrivals, Between, TwoNodes};
use crate::transport::cc::{AssistedConfig, NetworkAssisted};
use crate::transport::ecn::EcnMode;
use crate::transport::params::LossDetection;
use crate::transport::receiver::Receiver;
use crate::transport::sender::Sender;
use crate::transport::{Tcp, TcpParams};

pub use crate::testing::{FLOW, Fate, HOSTS, cases};

pub const MSS: u64 = 1448;

/// Losses are found by RFC 6675, and by the timer.
pub fn rfc6675() -> TcpParams {
    TcpParams { loss_detection: LossDetection::Rfc6675, ..TcpParams::default() }
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

pub struct Wire {
    arrivals: Arrivals,
    lines: [LinkTransmitter; 2],
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

impl Between for Wire {
    type Tap<'a> = Tap<'a>;
    fn tap(&mut self, me: usize, now: Time) -> Tap<'_> {
        Tap { wire: self, me, now }
    }
    fn arrivals(&mut self) -> &mut Arrivals {
        &mut self.arrivals
    }
}

pub struct Tap<'a> {
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
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        let packet = pool[&pkt];
        if packet.flags.has(Flags::SYN) {
            self.wire.numbers[self.me] = Sequence::after_syn(packet.seq);
        }
        let seq = self.wire.numbers[self.me].offset(packet.seq, 0).unwrap_or(0);
        let ack = self.wire.numbers[1 - self.me].offset(packet.ack, 0).filter(|_| packet.flags.has(Flags::ACK));
        let mut sent = Sent { at: start, from: self.me, packet, seq, ack: ack.unwrap_or(0), fate: Fate::Pass };
        sent.fate = (self.wire.treat)(&sent);
        self.wire.arrivals.carry(sent.fate, end + self.wire.delay, 1 - self.me, port, pkt, pool);
        if self.wire.keep_log {
            self.wire.log.push(sent);
        }
    }
    fn dropped(&mut self, port: Option<PortId>, _id: PacketId, _packet: Carried<'_>, _why: Drop) {
        self.wire.drops += u64::from(port.is_some());
    }
    fn finished(&mut self, _flow: FlowId, active: bool, _report: FlowReport) {
        self.wire.finished[usize::from(!active)] = Some(self.now);
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
pub type Lab<C> = TwoNodes<Wire, Sender<C>, Receiver>;
pub type LabOf<K> = Lab<<K as AssistedConfig>::Controller>;

impl<S: Endpoint + 'static, R: Endpoint + 'static> TwoNodes<Wire, S, R> {
    /// Any two ends over the path.
    pub fn over(setup: Setup, active: S, passive: R) -> Self {
        let wire = Wire {
            arrivals: Arrivals::default(),
            lines: [LinkTransmitter::new(setup.rate), LinkTransmitter::new(setup.rate)],
            numbers: [Sequence::default(); 2],
            delay: setup.delay,
            treat: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            keep_log: true,
            drops: 0,
            finished: [None; 2],
            supply: None,
        };
        let link = |peer| vec![LinkInfo { rate: setup.rate, delay: setup.delay, mtu: setup.mtu, peer }];
        TwoNodes::of(active, passive, setup.queue, link, wire)
    }
}

impl<C: NetworkAssisted + 'static> Lab<C> {
    pub fn new<K: AssistedConfig<Controller = C>>(setup: Setup, tcp: TcpParams, control: K) -> Lab<C> {
        let scheme = Tcp::new("test", tcp, control).expect("valid parameters");
        let flow = FlowSpec {
            size: setup.size.map(Bytes),
            stop: setup.stop,
            mtu: setup.mtu,
            ..FlowSpec::new(FLOW, HOSTS[0], HOSTS[1])
        };
        let receiver = scheme.receiver(&Packet::new(FLOW, HOSTS[0], HOSTS[1], 60));
        Lab::over(setup, scheme.sender(&flow), receiver)
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
            self.nodes[0].poke_end(end, self.now, &mut self.pool, &mut self.wire.tap(0, self.now));
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
        self.arrive(to, 0, packet);
    }

    /// The application of the sending end gives the flow up.
    pub fn abort(&mut self) {
        let end = EndId { flow: FLOW, peer: EndId::ANYONE, active: true };
        self.nodes[0].abort(end, self.now, &mut self.pool, &mut self.wire.tap(0, self.now));
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
pub fn repeats<C: NetworkAssisted + 'static>(lab: &Lab<C>) -> Vec<u64> {
    let mut seen = rustc_hash::FxHashSet::default();
    lab.data().filter(|s| !seen.insert(s.seq)).map(|s| s.seq / MSS).collect()
}

/// All modes of ECN.
pub fn ecn_mode() -> impl Strategy<Value = EcnMode> {
    prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Accurate])
}
