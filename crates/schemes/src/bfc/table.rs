//! Which of a port's queues a flow has: an empty one if there is one, and its own while its packets wait.

use std::collections::VecDeque;

use midpath_core::packet::{NodeId, Packet};
use midpath_core::rng::{Stream, below};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

/// A flow: its key, and who sends.
pub type Flow = (u32, NodeId);

/// That of a packet.
pub fn flow_of(packet: &Packet) -> Flow {
    (packet.key, packet.src)
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    queue: u8,
    /// Packets that wait here.
    packets: u32,
    /// When the last of them left.
    left: Time,
}

/// The flows of a port that have a queue.
#[derive(Debug)]
pub struct FlowTable {
    entries: FxHashMap<Flow, Entry>,
    /// Of each queue: how many flows have it.
    flows: Box<[u32]>,
    /// Flows without packets, in the order in which they lose their queue.
    idle: VecDeque<(Time, Flow)>,
}

impl FlowTable {
    /// Of so many queues.
    pub fn new(queues: usize) -> FlowTable {
        FlowTable { entries: FxHashMap::default(), flows: vec![0; queues].into(), idle: VecDeque::new() }
    }

    /// How many flows have a queue.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The queue of a flow that has one.
    #[cfg(test)]
    pub fn queue_of(&self, flow: Flow) -> Option<u8> {
        self.entries.get(&flow).map(|entry| entry.queue)
    }

    /// A packet has come: the queue of its flow. Where none is empty, one is drawn. Ours: of empty ones, one that is not
    /// paused. It is for packets of a flow that has left, and would hold this one back.
    pub fn assign(&mut self, flow: Flow, paused: u128, now: Time, sticky: Time, rng: &mut Stream) -> usize {
        self.expire(now, sticky);
        if let Some(entry) = self.entries.get_mut(&flow) {
            entry.packets += 1;
            return entry.queue.into();
        }
        let mut empty = (0..self.flows.len()).filter(|queue| self.flows[*queue] == 0);
        let first = empty.clone().next();
        let queue = empty
            .find(|queue| paused & 1 << queue == 0)
            .or(first)
            .unwrap_or_else(|| below(rng, self.flows.len() as u64) as usize);
        self.flows[queue] += 1;
        self.entries.insert(flow, Entry { queue: queue as u8, packets: 1, left: now });
        queue
    }

    /// A packet has left.
    pub fn leave(&mut self, flow: Flow, now: Time) {
        let Some(entry) = self.entries.get_mut(&flow) else { return };
        entry.packets -= 1;
        if entry.packets == 0 {
            entry.left = now;
            self.idle.push_back((now, flow));
        }
    }

    /// Flows without packets for longer than `sticky` have no queue any more.
    fn expire(&mut self, now: Time, sticky: Time) {
        while let Some((left, flow)) = self.idle.front().copied().filter(|idle| idle.0.saturating_add(sticky) < now) {
            self.idle.pop_front();
            if let Some(entry) = self.entries.get(&flow).filter(|e| e.packets == 0 && e.left == left) {
                self.flows[usize::from(entry.queue)] -= 1;
                self.entries.remove(&flow);
            }
        }
    }

    /// Forgets all flows.
    pub fn clear(&mut self) {
        *self = FlowTable::new(self.flows.len());
    }
}
