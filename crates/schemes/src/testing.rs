//! Shared test harness of the schemes.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard};

use midpath_core::node::{Driver, Flows, Forwarding, Node};
use midpath_core::packet::{Ecn, Flags, FlowId, NodeId, Packet, Pkt, Pool, PortId};
use midpath_core::queue::QueueSpec;
use midpath_core::rng::Streams;
use midpath_core::roles::{Accept, Ecmp, Endpoint, EndpointCtx, FlowReport, LinkInfo, Routes, ShortestPath};
use midpath_core::units::Time;

use crate::transport::ecn;
use crate::transport::segment::{opens, reset};

pub const FLOW: FlowId = FlowId(7);
pub const HOSTS: [NodeId; 2] = [NodeId(0), NodeId(1)];

thread_local! {
    /// Whether ACKs that say nothing but their number are taken in a way of their own, as they are but in the test that
    /// compares it with the other.
    pub static PLAIN_ACKS: Cell<bool> = const { Cell::new(true) };
}

/// Cases of a property: `PROPTEST_CASES` when it is set, for long searches.
pub fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Lets a test look at an endpoint that a node owns.
pub struct Watched<E>(pub Arc<Mutex<E>>);

impl<E: Endpoint> Endpoint for Watched<E> {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_start(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_packet(packet, ctx);
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_timer(ctx);
    }
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_application(ctx);
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_abort(ctx);
    }
    fn report(&self) -> FlowReport {
        self.0.lock().unwrap().report()
    }
}

/// Accepts as TCP does, with an end that the test has made already.
pub fn accept_as<E: Endpoint + 'static>(first: &Packet, end: &Arc<Mutex<E>>) -> Accept {
    if opens(first) {
        return Accept::Take(Box::new(Watched(end.clone())));
    }
    reset(first).map_or(Accept::Ignore, Accept::Refuse)
}

/// A TCP's two ends that a test looks at.
struct Ends<S, R>(Arc<Mutex<S>>, Arc<Mutex<R>>);

impl<S: Endpoint + 'static, R: Endpoint + 'static> Flows for Ends<S, R> {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Watched(self.0.clone())))
    }
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        // Nobody listens at the sender's.
        let listens = node == HOSTS[1];
        if listens { accept_as(first, &self.1) } else { reset(first).map_or(Accept::Ignore, Accept::Refuse) }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        reset(packet)
    }
}

/// What a link does to a packet.
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

/// When, in which order, at which node, into which port, what.
type Arrival = (Time, u64, usize, u16, Pkt);

/// Packets on their way.
#[derive(Default)]
pub struct Arrivals {
    queue: BinaryHeap<Reverse<Arrival>>,
    made: u64,
}

impl Arrivals {
    pub fn push(&mut self, at: Time, to: usize, port: PortId, pkt: Pkt) {
        self.made += 1;
        self.queue.push(Reverse((at, self.made, to, port.0, pkt)));
    }

    /// Carries a packet that would arrive at `at`.
    pub fn carry(&mut self, fate: Fate, mut at: Time, to: usize, port: PortId, pkt: Pkt, pool: &mut Pool) {
        match fate {
            Fate::Pass => {}
            Fate::Lose => return pool.free(pkt),
            Fate::Mark => pool[&pkt].ecn = Ecn::Ce,
            Fate::Clear => pool[&pkt].flags = Flags(pool[&pkt].flags.0 & !ecn::flags(0b111).0),
            Fate::Late(by) => at += by,
            Fate::Twice(by) => {
                let copy = pool.copy(&pkt);
                self.push(at, to, port, pkt);
                return self.push(at + by, to, port, copy);
            }
        }
        self.push(at, to, port, pkt);
    }
}

/// What is between two nodes.
pub trait Between {
    /// What a node calls.
    type Tap<'a>: Driver
    where
        Self: 'a;
    fn tap(&mut self, me: usize, now: Time) -> Self::Tap<'_>;
    fn arrivals(&mut self) -> &mut Arrivals;
}

/// Two hosts, the first of which has an active end.
pub struct TwoNodes<W, S, R> {
    pub nodes: [Node; 2],
    pub pool: Pool,
    pub wire: W,
    pub now: Time,
    ends: Ends<S, R>,
}

impl<W: Between, S: Endpoint + 'static, R: Endpoint + 'static> TwoNodes<W, S, R> {
    /// The flow starts at once. `links` gives those of a host to its peer.
    pub fn of(sender: S, receiver: R, queue: QueueSpec, links: impl Fn(NodeId) -> Vec<LinkInfo>, wire: W) -> Self {
        let ends = Ends(Arc::new(Mutex::new(sender)), Arc::new(Mutex::new(receiver)));
        let flows = Arc::new(Ends(ends.0.clone(), ends.1.clone()));
        let node = |i: usize| {
            let links = links(HOSTS[1 - i]);
            let queues = links.iter().map(|link| queue.build(link.rate)).collect();
            let forwarding = Forwarding::Shortest(ShortestPath::new(Arc::new(FirstPort), Ecmp::Off));
            Node::new(HOSTS[i], links, queues, forwarding, flows.clone(), Streams::of(1, i as u64))
        };
        let mut nodes = [node(0), node(1)];
        nodes[0].start_flow(Time::ZERO, FLOW);
        TwoNodes { nodes, pool: Pool::new(), wire, now: Time::ZERO, ends }
    }

    /// Does the next thing; false when nothing is left or `until` has come.
    pub fn step(&mut self, until: Time) -> bool {
        let arrival = self.wire.arrivals().queue.peek().map_or(Time::MAX, |e| e.0.0);
        let wake = [self.nodes[0].next_wake(), self.nodes[1].next_wake()];
        let next = arrival.min(wake[0]).min(wake[1]);
        if next > until || next == Time::MAX {
            self.now = self.now.max(if until == Time::MAX { self.now } else { until });
            return false;
        }
        assert!(next >= self.now, "time went back");
        self.now = next;
        if arrival == next {
            let Reverse((_, _, to, port, pkt)) = self.wire.arrivals().queue.pop().expect("peeked");
            let mut tap = self.wire.tap(to, next);
            self.nodes[to].on_packet(next, PortId(port), pkt, &mut self.pool, &mut tap);
        } else {
            let me = usize::from(wake[0] != next);
            self.nodes[me].on_wake(next, &mut self.pool, &mut self.wire.tap(me, next));
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

    pub fn sender(&self) -> MutexGuard<'_, S> {
        self.ends.0.lock().unwrap()
    }
    pub fn receiver(&self) -> MutexGuard<'_, R> {
        self.ends.1.lock().unwrap()
    }
    pub fn report(&self) -> FlowReport {
        self.sender().report().merge(self.receiver().report())
    }

    /// Hands a packet to one end as if it had come from the other over this link.
    pub fn arrive(&mut self, to: usize, link: usize, mut packet: Packet) {
        (packet.src, packet.dst, packet.flow) = (HOSTS[1 - to], HOSTS[to], FLOW);
        let pkt = self.pool.insert(packet);
        self.wire.arrivals().push(self.now, to, PortId(link as u16), pkt);
    }
}

/// All packets leave through the first port.
pub struct FirstPort;

impl Routes for FirstPort {
    fn next_ports(&self, _node: NodeId, _dst: NodeId) -> &[u16] {
        &[0]
    }
}
