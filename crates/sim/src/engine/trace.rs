//! A bounded record of what happens to packets and flows: one per part, joined when the run is over.
//!
//! The record does not depend on the number of parts: an event's id is its node and its number at that node, and the
//! first events by time and id are kept.

mod event;
mod node_events;
mod record;

use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId, Packet, PacketId, PortId};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

pub use event::{Event, Key, Life};
use node_events::End;
pub use node_events::reason;
pub use record::Record;

/// What is to be recorded.
#[derive(Debug, Clone, Default)]
pub struct TracePlan {
    /// From when on, and before when: in order, and apart.
    pub windows: Vec<(Time, Time)>,
    /// Of all events only these; none given: all.
    pub only: Option<&'static str>,
    /// At which nodes, by number; none given: at all.
    pub nodes: Option<Vec<bool>>,
    /// Of which flows, by number; none given: of all, and what neighbours say to each other.
    pub flows: Option<Vec<bool>>,
    /// How many events at most: the first ones.
    pub events: usize,
}

/// The record of a part while it runs.
#[derive(Debug)]
pub struct Trace {
    plan: Arc<TracePlan>,
    /// The part's nodes, by their numbers in the part.
    nodes: Vec<Place>,
    /// Of the packets in the part's pool, by place: who they are, and their last event.
    lives: Vec<Life>,
    ends: FxHashMap<(u32, FlowId, bool), End>,
    record: Record,
    /// What the call to an endpoint that comes next is about.
    trigger: Key,
    gauges: Vec<(&'static str, f64)>,
}

/// One node.
#[derive(Debug)]
struct Place {
    id: NodeId,
    /// Whether what happens there is recorded.
    chosen: bool,
    /// Events so far, and packets that were met first there.
    events: u32,
    packets: u32,
}

/// Where and when something happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// The node, by its number in the part.
    pub node: u32,
    pub port: Option<PortId>,
    pub now: Time,
}

impl Trace {
    /// For the part that has `nodes`.
    pub fn new(plan: Arc<TracePlan>, nodes: &[NodeId]) -> Trace {
        let chosen = |id: &NodeId| plan.nodes.as_ref().is_none_or(|nodes| nodes[id.0 as usize]);
        let place = |id: &NodeId| Place { id: *id, chosen: chosen(id), events: 0, packets: 0 };
        Trace {
            nodes: nodes.iter().map(place).collect(),
            lives: Vec::new(),
            ends: FxHashMap::default(),
            record: Record::new(plan.events),
            trigger: Key::NONE,
            gauges: Vec::new(),
            plan,
        }
    }

    /// What has been recorded.
    pub fn finish(self) -> Record {
        self.record
    }

    /// The window that this time is in. Who was followed before it counts for nothing.
    #[inline]
    fn window(&self, now: Time) -> Option<usize> {
        let begun = self.plan.windows.partition_point(|(from, _)| *from <= now);
        begun.checked_sub(1).filter(|last| now < self.plan.windows[*last].1)
    }

    /// Whether anything is followed at this time.
    #[inline]
    fn follows(&self, now: Time) -> bool {
        self.window(now).is_some()
    }

    /// Whether anything will be.
    fn awaits(&self, now: Time) -> bool {
        self.plan.windows.last().is_some_and(|(from, _)| now < *from)
    }

    fn wants(&self, flow: FlowId) -> bool {
        let Some(flows) = &self.plan.flows else { return true };
        flows.get(flow.0 as usize).copied().unwrap_or(false)
    }

    /// Who a packet is. One that was never met begins its life at this node.
    fn life(&mut self, node: u32, id: PacketId) -> Life {
        let place = id.0 as usize;
        if place >= self.lives.len() {
            self.lives.resize(place + 1, Life::NONE);
        }
        if self.lives[place].packet == Life::NONE.packet {
            let Place { id, packets, .. } = &mut self.nodes[node as usize];
            self.lives[place] = Life { packet: u64::from(id.0) << 32 | u64::from(*packets), last: Key::NONE };
            *packets += 1;
        }
        self.lives[place]
    }

    /// Whether this packet was met before.
    fn knows(&self, id: PacketId) -> bool {
        self.lives.get(id.0 as usize).is_some_and(|life| life.packet != Life::NONE.packet)
    }

    /// Forgets a packet, which is no more, or goes to another part: who it was.
    pub(super) fn forget(&mut self, id: PacketId) -> Life {
        self.lives.get_mut(id.0 as usize).map_or(Life::NONE, |life| std::mem::replace(life, Life::NONE))
    }

    /// Takes in a packet from another part.
    pub(super) fn adopt(&mut self, id: PacketId, life: Life) {
        let place = id.0 as usize;
        if place >= self.lives.len() {
            self.lives.resize(place + 1, Life::NONE);
        }
        self.lives[place] = life;
    }

    /// Whether an event is one to record.
    fn is_chosen(&self, at: At, what: &'static str) -> bool {
        let here = self.nodes[at.node as usize].chosen;
        here && self.follows(at.now) && self.plan.only.is_none_or(|only| only == what)
    }

    /// Records an event, if it is chosen: its name.
    fn add(&mut self, at: At, event: Event) -> Key {
        if !self.is_chosen(at, event.what) {
            return Key::NONE;
        }
        let Place { id, events, .. } = &mut self.nodes[at.node as usize];
        let key = Key::of(*id, *events);
        *events += 1;
        self.record.add(Event { at: at.now, key, port: at.port, ..event });
        key
    }

    /// Records an event in a packet's life.
    pub(super) fn packet(&mut self, at: At, id: PacketId, packet: &Packet, what: &'static str, value: f64) -> Key {
        self.packet_why(at, id, packet, (what, ""), value)
    }

    /// The same with a reason.
    pub(super) fn packet_why(
        &mut self,
        at: At,
        id: PacketId,
        packet: &Packet,
        (what, why): (&'static str, &'static str),
        value: f64,
    ) -> Key {
        if !self.follows(at.now) || !self.wants(packet.flow) {
            return Key::NONE;
        }
        if self.record.is_full_at(at.now) {
            // Nor does what comes after it fit: who the packet is need not be known.
            self.record.count(self.is_chosen(at, what));
            return Key::NONE;
        }
        let life = self.life(at.node, id);
        let event = Event { what, why, value, cause: life.last, ..Event::of_packet(life, packet) };
        let key = self.add(at, event);
        if key != Key::NONE {
            self.lives[id.0 as usize].last = key;
        }
        key
    }

    /// A forwarder has copied a packet. What is said of the copy goes on from it.
    pub(super) fn copied(&mut self, at: At, of: PacketId, copy: PacketId) {
        if self.follows(at.now) {
            self.forget(copy);
            let last = self.lives.get(of.0 as usize).map_or(Key::NONE, |life| life.last);
            self.life(at.node, copy);
            self.lives[copy.0 as usize].last = last;
        }
    }

    /// Records what happens to a link or a node.
    pub(super) fn place(&mut self, at: At, what: &'static str, value: f64) {
        self.add(at, Event { what, value, ..Event::NOTHING });
    }
}
