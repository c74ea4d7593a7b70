//! A part of the network that one thread runs: its nodes, the rings of the links that lead to them,
//! and their packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::node::{Driver, Node, Woken};
use midpath_core::packet::{FlowId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::roles::{Drop, FlowReport, Transmitter};
use midpath_core::units::Time;
use midpath_core::wire;
use rustc_hash::FxHashMap;

use super::reports::Reports;
use super::rings::{Entry, Load, Rings};
use super::sched::Calendar;
use super::turns::Turns;
use super::wire::{Target, Wire};
use super::{Event, Probe};

/// A packet that leaves its part.
pub(crate) struct Crossing {
    pub ring: u32,
    pub at: Time,
    pub corrupt: bool,
    pub packet: Packet,
}

/// What happened to one flow's packets in the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowFate {
    /// Packets dropped, by queues, policies or faults.
    pub dropped: u64,
    /// Packets corrupted on a wire.
    pub corrupted: u64,
    /// Packets marked CE.
    pub marked: u64,
}

/// What a part has counted.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Packets put onto a wire: one packet crossing one link is one.
    pub hops: u64,
    /// Packets handed to an endpoint.
    pub delivered: u64,
    /// Packets that ended in the network.
    pub dropped: u64,
    /// Of these, packets without a route.
    pub no_route: u64,
    /// Of these, packets that ran out of hops: they went in circles, or very far.
    pub out_of_hops: u64,
    /// Packets corrupted on a wire.
    pub corrupted: u64,
    /// Packets that ports and forwarders have used up.
    pub consumed: u64,
    /// Packets that left for another part.
    pub exported: u64,
    /// Packets that came from another part.
    pub imported: u64,
    /// Node wake-ups and arrivals.
    pub events: u64,
    /// When the last packet arrived anywhere.
    pub last_arrival: Time,
}

impl Tally {
    /// Adds another part's counts.
    pub(crate) fn add(&mut self, o: &Tally) {
        self.hops += o.hops;
        self.delivered += o.delivered;
        self.dropped += o.dropped;
        self.no_route += o.no_route;
        self.out_of_hops += o.out_of_hops;
        self.corrupted += o.corrupted;
        self.consumed += o.consumed;
        self.exported += o.exported;
        self.imported += o.imported;
        self.events += o.events;
        self.last_arrival = self.last_arrival.max(o.last_arrival);
    }
}

/// What is left to be done beside housekeeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Agenda {
    /// Wishes of nodes, packets on wires.
    pub work: bool,
    /// Messages between neighbours are on wires.
    pub messages: bool,
    /// Nodes keep packets.
    pub stored: bool,
}

impl Agenda {
    /// Whether there is nothing. Messages can make more of it only where packets wait for one.
    pub fn is_empty(self) -> bool {
        !(self.work || self.messages && self.stored)
    }

    pub fn and(self, o: Agenda) -> Agenda {
        Agenda { work: self.work | o.work, messages: self.messages | o.messages, stored: self.stored | o.stored }
    }
}

/// One part.
pub(crate) struct Part {
    pub nodes: Vec<Node>,
    pub wires: Vec<Vec<Wire>>,
    /// The rings that lead to node `n` are those from `first_ring[n]` to before
    /// `first_ring[n + 1]`, by port.
    pub first_ring: Vec<u32>,
    pub rings: Rings,
    pub lookahead: Vec<Time>,
    pub calendar: Calendar,
    pub pool: Pool,
    pub tally: Tally,
    pub fates: FxHashMap<FlowId, FlowFate>,
    pub reports: Reports,
    pub outbox: Vec<Vec<Crossing>>,
    pub events: Vec<Event>,
    pub probe: Box<dyn Probe>,
    /// Packets are looked at as they get their places on the wire: by the probe, or because links
    /// are of bytes.
    looking: bool,
    /// With links of bytes: where packets are written.
    bytes: Option<Vec<u8>>,
    /// Nodes whose lookahead is smaller than a bucket, and when they have something to do in the
    /// bucket at hand.
    tight: BinaryHeap<Reverse<(Time, u32)>>,
    bucket_end: Time,
    batch: Vec<u32>,
    turns: Turns,
}

