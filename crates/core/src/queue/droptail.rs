use super::{Bound, Fifo, Loss, NoAqm, Queue};
use crate::roles::Port;

/// Refuses what does not fit, and nothing else: the usual port, which nodes run without an indirect
/// call.
#[derive(Debug, Clone)]
pub struct DropTail {
    bound: Bound,
}

impl DropTail {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> DropTail {
        DropTail { bound }
    }

    /// What there is room for.
    pub const fn bound(&self) -> Bound {
        self.bound
    }

    /// The same as a port like any other.
    pub fn into_port(self) -> Box<dyn Port> {
        Box::new(Queue::new(NoAqm, Fifo::new(self.bound), Loss))
    }
}
