use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::packet::{FlowId, NodeId, Pkt};
use crate::queue::Bound;
use crate::roles::{Backlog, Drop, Port, PortCtx};

/// One direction of a flow is one queue.
type Key = (FlowId, NodeId);

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Pkt>,
    bytes: u64,
    deficit: u64,
}

/// Per-flow fair queueing by deficit round robin (Shreedhar and Varghese, 1996).
///
/// Flows have exact queues, made when they get a packet and removed when they are empty. When all together are over
/// the limit, the longest queue loses its newest packet, so that a flow within its share is not punished for others.
#[derive(Debug)]
pub struct Drr {
    bound: Bound,
    quantum: u64,
    lanes: FxHashMap<Key, Lane>,
    round: VecDeque<Key>,
    total: Backlog,
}

impl Drr {
    /// Holds at most `bound` in all; a flow sends `quantum` bytes per round (at least one byte).
    pub fn new(bound: Bound, quantum: u32) -> Drr {
        Drr {
            bound,
            quantum: u64::from(quantum.max(1)),
            lanes: FxHashMap::default(),
            round: VecDeque::new(),
            total: Backlog::default(),
        }
    }

    /// The longest lane; ties go to the one that comes first in the round, so that the choice is repeatable.
    fn longest(&self) -> Option<Key> {
        let mut best: Option<(u64, Key)> = None;
        for key in &self.round {
            let bytes = self.lanes.get(key).map_or(0, |l| l.bytes);
            if best.is_none_or(|(b, _)| bytes > b) {
                best = Some((bytes, *key));
            }
        }
        best.map(|(_, key)| key)
    }

    fn shed(&mut self, ctx: &mut PortCtx<'_>) {
        while self.total.bytes > self.bound.bytes || self.total.packets > self.bound.packets {
            let Some(key) = self.longest() else { return };
            let Some(pkt) = self.lanes.get_mut(&key).and_then(|l| l.queue.pop_back()) else { return };
            self.account(key, ctx.pool[&pkt].size);
            ctx.drop(pkt, Drop::Queue);
            self.retire(key);
        }
    }

    fn account(&mut self, key: Key, size: u32) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.bytes -= u64::from(size);
        }
        self.total.bytes -= u64::from(size);
        self.total.packets -= 1;
    }

    fn retire(&mut self, key: Key) {
        if self.lanes.get(&key).is_some_and(|l| l.queue.is_empty()) {
            self.lanes.remove(&key);
            self.round.retain(|k| *k != key);
        }
    }
}

impl Port for Drr {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &mut ctx.pool[&pkt];
        packet.queued = ctx.now;
        let (key, size) = ((packet.flow, packet.src), u64::from(packet.size));
        let lane = self.lanes.entry(key).or_default();
        if lane.queue.is_empty() {
            lane.deficit = self.quantum;
            self.round.push_back(key);
        }
        lane.queue.push_back(pkt);
        lane.bytes += size;
        self.total.bytes += size;
        self.total.packets += 1;
        self.shed(ctx);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        loop {
            let key = *self.round.front()?;
            let lane = self.lanes.get_mut(&key)?;
            let size = ctx.pool[lane.queue.front()?].size;
            if lane.deficit >= u64::from(size) {
                let pkt = lane.queue.pop_front()?;
                lane.deficit -= u64::from(size);
                self.account(key, size);
                self.retire(key);
                return Some(pkt);
            }
            lane.deficit += self.quantum;
            self.round.rotate_left(1);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        // In round order, for a hash map's order is nobody's business.
        for key in std::mem::take(&mut self.round) {
            if let Some(lane) = self.lanes.remove(&key) {
                lane.queue.into_iter().for_each(|pkt| ctx.drop(pkt, Drop::Fault));
            }
        }
        self.total = Backlog::default();
    }
}