/// The node's driver during a call: everything of the part but the node itself.
struct Hands<'a> {
    now: Time,
    node: u32,
    wires: &'a mut [Wire],
    rings: &'a mut Rings,
    events: &'a [Event],
    calendar: &'a mut Calendar,
    tight: &'a mut BinaryHeap<Reverse<(Time, u32)>>,
    bucket_end: Time,
    tally: &'a mut Tally,
    fates: &'a mut FxHashMap<FlowId, FlowFate>,
    reports: &'a mut Reports,
    outbox: &'a mut [Vec<Crossing>],
    probe: &'a mut dyn Probe,
    looking: bool,
    bytes: Option<&'a mut Vec<u8>>,
}

impl Hands<'_> {
    #[inline(always)]
    fn arrive(&mut self, ring: u32, node: u32, at: Time, entry: Entry) {
        if self.rings.push(ring, at, entry) && self.calendar.note(node, at) && at < self.bucket_end {
            self.tight.push(Reverse((at, node)));
        }
    }

    /// The same with a packet that may overtake others.
    #[cold]
    fn arrive_before(&mut self, ring: u32, node: u32, at: Time, entry: Entry) {
        if self.rings.insert(ring, at, entry) && self.calendar.note(node, at) && at < self.bucket_end {
            self.tight.push(Reverse((at, node)));
        }
    }

    /// A packet gets its place on the wire, and somebody wants to know.
    #[cold]
    fn look(&mut self, port: PortId, pkt: &Pkt, start: Time, pool: &mut Pool) {
        self.probe.transmitted(self.node, port, &pool[pkt], start);
        if let Some(bytes) = &mut self.bytes {
            wire::cross(&mut pool[pkt], bytes);
        }
    }

    /// Puts a packet onto a wire to which more happens than that it arrives later, or that leads to
    /// another part.
    #[inline(never)]
    fn send_over(&mut self, port: PortId, pkt: Pkt, (start, end): (Time, Time), pool: &mut Pool) {
        if self.looking {
            self.look(port, &pkt, start, pool);
        }
        let wire = &mut self.wires[usize::from(port.0)];
        let corrupt = wire.loses();
        let (mut at, mut pkt, target) = (end + wire.delay, pkt, wire.target);
        if wire.changes.is_some() {
            match self.over_changes(port, pkt, (start, end), corrupt, pool) {
                Some(later) => (at, pkt) = later,
                None => return,
            }
        }
        match target {
            Target::Here { ring, node } => self.arrive(ring, node, at, Entry::new(pkt, corrupt, pool)),
            Target::There { part, ring } => {
                self.tally.exported += 1;
                let packet = pool.take(pkt);
                self.outbox[part as usize].push(Crossing { ring, at, corrupt, packet });
            }
        }
    }

    /// When a packet arrives over a wire that changes. `None` if it needs nothing more: the link
    /// went down on it, or it has overtaken others and is in its place already.
    #[cold]
    #[inline(never)]
    fn over_changes(
        &mut self,
        port: PortId,
        pkt: Pkt,
        (start, end): (Time, Time),
        corrupt: bool,
        pool: &mut Pool,
    ) -> Option<(Time, Pkt)> {
        let wire = &mut self.wires[usize::from(port.0)];
        let changes = wire.changes.as_deref_mut()?;
        if changes.cuts(start, end) {
            changes.lost += 1;
            self.dropped(Some(port), pkt.id(), &pool[&pkt], Drop::Fault);
            pool.free(pkt);
            return None;
        }
        let at = changes.arrival(end, wire.delay);
        match wire.target {
            Target::Here { ring, node } if changes.reorders() => {
                self.arrive_before(ring, node, at, Entry::new(pkt, corrupt, pool));
                None
            }
            _ => Some((at, pkt)),
        }
    }
}

/// Up to this many ports the next arrival is found by looking at all rings' heads; above, the rings
/// that have one take turns from a heap. Measured in docs/performance.md.
const FEW_PORTS: u32 = 12;

