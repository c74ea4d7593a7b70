//! Active queue management: selects packets for congestion signals.

mod codel;
mod dataplane;
mod dualpi2;
mod flows;
mod pie;
mod policer;
mod red;
mod step;
mod updates;

pub use codel::Codel;
pub use dataplane::CodelDataPlane;
pub use dualpi2::{DualPi2, l4s_class};
pub use flows::PerFlow;
pub use pie::Pie;
pub use policer::Policer;
pub use red::Red;
pub use step::{DelayStep, Step};

pub use crate::roles::{Verdict, View};

use super::scheduler::Scheduler;
use crate::limit::{Backlog, Bound};
use crate::packet::{Packet, Pool};
use crate::roles::Drop;
use crate::units::{Rate, Time};

/// What an AQM with a timer may know of its port then.
pub struct Standing<'a> {
    /// The time.
    pub now: Time,
    /// What waits.
    pub backlog: Backlog,
    /// The port's rate.
    pub rate: Rate,
    /// The link's largest packet.
    pub mtu: u32,
    pub(super) scheduler: &'a dyn Scheduler,
    pub(super) pool: &'a Pool,
}

impl Standing<'_> {
    /// Calls with the number of each of the scheduler's lanes in which something waits, and how long
    /// its first packet has waited.
    pub fn heads(&self, mut each: impl FnMut(usize, Time)) {
        self.scheduler.heads(self.pool, &mut |lane, came| each(lane, self.now.saturating_sub(came)));
    }

    /// The longest of these times; zero where nothing waits.
    pub fn longest_wait(&self) -> Time {
        let mut longest = Time::ZERO;
        self.heads(|_, waited| longest = longest.max(waited));
        longest
    }
}

/// What becomes of a chosen packet that the port's signal cannot tell anybody about, such as one
/// that is not ECN-capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsignalled {
    /// It is dropped: a loss is a signal that everybody understands.
    Drop,
    /// It goes on.
    Pass,
}

/// What decides on each packet of a port: on arrival, when it leaves, or both. Schemes whose ports
/// write into each packet (prices, rates) do it here, too.
///
/// An AQM that decides on arrival alone, from the order of arrivals, lets a FIFO port be a
/// [timetable](crate::roles::Timetable): a hop costs one event.
pub trait Aqm: Send {
    /// Whether [`Aqm::enqueue`] wants to be called. Asked once.
    fn watches_arriving(&self) -> bool {
        true
    }
    /// Whether it looks at packets that leave. Asked once.
    fn watches_leaving(&self) -> bool {
        false
    }
    /// As long as a packet fits into this with all that waits, [`Aqm::enqueue`] would let it pass
    /// and change nothing, neither here nor in the packet: it need not be called. Asked once.
    fn indifferent_within(&self) -> Bound {
        Bound::NOTHING
    }
    /// Called with each packet that arrives, in order, whether or not there is room for it.
    fn enqueue(&mut self, _packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        Verdict::Pass
    }
    /// Called with each packet that is about to leave, if [`Aqm::watches_leaving`]. After a drop it
    /// is called with the next one at once.
    fn dequeue(&mut self, _packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        Verdict::Pass
    }
    /// Called when the packet that it chose has been signalled and goes on.
    fn signalled(&mut self, _packet: &Packet) {}
    /// Called when the packet that it chose cannot be signalled: what becomes of it.
    fn unable(&mut self, _packet: &Packet) -> Unsignalled {
        Unsignalled::Drop
    }
    /// Called when a packet has found no room, after [`Aqm::enqueue`].
    fn refused(&mut self, _packet: &Packet) {}
    /// Called when a packet that waited has been taken away because too much waits; `left` waits in
    /// its lane then.
    fn shed(&mut self, _packet: &Packet, _left: Backlog) {}
    /// Whether it has a timer: such a port is never a timetable. Asked once.
    fn has_timer(&self) -> bool {
        false
    }
    /// Called after [`Aqm::enqueue`] and [`Aqm::on_timer`], if [`Aqm::has_timer`]: when it wants
    /// [`Aqm::on_timer`], in place of any earlier wish; `None` if that stays. It keeps no run from
    /// ending.
    fn timer(&mut self) -> Option<Time> {
        None
    }
    /// Called when that time has come.
    fn on_timer(&mut self, _port: &Standing<'_>) {}
    /// Called when the transmitter asked for a packet and none waits.
    fn empty(&mut self) {}
    /// Whether [`Aqm::inbound`] wants to be called. Asked once.
    fn watches_inbound(&self) -> bool {
        false
    }
    /// Called when a packet came in through the port, before it is routed. Rewrites it in place, or
    /// says why it goes no further.
    fn inbound(&mut self, _packet: &mut Packet, _now: Time) -> Result<(), Drop> {
        Ok(())
    }
    /// Called when the node restarts.
    fn reset(&mut self) {}
    /// Numbers to plot over time besides the backlog (a price, a rate), with their names.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
    /// What the user should know when a run is over ([`Port::warnings`](crate::roles::Port::warnings)).
    fn warnings(&self, _out: &mut Vec<String>) {}
}

/// No active queue management: the queue grows until it is full.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAqm;

impl Aqm for NoAqm {
    fn indifferent_within(&self) -> Bound {
        Bound::EVERYTHING
    }
}
