use super::{Bound, Fifo, Loss, NoAqm, Queue};
use crate::roles::{Backlog, Drop, Port};

/// Refuses what does not fit, and nothing else: the usual port, which nodes run without an indirect call.
#[derive(Debug, Clone)]
pub struct DropTail {
    bound: Bound,
}

impl DropTail {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> DropTail {
        DropTail { bound }
    }

    /// Whether there is room for `size` bytes where `waiting` waits.
    #[inline]
    pub const fn admit(&self, waiting: Backlog, size: u32) -> Result<(), Drop> {
        if self.bound.admits(waiting, size) { Ok(()) } else { Err(Drop::Queue) }
    }

    /// The same as a port like any other.
    pub fn into_port(self) -> Box<dyn Port> {
        Box::new(Queue::new(NoAqm, Fifo::new(self.bound), Loss))
    }
}
