//! Two hosts with some links between them, one connection, and a treatment of each packet that the
//! test decides.

use std::sync::Arc;

use midpath_core::node::{Driver, LinkTransmitter};
use midpath_core::packet::{FlowId, Packet, Pkt, Pool, PortId};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::roles::{Endpoint, FlowReport, FlowSpec, LinkInfo, Transmitter};
use midpath_core::units::{Bytes, Rate, Time};

use crate::mptcp::MptcpParams;
use crate::mptcp::announce::AddAddr;
use crate::mptcp::coupling::CoupledConfig;
use crate::mptcp::header::Dss;
use crate::mptcp::hello::Hello;
use crate::mptcp::receiver::Receiver;
use crate::mptcp::sender::Connection;
use crate::testing::{Arrivals, Between, TwoNodes};
use crate::transport::Tcp;

pub use crate::testing::{FLOW, Fate, HOSTS, cases};

pub const MSS: u64 = 1420;
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

pub struct Wire {
    arrivals: Arrivals,
    lines: [Vec<LinkTransmitter>; 2],
    delays: Vec<Time>,
    treat: Treatment,
    log: Vec<Sent>,
    finished: [Option<Time>; 2],
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
        let fate = (self.wire.treat)(&sent);
        self.wire.arrivals.carry(fate, end + self.wire.delays[link], 1 - self.me, port, pkt, pool);
        self.wire.log.push(sent);
    }
    fn finished(&mut self, _flow: FlowId, active: bool, _report: FlowReport) {
        self.wire.finished[usize::from(!active)] = Some(self.now);
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
pub type Lab = TwoNodes<Wire, Connection, Receiver>;

impl Lab {
    pub fn new(setup: &Setup, params: MptcpParams) -> Lab {
        let scheme = Arc::new(Tcp::new("test", params.tcp, CoupledConfig(params.coupling)).expect("valid parameters"));
        let [src, dst] = HOSTS;
        let flow = FlowSpec { size: setup.size.map(Bytes), stop: setup.stop, ..FlowSpec::new(FLOW, src, dst) };
        let sender = Connection::new(&flow, Arc::new(params), scheme.clone(), Arc::default());
        let wire = Wire {
            arrivals: Arrivals::default(),
            lines: [0, 1].map(|_| setup.delays.iter().map(|_| LinkTransmitter::new(setup.rate)).collect()),
            delays: setup.delays.clone(),
            treat: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            finished: [None; 2],
        };
        let link = |peer, &delay: &Time| LinkInfo { rate: setup.rate, delay, mtu: 1500, peer };
        let links = |peer| setup.delays.iter().map(|delay| link(peer, delay)).collect();
        Lab::of(sender, Receiver::new(&params, scheme), setup.queue, links, wire)
    }

    /// Decides what becomes of each packet.
    pub fn treat(mut self, treat: impl FnMut(&Sent) -> Fate + 'static) -> Lab {
        self.wire.treat = Box::new(treat);
        self
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
