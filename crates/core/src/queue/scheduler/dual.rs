use super::{Fifo, Round, Scheduler};
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// How two queues share a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The first is served whenever it has a packet.
    Strict,
    /// Deficit round robin: bytes of each per round, above zero.
    Weighted([u32; 2]),
}

/// Two FIFOs over one link. A classifier says of each packet whether it belongs into the first.
/// Each holds what the bound says.
pub struct Dual<C> {
    first: C,
    quanta: Option<[u64; 2]>,
    fifos: [Fifo; 2],
    round: Round<usize>,
}

impl<C: Fn(&Packet) -> bool> Dual<C> {
    /// Two queues of `bound` each; `first` says what belongs into the first one.
    pub fn new(bound: Bound, share: Share, first: C) -> Dual<C> {
        let quanta = match share {
            Share::Strict => None,
            Share::Weighted(bytes) => Some(bytes.map(|b| u64::from(b.max(1)))),
        };
        Dual { first, quanta, fifos: [Fifo::new(bound), Fifo::new(bound)], round: Round::default() }
    }

    fn queue_of(&self, packet: &Packet) -> usize {
        usize::from(!(self.first)(packet))
    }

    /// The queue that is served next.
    fn turn(&mut self, pool: &Pool) -> Option<usize> {
        let fifos = &self.fifos;
        match self.quanta {
            None => (0..2).find(|q| fifos[*q].backlog().packets > 0),
            Some(quanta) => self.round.next(|q| fifos[q].first_size(pool), |q| quanta[q]),
        }
    }
}

impl<C: Fn(&Packet) -> bool + Send> Scheduler for Dual<C> {
    fn admits(&self, packet: &Packet, waiting: Backlog) -> bool {
        self.fifos[self.queue_of(packet)].admits(packet, self.lane(packet, waiting))
    }

    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        let queue = self.queue_of(&pool[&pkt]);
        if let Some(quanta) = self.quanta
            && self.fifos[queue].backlog().packets == 0
        {
            self.round.join(queue, quanta[queue]);
        }
        self.fifos[queue].push(pkt, pool);
    }

    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let queue = self.turn(pool)?;
        let pkt = self.fifos[queue].pop(pool)?;
        if self.fifos[queue].backlog().packets == 0 {
            self.round.leave(queue);
        }
        Some(pkt)
    }

    fn refund(&mut self, packet: &Packet) {
        self.round.refund(self.queue_of(packet), packet.size);
    }

    fn backlog(&self) -> Backlog {
        let [a, b] = [self.fifos[0].backlog(), self.fifos[1].backlog()];
        Backlog { packets: a.packets + b.packets, bytes: a.bytes + b.bytes }
    }

    fn lane(&self, packet: &Packet, _waiting: Backlog) -> Backlog {
        self.fifos[self.queue_of(packet)].backlog()
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        for (lane, fifo) in self.fifos.iter().enumerate() {
            fifo.first_came(pool).into_iter().for_each(|came| each(lane, came));
        }
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.fifos.iter_mut().for_each(|f| f.clear(give));
        self.round.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::packet::{FlowId, NodeId};
    use crate::units::Rate;

    fn packet(flow: u32, size: u32) -> Packet {
        Packet::new(FlowId(flow), NodeId(0), NodeId(1), size)
    }

    #[test]
    fn each_of_two_holds_what_the_bound_says() {
        let mut pool = Pool::new();
        let bound = Limit::Packets(1).bound(Rate::from_mbps(10));
        let mut dual = Dual::new(bound, Share::Strict, |p: &Packet| p.flow.0 == 0);
        let admits = |dual: &Dual<_>, flow| dual.admits(&packet(flow, 100), dual.backlog());
        assert!(admits(&dual, 0) && admits(&dual, 1));
        let pkt = pool.insert(packet(1, 100));
        dual.push(pkt, &pool);
        assert!(admits(&dual, 0) && !admits(&dual, 1));
        let pkt = pool.insert(packet(0, 100));
        dual.push(pkt, &pool);
        assert!(!admits(&dual, 0) && !admits(&dual, 1));
    }
}
