//! A part of the network that one thread runs: its nodes, the rings of their incoming links, and their packets.

mod prefetch;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::node::{Node, Release};
use midpath_core::packet::Pool;
use midpath_core::units::Time;
use prefetch::{LARGE, Prefetched};
use rustc_hash::FxHashMap;

use super::arrival_heap::ArrivalHeap;
use super::arrival_list::ArrivalList;
use super::delays::AllDelays;
use super::driver::{NodeDriver, Tracing, Untraced};
use super::mail::Mail;
use super::next_arrivals;
use super::part_state::{PartState, Staged};
use super::reports::AllReports;
use super::rings::{Entry, Load, Rings};
use super::sched::Calendar;
use super::tally::Tally;
use super::trace::{Life, Trace};
use super::waits::News;
use super::wire::Wire;
use super::{Event, Probe};

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

/// Where a node's ports are among those of its part, and how soon anybody can reach it. In one
/// place, for where there are many nodes each read is of memory that is not in the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// Its first port.
    pub first: u32,
    /// The next node's first port.
    pub last: u32,
    pub lookahead: Time,
}

impl Span {
    /// How many ports it has.
    #[inline]
    pub fn ports(&self) -> u32 {
        self.last - self.first
    }
}

/// One part.
pub(crate) struct Part {
    pub nodes: Vec<Node>,
    pub spans: Vec<Span>,
    /// What leaves by each port. The ring of what comes in there has the same number.
    pub wires: Vec<Wire>,
    pub pool: Pool,
    pub common: PartState,
    /// Of a traced run: its record.
    trace: Option<Box<Trace>>,
    pub(super) batch: Vec<u32>,
    list: ArrivalList,
    heap: ArrivalHeap,
}

impl Part {
    #[allow(clippy::too_many_arguments)] // One caller, which assembles exactly these.
    pub fn new(
        nodes: Vec<Node>,
        spans: Vec<Span>,
        wires: Vec<Wire>,
        mut rings: Rings,
        parts: usize,
        events: Vec<Event>,
        probe: Box<dyn Probe>,
    ) -> Part {
        if spans.iter().any(|span| span.ports() as usize > next_arrivals::FEW) {
            rings.index();
        }
        let mut calendar = Calendar::new(nodes.len(), bucket_width(spans.iter().map(|span| span.lookahead)));
        for (n, node) in nodes.iter().enumerate() {
            calendar.renew(n as u32, node.next_wake());
        }
        let watched = probe.watches_packets();
        let common = PartState {
            rings,
            calendar,
            tally: Tally::default(),
            fates: FxHashMap::default(),
            delays: AllDelays::default(),
            reports: AllReports::default(),
            outbox: (0..parts).map(|_| Mail::default()).collect(),
            events,
            probe,
            observed: false,
            bytes: None,
            waiting: None,
            ends: None,
            tight: BinaryHeap::new(),
            bucket_end: Time::ZERO,
            staged: Vec::new(),
        };
        let (batch, list, heap) = (Vec::new(), ArrivalList::default(), ArrivalHeap::default());
        let mut part = Part { nodes, spans, wires, pool: Pool::new(), common, trace: None, batch, list, heap };
        if watched {
            part.observe_packets();
        }
        part
    }

    /// Makes the links that start here carry bytes.
    pub fn carry_bytes(&mut self) {
        self.common.bytes = Some(Vec::new());
        self.observe_packets();
    }

    /// Has a record be kept of what happens here.
    pub fn record(&mut self, trace: Trace) {
        self.pool.keep_notes();
        self.trace = Some(Box::new(trace));
    }

    /// The record, when the run is over.
    pub fn take_trace(&mut self) -> Option<Box<Trace>> {
        self.trace.take()
    }

    /// Makes each packet be observed as it gets its place on the wire.
    fn observe_packets(&mut self) {
        self.common.observed = true;
        self.wires.iter_mut().for_each(|wire| wire.plain = false);
    }

    /// The earliest time at which anything happens here.
    pub fn earliest(&self) -> Time {
        self.common.staged.iter().map(|staged| staged.end).fold(self.common.calendar.earliest(), Time::min)
    }