/// The loops that run a node. Both return when something happens to it next.
impl Hands<'_> {
    fn run_by_heads(&mut self, node: &mut Node, pool: &mut Pool, first: u32, last: u32, horizon: Time) -> Time {
        loop {
            // Ties go to the first, which is the lower port: the order is total.
            let (mut at, mut ring) = (Time::MAX, 0);
            for (i, head) in self.rings.heads(first, last).iter().enumerate() {
                if *head < at {
                    (at, ring) = (*head, first + i as u32);
                }
            }
            let wake = node.next_wake();
            if at.min(wake) >= horizon {
                return at.min(wake);
            }
            if wake < at {
                self.wake(node, pool, wake);
            } else if let Some(entry) = self.rings.pop(ring, pool) {
                self.arrival(node, pool, (first, ring), at, entry);
            }
        }
    }

    /// The same with one link or two: while one brings packets before the other, it goes on.
    fn run_by_two(&mut self, node: &mut Node, pool: &mut Pool, first: u32, last: u32, horizon: Time) -> Time {
        loop {
            let (mut at, mut ring, mut other) = (self.rings.head(first), first, Time::MAX);
            if first + 1 < last {
                other = self.rings.head(first + 1);
                if other < at {
                    (at, ring, other) = (other, first + 1, at);
                }
            }
            let wake = node.next_wake();
            if at.min(wake) >= horizon {
                return at.min(wake);
            }
            if wake < at {
                self.wake(node, pool, wake);
                continue;
            }
            // Nothing new comes to the other one meanwhile, and a tie is looked at again.
            let others = other.min(horizon);
            while let Some(entry) = self.rings.pop(ring, pool) {
                self.arrival(node, pool, (first, ring), at, entry);
                at = self.rings.head(ring);
                if at >= others || node.next_wake() < at {
                    break;
                }
            }
        }
    }

    fn run_by_turns(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        last: u32,
        horizon: Time,
        turns: &mut Turns,
    ) -> Time {
        let by_blocks = self.rings.by_blocks(first, last);
        if by_blocks {
            turns.fill_by_blocks(self.rings.blocks_before(first, last, horizon), horizon);
        } else {
            turns.fill(self.rings.heads(first, last), first, horizon);
        }
        // Ties go to the lower port, as above.
        while let Some((at, ring)) = turns.first() {
            let wake = node.next_wake();
            if wake < at {
                self.wake(node, pool, wake);
                continue;
            }
            let Some(entry) = self.rings.pop(ring, pool) else { break };
            match self.rings.head(ring) {
                next if next < horizon => turns.again(next),
                _ => turns.over(),
            }
            self.arrival(node, pool, (first, ring), at, entry);
        }
        while node.next_wake() < horizon {
            let wake = node.next_wake();
            self.wake(node, pool, wake);
        }
        let beyond = match by_blocks {
            true => self.rings.earliest_from(first, last, horizon),
            false => self.rings.heads(first, last).iter().min().copied().unwrap_or(Time::MAX),
        };
        beyond.min(node.next_wake())
    }

    /// A packet has come over one of the node's rings, the first of which is `first`.
    #[inline(always)]
    fn arrival(&mut self, node: &mut Node, pool: &mut Pool, (first, ring): (u32, u32), at: Time, entry: Entry) {
        self.now = at;
        self.tally.events += 1;
        self.tally.last_arrival = self.tally.last_arrival.max(at);
        if entry.corrupt() {
            return self.lose(pool, ring, entry);
        }
        node.on_packet(at, PortId((ring - first) as u16), entry.take(pool), pool, self);
    }

    #[cold]
    fn lose(&mut self, pool: &mut Pool, ring: u32, entry: Entry) {
        self.rings.count_corrupted(ring);
        self.tally.corrupted += 1;
        let flow = pool.take(entry.take(pool)).flow;
        self.fates.entry(flow).or_default().corrupted += 1;
    }

    fn wake(&mut self, node: &mut Node, pool: &mut Pool, at: Time) {
        self.now = at;
        self.tally.events += 1;
        if let Woken::Driver(token) = node.on_wake(at, pool, self) {
            self.event(node, pool, token, at);
        }
    }

    /// What the scenario has in store for a node.
    #[cold]
    fn event(&mut self, node: &mut Node, pool: &mut Pool, token: u32, at: Time) {
        match self.events[token as usize] {
            Event::Up(port, up) => {
                self.wires[usize::from(port.0)].line.set_up(up);
                node.on_link(port, at, pool, self);
            }
            Event::Rate(port, [rate, back]) => {
                self.wires[usize::from(port.0)].line.set_rate(rate);
                node.set_reverse_rate(port, back);
                node.set_rate(port, rate, at, pool, self);
            }
            Event::Routes(state) => {
                let down = |(_, wire): &(usize, &Wire)| wire.line.state(at) == Transmitter::Busy { until: None };
                let down = self.wires.iter().enumerate().filter(down).map(|(p, _)| PortId(p as u16));
                let down: Vec<PortId> = down.collect();
                node.on_routes(state, &down, at, pool, self);
            }
            Event::Restart => node.restart(at, pool, self),
        }
    }
}

