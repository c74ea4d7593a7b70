//! Trace events of a node: packets and flows' ends.

use midpath_core::node::{EndId, Step};
use midpath_core::packet::{FlowId, Kind, Note, NotePlace, Packet, PacketId, comes_after};
use midpath_core::roles::{Drop, Endpoint, FlowReport};

use super::event::{Event, Key};
use super::{At, Trace};

/// An end of a flow as it was after the last call.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// Its last event.
    last: Key,
    /// What it has reported last, be it in the record's time or before.
    report: Option<FlowReport>,
    /// Whether the window's record has its window and rate.
    said: bool,
    phase: &'static str,
    gauges: Vec<(&'static str, f64)>,
    /// One past the highest number that it has sent.
    top: Option<u32>,
    /// The window of the record in which all this was so.
    window: usize,
}

impl Default for End {
    fn default() -> End {
        End { last: Key::NONE, report: None, said: false, phase: "", gauges: Vec::new(), top: None, window: 0 }
    }
}

/// Why a packet was dropped, in a word or two.
pub const fn reason(why: Drop) -> &'static str {
    match why {
        Drop::Queue => "no room",
        Drop::Aqm => "AQM",
        Drop::Fault => "fault",
        Drop::Policy => "policy",
        Drop::TooBig => "too big",
        Drop::Hops => "hop limit reached",
        Drop::Undeliverable => "no receiver",
        Drop::NoRoute => "no route",
    }
}

impl Trace {
    /// A packet has reached its host's endpoint, which will be called.
    pub(in super::super) fn delivered(&mut self, at: At, id: PacketId, packet: &Packet) {
        self.trigger = self.packet(at, id, packet, "delivered", f64::NAN);
        self.forget(id);
    }

    /// Something on the way of a packet.
    pub(in super::super) fn step(&mut self, at: At, id: PacketId, packet: &Packet, step: Step) {
        let port = |port| At { port: Some(port), ..at };
        match step {
            Step::Made(end) => self.made(at, id, packet, end),
            Step::Queued(p, waits) => {
                self.packet(port(p), id, packet, "queued", waits.bytes as f64);
            }
            Step::Kept(p) => {
                self.packet(At { port: p, ..at }, id, packet, "kept", f64::NAN);
            }
            // What a port has made itself is not on a detour.
            Step::Sibling(p) if self.knows(id) => {
                self.packet(port(p), id, packet, "detoured", f64::NAN);
            }
            Step::Sibling(p) => {
                self.packet(port(p), id, packet, "sent", f64::NAN);
            }
            Step::Back(p) => {
                self.packet(port(p), id, packet, "handed back", f64::NAN);
            }
        }
    }

    /// An end has made a packet.
    fn made(&mut self, at: At, id: PacketId, packet: &Packet, end: EndId) {
        let follows = self.follows(at.now);
        if !self.wants(packet.flow) || !(follows || self.awaits(at.now)) {
            return;
        }
        // What a port may have had in this place was told of before.
        self.forget(id);
        let state = self.ends.entry((at.node, end.flow, end.active)).or_default();
        // A call's padding has no number.
        let numbered = packet.kind != Kind::Datagram || packet.stamped().is_some();
        let counts = packet.payload > 0 && numbered || packet.kind == Kind::Interest;
        let repeated = counts && end.active && state.repeats(packet);
        if !follows {
            return;
        }
        let (phase, cause) = (if repeated { state.phase } else { "" }, state.last);
        let life = self.life(at.node, id);
        let what = if repeated { "repeated" } else { "sent" };
        // How long a datagram has waited at its sender.
        let value = packet.stamped().map_or(f64::NAN, |since| at.now.saturating_sub(since).as_secs_f64());
        let key = self.add(at, Event { what, value, why: phase, cause, ..Event::of_packet(life, packet) });
        if key != Key::NONE {
            self.lives[id.0 as usize].last = key;
        }
    }

    /// An end has been called.
    pub(in super::super) fn called(&mut self, at: At, end: EndId, endpoint: &dyn Endpoint) {
        let trigger = std::mem::replace(&mut self.trigger, Key::NONE);
        let window = self.window(at.now);
        if !self.wants(end.flow) || !(window.is_some() || self.awaits(at.now)) {
            return;
        }
        let mut ends = std::mem::take(&mut self.ends);
        let state = ends.entry((at.node, end.flow, end.active)).or_default();
        let Some(window) = window else {
            state.report = Some(endpoint.report());
            self.ends = ends;
            return;
        };
        if state.window != window {
            *state = End { report: state.report, top: state.top, window, ..End::default() };
        }
        if trigger != Key::NONE {
            state.last = trigger;
        }
        if end.active {
            self.compare(at, end.flow, state, endpoint);
        }
        self.ends = ends;
    }