    /// Hands over to other parts what was sent before `limit`.
    pub fn export_sent(&mut self, limit: Time) {
        let mut staged = std::mem::take(&mut self.common.staged);
        for Staged { part, ring, at, entry, .. } in staged.extract_if(.., |staged| staged.end < limit) {
            let pkt = entry.take(&self.pool);
            let life = self.trace.as_mut().map_or(Life::NONE, |trace| trace.forget(pkt.id()));
            self.common.export((part, ring), (at, entry.corrupt()), (pkt, life), &mut self.pool);
        }
        self.common.staged = staged;
    }

    /// What is left to be done.
    pub fn agenda(&self) -> Agenda {
        if !self.nodes.iter().all(Node::is_resting) {
            return Agenda { work: true, ..Agenda::default() };
        }
        let load = self.common.rings.load(&self.pool);
        let stored = self.nodes.iter().any(|n| n.stored() > 0);
        let work = load == Load::Packets || !self.common.staged.is_empty();
        Agenda { work, messages: load == Load::Control, stored }
    }

    /// Takes in what came from another part.
    pub fn import(&mut self, mail: &mut Mail, node_of_ring: &[u32]) {
        mail.take_news().for_each(|news| self.hear(news));
        for (to, packet) in mail.take() {
            self.common.tally.imported += 1;
            debug_assert!(to.at >= self.common.bucket_end, "no packet comes before what the part has run");
            let pkt = self.pool.insert_with(packet, to.payload);
            if let Some(trace) = &mut self.trace {
                trace.adopt(pkt.id(), to.life);
            }
            if self.common.rings.insert(to.ring, to.at, Entry::new(pkt, to.corrupt, &self.pool)) {
                self.common.calendar.note(node_of_ring[to.ring as usize], to.at);
            }
        }
    }

    /// Passes on what nodes elsewhere hear of ended flows.
    #[cold]
    fn spread_news(&mut self, news: Vec<News>) {
        for news in news {
            let Some(waiting) = &self.common.waiting else { return };
            match waiting.place(news.wait).0 {
                part if part == waiting.part() => self.hear(news),
                part => self.common.outbox[part as usize].tell(news),
            }
        }
    }

    /// A node here hears that a flow has ended.
    fn hear(&mut self, news: News) {
        let Some(waiting) = &mut self.common.waiting else { return };
        let node = waiting.place(news.wait).1;
        waiting.hear(news);
        while let Some((at, what)) = waiting.needless.pop() {
            self.nodes[node as usize].cancel(at, what);
        }
        let mut released = std::mem::take(&mut waiting.released);
        released.drain(..).for_each(|(at, what)| self.release(node, at, what));
        self.common.waiting.iter_mut().for_each(|waiting| waiting.released = std::mem::take(&mut released));
    }

    /// Has something begin at a node here.
    pub fn release(&mut self, node: u32, at: Time, what: Release) {
        self.nodes[node as usize].release(at, what);
        if self.common.calendar.note(node, at) && at < self.common.bucket_end {
            self.common.tight.push(Reverse((at, node)));
        }
    }

