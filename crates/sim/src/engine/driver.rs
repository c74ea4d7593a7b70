//! The driver of a node while it runs: what the node sends gets its place on a wire, and what
//! becomes of packets is counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::node::Driver;
use midpath_core::packet::{FlowId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::roles::{Drop, FlowReport, Transmitter};
use midpath_core::units::Time;
use midpath_core::wire;
use rustc_hash::FxHashMap;

use super::reports::Reports;
use super::rings::{Entry, Rings};
use super::sched::Calendar;
use super::tally::{Crossing, FlowFate, Tally};
use super::wire::{Target, Wire};
use super::{Event, Probe};

/// The node's driver during a call: everything of the part but the node itself.
pub(super) struct NodeDriver<'a> {
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
    pub observed: bool,
    pub bytes: Option<&'a mut Vec<u8>>,
}

impl NodeDriver<'_> {
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

    /// A packet gets its place on the wire, and the probe watches packets, or links carry bytes.
    #[cold]
    fn observe(&mut self, port: PortId, pkt: &Pkt, start: Time, pool: &mut Pool) {
        self.probe.transmitted(self.node, port, &pool[pkt], start);
        if let Some(bytes) = &mut self.bytes {
            wire::cross(&mut pool[pkt], bytes);
        }
    }

    /// Puts a packet onto a wire to which more happens than that it arrives later, or that leads to
    /// another part.
    #[inline(never)]
    fn send_over(&mut self, port: PortId, pkt: Pkt, (start, end): (Time, Time), pool: &mut Pool) {
        if self.observed {
            self.observe(port, &pkt, start, pool);
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

impl Driver for NodeDriver<'_> {
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