    /// Records how an end differs from what it was.
    fn compare(&mut self, at: At, flow: FlowId, state: &mut End, endpoint: &dyn Endpoint) {
        let (report, phase) = (endpoint.report(), endpoint.phase());
        let mut changes: [Option<(&'static str, &'static str, f64)>; 5] = [None; 5];
        let mut before = state.report.unwrap_or(report);
        if !state.said {
            (before.cwnd, before.rate) = (u64::MAX, u64::MAX);
        }
        let samples = report.rtt_count - before.rtt_count.min(report.rtt_count);
        if samples > 0 {
            let sum = report.rtt_sum - before.rtt_sum.min(report.rtt_sum);
            changes[0] = Some(("RTT", "", sum as f64 / samples as f64 / 1e12));
        }
        if report.timeouts > before.timeouts {
            changes[1] = Some(("timeout", "", report.timeouts as f64));
        }
        if phase != state.phase {
            changes[2] = Some(("phase", phase, f64::NAN));
        }
        if report.cwnd != before.cwnd && (report.cwnd > 0 || state.said) {
            changes[3] = Some(("window", "", report.cwnd as f64));
        }
        if report.rate != before.rate && (report.rate > 0 || state.said) {
            changes[4] = Some(("rate", "", report.rate as f64));
        }
        for (what, why, value) in changes.into_iter().flatten() {
            self.of_end(at, flow, state, what, why, value);
        }
        self.compare_gauges(at, flow, state, endpoint);
        (state.report, state.said, state.phase) = (Some(report), true, phase);
    }

    /// The same of the numbers that its scheme shows.
    fn compare_gauges(&mut self, at: At, flow: FlowId, state: &mut End, endpoint: &dyn Endpoint) {
        let mut gauges = std::mem::take(&mut self.gauges);
        endpoint.gauges(&mut gauges);
        for (i, &(name, value)) in gauges.iter().enumerate() {
            if state.gauges.get(i).is_none_or(|(n, v)| *n != name || v.to_bits() != value.to_bits()) {
                self.of_end(at, flow, state, name, "", value);
            }
        }
        std::mem::swap(&mut state.gauges, &mut gauges);
        gauges.clear();
        self.gauges = gauges;
    }

    fn of_end(&mut self, at: At, flow: FlowId, end: &mut End, what: &'static str, why: &'static str, value: f64) {
        let key = self.add(at, Event { what, why, value, flow, cause: end.last, ..Event::NOTHING });
        if key != Key::NONE {
            end.last = key;
        }
    }

    /// An end is gone.
    pub(in super::super) fn gone(&mut self, at: At, flow: FlowId, active: bool) {
        if self.follows(at.now) && self.wants(flow) {
            let mut end = self.ends.remove(&(at.node, flow, active)).unwrap_or_default();
            self.of_end(at, flow, &mut end, "closed", if active { "sender" } else { "receiver" }, f64::NAN);
        }
    }

    /// A scheme has noted something.
    pub(in super::super) fn noted(&mut self, at: At, note: Note, packet: Option<&Packet>) {
        let at = match note.place {
            NotePlace::Port(port) => At { port: Some(port), ..at },
            NotePlace::Endpoint(flow) => return self.noted_by_end(at, flow, note),
        };
        match (note.packet, packet) {
            (Some(id), Some(packet)) => {
                self.packet(at, id, packet, note.what, note.value);
            }
            _ => self.place(at, note.what, note.value),
        }
    }

    /// The same of an endpoint, during a call to it.
    fn noted_by_end(&mut self, at: At, flow: FlowId, note: Note) {
        if !self.follows(at.now) || !self.wants(flow) {
            return;
        }
        let end = [true, false].into_iter().find_map(|active| self.ends.get(&(at.node, flow, active)));
        let cause = if self.trigger == Key::NONE { end.map_or(Key::NONE, |end| end.last) } else { self.trigger };
        let key = self.add(at, Event { what: note.what, value: note.value, flow, cause, ..Event::NOTHING });
        if key != Key::NONE {
            self.trigger = key;
        }
    }
}