    /// Runs one bucket of the calendar, but nothing at or after `limit`. Says whether there was
    /// anything to run.
    pub fn run_bucket(&mut self, limit: Time) -> bool {
        let mut batch = std::mem::take(&mut self.batch);
        let Some(start) = self.common.calendar.take_bucket(limit, &mut batch) else {
            self.batch = batch;
            return false;
        };
        let width = self.common.calendar.width();
        let end = (start.saturating_add(width)).min(limit);
        self.common.bucket_end = end;
        let mut prefetched = (self.wires.len() > LARGE).then(Prefetched::default);
        for (i, &n) in batch.iter().enumerate() {
            if let Some(prefetched) = &mut prefetched {
                self.prefetch(&batch[i..], end, prefetched);
            }
            let next = self.common.calendar.next_of(n);
            if next >= end {
                // A stale entry, or one beyond the limit in a bucket that straddles it.
                if next < start.saturating_add(width) {
                    self.common.calendar.renew(n, next);
                }
                continue;
            }
            match self.spans[n as usize].lookahead {
                near if near < width => self.common.tight.push(Reverse((next, n))),
                lookahead => self.run_node(n, start.saturating_add(lookahead).min(limit)),
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
        while let Some(Reverse((at, n))) = self.common.tight.pop() {
            if self.common.calendar.next_of(n) != at {
                continue; // it has run since
            }
            let reach = self.spans[n as usize].lookahead.max(Time(1));
            self.run_node(n, at.saturating_add(reach).min(end));
            let next = self.common.calendar.next_of(n);
            if next < end {
                self.common.tight.push(Reverse((next, n)));
            }
        }
    }

    /// Gives node `n` everything that happens to it before `horizon`, in order of time: arrivals
    /// before wake-ups, then by port.
    #[inline]
    pub(super) fn run_node(&mut self, n: u32, horizon: Time) {
        match self.trace.take() {
            None => self.run_node_with(Untraced, n, horizon),
            Some(mut trace) => {
                self.run_node_with(trace.as_mut(), n, horizon);
                self.trace = Some(trace);
            }
        }
    }

    #[inline(always)]
    fn run_node_with<T: Tracing>(&mut self, tracing: T, n: u32, horizon: Time) {
        let Span { first, last, .. } = self.spans[n as usize];
        let node = &mut self.nodes[n as usize];
        let wires = &mut self.wires[first as usize..last as usize];
        let mut driver =
            NodeDriver { now: Time::ZERO, arrived: Time::ZERO, node: n, wires, common: &mut self.common, tracing };
        let next = driver.run(node, &mut self.pool, first, last, horizon, (&mut self.list, &mut self.heap));
        self.common.calendar.renew(n, next);
        if let Some(waiting) = &mut self.common.waiting
            && !waiting.news.is_empty()
        {
            let news = std::mem::take(&mut waiting.news);
            self.spread_news(news);
        }
    }

    /// How far it has come: the end of the bucket at hand.
    pub fn now(&self) -> Time {
        self.common.bucket_end
    }

    /// Lets the probe sample every node; nothing at or after `at` has happened yet.
    pub fn sample(&mut self, at: Time) {
        for (n, node) in self.nodes.iter_mut().enumerate() {
            self.common.probe.sample(n as u32, node, at);
        }
        self.common.probe.end_sample();
    }

    /// Lets the probe check for stalls; nothing at or after `at` has happened yet.
    pub fn watch(&mut self, at: Time) {
        self.common.probe.watch(&self.nodes, self.common.tally.events, at);
    }

    /// Packets stored in held ports, and packets on wires (which includes those that wait by
    /// timetable).
    pub fn remaining(&self) -> (u64, u64) {
        let staged = self.common.staged.len() as u64;
        let on_wires = self.common.rings.packets() + self.wires.iter().map(Wire::held).sum::<u64>() + staged;
        (self.nodes.iter().map(Node::stored).sum(), on_wires)
    }

    pub fn memory(&self) -> usize {
        self.packet_memory() + self.common.calendar.memory() + self.nodes.iter().map(Node::memory).sum::<usize>()
    }

    /// What packets take, alive, at ports, on wires and on their way to other parts.
    pub fn packet_memory(&self) -> usize {
        self.pool.memory()
            + self.common.rings.memory()
            + self.nodes.iter().map(Node::packet_memory).sum::<usize>()
            + self.common.outbox.iter().map(Mail::memory).sum::<usize>()
    }
}

/// The width of a bucket: the smallest lookahead, unless that is far below the usual; then such
/// nodes run in time order.
fn bucket_width(lookahead: impl Iterator<Item = Time>) -> Time {
    let mut sorted: Vec<Time> = lookahead.filter(|l| *l != Time::MAX).collect();
    sorted.sort_unstable();
    let Some(median) = sorted.get(sorted.len() / 2).copied() else { return Time::from_ms(1) };
    // 1/16: below that, the buckets of the many would be emptied sixteen times for each that has
    // work. Measured in evidence/bench/README.md.
    sorted.into_iter().find(|l| *l >= median / 16).unwrap_or(median)
}
