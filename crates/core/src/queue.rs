//! Queues at ports, made of three parts that combine freely: an [`Aqm`] chooses packets whose
//! senders are to be told of congestion, a [`Scheduler`] says in which order packets leave, a
//! [`Signal`] tells. [`Queue`] puts them together.
//!
//! | AQM | decides | chosen packets that can't be signalled |
//! |---|---|---|
//! | [`NoAqm`] | – | – |
//! | [`Step`] | on arrival, by the port's backlog | go on |
//! | [`DelayStep`] | as packets leave, by how long each has waited | go on |
//! | [`Red`] | on arrival, by the port's average backlog | are dropped |
//! | [`Codel`], [`CodelDataPlane`] | as packets leave; per port under [`Fifo`], per flow under [`Drr`] ([`PerFlow`]) | are dropped |
//!
//! What decides on arrival in a FIFO runs as a timetable ([`Discipline`]).

mod aqm;
mod compose;
mod droptail;
mod limit;
mod scheduler;
mod signal;
mod spec;
#[cfg(test)]
mod testing;

pub use aqm::{
    Aqm, Codel, CodelDataPlane, CodelParams, DelayStep, NoAqm, PerFlow, Red, RedParams, Step, Unsignalled, Verdict,
    View,
};
pub use compose::Queue;
pub use droptail::DropTail;
pub use limit::{Bound, Limit};
pub use scheduler::{Drr, Dual, Fifo, Round, Scheduler, Share};
pub use signal::{Ce, Done, Loss, Signal};
pub use spec::{AqmSpec, QueueSpec, SchedulerSpec, SignalSpec};

use crate::roles::Port;

/// How a port gets its packets onto the wire.
pub enum Discipline {
    /// The usual case, without an indirect call.
    DropTail(DropTail),
    /// First in, first out, all decided on arrival: drivers that know timetables give each packet
    /// its place at once. See [`Port::admit`].
    Timetable(Box<dyn Port>),
    /// Asked for a packet when the transmitter is idle.
    Held(Box<dyn Port>),
}

impl Discipline {
    /// A port as what it can be.
    pub fn of(port: impl Port + 'static) -> Discipline {
        let port = Box::new(port);
        if port.is_timetable() { Discipline::Timetable(port) } else { Discipline::Held(port) }
    }

    /// The same port held: what links with faults need, for their timetable can change.
    #[must_use]
    pub fn held(self) -> Discipline {
        Discipline::Held(self.into_port())
    }

    /// The port.
    pub fn into_port(self) -> Box<dyn Port> {
        match self {
            Discipline::DropTail(rule) => rule.into_port(),
            Discipline::Timetable(port) | Discipline::Held(port) => port,
        }
    }

    /// Of what runs as a timetable: what is admitted without asking anybody.
    pub(crate) fn admits_within(&self) -> Bound {
        match self {
            Discipline::DropTail(rule) => rule.bound(),
            Discipline::Timetable(port) => port.admits_within(),
            Discipline::Held(_) => Bound::NOTHING,
        }
    }

    /// The port, unless it is plain drop-tail.
    pub(crate) fn port(&self) -> Option<&dyn Port> {
        match self {
            Discipline::DropTail(_) => None,
            Discipline::Timetable(port) | Discipline::Held(port) => Some(port.as_ref()),
        }
    }
}
