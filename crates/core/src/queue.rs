//! Queues at ports, made of three parts that combine freely: an [`Aqm`] selects packets for congestion signals, a
//! [`Scheduler`] orders departures, a [`Signal`] notifies the sender. [`Queue`] combines them.
//!
//! | AQM | decides | selected packets that can't be signalled |
//! |---|---|---|
//! | [`NoAqm`] | – | – |
//! | [`Step`] | on arrival, by the port's backlog | go on |
//! | [`DelayStep`] | as packets leave, by how long each has waited | go on |
//! | [`Red`] | on arrival, by the port's average backlog | are dropped |
//! | [`DualPi2`] | as packets leave two coupled queues ([`Classes`]) | are dropped |
//! | [`Pie`] | on arrival, by the delay of what leaves; per port or per flow | are dropped |
//! | [`Codel`], [`CodelDataPlane`] | as packets leave; per port under [`Fifo`], per flow under [`Drr`] and [`Fq`]
//! ([`PerFlow`]) | are dropped |
//!
//! AQMs that decide on arrival in a FIFO run as a timetable ([`Discipline`]).

mod aqm;
mod build;
mod compose;
mod scheduler;
mod signal;
#[cfg(test)]
mod testing;

pub use aqm::{
    Aqm, Codel, CodelDataPlane, DelayStep, DualPi2, NoAqm, PerFlow, Pie, Red, Standing, Step, Unsignalled, Verdict,
    View, l4s_class,
};
pub use compose::Queue;
pub use scheduler::{Classes, Drr, Fifo, Fq, Room, Round, Scheduler, Share};
pub use signal::{Ce, Done, Loss, Signal};

pub use crate::limit::{Bound, Limit};
pub use crate::queue_spec::{
    AqmSpec, CodelParams, DualPi2Params, PieParams, QueueSpec, RedParams, SchedulerSpec, SignalSpec,
};
pub use crate::roles::Discipline;

use crate::roles::Shortcuts;

/// A drop-tail port that keeps its packets, like any other.
pub(crate) fn drop_tail(bound: Bound) -> Box<dyn Shortcuts> {
    Box::new(Queue::new(NoAqm, Fifo::new(bound), Loss))
}

impl Discipline {
    /// The same port held: what links with faults need, for their timetable can change.
    #[must_use]
    pub fn held(self) -> Discipline {
        Discipline::Held(self.into_port())
    }

    /// The port.
    pub fn into_port(self) -> Box<dyn Shortcuts> {
        match self {
            Discipline::DropTail(bound) => drop_tail(bound),
            Discipline::Timetable(port) | Discipline::Held(port) => port,
        }
    }
}
