use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Scheduler;
use super::lane::{Key, Lane, key_of};
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// Most packets that go at once when there is no room (RFC 8290, §4.1).
const BATCH: usize = 64;

/// Flow queueing as in RFC 8290, §4: flows that begin, or that send so little that nothing of theirs
/// waits, come before all others for one quantum. With CoDel per flow it is FQ-CoDel.
///
/// Flows have queues of their own, as under [`Drr`](super::Drr), where the RFC hashes them into
/// 1024.
#[derive(Debug)]
pub struct Fq {
    bound: Bound,
    quantum: i64,
    /// The active queues; some are empty.
    lanes: FxHashMap<Key, (Lane, i64)>,
    /// The RFC's two lists: new queues, then old ones.
    lists: [VecDeque<Key>; 2],
    /// The queue that has to lose so many packets more.
    shedding: Option<(Key, usize)>,
    total: Backlog,
}

impl Fq {
    /// Holds at most `bound` in all; a flow sends `quantum` bytes per round (at least one byte).
    pub fn new(bound: Bound, quantum: u32) -> Fq {
        Fq {
            bound,
            quantum: i64::from(quantum.max(1)),
            lanes: FxHashMap::default(),
            lists: Default::default(),
            shedding: None,
            total: Backlog::default(),
        }
    }

    /// The active queues' keys, new ones first.
    fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.lists.iter().flatten().copied()
    }

    /// The queue with most bytes; of several the one that comes first in the lists, so that the
    /// choice is repeatable.
    fn longest(&self) -> Option<(Key, usize)> {
        let mut best: Option<(u64, Key, usize)> = None;
        for key in self.keys() {
            let lane = self.lanes.get(&key).map(|l| l.0.backlog()).unwrap_or_default();
            if best.is_none_or(|b| lane.bytes > b.0) {
                best = Some((lane.bytes, key, lane.packets as usize));
            }
        }
        best.map(|(_, key, packets)| (key, packets))
    }

    /// Counts a packet that a queue has lost.
    fn counted_out(&mut self, pkt: Pkt, pool: &Pool) -> Pkt {
        self.total.bytes -= u64::from(pool[&pkt].size);
        self.total.packets -= 1;
        pkt
    }
}

