use std::collections::VecDeque;

use super::Scheduler;
use crate::packet::{Packet, Pkt, Pool};
use crate::queue::Bound;
use crate::roles::Backlog;

/// First in, first out. What does not fit is refused.
#[derive(Debug)]
pub struct Fifo {
    bound: Bound,
    packets: VecDeque<Pkt>,
    bytes: u64,
}

impl Fifo {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> Fifo {
        Fifo { bound, packets: VecDeque::new(), bytes: 0 }
    }

    /// Holds whatever comes: for AQMs that say themselves for what there is room.
    pub const fn unbounded() -> Fifo {
        Fifo::new(Bound { bytes: u64::MAX, packets: u64::MAX })
    }

    /// The size of the packet that leaves next.
    pub fn first_size(&self, pool: &Pool) -> Option<u32> {
        self.packets.front().map(|pkt| pool[pkt].size)
    }
}

impl Scheduler for Fifo {
    fn is_fifo(&self) -> bool {
        true
    }

    fn room_within(&self) -> Bound {
        self.bound
    }

    #[inline]
    fn admits(&self, packet: &Packet, waiting: Backlog) -> bool {
        self.bound.admits(waiting, packet.size)
    }

    #[inline]
    fn push(&mut self, pkt: Pkt, pool: &Pool) {
        self.bytes += u64::from(pool[&pkt].size);
        self.packets.push_back(pkt);
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let pkt = self.packets.pop_front()?;
        self.bytes -= u64::from(pool[&pkt].size);
        Some(pkt)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.packets.drain(..).for_each(give);
        self.bytes = 0;
    }
}
