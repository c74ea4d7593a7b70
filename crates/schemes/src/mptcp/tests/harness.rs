//! Two hosts with some links between them, one connection, and a treatment of each packet that the
//! test decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard};

use midpath_core::node::{Driver, Flows, Forwarding, LinkTransmitter, Node};
use midpath_core::packet::{FlowId, NodeId, Packet, Pkt, Pool, PortId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{Accept, Ecmp, Endpoint, FlowReport, FlowSpec, LinkInfo, ShortestPath, Transmitter};
use midpath_core::units::{Bytes, Rate, Time};

use crate::mptcp::MptcpParams;
use crate::mptcp::address::Pair;
use crate::mptcp::announce::AddAddr;
use crate::mptcp::coupling::CoupledConfig;
use crate::mptcp::header::Dss;
use crate::mptcp::hello::Hello;
use crate::mptcp::receiver::Receiver;
use crate::mptcp::sender::Connection;
use crate::testing::{FirstPort, Watched, accept_as};
use crate::transport::Tcp;
use crate::transport::segment::reset;

pub const MSS: u64 = 1420;
pub const FLOW: FlowId = FlowId(7);
pub const HOSTS: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Pass,
    Lose,
    /// Arrives this much later than it would.
    Late(Time),
    /// Arrives, and once more this much later.
    Twice(Time),
}

/// A packet as it went onto a link.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at: Time,
    /// 0: from the sender; 1: from the receiver.
    pub from: usize,
    pub link: usize,
    pub packet: Packet,
}

impl Sent {
    pub fn is_data(&self) -> bool {
        self.from == 0 && self.packet.payload > 0
    }
    pub fn dss(&self) -> Option<Dss> {
        self.packet.header::<Dss>()
    }
    pub fn hello(&self) -> Option<Hello> {
        self.packet.header::<Hello>()
    }
    pub fn address(&self) -> Option<AddAddr> {
        self.packet.header::<AddAddr>()
    }
}

type Treatment = Box<dyn FnMut(&Sent) -> Fate>;

/// When, in which order, at which end, over which link, what.
type Arrival = (Time, u64, usize, usize, Pkt);

struct Wire {
    arrivals: BinaryHeap<Reverse<Arrival>>,
    lines: [Vec<LinkTransmitter>; 2],
    made: u64,
    delays: Vec<Time>,
    treat: Treatment,
    log: Vec<Sent>,
    finished: [Option<Time>; 2],
}

impl Wire {
    fn arrive(&mut self, at: Time, to: usize, link: usize, pkt: Pkt) {
        self.made += 1;
        self.arrivals.push(Reverse((at, self.made, to, link, pkt)));
    }
}

struct Tap<'a> {
    wire: &'a mut Wire,
    me: usize,
    now: Time,
}

impl Driver for Tap<'_> {
    const TIMETABLES: bool = true;
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        self.wire.lines[self.me][usize::from(port.0)].state(now)
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let end = self.wire.lines[self.me][usize::from(port.0)].start(pool[&pkt].size, now);
        self.book(port, pkt, now, end, pool);
    }
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        let link = usize::from(port.0);
        let sent = Sent { at: start, from: self.me, link, packet: pool[&pkt] };
        let at = end + self.wire.delays[link];
        match (self.wire.treat)(&sent) {
            Fate::Pass => self.wire.arrive(at, 1 - self.me, link, pkt),
            Fate::Lose => pool.free(pkt),
            Fate::Late(by) => self.wire.arrive(at + by, 1 - self.me, link, pkt),
            Fate::Twice(by) => {
                let copy = pool.copy(&pkt);
                self.wire.arrive(at, 1 - self.me, link, pkt);
                self.wire.arrive(at + by, 1 - self.me, link, copy);
            }
        }
        self.wire.log.push(sent);
    }
    fn finished(&mut self, _flow: FlowId, active: bool, _report: FlowReport) {
        self.wire.finished[usize::from(!active)] = Some(self.now);
    }
}

struct Ends(Arc<Mutex<Connection>>, Arc<Mutex<Receiver>>);

impl Flows for Ends {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Watched(self.0.clone())))
    }
    fn accept(&self, _node: NodeId, first: &Packet) -> Accept {
        accept_as(first, &self.1)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        reset(packet)
    }
}

/// The links and the flow of one test.
#[derive(Debug, Clone)]
pub struct Setup {
    pub size: Option<u64>,
    pub stop: Option<Time>,
    pub rate: Rate,
    /// One way, of each link.
    pub delays: Vec<Time>,
    pub queue: QueueSpec,
}

