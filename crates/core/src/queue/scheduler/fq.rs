use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::Scheduler;
use super::lane::{Key, Lane, key_of};
use crate::fifo::Fifo;
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
    /// Queues: the active ones, some of which are empty, and such as may begin again.
    lanes: Vec<Queue>,
    /// All their numbers.
    numbers: FxHashMap<Key, u32>,
    /// Where the search for a queue that is not active goes on.
    hand: usize,
    /// The RFC's two lists: new queues, then old ones.
    lists: [Fifo<u32>; 2],
    /// The queue that was found last: mostly it is asked for again.
    last: Cell<u32>,
    /// The queue that has to lose so many packets more.
    shedding: Option<(u32, usize)>,
    total: Backlog,
}

/// A flow's queue.
#[derive(Debug)]
struct Queue {
    key: Key,
    packets: Lane,
    /// Bytes that it may still send.
    credits: i64,
    /// Whether it is in one of the lists.
    active: bool,
}

/// Queues up to this number are not given to other flows: one that begins again is found, not made. Ours.
const KEPT: usize = 16;

impl Fq {
    /// Holds at most `bound` in all; a flow sends `quantum` bytes per round (at least one byte).
    pub fn new(bound: Bound, quantum: u32) -> Fq {
        Fq {
            bound,
            quantum: i64::from(quantum.max(1)),
            lanes: Vec::new(),
            numbers: FxHashMap::default(),
            hand: 0,
            lists: Default::default(),
            last: Cell::new(0),
            shedding: None,
            total: Backlog::default(),
        }
    }

    /// The number of a packet's queue, active or not.
    #[inline]
    fn find(&self, packet: &Packet) -> Option<u32> {
        let key = key_of(packet);
        if self.lanes.get(self.last.get() as usize).is_some_and(|lane| lane.key == key) {
            return Some(self.last.get());
        }
        let number = *self.numbers.get(&key)?;
        self.last.set(number);
        Some(number)
    }

    /// A queue for a flow that has none. Of many queues it is one that is not active.
    #[cold]
    fn make(&mut self, key: Key) -> u32 {
        let (count, active) = (self.lanes.len(), self.lists.iter().map(Fifo::len).sum::<usize>());
        let place = if count < KEPT || active == count { None } else { self.next_inactive() };
        let number = match place {
            Some(place) => {
                self.numbers.remove(&self.lanes[place].key);
                self.lanes[place].key = key;
                place
            }
            None => {
                self.lanes.push(Queue { key, packets: Lane::default(), credits: 0, active: false });
                count
            }
        };
        self.numbers.insert(key, number as u32);
        self.last.set(number as u32);
        number as u32
    }

    fn next_inactive(&mut self) -> Option<usize> {
        let count = self.lanes.len();
        let place = (0..count).map(|i| (self.hand + i) % count).find(|place| !self.lanes[*place].active)?;
        self.hand = place + 1;
        Some(place)
    }

    /// All queues cease to be active, in the lists' order.
    fn empty_lists(&mut self, mut each: impl FnMut(&mut Lane)) {
        while let Some(number) = self.lists[0].pop().or_else(|| self.lists[1].pop()) {
            let lane = &mut self.lanes[number as usize];
            lane.active = false;
            each(&mut lane.packets);
        }
    }

    /// The active queues' numbers, new ones first.
    fn active(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.iter().flat_map(Fifo::iter)
    }

    /// The queue with most bytes; of several the one that comes first in the lists, so that the
    /// choice is repeatable.
    fn longest(&self) -> Option<(u32, usize)> {
        let mut best: Option<(u64, u32, usize)> = None;
        for number in self.active() {
            let lane = self.lanes[number as usize].packets.backlog();
            if best.is_none_or(|b| lane.bytes > b.0) {
                best = Some((lane.bytes, number, lane.packets as usize));
            }
        }
        best.map(|(_, number, packets)| (number, packets))
    }

    /// Counts a packet that a queue has lost.
    #[inline]
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

