//! The flows of a run with their path properties, stored compactly: equal paths are stored once.

use std::sync::Arc;

use midpath_core::packet::{FlowId, Name, NodeId};
use midpath_core::roles::{End, FlowSpec, TCP_HEADERS, Transport};
use midpath_core::units::{Bytes, Rate, Time};
use midpath_topo::path::Unloaded;
use midpath_traffic::{
    After, Call, ClientFlows, ConnectionPool, Flow, FlowList, GroupNames, JobFlows, RareStep, Server, Step, Terms,
    VideoSpec,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A flow and what its path is like when nobody else is there.
#[derive(Debug, Clone, Copy)]
pub struct FlowInfo<'a> {
    /// Who, whom, how much, when.
    pub flow: Flow<'a>,
    /// Links on the path.
    pub hops: u32,
    /// Propagation both ways, and one full packet out.
    pub rtt: Time,
    /// The path's MTU.
    pub mtu: u32,
    /// Header bytes of each of its packets.
    pub headers: u32,
    /// Which end opens it.
    pub opener: End,
    /// The path's slowest link.
    pub bottleneck: Rate,
    way: &'a Way,
}

/// All flows, by number.
#[derive(Debug)]
pub struct AllFlows {
    list: FlowList,
    ways: Ways,
}

/// What paths are like, by number of flow.
#[derive(Debug, Default)]
pub(super) struct Ways {
    of: Vec<u32>,
    different: Vec<Way>,
    known: FxHashMap<Way, u32>,
    rates: FxHashSet<Arc<[Rate]>>,
}

/// What a path is like.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Way {
    /// The rate of each hop in its direction of travel, in order.
    rates: Arc<[Rate]>,
    /// Sum of the propagation delays.
    delay: Time,
    rtt: Time,
    bottleneck: Rate,
    mtu: u32,
    headers: u32,
    from_source: bool,
}

impl Ways {
    pub fn with_capacity(flows: usize) -> Ways {
        Ways { of: Vec::with_capacity(flows), ..Ways::default() }
    }

    /// Adds the way of the next flow.
    pub fn push(&mut self, path: &Unloaded, transport: Option<&dyn Transport>) {
        let rates = self.rates.get(path.rates.as_slice()).cloned().unwrap_or_else(|| {
            let rates: Arc<[Rate]> = path.rates.as_slice().into();
            self.rates.insert(rates.clone());
            rates
        });
        let way = Way {
            rates,
            delay: path.delay,
            rtt: path.packet_time(Bytes(u64::from(path.mtu))).saturating_add(path.delay),
            bottleneck: path.bottleneck,
            mtu: path.mtu,
            headers: transport.map_or(TCP_HEADERS, Transport::headers),
            from_source: transport.map_or(End::Source, Transport::opener) == End::Source,
        };
        let next = self.different.len() as u32;
        let number = *self.known.entry(way).or_insert_with_key(|way| {
            self.different.push(way.clone());
            next
        });
        self.of.push(number);
    }
}

impl AllFlows {
    pub(super) fn new(list: FlowList, ways: Ways) -> AllFlows {
        assert_eq!(list.len(), ways.of.len(), "each flow has a way");
        AllFlows { list, ways: Ways { of: ways.of, different: ways.different, ..Ways::default() } }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The longest unloaded round trip; zero if there is none.
    pub fn longest_rtt(&self) -> Time {
        self.ways.different.iter().map(|way| way.rtt).max().unwrap_or(Time::ZERO)
    }

    /// Flow number `i`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn get(&self, i: usize) -> FlowInfo<'_> {
        let way = &self.ways.different[self.ways.of[i] as usize];
        FlowInfo {
            flow: self.list.get(i),
            hops: way.rates.len() as u32,
            rtt: way.rtt,
            mtu: way.mtu,
            headers: way.headers,
            opener: if way.from_source { End::Source } else { End::Destination },
            bottleneck: way.bottleneck,
            way,
        }
    }