impl Scheduler for Fq {
    fn admits(&self, _packet: &Packet, _waiting: Backlog) -> bool {
        true
    }

    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        let (key, size) = (key_of(&pool[&pkt]), u64::from(pool[&pkt].size));
        let (lists, quantum) = (&mut self.lists, self.quantum);
        let lane = self.lanes.entry(key).or_insert_with(|| {
            lists[0].push_back(key);
            (Lane::default(), quantum)
        });
        lane.0.push(pkt, pool);
        self.total.bytes += size;
        self.total.packets += 1;
    }

    /// §4.1: half the packets of the longest queue, from its head, 64 at most.
    fn shed(&mut self, pool: &Pool) -> Option<Pkt> {
        if self.shedding.is_none() && (self.total.bytes > self.bound.bytes || self.total.packets > self.bound.packets) {
            self.shedding = self.longest().map(|(key, packets)| (key, packets.div_ceil(2).min(BATCH)));
        }
        let (key, left) = self.shedding?;
        self.shedding = (left > 1).then_some((key, left - 1));
        let pkt = self.lanes.get_mut(&key)?.0.pop_front(pool)?;
        Some(self.counted_out(pkt, pool))
    }

    /// §4.2
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        loop {
            let list = usize::from(self.lists[0].is_empty());
            let key = *self.lists[list].front()?;
            let (lane, credits) = self.lanes.get_mut(&key)?;
            // "it has already dequeued at least a quantum of bytes": none left counts, as in Linux.
            let spent = *credits <= 0;
            if !spent && let Some(pkt) = lane.pop_front(pool) {
                *credits -= i64::from(pool[&pkt].size);
                return Some(self.counted_out(pkt, pool));
            }
            self.lists[list].pop_front();
            if spent {
                *credits += self.quantum;
            }
            if spent || list == 0 {
                self.lists[1].push_back(key);
            } else {
                self.lanes.remove(&key);
            }
        }
    }

    /// What CoDel drops is not charged.
    fn refund(&mut self, packet: &Packet) {
        if let Some((_, credits)) = self.lanes.get_mut(&key_of(packet)) {
            *credits += i64::from(packet.size);
        }
    }

    /// A transmitter that found nothing has emptied both lists.
    fn found_empty(&mut self) {
        if self.total.packets == 0 && !self.lanes.is_empty() {
            self.lanes.clear();
            self.lists.iter_mut().for_each(VecDeque::clear);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn lane(&self, packet: &Packet, _waiting: Backlog) -> Backlog {
        self.lanes.get(&key_of(packet)).map(|l| l.0.backlog()).unwrap_or_default()
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        let first = self.keys().filter_map(|key| self.lanes.get(&key)?.0.front(pool));
        first.enumerate().for_each(|(lane, packet)| each(lane, packet.queued));
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        // In the lists' order, for a hash map's order is nobody's business.
        for key in self.lists.iter().flatten() {
            self.lanes.remove(key).into_iter().for_each(|(mut lane, _)| lane.clear(give));
        }
        self.lists.iter_mut().for_each(VecDeque::clear);
        (self.shedding, self.total) = (None, Backlog::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::queue::testing::{packet, push};
    use crate::units::Rate;

    fn filled(limit: Limit, arrivals: &[(u32, u32)], pool: &mut Pool) -> Fq {
        let mut fq = Fq::new(limit.bound(Rate::from_mbps(10)), 1500);
        push(&mut fq, pool, arrivals);
        fq
    }

    fn popped(fq: &mut Fq, pool: &mut Pool, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| fq.pop(pool).map(|pkt| pool.take(pkt).flow.0)).collect()
    }

    #[test]
    fn a_new_flow_comes_before_all_old_ones_and_for_one_quantum_only() {
        let mut pool = Pool::new();
        let mut fq = filled(Limit::Packets(99), &[(1, 1500); 6], &mut pool);
        push(&mut fq, &mut pool, &[(2, 1500); 6]);
        assert_eq!(popped(&mut fq, &mut pool, 4), [1, 2, 1, 2]);
        push(&mut fq, &mut pool, &[(3, 750); 4]);
        assert_eq!(popped(&mut fq, &mut pool, 6), [3, 3, 1, 3, 3, 2]);
    }

    /// §4.2: "crucial to prevent starvation".
    #[test]
    fn a_new_flow_that_became_empty_waits_for_the_old_ones_before_it_is_new_again() {
        let mut pool = Pool::new();
        let mut fq = filled(Limit::Packets(99), &[(1, 1500); 4], &mut pool);
        assert_eq!(popped(&mut fq, &mut pool, 1), [1]);
        push(&mut fq, &mut pool, &[(2, 100)]);
        assert_eq!(popped(&mut fq, &mut pool, 2), [2, 1]);
        // It is in the old list, with what it has left of its first credits.
        push(&mut fq, &mut pool, &[(2, 100)]);
        let credits = fq.lanes[&key_of(&packet(2, 100))].1;
        assert_eq!((fq.lists[0].len(), credits), (0, 1400));
        assert_eq!(popped(&mut fq, &mut pool, 2), [2, 1]);
        assert_eq!(fq.lanes.len(), 1, "an old one that is empty is gone");
    }

    #[test]
    fn half_of_the_longest_queue_goes_from_its_head() {
        let mut pool = Pool::new();
        let mut fq = filled(Limit::Packets(4), &[(1, 900), (2, 100), (1, 800), (2, 100), (1, 700)], &mut pool);
        let mut shed = Vec::new();
        while let Some(pkt) = fq.shed(&pool) {
            shed.push((pool[&pkt].flow.0, pool[&pkt].size));
        }
        assert_eq!(shed, [(1, 900), (1, 800)], "two of three");
        assert_eq!((fq.total.packets, fq.total.bytes), (3, 900));
        let mut fq = filled(Limit::Packets(199), &[(7, 100); 200], &mut pool);
        assert_eq!(std::iter::from_fn(|| fq.shed(&pool)).count(), 64);
    }

    #[test]
    fn an_idle_transmitter_has_forgotten_all_flows() {
        let mut pool = Pool::new();
        let mut fq = filled(Limit::Packets(9), &[(1, 1500)], &mut pool);
        assert_eq!(popped(&mut fq, &mut pool, 1), [1]);
        assert_eq!(fq.lanes.len(), 1, "its last packet is still being sent");
        fq.found_empty();
        assert_eq!((fq.lanes.len(), fq.keys().count()), (0, 0));
        push(&mut fq, &mut pool, &[(1, 700), (2, 700)]);
        let mut given = 0;
        fq.clear(&mut |_| given += 1);
        assert_eq!((given, fq.backlog(), fq.lanes.len()), (2, Backlog::default(), 0));
    }
}
