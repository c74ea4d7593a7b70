use super::{Fifo, Round, Scheduler};
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// How classes share a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// One is served whenever it has a packet and none before it has.
    Strict,
    /// Deficit round robin: bytes of each per round, above zero.
    Weighted(Vec<u32>),
}

/// Whose room a bound is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Each class has as much.
    Each(Bound),
    /// All have it together.
    Shared(Bound),
}

/// A FIFO for each of some classes of packets, over one link. A classifier says which class a packet
/// is of; the last one takes whatever has a higher number.
pub struct Classes<C> {
    class: C,
    room: Room,
    quanta: Option<Box<[u64]>>,
    fifos: Box<[Fifo]>,
    round: Round<usize>,
    /// What waits in all of them: asked several times for each packet.
    waiting: Backlog,
}

impl<C: Fn(&Packet) -> usize> Classes<C> {
    /// `classes` queues, one at least, with this room; `class` says what belongs into which.
    pub fn new(classes: usize, room: Room, share: Share, class: C) -> Classes<C> {
        let classes = classes.max(1);
        let quanta = match share {
            Share::Strict => None,
            Share::Weighted(bytes) => {
                let quantum = |class: usize| bytes.get(class).map_or(1, |b| u64::from((*b).max(1)));
                Some((0..classes).map(quantum).collect())
            }
        };
        let bound = match room {
            Room::Each(bound) => bound,
            Room::Shared(_) => Bound::EVERYTHING,
        };
        let fifos = (0..classes).map(|_| Fifo::new(bound)).collect();
        Classes { class, room, quanta, fifos, round: Round::default(), waiting: Backlog::default() }
    }

    fn class_of(&self, packet: &Packet) -> usize {
        (self.class)(packet).min(self.fifos.len() - 1)
    }

    /// The class that is served next.
    fn turn(&mut self, pool: &Pool) -> Option<usize> {
        let fifos = &self.fifos;
        match &self.quanta {
            None => fifos.iter().position(|fifo| fifo.backlog().packets > 0),
            Some(quanta) => self.round.next(|class| fifos[class].first_size(pool), |class| quanta[class]),
        }
    }
}

impl<C: Fn(&Packet) -> usize + Send> Scheduler for Classes<C> {
    fn admits(&self, packet: &Packet, waiting: Backlog) -> bool {
        match self.room {
            Room::Each(_) => self.fifos[self.class_of(packet)].admits(packet, self.lane(packet, waiting)),
            Room::Shared(bound) => bound.admits(waiting, packet.size),
        }
    }

    #[inline(always)]
    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        let packet = &pool[&pkt];
        let class = self.class_of(packet);
        self.waiting = self.waiting + Backlog { packets: 1, bytes: packet.size.into() };
        if let Some(quanta) = &self.quanta
            && self.fifos[class].backlog().packets == 0
        {
            self.round.join(class, quanta[class]);
        }
        self.fifos[class].push(pkt, pool);
    }

    #[inline(always)]
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let class = self.turn(pool)?;
        let fifo = &mut self.fifos[class];
        let pkt = fifo.pop(pool)?;
        if fifo.backlog().packets == 0 {
            self.round.leave(class);
        }
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(pool[&pkt].size);
        Some(pkt)
    }

    fn refund(&mut self, packet: &Packet) {
        self.round.refund(self.class_of(packet), packet.size);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        debug_assert_eq!(self.waiting, self.fifos.iter().map(Fifo::backlog).sum());
        self.waiting
    }

    fn lane(&self, packet: &Packet, _waiting: Backlog) -> Backlog {
        self.fifos[self.class_of(packet)].backlog()
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        for (class, fifo) in self.fifos.iter().enumerate() {
            fifo.heads(pool, &mut |_, came| each(class, came));
        }
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.fifos.iter_mut().for_each(|f| f.clear(give));
        self.round.clear();
        self.waiting = Backlog::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::queue::testing::{packet, push};
    use crate::units::Rate;

    type ByFlow = Classes<fn(&Packet) -> usize>;

    fn by_flow(room: Room, share: Share) -> ByFlow {
        Classes::new(3, room, share, |p| p.flow.0 as usize)
    }

    fn one_packet() -> Bound {
        Limit::Packets(1).bound(Rate::from_mbps(10))
    }

    fn flows(classes: &mut ByFlow, pool: &mut Pool) -> Vec<u32> {
        std::iter::from_fn(|| classes.pop(pool).map(|pkt| pool.take(pkt).flow.0)).collect()
    }

    #[test]
    fn each_class_holds_what_the_bound_says_or_all_together() {
        let mut pool = Pool::new();
        let admits = |classes: &Classes<_>, flow| classes.admits(&packet(flow, 100), classes.backlog());
        let mut each = by_flow(Room::Each(one_packet()), Share::Strict);
        push(&mut each, &mut pool, &[(1, 100)]);
        assert!(admits(&each, 0) && !admits(&each, 1) && admits(&each, 2));
        let mut shared = by_flow(Room::Shared(one_packet()), Share::Strict);
        assert!((0..3).all(|flow| admits(&shared, flow)));
        push(&mut shared, &mut pool, &[(1, 100)]);
        assert!((0..3).all(|flow| !admits(&shared, flow)));
    }

    #[test]
    fn of_strict_classes_the_lowest_number_goes_first_and_the_last_takes_all_others() {
        let mut pool = Pool::new();
        let mut classes = by_flow(Room::Each(Bound::EVERYTHING), Share::Strict);
        push(&mut classes, &mut pool, &[7, 1, 2, 0, 1].map(|flow| (flow, 100)));
        assert_eq!(classes.lane(&packet(9, 1), Backlog::default()).packets, 2);
        assert_eq!(flows(&mut classes, &mut pool), [0, 1, 1, 7, 2]);
    }

    #[test]
    fn weighted_classes_send_their_bytes_in_turn() {
        let mut pool = Pool::new();
        let mut classes = by_flow(Room::Each(Bound::EVERYTHING), Share::Weighted(vec![300, 200, 100]));
        for flow in [2, 1, 0] {
            push(&mut classes, &mut pool, &[(flow, 100); 6]);
        }
        assert_eq!(flows(&mut classes, &mut pool)[..12], [2, 1, 1, 0, 0, 0, 2, 1, 1, 0, 0, 0]);
    }
}
