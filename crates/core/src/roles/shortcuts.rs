//! Optional fast paths of a port.

use std::any::Any;

use super::View;
use super::port::{Drop, Inbound, LinkInfo, Port, PortCtx};
use crate::limit::{Backlog, Bound};
use crate::packet::{Packet, Pkt};
use crate::units::{Rate, Time};

/// Calls that a port saves its node. Whatever it offers here, every packet fares as it would without:
/// a port is written, and understood, as a [`Port`]; then it may be made faster.
///
/// There are three. A *timetable*: a port that sends what comes in the order in which it came and
/// decides all on arrival says yes or no at once ([`Shortcuts::admit`]), and the node knows when
/// each packet starts; a hop is one event. *Straight*: a packet that finds the port empty and the
/// transmitter idle is not kept first. *Inbound*: packets that the port would let pass are not shown
/// to it, or without a context.
pub trait Shortcuts: Port {
    /// Whether it can be a timetable. Asked once; it is held all the same where the link changes,
    /// and under drivers that know no timetables.
    fn is_timetable(&self) -> bool {
        false
    }
    /// Called when a packet was routed to a timetable, in place of [`Port::outbound`]: whether it
    /// is taken, by the same rule. What waits before it is in [`PortCtx::booked`]. The default is a
    /// queue without end.
    fn admit(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        Ok(())
    }
    /// Whether [`Shortcuts::decide`] is to be called in place of [`Shortcuts::admit`]. Asked once.
    fn decides(&self) -> bool {
        false
    }
    /// Of a timetable that needs nothing else of its node: what [`Shortcuts::admit`] would say. A
    /// context for each hop would be the half of what asking costs.
    fn decide(&mut self, _packet: &mut Packet, _view: &mut View<'_>) -> Result<(), Drop> {
        Ok(())
    }
    /// Of a timetable: as long as a packet fits into this with all that waits, [`Shortcuts::admit`]
    /// would take it and change nothing, so that it need not be called. Asked once.
    fn admits_within(&self) -> Bound {
        Bound::NOTHING
    }
    /// Whether [`Shortcuts::straight`] wants to be called. Asked once.
    fn goes_straight(&self) -> bool {
        false
    }
    /// Called when a packet was routed here and the transmitter is idle: gives back as `Ok` what
    /// [`Port::outbound`] would take and [`Port::poll_transmit`] then send, if that is this very
    /// packet and the port marks nothing. With `Err` both are called.
    fn straight(&mut self, pkt: Pkt, _ctx: &mut PortCtx<'_>) -> Result<Pkt, Pkt> {
        Err(pkt)
    }
    /// Whether [`Shortcuts::pass`] is to be called before [`Shortcuts::straight`]. Asked once.
    fn passes(&self) -> bool {
        false
    }
    /// What [`Shortcuts::straight`] does, where that needs no context and asks for no other time to be
    /// woken at; `shared` is what [`PortCtx::state`] has. With false nothing has changed, and that is
    /// called.
    fn pass(&mut self, _packet: &mut Packet, _now: Time, _shared: Option<&mut (dyn Any + Send)>) -> bool {
        false
    }
    /// Of a held port: whether [`Shortcuts::glance`] is to be called in place of [`Port::inbound`], and
    /// [`Shortcuts::leaves`] in place of [`Shortcuts::straight`], where nobody traces the run. A context
    /// costs each hop more than most ports do with it. Asked once.
    fn needs_no_context(&self) -> bool {
        false
    }
    /// What [`Port::inbound`] does with a packet that is no control packet, lets pass in any case, and of
    /// which it leaves nothing with its node. The neighbour sends at `back`.
    fn glance(&mut self, _packet: &mut Packet, _now: Time, _link: &LinkInfo, _back: Rate) {}
    /// What [`Shortcuts::straight`] says. Where it is false nothing has changed.
    fn leaves(&mut self, _packet: &Packet, _now: Time, _link: &LinkInfo, _back: Rate) -> bool {
        false
    }
    /// Whether [`Port::inbound`] wants to be called. Asked once.
    fn watches_inbound(&self) -> bool {
        true
    }
    /// Whether [`Port::inbound`] would let this packet pass as it is, learn nothing from it, and let
    /// no other go. Then it is not called. Asked of each packet, without a context but for what
    /// [`PortCtx::shared`] has: a port that looks at few of them saves the rest the call.
    fn overlooks(&self, _packet: &Packet, _shared: Option<&(dyn Any + Send)>) -> bool {
        false
    }
    /// Whether [`Port::inbound`] may let a packet go that waits. If not, the port is not asked for
    /// one after it. Asked once.
    fn inbound_frees(&self) -> bool {
        true
    }
}

/// A port that offers no shortcut.
pub(super) struct Plain<P>(pub P);

impl<P: Port> Shortcuts for Plain<P> {}

impl<P: Port> Port for Plain<P> {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.0.outbound(pkt, ctx);
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.0.poll_transmit(ctx)
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.0.inbound(pkt, ctx)
    }
    fn handed_over(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.0.handed_over(pkt, ctx)
    }
    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        self.0.on_timer(ctx);
    }
    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        self.0.on_link(ctx);
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.0.reset(ctx);
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.0.gauges(out);
    }
    fn warnings(&self, out: &mut Vec<String>) {
        self.0.warnings(out);
    }
}