    #[inline]
    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        let packet = &pool[&pkt];
        let number = match self.find(packet) {
            Some(number) => number,
            None => self.make(key_of(packet)),
        };
        self.total.bytes += u64::from(packet.size);
        self.total.packets += 1;
        let lane = &mut self.lanes[number as usize];
        lane.packets.push(pkt, pool);
        if !lane.active {
            (lane.active, lane.credits) = (true, self.quantum);
            self.lists[0].push(number);
        }
    }

    /// §4.1: half the packets of the longest queue, from its head, 64 at most.
    #[inline]
    fn shed(&mut self, pool: &Pool) -> Option<Pkt> {
        if self.shedding.is_none() {
            if self.total.bytes <= self.bound.bytes && self.total.packets <= self.bound.packets {
                return None;
            }
            self.shedding = self.longest().map(|(number, packets)| (number, packets.div_ceil(2).min(BATCH)));
        }
        let (number, left) = self.shedding?;
        self.shedding = (left > 1).then_some((number, left - 1));
        let pkt = self.lanes[number as usize].packets.pop_front(pool)?;
        Some(self.counted_out(pkt, pool))
    }

    /// §4.2
    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        loop {
            let list = usize::from(self.lists[0].is_empty());
            let number = self.lists[list].front()?;
            let lane = &mut self.lanes[number as usize];
            // "it has already dequeued at least a quantum of bytes": none left counts, as in Linux.
            let spent = lane.credits <= 0;
            if !spent && let Some(pkt) = lane.packets.pop_front(pool) {
                lane.credits -= i64::from(pool[&pkt].size);
                self.last.set(number);
                return Some(self.counted_out(pkt, pool));
            }
            if spent {
                lane.credits += self.quantum;
            }
            self.lists[list].pop();
            if spent || list == 0 {
                self.lists[1].push(number);
            } else {
                lane.active = false;
            }
        }
    }

    /// What CoDel drops is not charged.
    fn refund(&mut self, packet: &Packet) {
        if let Some(number) = self.find(packet) {
            self.lanes[number as usize].credits += i64::from(packet.size);
        }
    }

    /// A transmitter that found nothing has emptied both lists.
    #[inline]
    fn found_empty(&mut self) {
        if self.total.packets == 0 {
            self.empty_lists(|_| {});
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }

    #[inline]
    fn lane(&self, packet: &Packet, _waiting: Backlog) -> Backlog {
        self.find(packet).map(|number| self.lanes[number as usize].packets.backlog()).unwrap_or_default()
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        let first = self.active().filter_map(|number| self.lanes[number as usize].packets.front(pool));
        first.enumerate().for_each(|(lane, packet)| each(lane, packet.queued));
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.empty_lists(|lane| lane.clear(give));
        (self.shedding, self.total) = (None, Backlog::default());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

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
        let credits = fq.find(&packet(2, 100)).map(|number| fq.lanes[number as usize].credits);
        assert_eq!((fq.lists[0].len(), credits), (0, Some(1400)));
        assert_eq!(popped(&mut fq, &mut pool, 2), [2, 1]);
        assert_eq!(fq.active().count(), 1, "an old one that is empty is gone");
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
        assert_eq!(fq.active().count(), 1, "its last packet is still being sent");
        fq.found_empty();
        assert_eq!((fq.numbers.len(), fq.active().count()), (1, 0));
        push(&mut fq, &mut pool, &[(1, 700), (2, 700)]);
        let mut given = 0;
        fq.clear(&mut |_| given += 1);
        assert_eq!((given, fq.backlog(), fq.active().count()), (2, Backlog::default(), 0));
    }

    proptest! {
        /// Held to §4.2 in words, over more flows than queues are kept: a flow's queue is made where it becomes active, and
        /// forgotten where it ceases to be.
        #[test]
        fn queues_that_begin_again_are_as_new_ones(
            steps in prop::collection::vec((0u32..40, 100u32..1500, 0usize..4, prop::bool::weighted(0.1)), 1..400),
        ) {
            let (mut pool, mut fq) = (Pool::new(), filled(Limit::Packets(9999), &[], &mut Pool::new()));
            let mut lists: [VecDeque<(u32, i64, VecDeque<u32>)>; 2] = Default::default();
            for (flow, size, pops, idle) in steps {
                if idle && lists.iter().flatten().all(|queue| queue.2.is_empty()) {
                    fq.found_empty();
                    lists.iter_mut().for_each(VecDeque::clear);
                }
                push(&mut fq, &mut pool, &[(flow, size)]);
                match lists.iter_mut().flatten().find(|queue| queue.0 == flow) {
                    Some(queue) => queue.2.push_back(size),
                    None => lists[0].push_back((flow, 1500, [size].into())),
                }
                for _ in 0..pops {
                    let mut expected = None;
                    while let Some(list) = (0..2).find(|list| !lists[*list].is_empty()) && expected.is_none() {
                        let queue = &mut lists[list][0];
                        if queue.1 > 0 && let Some(size) = queue.2.pop_front() {
                            queue.1 -= i64::from(size);
                            expected = Some((queue.0, size));
                            continue;
                        }
                        let (spent, mut queue) = (queue.1 <= 0, lists[list].pop_front().expect("it is there"));
                        queue.1 += if spent { 1500 } else { 0 };
                        if spent || list == 0 {
                            lists[1].push_back(queue);
                        }
                    }
                    let popped = fq.pop(&pool).map(|pkt| pool.take(pkt)).map(|packet| (packet.flow.0, packet.size));
                    prop_assert_eq!(popped, expected);
                }
                let active = lists.iter().flatten().map(|queue| queue.0).collect::<Vec<_>>();
                prop_assert!(fq.active().map(|number| fq.lanes[number as usize].key.0).eq(active.iter().map(|flow| packet(*flow, 100).key)));
                prop_assert!(fq.lanes.len() <= KEPT.max(40) && fq.numbers.len() == fq.lanes.len());
            }
        }

        #[test]
        fn flows_one_after_another_share_queues(flows in 1u32..200) {
            let (mut pool, mut fq) = (Pool::new(), filled(Limit::Packets(9), &[], &mut Pool::new()));
            for flow in 0..flows {
                push(&mut fq, &mut pool, &[(flow, 1500)]);
                prop_assert_eq!(popped(&mut fq, &mut pool, 1), [flow]);
                fq.found_empty();
            }
            prop_assert_eq!(fq.lanes.len(), KEPT.min(flows as usize));
        }
    }
}
