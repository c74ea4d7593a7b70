//! What two kinds of port are asked beside what every [`Port`] is: timetables, and ports with cut-through.

use std::any::Any;

use super::port::{Drop, LinkInfo, Port, PortCtx, SHARED};
use super::view::{Verdict, View};
use crate::packet::{Note, NotePlace, Packet, Pkt, Pool, PortId};
use crate::units::{Rate, Time};

/// A port that sends first in, first out, and decides all on arrival: the node knows when each packet
/// starts, and a hop is one event. Held, it decides the same in [`Port::outbound`].
pub trait Timetable: Port {
    /// Called when a packet was routed here, in place of [`Port::outbound`].
    fn admit(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict;
    /// Called then with a packet that is to be signalled; with an error it is dropped.
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Result<(), Drop>;
}

/// A held port through which packets pass without being kept. Its calls get less than a [`PortCtx`], which
/// costs a hop more than most ports do with it.
pub trait CutThrough: Port {
    /// Called when a packet was routed here and the transmitter is idle. True if it leaves now, as it
    /// would after [`Port::outbound`] and [`Port::poll_transmit`], and these would wish for nothing but to
    /// be woken. With false nothing has changed, and both are called.
    fn cut_through(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool;
    /// Called when a packet came in. True if it goes on and is no control packet, and [`Port::inbound`]
    /// would wish for nothing and let no other packet go. With false nothing has changed, and that is
    /// called.
    fn pass_inbound(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool;
}

/// What a port may reach while a packet passes through.
pub struct HopCtx<'a> {
    /// The time.
    pub now: Time,
    /// This port.
    pub me: PortId,
    /// The link behind it.
    pub link: &'a LinkInfo,
    /// The rate at which the neighbour sends to this port.
    pub reverse: Rate,
    /// The packets.
    pub pool: &'a mut Pool,
    pub(crate) state: Option<&'a mut (dyn Any + Send)>,
    pub(crate) timer: &'a mut Time,
}

impl HopCtx<'_> {
    /// As [`PortCtx::wake_at`], in [`CutThrough::cut_through`].
    #[inline]
    pub fn wake_at(&mut self, at: Time) {
        *self.timer = at;
    }
    /// As [`PortCtx::note`].
    #[inline]
    pub fn note(&mut self, what: &'static str, value: f64, pkt: Option<&Pkt>) {
        let (place, packet) = (NotePlace::Port(self.me), pkt.map(Pkt::id));
        self.pool.note(|| Note { what, value, place, packet });
    }
    /// As [`PortCtx::state`].
    ///
    /// # Panics
    /// As that does.
    #[inline]
    pub fn state<T: Any>(&mut self) -> &mut T {
        self.state.as_deref_mut().and_then(|s| s.downcast_mut()).expect(SHARED)
    }
    /// As [`PortCtx::shared`].
    ///
    /// # Panics
    /// As that does.
    #[inline]
    pub fn shared<T: Any>(&self) -> &T {
        self.state.as_deref().and_then(|s| s.downcast_ref()).expect(SHARED)
    }
}