    /// The flow of this number, if there is one: tunnels' have others.
    #[inline]
    pub fn find(&self, flow: FlowId) -> Option<FlowInfo<'_>> {
        let i = flow.0 as usize;
        (i < self.len()).then(|| self.get(i))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FlowInfo<'_>> + Clone {
        (0..self.len()).map(|i| self.get(i))
    }

    /// What different terms there are, by number.
    pub fn terms(&self) -> &[Terms] {
        self.list.terms()
    }

    /// The names of groups, in the order in which flows have them.
    pub const fn groups(&self) -> &GroupNames {
        self.list.groups()
    }

    /// What `after`s there are, by number.
    pub fn afters(&self) -> impl DoubleEndedIterator<Item = After<'_>> + ExactSizeIterator + Clone {
        self.list.afters()
    }

    /// An `after`.
    pub fn after(&self, number: u32) -> After<'_> {
        self.list.after(number)
    }

    /// Where the flows of each client are.
    pub fn clients(&self) -> &[ClientFlows] {
        self.list.clients()
    }

    /// Where the flows of each job are.
    pub fn jobs(&self) -> &[JobFlows] {
        self.list.jobs()
    }

    /// The steps of clients and jobs, by number.
    pub fn steps(&self) -> &[Step] {
        self.list.steps()
    }

    /// What else is said of a step.
    pub fn rare(&self, step: usize) -> Option<RareStep> {
        self.list.rare(step)
    }

    /// The request to a server that is over with a step.
    pub fn call(&self, step: usize) -> Option<Call> {
        self.list.call(step)
    }

    /// The further steps for which a step counts, and how much later.
    pub fn more_then(&self, step: u32) -> &[(u32, Time)] {
        self.list.more_then(step)
    }

    /// The servers of clients, by number.
    pub fn servers(&self) -> &[Server] {
        self.list.servers()
    }

    /// The step that makes flow `i` needless when it is over.
    pub fn guard(&self, i: usize) -> Option<u32> {
        self.list.guard(i)
    }

    /// The flows that a step makes needless when it is over.
    pub fn guarded_by(&self, step: u32) -> impl Iterator<Item = u32> {
        self.list.guarded_by(step)
    }

    /// The steps for which the end of flow `i` counts.
    pub fn counts_for(&self, i: usize) -> impl Iterator<Item = u32> {
        self.list.counts_for(i)
    }

    /// The connection whose message flow `i` is.
    pub fn connection(&self, i: usize) -> Option<u32> {
        self.list.connection(i)
    }

    /// The messages of connection `i`, in order; `None` if it is another flow.
    pub fn messages(&self, i: usize) -> Option<&[u32]> {
        self.list.messages(i)
    }

    /// Whether flow `i` is limited by its application: by a rate, by when it writes, by when a connection's messages begin.
    pub fn is_application_limited(&self, i: usize, info: &FlowInfo<'_>) -> bool {
        info.flow.rate.is_some() || info.flow.writes.is_some() || self.list.is_connection(i)
    }

    /// Connections that are chosen when requests are ready, by number.
    pub fn pools(&self) -> &[ConnectionPool] {
        self.list.pools()
    }

    /// The pool over which request `i` goes.
    pub fn pool_of(&self, i: usize) -> Option<u32> {
        self.list.pool_of(i)
    }

    /// The video that is watched over a pool.
    pub fn video(&self, pool: u32) -> Option<&Arc<VideoSpec>> {
        self.list.video(pool)
    }

    /// How urgent message `i` is among those of its connection: from 0, the most urgent.
    pub fn rank(&self, i: usize) -> u8 {
        self.list.rank(i)
    }

    /// The request whose connection is free with a step.
    pub fn frees(&self, step: u32) -> Option<u32> {
        self.list.frees(step)
    }

    /// What whoever wrote the scenario should know of it.
    pub fn notes(&self) -> &[String] {
        self.list.notes()
    }
}

