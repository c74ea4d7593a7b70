use super::{CutThrough, Port, Timetable};
use crate::limit::Bound;

/// What kind of port it is: how it gets its packets onto the wire. `crates/sim/src/engine/README.md` has timetables and
/// held ports in a picture, and what holds them equal.
pub enum Discipline {
    /// First in, first out; refuses what does not fit into the bound, and nothing else: the usual
    /// port, which nodes run without an indirect call.
    DropTail(Bound),
    /// First in, first out, all decided on arrival: drivers that know timetables give each packet
    /// its place at once.
    Timetable {
        /// Decides.
        rule: Box<dyn Timetable>,
        /// As long as a packet fits into this with all that waits, the rule would take it and change
        /// nothing, so that it need not be asked.
        unasked: Bound,
    },
    /// Asked for a packet when the transmitter is idle.
    Held(Box<dyn Port>),
    /// The same; packets may pass through without being kept. For speed alone: it decides as one that is
    /// [held](Discipline::Held).
    CutThrough(Box<dyn CutThrough>),
}

impl Discipline {
    /// A port that is asked for each of its packets.
    pub fn of(port: impl Port + 'static) -> Discipline {
        Discipline::Held(Box::new(port))
    }

    /// A port through which packets may pass.
    pub fn cut_through(port: impl CutThrough + 'static) -> Discipline {
        Discipline::CutThrough(Box::new(port))
    }
}
