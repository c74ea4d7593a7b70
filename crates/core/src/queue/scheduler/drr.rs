use rustc_hash::FxHashMap;

use super::lane::{Key, Lane, key_of};
use super::{Round, Scheduler};
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// Per-flow fair queueing by deficit round robin.
///
/// Flows have queues of their own (of two with one [key](crate::packet::flow_key) in 2³², one),
/// made when they get a packet and removed when they are empty. When all together are over the
/// limit, the longest queue loses its newest packet, so that a flow within its share is not
/// punished for others.
#[derive(Debug)]
pub struct Drr {
    bound: Bound,
    quantum: u64,
    lanes: FxHashMap<Key, Lane>,
    round: Round<Key>,
    total: Backlog,
}

impl Drr {
    /// Holds at most `bound` in all; a flow sends `quantum` bytes per round (at least one byte).
    pub fn new(bound: Bound, quantum: u32) -> Drr {
        Drr {
            bound,
            quantum: u64::from(quantum.max(1)),
            lanes: FxHashMap::default(),
            round: Round::default(),
            total: Backlog::default(),
        }
    }

    /// The longest lane; of several the one whose turn comes first, so that the choice is
    /// repeatable.
    fn longest(&self) -> Option<Key> {
        let mut best: Option<(u64, Key)> = None;
        for key in self.round.lanes() {
            let bytes = self.lanes.get(&key).map_or(0, |l| l.backlog().bytes);
            if best.is_none_or(|(b, _)| bytes > b) {
                best = Some((bytes, key));
            }
        }
        best.map(|(_, key)| key)
    }

    /// Takes a packet from one end of a lane.
    fn take(&mut self, key: Key, pool: &Pool, end: fn(&mut Lane, &Pool) -> Option<Pkt>) -> Option<Pkt> {
        let lane = self.lanes.get_mut(&key)?;
        let pkt = end(lane, pool)?;
        self.total.bytes -= u64::from(pool[&pkt].size);
        self.total.packets -= 1;
        if lane.is_empty() {
            self.lanes.remove(&key);
            self.round.leave(key);
        }
        debug_assert_eq!(self.lanes.is_empty(), self.total == Backlog::default(), "lanes hold all that waits");
        Some(pkt)
    }
}

impl Scheduler for Drr {
    fn admits(&self, _packet: &Packet, _waiting: Backlog) -> bool {
        true
    }

    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        let (key, size) = (key_of(&pool[&pkt]), u64::from(pool[&pkt].size));
        let lane = self.lanes.entry(key).or_default();
        if lane.is_empty() {
            self.round.join(key, self.quantum);
        }
        lane.push(pkt, pool);
        self.total.bytes += size;
        self.total.packets += 1;
    }

    fn shed(&mut self, pool: &Pool) -> Option<Pkt> {
        if self.total.bytes <= self.bound.bytes && self.total.packets <= self.bound.packets {
            return None;
        }
        let key = self.longest()?;
        self.take(key, pool, Lane::pop_back)
    }

    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let (lanes, quantum) = (&self.lanes, self.quantum);
        let size = |key| Some(lanes.get(&key)?.front(pool)?.size);
        let key = self.round.next(size, |_| quantum)?;
        self.take(key, pool, Lane::pop_front)
    }

    fn refund(&mut self, packet: &Packet) {
        self.round.refund(key_of(packet), packet.size);
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn lane(&self, packet: &Packet, _waiting: Backlog) -> Backlog {
        self.lanes.get(&key_of(packet)).map(Lane::backlog).unwrap_or_default()
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        let first = self.round.lanes().filter_map(|key| self.lanes.get(&key)?.front(pool));
        first.enumerate().for_each(|(lane, packet)| each(lane, packet.queued));
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        // In the round's order, for a hash map's order is nobody's business.
        for key in self.round.lanes() {
            self.lanes.remove(&key).into_iter().for_each(|mut lane| lane.clear(give));
        }
        self.round.clear();
        self.total = Backlog::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::packet::FlowId;
    use crate::queue::testing::{packet, push};
    use crate::units::Rate;

    fn filled(bound: Limit, arrivals: &[(u32, u32)], pool: &mut Pool) -> Drr {
        let mut drr = Drr::new(bound.bound(Rate::from_mbps(10)), 1500);
        push(&mut drr, pool, arrivals);
        drr
    }

    #[test]
    fn the_longest_lane_sheds_and_of_two_the_one_whose_turn_comes_first() {
        // One lane of two and two of one packet, with as many bytes each; then a longer one.
        for (arrivals, expected) in [
            (vec![(1, 700), (2, 1400), (3, 1400), (1, 700)], 1),
            (vec![(2, 1400), (1, 700), (3, 1400), (1, 700)], 2),
            (vec![(1, 700), (2, 1400), (3, 1401), (1, 700)], 3),
        ] {
            let mut pool = Pool::new();
            let mut drr = filled(Limit::Packets(3), &arrivals, &mut pool);
            let shed = drr.shed(&pool).expect("one too many");
            assert_eq!(pool[&shed].flow, FlowId(expected), "{arrivals:?}");
            assert_eq!(drr.backlog().packets, 3);
            assert!(drr.shed(&pool).is_none());
        }
    }

    #[test]
    fn lanes_are_told_apart_and_cleared_in_their_turn() {
        let mut pool = Pool::new();
        let mut drr = filled(Limit::Packets(9), &[(1, 700), (2, 300), (1, 800)], &mut pool);
        let lane = |drr: &Drr, flow| drr.lane(&packet(flow, 1), Backlog::default());
        assert_eq!(lane(&drr, 1), Backlog { packets: 2, bytes: 1500 });
        assert_eq!(lane(&drr, 2), Backlog { packets: 1, bytes: 300 });
        assert_eq!(lane(&drr, 3), Backlog::default());
        assert_eq!(drr.round.len(), 2);
        let mut given = Vec::new();
        drr.clear(&mut |pkt| given.push((pool[&pkt].flow.0, pool[&pkt].size)));
        assert_eq!(given, [(1, 700), (1, 800), (2, 300)]);
        assert_eq!((drr.backlog(), lane(&drr, 1), drr.round.len()), (Backlog::default(), Backlog::default(), 0));
        assert!(drr.pop(&pool).is_none());
    }
}
