use super::Scheduler;
use super::lane::Lane;
use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// First in, first out. What does not fit is refused.
#[derive(Debug)]
pub struct Fifo {
    bound: Bound,
    /// Made with the first packet: what has a timetable never holds one.
    held: Option<Box<Lane>>,
}

impl Fifo {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> Fifo {
        Fifo { bound, held: None }
    }

    /// Holds whatever comes: for AQMs that say themselves for what there is room.
    pub const fn unbounded() -> Fifo {
        Fifo::new(Bound::EVERYTHING)
    }

    /// The size of the packet that leaves next.
    pub fn first_size(&self, pool: &Pool) -> Option<u32> {
        Some(self.held.as_ref()?.front(pool)?.size)
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
        self.held.get_or_insert_default().push(pkt, pool);
        debug_assert!(self.bound.holds(self.backlog()), "what was admitted has room");
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        self.held.as_mut()?.pop_front(pool)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.as_ref().map_or(Backlog::default(), |held| held.backlog())
    }

    fn heads(&self, pool: &Pool, each: &mut dyn FnMut(usize, Time)) {
        let first = self.held.as_ref().and_then(|held| held.front(pool));
        first.into_iter().for_each(|packet| each(0, packet.queued));
    }

    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        if let Some(held) = &mut self.held {
            held.clear(give);
        }
    }
}
