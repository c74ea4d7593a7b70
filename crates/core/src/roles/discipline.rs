use super::shortcuts::Plain;
use super::{Port, Shortcuts};
use crate::limit::Bound;

/// How a port gets its packets onto the wire. `crates/sim/src/engine/README.md` has both ways in a picture, and what
/// holds them equal.
pub enum Discipline {
    /// First in, first out; refuses what does not fit into the bound, and nothing else: the usual
    /// port, which nodes run without an indirect call.
    DropTail(Bound),
    /// First in, first out, all decided on arrival: drivers that know timetables give each packet
    /// its place at once. See [`Shortcuts::admit`].
    Timetable(Box<dyn Shortcuts>),
    /// Asked for a packet when the transmitter is idle.
    Held(Box<dyn Shortcuts>),
}

impl Discipline {
    /// A port that is asked for each of its packets.
    pub fn of(port: impl Port + 'static) -> Discipline {
        Discipline::Held(Box::new(Plain(port)))
    }

    /// A port with its shortcuts: a timetable, if it can be one.
    pub fn with_shortcuts(port: impl Shortcuts + 'static) -> Discipline {
        let port = Box::new(port);
        if port.is_timetable() { Discipline::Timetable(port) } else { Discipline::Held(port) }
    }

    /// Of what runs as a timetable: what is admitted without asking anybody.
    pub(crate) fn admits_within(&self) -> Bound {
        match self {
            Discipline::DropTail(bound) => *bound,
            Discipline::Timetable(port) => port.admits_within(),
            Discipline::Held(_) => Bound::NOTHING,
        }
    }

    /// The port, unless it is plain drop-tail.
    pub(crate) fn port(&self) -> Option<&dyn Shortcuts> {
        match self {
            Discipline::DropTail(_) => None,
            Discipline::Timetable(port) | Discipline::Held(port) => Some(port.as_ref()),
        }
    }
}