impl Driver for Hands<'_> {
    const TIMETABLES: bool = true;

    #[inline]
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        self.wires[usize::from(port.0)].line.state(now)
    }

    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let end = self.wires[usize::from(port.0)].line.start(pool[&pkt].size, now);
        self.book(port, pkt, now, end, pool);
    }

    /// For each hop: a call costs 22 instructions.
    #[inline(always)]
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        self.tally.hops += 1;
        let wire = &self.wires[usize::from(port.0)];
        let (at, target) = (end + wire.delay, wire.target);
        if wire.plain
            && let Target::Here { ring, node } = target
        {
            return self.arrive(ring, node, at, Entry::new(pkt, false, pool));
        }
        self.send_over(port, pkt, (start, end), pool);
    }

    #[inline(never)]
    fn dropped(&mut self, _port: Option<PortId>, _id: PacketId, packet: &Packet, why: Drop) {
        self.tally.dropped += 1;
        match why {
            Drop::NoRoute => self.tally.no_route += 1,
            Drop::Hops => self.tally.out_of_hops += 1,
            _ => {}
        }
        // A packet that reached its host after the flow was over there was not lost by the network.
        if why != Drop::Undeliverable {
            self.fates.entry(packet.flow).or_default().dropped += 1;
        }
    }

    fn marked(&mut self, _port: PortId, _id: PacketId, packet: &Packet) {
        self.fates.entry(packet.flow).or_default().marked += 1;
    }

    fn finished(&mut self, flow: FlowId, active: bool, report: FlowReport) {
        self.probe.finished(self.node, flow, active, &report, self.now);
        self.reports.add(flow, report);
    }

    #[inline]
    fn delivered(&mut self, _id: PacketId, _packet: &Packet) {
        self.tally.delivered += 1;
    }

    fn consumed(&mut self, _id: PacketId, _packet: &Packet) {
        self.tally.consumed += 1;
    }
}

impl Part {
    #[allow(clippy::too_many_arguments)] // One caller, which assembles exactly these.
    pub fn new(
        nodes: Vec<Node>,
        wires: Vec<Vec<Wire>>,
        first_ring: Vec<u32>,
        rings: Rings,
        lookahead: Vec<Time>,
        parts: usize,
        events: Vec<Event>,
        probe: Box<dyn Probe>,
    ) -> Part {
        let mut calendar = Calendar::new(nodes.len(), bucket_width(&lookahead));
        for (n, node) in nodes.iter().enumerate() {
            calendar.renew(n as u32, node.next_wake());
        }
        let watched = probe.watches_packets();
        let mut part = Part {
            nodes,
            wires,
            first_ring,
            rings,
            lookahead,
            calendar,
            pool: Pool::new(),
            tally: Tally::default(),
            fates: FxHashMap::default(),
            reports: Reports::default(),
            outbox: (0..parts).map(|_| Vec::new()).collect(),
            events,
            looking: false,
            bytes: None,
            probe,
            tight: BinaryHeap::new(),
            bucket_end: Time::ZERO,
            batch: Vec::new(),
            turns: Turns::default(),
        };
        if watched {
            part.look_at_packets();
        }
        part
    }

    /// Makes the links that start here carry bytes.
    pub fn carry_bytes(&mut self) {
        self.bytes = Some(Vec::new());
        self.look_at_packets();
    }

    /// Makes each packet be looked at as it gets its place on the wire.
    fn look_at_packets(&mut self) {
        self.looking = true;
        self.wires.iter_mut().flatten().for_each(|wire| wire.plain = false);
    }

    /// The earliest time at which anything happens here.
    pub fn earliest(&self) -> Time {
        self.calendar.earliest()
    }

    /// What is left to be done.
    pub fn agenda(&self) -> Agenda {
        if !self.nodes.iter().all(Node::is_resting) {
            return Agenda { work: true, ..Agenda::default() };
        }
        let load = self.rings.load(&self.pool);
        let stored = self.nodes.iter().any(|n| n.stored() > 0);
        Agenda { work: load == Load::Packets, messages: load == Load::Control, stored }
    }

    /// Takes in what came from another part.
    pub fn import(&mut self, crossings: &mut Vec<Crossing>, node_of_ring: &[u32]) {
        for c in crossings.drain(..) {
            self.tally.imported += 1;
            let pkt = self.pool.insert(c.packet);
            if self.rings.insert(c.ring, c.at, Entry::new(pkt, c.corrupt, &self.pool)) {
                self.calendar.note(node_of_ring[c.ring as usize], c.at);
            }
        }
    }

