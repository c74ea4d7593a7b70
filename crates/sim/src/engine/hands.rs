//! What happens to a node while it runs: packets arrive, wishes come up, and what it sends gets its
//! place on a wire.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::node::{Driver, Node, Woken};
use midpath_core::packet::{FlowId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::roles::{Drop, FlowReport, Transmitter};
use midpath_core::units::Time;
use midpath_core::wire;
use rustc_hash::FxHashMap;

use super::heads::MANY;
use super::reports::Reports;
use super::rings::{Entry, Rings};
use super::sched::Calendar;
use super::tally::{Crossing, FlowFate, Tally};
use super::turns::Turns;
use super::wire::{Target, Wire};
use super::{Event, Probe};

/// The node's driver during a call: everything of the part but the node itself.
pub(super) struct Hands<'a> {
    pub now: Time,
    pub node: u32,
    pub wires: &'a mut [Wire],
    pub rings: &'a mut Rings,
    pub events: &'a [Event],
    pub calendar: &'a mut Calendar,
    pub tight: &'a mut BinaryHeap<Reverse<(Time, u32)>>,
    pub bucket_end: Time,
    pub tally: &'a mut Tally,
    pub fates: &'a mut FxHashMap<FlowId, FlowFate>,
    pub reports: &'a mut Reports,
    pub outbox: &'a mut [Vec<Crossing>],
    pub probe: &'a mut dyn Probe,
    pub looking: bool,
    pub bytes: Option<&'a mut Vec<u8>>,
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
        if wire.changes().is_some() {
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
        let (delay, target) = (wire.delay, wire.target);
        let changes = wire.changes()?;
        if changes.cuts(start, end) {
            changes.lost += 1;
            self.dropped(Some(port), pkt.id(), &pool[&pkt], Drop::Fault);
            pool.free(pkt);
            return None;
        }
        let at = changes.arrival(end, delay);
        match target {
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

/// The loops that run a node. They return when something happens to it next. Each is a function of
/// its own: in one for all, more registers are spilt.
impl Hands<'_> {
    /// Gives a node everything that happens to it before `horizon`. Its rings are those from
    /// `first` to before `last`.
    #[inline]
    pub fn run(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        last: u32,
        horizon: Time,
        turns: &mut Turns,
    ) -> Time {
        match last - first {
            1 | 2 => self.run_by_two(node, pool, first, last, horizon),
            0..=FEW_PORTS => self.run_by_heads(node, pool, first, last, horizon),
            _ => self.run_by_turns(node, pool, first, last, horizon, turns),
        }
    }

    #[inline(never)]
    fn run_by_heads(&mut self, node: &mut Node, pool: &mut Pool, first: u32, last: u32, horizon: Time) -> Time {
        loop {
            // Ties go to the first, which is the lower port: the order is total.
            let (mut at, mut ring) = (Time::MAX, 0);
            for (i, head) in self.rings.heads().all(first, last).iter().enumerate() {
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
    #[inline(never)]
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

    #[inline(never)]
    fn run_by_turns(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        last: u32,
        horizon: Time,
        turns: &mut Turns,
    ) -> Time {
        let many = (last - first) as usize > MANY;
        // What comes next, as far as it is known.
        turns.clear();
        let mut beyond = self.rings.heads_mut().take_before(first, last, horizon, |link, at| turns.push(link, at));
        turns.order();
        if many && turns.links().len() > 1 {
            // None of it is in the cache: one wait for all rings, not one for each.
            turns.links().for_each(|ring| self.rings.fetch_ring(ring));
            turns.links().for_each(|ring| self.rings.fetch_front(ring));
            turns.links().for_each(|ring| self.rings.fetch_packet(ring, pool));
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
                next => {
                    self.rings.heads_mut().lower(ring, next);
                    beyond = beyond.min(next);
                    turns.over();
                }
            }
            self.arrival(node, pool, (first, ring), at, entry);
        }
        while node.next_wake() < horizon {
            let wake = node.next_wake();
            self.wake(node, pool, wake);
        }
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
