use std::collections::VecDeque;

use super::Scheduler;
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// First in, first out. What does not fit is refused.
#[derive(Debug)]
pub struct Fifo {
    bound: Bound,
    /// Made with the first packet: what has a timetable never holds one.
    held: Option<Box<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    packets: VecDeque<Pkt>,
    bytes: u64,
}

impl Fifo {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> Fifo {
        Fifo { bound, held: None }
    }

    /// Holds whatever comes: for AQMs that say themselves for what there is room.
    pub const fn unbounded() -> Fifo {
        Fifo::new(Bound { bytes: u64::MAX, packets: u64::MAX })
    }

    /// When the packet came that leaves next.
    pub fn first_came(&self, pool: &Pool) -> Option<Time> {
        self.held.as_ref()?.packets.front().map(|pkt| pool[pkt].queued)
    }

    /// The size of the packet that leaves next.
    pub fn first_size(&self, pool: &Pool) -> Option<u32> {
        self.held.as_ref()?.packets.front().map(|pkt| pool[pkt].size)
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
        let held = self.held.get_or_insert_default();
        held.bytes += u64::from(pool[&pkt].size);
        held.packets.push_back(pkt);
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let held = self.held.as_mut()?;
        let pkt = held.packets.pop_front()?;
        held.bytes -= u64::from(pool[&pkt].size);
        Some(pkt)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let held = self.held.as_ref();
        held.map_or(Backlog::default(), |held| Backlog { packets: held.packets.len() as u64, bytes: held.bytes })
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        self.first_came(pool).into_iter().for_each(|came| each(0, came));
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        if let Some(held) = &mut self.held {
            held.packets.drain(..).for_each(give);
            held.bytes = 0;
        }
    }
}
