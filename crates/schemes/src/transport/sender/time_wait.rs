//! What is left of a sender in TIME-WAIT (RFC 9293, §3.10.7.4): it answers the peer's FIN until its
//! time is over. Most connections of a long run are in this state, so it keeps nothing else.

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport};
use midpath_core::units::Time;

use crate::transport::segment::Ends;

/// A closed connection that may have to answer one more FIN.
#[derive(Debug)]
pub(super) struct TimeWait {
    pub ends: Ends,
    /// Where this end's numbers end.
    pub nxt: u64,
    /// What its ACKs say.
    pub flags: Flags,
    /// When it is over, and how long that is after the last FIN.
    pub until: Time,
    pub linger: Time,
    pub report: FlowReport,
}

impl Endpoint for TimeWait {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return;
        }
        if packet.flags.has(Flags::RST) {
            // RFC 5961, §3.2: a reset counts only at the number that is expected next.
            if packet.seq == self.ends.peer.wire(1) {
                ctx.finish();
            }
            return;
        }
        if packet.flags.has(Flags::FIN) && packet.seq == self.ends.peer.wire(0) {
            self.ends.remember(packet, ctx.now);
            self.until = ctx.now.saturating_add(self.linger);
            let mut ack = self.ends.packet(0, ctx.now);
            (ack.seq, ack.ack, ack.flags) = (self.ends.own.wire(self.nxt), self.ends.peer.wire(1), self.flags);
            ctx.send(ack);
        }
        ctx.set_timer(self.until);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.until {
            return ctx.finish();
        }
        ctx.set_timer(self.until);
    }

    fn report(&self) -> FlowReport {
        self.report
    }
}
