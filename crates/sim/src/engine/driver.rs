//! The driver of a running node: puts its packets on wires, and counts their fates.

use std::cmp::Reverse;

use midpath_core::node::{Driver, EndId, Release, Step};
use midpath_core::packet::{Carried, FlowId, NodeId, Note, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::roles::{Drop, Endpoint, FlowReport, Half, Transmitter};
use midpath_core::units::Time;
use midpath_core::wire;

use super::frames::Outcome;
use super::part_state::{PartState, Staged};
use super::reports::EndEvent;
use super::rings::Entry;
use super::tally::FlowFate;
use super::trace::{At, Life, Trace, reason};
use super::wire::{Hazards, Target, Wire};

/// Whether a run is traced: a driver of its own where it is, so that the other pays nothing.
pub(super) trait Tracing {
    const ON: bool;
    /// The record, if it is on.
    fn trace(&mut self) -> Option<&mut Trace>;
}

/// No record is kept.
pub(super) struct Untraced;

impl Tracing for Untraced {
    const ON: bool = false;
    #[inline(always)]
    fn trace(&mut self) -> Option<&mut Trace> {
        None
    }
}

impl Tracing for &mut Trace {
    const ON: bool = true;
    fn trace(&mut self) -> Option<&mut Trace> {
        Some(self)
    }
}

/// The node's driver during a call: everything of the part but the node itself.
pub(super) struct NodeDriver<'a, T> {
    pub now: Time,
    /// When the last packet arrived.
    pub arrived: Time,
    pub node: u32,
    pub wires: &'a mut [Wire],
    pub common: &'a mut PartState,
    pub tracing: T,
}

