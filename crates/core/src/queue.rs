//! Queues at ports, made of three parts that combine freely: an [`Aqm`] selects packets for congestion signals, a
//! [`Scheduler`] orders departures, a [`Signal`] notifies the sender. [`Queue`] combines them.
//!
//! | AQM | decides | selected packets that can't be signalled |
//! |---|---|---|
//! | [`NoAqm`] | – | – |
//! | [`Step`] | on arrival, by the port's backlog | go on |
//! | [`DelayStep`] | as packets leave, by how long each has waited | go on |
//! | [`Policer`] | on arrival, what exceeds a rate: dropped | |
//! | [`Red`] | on arrival, by the port's average backlog | are dropped |
//! | [`DualPi2`] | as packets leave two coupled queues ([`Classes`]) | are dropped |
//! | [`Pie`] | on arrival, by the delay of what leaves; per port or per flow | are dropped |
//! | [`Codel`], [`CodelDataPlane`] | as packets leave; per port under [`Fifo`], per flow under [`Drr`] and [`Fq`]
//! ([`PerFlow`]) | are dropped |
//!
//! [`Cake`] is a port of its own: its parts share what they know of flows. So is [`Trimming`].
//!
//! AQMs that decide on arrival in a FIFO run as a timetable ([`Discipline`]).

mod aqm;
mod build;
mod cake;
mod compose;
mod scheduler;
mod signal;
#[cfg(test)]
mod testing;
mod trim;

pub use aqm::{
    Aqm, Codel, CodelDataPlane, DelayStep, DualPi2, NoAqm, PerFlow, Pie, Policer, Red, Standing, Step, Unsignalled,
    Verdict, View, l4s_class,
};
pub use cake::Cake;
pub use compose::Queue;
pub use scheduler::{Classes, Drr, Fifo, Fq, Room, Round, Scheduler, Share};
pub use signal::{Ce, Done, Loss, Signal};
pub use trim::Trimming;

pub use crate::limit::{Bound, Limit};
pub use crate::queue_spec::{
    AqmSpec, CakeParams, CodelParams, DualPi2Params, Isolation, PieParams, QueueSpec, RedParams, SchedulerSpec,
    SignalSpec, TrimParams,
};
pub use crate::roles::Discipline;

use crate::roles::Port;

impl Discipline {
    /// The same port held: what links with faults need, for their timetable can change.
    #[must_use]
    pub fn held(self) -> Discipline {
        match self {
            Discipline::CutThrough(_) => self,
            other => Discipline::Held(other.into_port()),
        }
    }

    /// The port, to be asked for its packets.
    pub fn into_port(self) -> Box<dyn Port> {
        match self {
            Discipline::DropTail(bound) => Box::new(Queue::new(NoAqm, Fifo::new(bound), Loss)),
            Discipline::Timetable { rule, .. } => rule,
            Discipline::Held(port) => port,
            Discipline::CutThrough(port) => port,
        }
    }
}