    /// Runs one bucket of the calendar, but nothing at or after `limit`. Says whether there was
    /// anything to run.
    pub fn run_bucket(&mut self, limit: Time) -> bool {
        let mut batch = std::mem::take(&mut self.batch);
        let Some(start) = self.calendar.take_bucket(limit, &mut batch) else {
            self.batch = batch;
            return false;
        };
        let width = self.calendar.width();
        let end = (start.saturating_add(width)).min(limit);
        self.bucket_end = end;
        for &n in &batch {
            let next = self.calendar.next_of(n);
            if next >= end {
                // A stale entry, or one beyond the limit in a bucket that straddles it.
                if next < start.saturating_add(width) {
                    self.calendar.renew(n, next);
                }
            } else if self.lookahead[n as usize] >= width {
                self.run_node(n, (start.saturating_add(self.lookahead[n as usize])).min(limit));
            } else {
                self.tight.push(Reverse((next, n)));
            }
        }
        self.run_tight(end);
        batch.clear();
        self.batch = batch;
        // A bucket that reaches the limit was the last one: what is left in it lies beyond.
        end < limit
    }

    /// Runs the nodes that are closer to each other than a bucket is wide, in order of time.
    fn run_tight(&mut self, end: Time) {
        while let Some(Reverse((at, n))) = self.tight.pop() {
            if self.calendar.next_of(n) != at {
                continue; // it has run since
            }
            let reach = self.lookahead[n as usize].max(Time(1));
            self.run_node(n, at.saturating_add(reach).min(end));
            let next = self.calendar.next_of(n);
            if next < end {
                self.tight.push(Reverse((next, n)));
            }
        }
    }

    /// Gives node `n` everything that happens to it before `horizon`, in order of time: arrivals
    /// before wake-ups, then by port.
    fn run_node(&mut self, n: u32, horizon: Time) {
        let (first, last) = (self.first_ring[n as usize], self.first_ring[n as usize + 1]);
        let mut turns = std::mem::take(&mut self.turns);
        let node = &mut self.nodes[n as usize];
        let mut hands = Hands {
            now: Time::ZERO,
            node: n,
            wires: &mut self.wires[n as usize],
            rings: &mut self.rings,
            events: &self.events,
            calendar: &mut self.calendar,
            tight: &mut self.tight,
            bucket_end: self.bucket_end,
            tally: &mut self.tally,
            fates: &mut self.fates,
            reports: &mut self.reports,
            outbox: &mut self.outbox,
            looking: self.looking,
            bytes: self.bytes.as_mut(),
            probe: self.probe.as_mut(),
        };
        let next = match last - first {
            1 | 2 => hands.run_by_two(node, &mut self.pool, first, last, horizon),
            0..=FEW_PORTS => hands.run_by_heads(node, &mut self.pool, first, last, horizon),
            _ => hands.run_by_turns(node, &mut self.pool, first, last, horizon, &mut turns),
        };
        self.turns = turns;
        self.calendar.renew(n, next);
    }

    /// How far it has come: the end of the bucket at hand.
    pub fn now(&self) -> Time {
        self.bucket_end
    }

    /// Lets the probe look at every node; nothing at or after `at` has happened yet.
    pub fn sample(&mut self, at: Time) {
        for (n, node) in self.nodes.iter_mut().enumerate() {
            self.probe.sample(n as u32, node, at);
        }
        self.probe.end_sample();
    }

    /// Packets stored in held ports, and packets on wires (which includes those that wait by
    /// timetable).
    pub fn remaining(&self) -> (u64, u64) {
        let on_wires = self.rings.packets();
        (self.nodes.iter().map(Node::stored).sum(), on_wires)
    }

    pub fn memory(&self) -> usize {
        self.pool.memory()
            + self.calendar.memory()
            + self.rings.memory()
            + self.nodes.iter().map(Node::memory).sum::<usize>()
    }
}

/// The width of a bucket: the smallest lookahead, unless that is far below the usual; then such
/// nodes run in time order.
fn bucket_width(lookahead: &[Time]) -> Time {
    let mut sorted: Vec<Time> = lookahead.iter().copied().filter(|l| *l != Time::MAX).collect();
    sorted.sort_unstable();
    let Some(median) = sorted.get(sorted.len() / 2).copied() else { return Time::from_ms(1) };
    // 1/16: below that, the buckets of the many would be emptied sixteen times for each that has
    // work. Measured in docs/performance.md.
    sorted.into_iter().find(|l| *l >= median / 16).unwrap_or(median)
}