impl<T: Tracing> NodeDriver<'_, T> {
    pub fn at(&self, port: Option<PortId>) -> At {
        At { node: self.node, port, now: self.now }
    }

    /// Records that a packet starts onto the wire, after it has waited.
    fn leaves(&mut self, port: PortId, pkt: &Pkt, (start, since): (Time, Time), pool: &Pool) {
        let at = At { now: start, ..self.at(Some(port)) };
        if let Some(trace) = self.tracing.trace() {
            trace.packet(at, pkt.id(), &pool[pkt], "left", start.saturating_sub(since).as_secs_f64());
        }
    }

    #[inline(always)]
    fn arrive(&mut self, ring: u32, node: u32, at: Time, entry: Entry) {
        if self.common.rings.push(ring, at, entry) && self.common.calendar.note(node, at) && at < self.common.bucket_end
        {
            self.common.tight.push(Reverse((at, node)));
        }
    }

    /// The same with a packet that may overtake others.
    #[cold]
    fn arrive_before(&mut self, ring: u32, node: u32, at: Time, entry: Entry) {
        if self.common.rings.insert(ring, at, entry)
            && self.common.calendar.note(node, at)
            && at < self.common.bucket_end
        {
            self.common.tight.push(Reverse((at, node)));
        }
    }

    /// Gives a packet its place on the wire. For each hop: a call costs 22 instructions.
    #[inline(always)]
    fn put_on_wire(&mut self, port: PortId, pkt: Pkt, (start, end): (Time, Time), pool: &mut Pool) {
        self.common.tally.hops += 1;
        let wire = &self.wires[usize::from(port.0)];
        let (at, target) = (end + wire.delay, wire.target);
        if wire.plain
            && let Target::Here { ring, node } = target
        {
            return self.arrive(ring, node, at, Entry::new(pkt, false, pool));
        }
        self.send_over(port, pkt, (start, end), pool);
    }

    /// A packet gets its place on the wire, and the probe watches packets, or links carry bytes.
    #[cold]
    fn observe(&mut self, port: PortId, pkt: &Pkt, start: Time, pool: &mut Pool) {
        self.common.probe.transmitted(self.node, port, pool.carried(pkt), start);
        if let Some(bytes) = &mut self.common.bytes {
            let payload = pool.payload(pkt).cloned();
            wire::cross(&mut pool[pkt], payload.as_deref(), bytes);
        }
    }

    /// Puts a packet onto a wire to which more happens than that it arrives later, or that leads to
    /// another part.
    #[inline(never)]
    fn send_over(&mut self, port: PortId, pkt: Pkt, (start, end): (Time, Time), pool: &mut Pool) {
        if self.common.observed {
            self.observe(port, &pkt, start, pool);
        }
        let wire = &mut self.wires[usize::from(port.0)];
        if wire.gathers() {
            return self.gather(port, pkt, pool);
        }
        let corrupt = wire.loses(&mut pool[&pkt]);
        let (mut at, mut pkt, target) = (end + wire.delay, pkt, wire.target);
        if wire.changes().is_some() {
            match self.over_changes(port, pkt, (start, end), corrupt, pool) {
                Some(later) => (at, pkt) = later,
                None => return,
            }
        }
        match target {
            Target::Here { ring, node } => self.arrive(ring, node, at, Entry::new(pkt, corrupt, pool)),
            Target::There { part, ring } if self.wires[usize::from(port.0)].marks_sent => {
                let entry = Entry::new(pkt, corrupt, pool);
                self.common.staged.push(Staged { end, part, ring, at, entry });
            }
            Target::There { part, ring } => self.export(part, ring, (at, corrupt), pkt, pool),
        }
    }

    /// Sends a packet to another part, where it arrives.
    fn export(&mut self, part: u32, ring: u32, arrives: (Time, bool), pkt: Pkt, pool: &mut Pool) {
        let life = self.tracing.trace().map_or(Life::NONE, |trace| trace.forget(pkt.id()));
        self.common.export((part, ring), arrives, (pkt, life), pool);
    }

    /// Puts a packet into the frame that begins now.
    #[cold]
    fn gather(&mut self, port: PortId, pkt: Pkt, pool: &mut Pool) {
        let wire = &mut self.wires[usize::from(port.0)];
        let Some(hazards) = wire.hazards.as_deref_mut() else { return };
        let taken = hazards.meddle(&mut pool[&pkt]);
        if hazards.frames.as_mut().is_some_and(|frames| frames.add(pkt, taken, self.now, pool)) {
            self.send_frame(port, pool);
        }
    }

    /// Sends the frame that begins now.
    #[cold]
    fn send_frame(&mut self, port: PortId, pool: &mut Pool) {
        let wire = &mut self.wires[usize::from(port.0)];
        let (delay, target) = (wire.delay, wire.target);
        let Some(Hazards { loss, changes, frames: Some(frames), .. }) = wire.hazards.as_deref_mut() else { return };
        let mut settled = Vec::new();
        let free_at = frames.send(self.now, delay, (loss.as_mut(), changes.as_mut()), pool, &mut settled);
        if let (Some(changes), lost) = (changes, settled.iter().filter(|o| matches!(o, Outcome::Cut(_))).count()) {
            changes.lost += lost as u64;
        }
        if let Some(free_at) = free_at {
            wire.line.occupy(free_at);
        }
        for outcome in settled {
            match (outcome, target) {
                (Outcome::Cut(number), _) => {
                    let pkt = pool.unstow(number);
                    self.dropped(Some(port), pkt.id(), pool.carried(&pkt), Drop::Fault);
                    pool.free(pkt);
                }
                (Outcome::Arrives(at, number, corrupt), Target::Here { ring, node }) => {
                    self.arrive_before(ring, node, at, Entry::new(pool.unstow(number), corrupt, pool));
                }
                (Outcome::Arrives(at, number, corrupt), Target::There { part, ring }) => {
                    self.export(part, ring, (at, corrupt), pool.unstow(number), pool);
                }
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
        changes.lost_last = changes.cuts(start, end);
        if changes.lost_last {
            changes.lost += 1;
            self.dropped(Some(port), pkt.id(), pool.carried(&pkt), Drop::Fault);
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

impl<T: Tracing> Driver for NodeDriver<'_, T> {
    const TIMETABLES: bool = true;
    const TRACES: bool = T::ON;

    #[inline]
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter {
        self.wires[usize::from(port.0)].line.state(now)
    }

    #[inline(always)]
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        self.start_and_look(port, pkt, now, pool);
    }

    #[inline(always)]
    fn start_and_look(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) -> Transmitter {
        let end = self.wires[usize::from(port.0)].line.start(pool[&pkt].size, now);
        if T::ON {
            let since = pool[&pkt].queued;
            self.leaves(port, &pkt, (now, since), pool);
        }
        self.put_on_wire(port, pkt, (now, end), pool);
        // It was idle, so the link is up.
        if end > now { Transmitter::Busy { until: Some(end) } } else { Transmitter::Idle { since: end } }
    }

    #[inline(always)]
    fn book(&mut self, port: PortId, pkt: Pkt, start: Time, end: Time, pool: &mut Pool) {
        if T::ON {
            self.leaves(port, &pkt, (start, self.now), pool);
        }
        self.put_on_wire(port, pkt, (start, end), pool);
    }

    fn gathered(&mut self, port: PortId, now: Time, pool: &mut Pool) -> Option<Time> {
        let idle = |wire: &Wire| !wire.line.state(now).is_busy();
        let wire = &mut self.wires[usize::from(port.0)];
        let frames = wire.hazards.as_ref()?.frames.as_ref()?;
        if idle(wire) && frames.wants(now) {
            self.send_frame(port, pool);
        }
        let wire = &mut self.wires[usize::from(port.0)];
        if wire.line.state(now) == (Transmitter::Busy { until: None }) {
            return None;
        }
        let frames = wire.hazards.as_mut()?.frames.as_mut()?;
        frames.wish(now, |due| wire.line.next_frame(due))
    }

    #[inline(never)]
    fn dropped(&mut self, port: Option<PortId>, id: PacketId, carried: Carried<'_>, why: Drop) {
        let at = self.at(port);
        if let Some(trace) = self.tracing.trace() {
            trace.packet_why(at, id, carried.0, ("dropped", reason(why)), f64::NAN);
            trace.forget(id);
        }
        if let (true, Some(port)) = (self.common.observed, port) {
            self.common.probe.dropped(self.node, port, carried, reason(why), self.now);
        }
        self.common.tally.dropped += 1;
        match why {
            Drop::NoRoute => self.common.tally.no_route += 1,
            Drop::Hops => self.common.tally.out_of_hops += 1,
            _ => {}
        }
        // A packet that reached its host after the flow was over there was not lost by the network.
        if why != Drop::Undeliverable {
            let fate = self.common.fates.entry(carried.0.flow).or_default();
            fate.add(FlowFate { dropped: 1, datagrams: carried.0.stamped().is_some().into(), ..FlowFate::default() });
        }
    }

    fn marked(&mut self, port: PortId, id: PacketId, packet: &Packet) {
        let at = self.at(Some(port));
        if let Some(trace) = self.tracing.trace() {
            trace.packet(at, id, packet, "marked", f64::NAN);
        }
        self.common.fates.entry(packet.flow).or_default().add(FlowFate { marked: 1, ..FlowFate::default() });
    }

    #[inline(never)]
    fn mark_sent(&mut self, port: PortId, id: PacketId, pool: &mut Pool) -> bool {
        if self.wires[usize::from(port.0)].changes().is_some_and(|changes| changes.lost_last) {
            return false;
        }
        // It arrives later, and has not been handed over to another part.
        self.marked(port, id, pool.mark(id));
        true
    }

    fn finished(&mut self, flow: FlowId, active: bool, report: FlowReport) {
        self.common.probe.finished(self.node, flow, active, &report, self.now);
        match &mut self.common.ends {
            Some(ends) => ends.push(EndEvent::Gone { flow, active }),
            None => self.common.reports.add(flow, report),
        }
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.gone(at, flow, active);
        }
    }

    fn completed(&mut self, end: EndId, half: Half) {
        if let (Some(waiting), Half::Receiving) = (&mut self.common.waiting, half) {
            waiting.ended(end.flow, self.node, self.now);
        }
        if let (Some(ends), Half::Receiving) = (&mut self.common.ends, half) {
            // In one part, a node's number there is its own.
            ends.push(EndEvent::Received(end.flow, NodeId(self.node)));
        }
    }

    fn delivered_bytes(&mut self, flow: FlowId, bytes: u64, now: Time) {
        if let Some(waiting) = &mut self.common.waiting {
            waiting.delivered(flow, bytes, self.node, now);
        }
    }

    fn released(&mut self) -> Option<(Time, Release)> {
        self.common.waiting.as_mut()?.released.pop_front()
    }

    fn cancelled(&mut self) -> Option<(Time, Release)> {
        self.common.waiting.as_mut()?.needless.pop()
    }

    fn alarm(&mut self, token: u32, now: Time) {
        if let Some(waiting) = &mut self.common.waiting {
            waiting.alarm(token, now);
        }
    }

    fn starts(&mut self, flow: FlowId, now: Time) -> bool {
        self.common.waiting.as_mut().is_none_or(|waiting| waiting.starts(flow, now))
    }

    #[inline]
    fn delivered(&mut self, id: PacketId, packet: &Packet) {
        self.common.tally.delivered += 1;
        if let Some(sent) = packet.stamped() {
            self.common.delays.arrived(packet, sent, self.now);
        }
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.delivered(at, id, packet);
        }
    }

    fn consumed(&mut self, id: PacketId, packet: &Packet) {
        self.common.tally.consumed += 1;
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.packet(at, id, packet, "consumed", f64::NAN);
            trace.forget(id);
        }
    }

    fn copied(&mut self, of: PacketId, copy: PacketId) {
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.copied(at, of, copy);
        }
    }

    fn step(&mut self, id: PacketId, packet: &Packet, step: Step) {
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.step(at, id, packet, step);
        }
    }

    fn called(&mut self, end: EndId, endpoint: &dyn Endpoint) {
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.called(at, end, endpoint);
        }
    }

    fn noted(&mut self, note: Note, packet: Option<&Packet>) {
        let at = self.at(None);
        if let Some(trace) = self.tracing.trace() {
            trace.noted(at, note, packet);
        }
    }
}