impl FlowInfo<'_> {
    /// The nodes of its active and its passive end.
    pub fn ends(&self) -> (NodeId, NodeId) {
        let (src, dst) = (NodeId(self.flow.src), NodeId(self.flow.dst));
        match self.opener {
            End::Source => (src, dst),
            End::Destination => (dst, src),
        }
    }

    /// From its start to its last byte's arrival on an unloaded path, without handshake: packets of
    /// the path's MTU sent back to back, stored and forwarded at each hop. `None` also where an application writes now
    /// and then: the path is not what its time is of.
    pub fn unloaded(&self) -> Option<Time> {
        self.flow.size.filter(|_| self.flow.writes.is_none()).map(|size| self.way.unloaded(size))
    }

    /// Of its path, one way.
    pub fn propagation(&self) -> Time {
        self.way.delay
    }

    /// Bytes on the wire for the whole flow.
    pub fn wire_bytes(&self) -> Option<u64> {
        let size = self.flow.size?.0;
        let packets = size.div_ceil(self.way.payload()).max(1);
        Some(size.saturating_add(packets.saturating_mul(u64::from(self.headers))))
    }

    /// The payload's share of what is on the wire.
    pub fn payload_share(&self) -> f64 {
        match self.flow.size.zip(self.wire_bytes()) {
            Some((size, wire)) => size.as_f64() / wire as f64,
            None => self.way.payload() as f64 / f64::from(self.mtu.max(1)),
        }
    }

    pub(super) fn spec(&self, id: FlowId, group: u32, budget: Option<u32>) -> FlowSpec {
        FlowSpec {
            id,
            src: NodeId(self.flow.src),
            dst: NodeId(self.flow.dst),
            size: self.flow.size,
            stop: self.flow.stop,
            rate: self.flow.rate,
            mtu: self.mtu,
            group,
            budget,
            weight: self.flow.weight,
            name: Name { prefix: NodeId(self.flow.src), object: id.0 },
        }
    }
}

impl Way {
    /// The payload of a full packet.
    fn payload(&self) -> u64 {
        u64::from(self.mtu.saturating_sub(self.headers).max(1))
    }

    /// When the last packet of `size` payload bytes arrives, sent back to back: full packets, then
    /// what is left.
    ///
    /// That is the longest chain of "this hop after that packet": full packets fill the hops up to one
    /// of them and queue at the slowest of these; from there on the last packet, which may be smaller,
    /// is alone on the way.
    fn unloaded(&self, size: Bytes) -> Time {
        let payload = self.payload();
        let full = size.0.saturating_sub(1) / payload;
        let last = Bytes(size.0.max(1) - full * payload + u64::from(self.headers));
        let mut longest = self.rates.iter().fold(self.delay, |t, rate| t.saturating_add(rate.time_for(last)));
        let (mut before, mut slowest, mut after) = (self.delay, Time::ZERO, longest.saturating_sub(self.delay));
        for rate in self.rates.iter().filter(|_| full > 0) {
            let time = rate.time_for(Bytes(u64::from(self.mtu)));
            (before, slowest) = (before.saturating_add(time), slowest.max(time));
            let queued = Time(slowest.0.saturating_mul(full - 1));
            longest = longest.max(before.saturating_add(queued).saturating_add(after));
            after = after.saturating_sub(rate.time_for(last));
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packet by packet and hop by hop.
    fn stepped(path: &Unloaded, packets: &[u64]) -> Time {
        let mut free = vec![Time::ZERO; path.rates.len()];
        let mut arrival = Time::ZERO;
        for size in packets {
            arrival = Time::ZERO;
            for (rate, free) in path.rates.iter().zip(&mut free) {
                arrival = arrival.max(*free) + rate.time_for(Bytes(*size));
                *free = arrival;
            }
        }
        arrival + path.delay
    }

    fn path(mbps: impl IntoIterator<Item = u64>, delay: u64) -> Unloaded {
        let rates: Vec<Rate> = mbps.into_iter().map(Rate::from_mbps).collect();
        let bottleneck = rates.iter().copied().min().unwrap_or_default();
        Unloaded { links: Vec::new(), delay: Time::from_us(delay), bottleneck, mtu: 1500, rates }
    }

    proptest! {
        #[test]
        fn the_unloaded_time_is_that_of_the_last_packet(
            rates in prop::collection::vec(1u64..100, 1..6), size in 1u64..40_000, delay in 0u64..1000,
        ) {
            let path = path(rates, delay);
            let full = (size - 1) / 1448;
            let mut packets = vec![1500; full as usize];
            packets.push(size - full * 1448 + 52);
            let mut ways = Ways::default();
            ways.push(&path, None);
            prop_assert_eq!(ways.different[0].unloaded(Bytes(size)), stepped(&path, &packets));
        }
    }

    #[test]
    fn ways_that_are_alike_are_kept_once() {
        let mut ways = Ways::with_capacity(4);
        for (mbps, delay) in [([1, 2], 5), ([2, 1], 5), ([1, 2], 5), ([1, 2], 6)] {
            ways.push(&path(mbps, delay), None);
        }
        assert_eq!((ways.of, ways.different.len(), ways.rates.len()), (vec![0, 1, 0, 2], 3, 2));
    }
}