impl Default for Setup {
    /// Two links of 10 Gbps, 10 and 50 ms each way, no queue limit.
    fn default() -> Setup {
        Setup {
            size: Some(100 * MSS),
            stop: None,
            rate: Rate::from_gbps(10),
            delays: vec![Time::from_ms(10), Time::from_ms(50)],
            queue: QueueSpec::fifo(Limit::Bytes(u64::MAX)),
        }
    }
}

/// One subflow per link: between the addresses that the link connects.
pub fn per_link(links: u8) -> MptcpParams {
    MptcpParams { subflows: Some(links), ..MptcpParams::default() }
}

/// The laboratory: run it, look at what was sent and at both ends.
pub struct Lab {
    nodes: [Node; 2],
    pool: Pool,
    wire: Wire,
    pub now: Time,
    sender: Arc<Mutex<Connection>>,
    receiver: Arc<Mutex<Receiver>>,
}

impl Lab {
    pub fn new(setup: &Setup, params: MptcpParams) -> Lab {
        let scheme = Arc::new(Tcp::new("test", params.tcp, CoupledConfig(params.coupling)).expect("valid parameters"));
        let (id, size) = (FLOW, setup.size.map(Bytes));
        let [src, dst] = HOSTS;
        let flow = FlowSpec { size, stop: setup.stop, ..FlowSpec::new(id, src, dst) };
        let sender = Arc::new(Mutex::new(Connection::new(&flow, &params, scheme.clone(), Pair::new(0, 0))));
        let receiver = Arc::new(Mutex::new(Receiver::new(&params, scheme)));
        let flows = Arc::new(Ends(sender.clone(), receiver.clone()));
        let node = |i: usize| {
            let link = |delay: &Time| LinkInfo { rate: setup.rate, delay: *delay, mtu: 1500, peer: HOSTS[1 - i] };
            let queues = setup.delays.iter().map(|_| setup.queue.build(setup.rate)).collect();
            let forwarding = Forwarding::Shortest(ShortestPath::new(Arc::new(FirstPort), Ecmp::Off));
            let streams = Streams::of(1, i as u64);
            Node::new(HOSTS[i], setup.delays.iter().map(link).collect(), queues, forwarding, flows.clone(), streams)
        };
        let mut nodes = [node(0), node(1)];
        nodes[0].start_flow(Time::ZERO, FLOW);
        let wire = Wire {
            arrivals: BinaryHeap::new(),
            lines: [0, 1].map(|_| setup.delays.iter().map(|_| LinkTransmitter::new(setup.rate)).collect()),
            made: 0,
            delays: setup.delays.clone(),
            treat: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            finished: [None; 2],
        };
        Lab { nodes, pool: Pool::new(), wire, now: Time::ZERO, sender, receiver }
    }

    /// Decides what becomes of each packet.
    pub fn treat(mut self, treat: impl FnMut(&Sent) -> Fate + 'static) -> Lab {
        self.wire.treat = Box::new(treat);
        self
    }

    fn step(&mut self, until: Time) -> bool {
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
            let Reverse((_, _, to, link, pkt)) = self.wire.arrivals.pop().expect("peeked");
            let mut tap = Tap { wire: &mut self.wire, me: to, now: next };
            self.nodes[to].on_packet(next, PortId(link as u16), pkt, &mut self.pool, &mut tap);
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

    /// Hands a packet to one end as if it had come from the other over `link`.
    pub fn inject(&mut self, to: usize, link: usize, mut packet: Packet) {
        (packet.src, packet.dst, packet.flow) = (HOSTS[1 - to], HOSTS[to], FLOW);
        let pkt = self.pool.insert(packet);
        self.wire.arrive(self.now, to, link, pkt);
    }

    pub fn sender(&self) -> MutexGuard<'_, Connection> {
        self.sender.lock().unwrap()
    }
    pub fn receiver(&self) -> MutexGuard<'_, Receiver> {
        self.receiver.lock().unwrap()
    }
    pub fn report(&self) -> FlowReport {
        self.sender().report().merge(self.receiver().report())
    }
    pub fn gauge(&self, name: &str) -> f64 {
        let mut all = Vec::new();
        self.sender().gauges(&mut all);
        self.receiver().gauges(&mut all);
        all.iter().find(|g| g.0 == name).unwrap_or_else(|| panic!("no {name} in {all:?}")).1
    }
    pub fn log(&self) -> &[Sent] {
        &self.wire.log
    }
    /// When each end finished.
    pub fn finished(&self) -> [Option<Time>; 2] {
        self.wire.finished
    }
}

/// Cases of a property: `PROPTEST_CASES` when it is set, for long searches.
pub fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
