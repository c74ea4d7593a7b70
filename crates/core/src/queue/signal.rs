//! How the sender of a selected packet is notified.

use crate::limit::Backlog;
use crate::packet::Pkt;
use crate::roles::PortCtx;

/// What a [`Signal`] did with a chosen packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Its sender is told, or will be. The packet goes on.
    Told,
    /// The packet is to be dropped: the loss tells.
    Drop,
    /// There is no way to tell this packet's sender. The AQM says what becomes of it.
    Unable,
}

/// Tells senders of congestion.
pub trait Signal: Send {
    /// Called with a packet that the AQM has chosen. It may change the packet, remember something
    /// for packets that come back ([`Signal::inbound`]), or send a packet of its own
    /// ([`PortCtx::route`]).
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done;
    /// Whether [`Signal::signal`] only ever says that the packet is to be dropped. Asked once.
    fn drops(&self) -> bool {
        false
    }
    /// Whether [`Signal::leaving`] wants to be called. Asked once.
    fn watches_leaving(&self) -> bool {
        false
    }
    /// Called with each packet that is about to leave and what is left behind it, before the AQM is
    /// asked about it: what goes out tells what may come back.
    fn leaving(&mut self, _pkt: &Pkt, _left: Backlog, _ctx: &mut PortCtx<'_>) {}
    /// Whether [`Signal::inbound`] wants to be called. Asked once.
    fn watches_inbound(&self) -> bool {
        false
    }
    /// Called when a packet came in through the port, before it is routed: an ACK of what left
    /// through it, where routes are symmetric.
    fn inbound(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) {}
    /// Called when the node restarts.
    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {}
    /// Numbers to plot over time, with their names.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
    /// What the user should know when a run is over ([`Port::warnings`](crate::roles::Port::warnings)).
    fn warnings(&self, _out: &mut Vec<String>) {}
}

/// The oldest signal: the packet is dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loss;

impl Signal for Loss {
    fn drops(&self) -> bool {
        true
    }
    #[inline]
    fn signal(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Done {
        Done::Drop
    }
}

/// Explicit congestion notification: sets CE on ECN-capable packets (RFC 3168, §5).
#[derive(Debug, Clone, Copy, Default)]
pub struct Ce;

impl Signal for Ce {
    #[inline]
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done {
        if !ctx.pool[pkt].ecn.capable() {
            return Done::Unable;
        }
        ctx.mark(pkt);
        Done::Told
    }
}
