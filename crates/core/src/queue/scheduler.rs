//! Order of departures, and admission.

mod classes;
mod drr;
mod fifo;
mod fq;
mod lane;
mod round;

pub use classes::{Classes, Room, Share};
pub use drr::Drr;
pub use fifo::Fifo;
pub use fq::Fq;
pub(super) use lane::{Lane, key_of};
pub use round::Round;

use crate::limit::Bound;
use crate::packet::{Packet, Pkt, Pool};
use crate::roles::Backlog;
use crate::units::Time;

/// Holds a port's packets. Those of one lane stay in order.
pub trait Scheduler: Send {
    /// Whether packets leave in the order in which they came. Asked once.
    fn is_fifo(&self) -> bool {
        false
    }
    /// A bound within which there is room for every packet. Asked once.
    fn room_within(&self) -> Bound {
        Bound::NOTHING
    }
    /// Whether there is room for a packet where `waiting` waits at the port.
    fn admits(&self, packet: &Packet, waiting: Backlog) -> bool;
    /// Called with a packet that has been admitted.
    fn push(&mut self, pkt: Pkt, pool: &Pool);
    /// Called after a push until it gives none: a packet that has to go because too much waits.
    fn shed(&mut self, _pool: &Pool) -> Option<Pkt> {
        None
    }
    /// The next packet to leave.
    fn pop(&mut self, pool: &Pool) -> Option<Pkt>;
    /// Called when a packet that was just popped has been dropped: it does not count for its lane's
    /// share.
    fn refund(&mut self, _packet: &Packet) {}
    /// What waits.
    fn backlog(&self) -> Backlog;
    /// What waits in the lane of a packet, if `waiting` waits in all.
    fn lane(&self, _packet: &Packet, waiting: Backlog) -> Backlog {
        waiting
    }
    /// Calls with the number of each lane that has something waiting, and when its first packet came.
    /// Lanes by flow are numbered in the order in which they are served.
    fn heads(&self, _pool: &Pool, _each: &mut dyn FnMut(usize, Time)) {}
    /// Called before a push if the transmitter is idle: it has found that nothing waits.
    fn found_empty(&mut self) {}
    /// Gives everything up, in an order that is the same in each run.
    fn clear(&mut self, give: &mut dyn FnMut(Pkt));
}