impl End {
    /// Whether a packet with payload is sent again; notes how far the end has come.
    fn repeats(&mut self, packet: &Packet) -> bool {
        let numbers = if packet.kind == Kind::Segment { u32::from(packet.payload) } else { 1 };
        let past = packet.seq.wrapping_add(numbers);
        let is_new = self.top.is_none_or(|top| comes_after(past, top));
        if is_new {
            self.top = Some(past);
        }
        !is_new
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use midpath_core::packet::NodeId;
    use midpath_core::roles::EndpointCtx;
    use midpath_core::units::Time;

    use super::super::TracePlan;
    use super::*;

    const NODE: NodeId = NodeId(4);
    const FLOW: FlowId = FlowId(1);

    /// A record of one node, and of one flow.
    fn trace() -> Trace {
        let plan = TracePlan {
            windows: vec![(Time::ZERO, Time::MAX)],
            flows: Some(vec![false, true]),
            events: 100,
            ..TracePlan::default()
        };
        Trace::new(Arc::new(plan), &[NODE])
    }

    fn at(ms: u64) -> At {
        At { node: 0, port: None, now: Time::from_ms(ms) }
    }

    /// An end that shows this.
    #[derive(Default)]
    struct Shows {
        timeouts: u64,
        cwnd: u64,
        alpha: f64,
    }

    impl Endpoint for Shows {
        fn on_start(&mut self, _: &mut EndpointCtx<'_>) {}
        fn on_packet(&mut self, _: &Packet, _: &mut EndpointCtx<'_>) {}
        fn on_timer(&mut self, _: &mut EndpointCtx<'_>) {}
        fn report(&self) -> FlowReport {
            FlowReport { timeouts: self.timeouts, cwnd: self.cwnd, ..FlowReport::default() }
        }
        fn phase(&self) -> &'static str {
            if self.timeouts > 0 { "repair" } else { "slow start" }
        }
        fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
            out.push(("alpha", self.alpha));
        }
    }

    /// What it shows first, then what is another than before, each event the cause of the next.
    #[test]
    fn what_changes_at_an_end_is_recorded_once() {
        let (mut trace, end) = (trace(), EndId { flow: FLOW, peer: EndId::ANYONE, active: true });
        let shown = [(0, 10, 0.5), (0, 10, 0.5), (1, 1, 0.5), (1, 1, 0.25)];
        for (ms, (timeouts, cwnd, alpha)) in (1..).zip(shown) {
            trace.called(at(ms), end, &Shows { timeouts, cwnd, alpha });
        }
        let note = Note { what: "noted", value: 7.0, place: NotePlace::Endpoint(FLOW), packet: None };
        trace.noted(at(5), note, None);
        trace.noted(at(5), Note { place: NotePlace::Endpoint(FlowId(0)), ..note }, None);
        let events = trace.finish().sorted();
        let ms = |e: &Event| e.at.as_ns() / 1_000_000;
        let told: Vec<_> = events.iter().map(|e| (ms(e), e.what, e.why, e.value.to_bits(), e.flow)).collect();
        let wanted = [
            (1, "phase", "slow start", f64::NAN),
            (1, "window", "", 10.0),
            (1, "alpha", "", 0.5),
            (3, "timeout", "", 1.0),
            (3, "phase", "repair", f64::NAN),
            (3, "window", "", 1.0),
            (4, "alpha", "", 0.25),
            (5, "noted", "", 7.0),
        ];
        assert_eq!(told, wanted.map(|(ms, what, why, value)| (ms, what, why, value.to_bits(), FLOW)));
        let causes: Vec<Key> = events.iter().map(|e| e.cause).collect();
        let keys = std::iter::once(Key::NONE).chain(events.iter().map(|e| e.key));
        assert_eq!(causes, keys.take(events.len()).collect::<Vec<_>>());
    }

    /// Packets are known by the node that met them first, and count from 0 there, as events do.
    #[test]
    fn packets_and_events_are_numbered_at_their_node() {
        let (mut trace, packet) = (trace(), Packet::new(FLOW, NODE, NodeId(5), 1500));
        for id in [3, 8, 3] {
            trace.packet(at(1), PacketId(id), &packet, "queued", 0.0);
        }
        let names = trace.finish().sorted().into_iter().map(|e| (e.key.number(), (e.packet >> 32, e.packet as u32)));
        assert_eq!(names.collect::<Vec<_>>(), [((4, 0), (4, 0)), ((4, 1), (4, 1)), ((4, 2), (4, 0))]);
    }
}
