//! What is left of an end in TIME-WAIT (RFC 9293, §3.10.7.4): it answers the peer's FIN until its
//! time is over. Most connections of a long run are in this state, so it keeps nothing else.

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport};
use midpath_core::units::Time;

use crate::transport::segment::Ends;

/// A closed connection that may have to answer one more FIN.
#[derive(Debug)]
pub(in crate::transport) struct TimeWait {
    pub ends: Ends,
    /// The window that it told last.
    pub window: u32,
    /// Where the peer's FIN is among its numbers.
    pub fin: u64,
    /// Where this end's numbers end.
    pub nxt: u64,
    /// What its ACKs say.
    pub flags: Flags,
    /// When it is over, and how long that is after the last FIN.
    pub until: Time,
    pub linger: Time,
    pub report: FlowReport,
}

impl TimeWait {
    /// All that the peer has sent is acknowledged, by a segment of this number.
    fn say(&self, seq: u32, ctx: &mut EndpointCtx<'_>) {
        let mut ack = self.ends.packet(0, self.window, ctx);
        (ack.seq, ack.ack, ack.flags) = (seq, self.ends.peer.wire(self.fin + 1), self.flags);
        ctx.send(ack);
    }
}

impl Endpoint for TimeWait {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return;
        }
        if packet.flags.has(Flags::RST) {
            // RFC 5961, §3.2: a reset counts only at the number that is expected next.
            if packet.seq == self.ends.peer.wire(self.fin + 1) {
                ctx.finish();
            }
            return;
        }
        let again = packet.flags.has(Flags::FIN)
            && packet.seq.wrapping_add(u32::from(packet.payload)) == self.ends.peer.wire(self.fin);
        if again {
            self.ends.remember(packet, ctx.now);
            self.until = ctx.now.saturating_add(self.linger);
        }
        // Data come late, too.
        if again || packet.payload > 0 {
            self.say(self.ends.own.wire(self.nxt), ctx);
        }
        ctx.set_timer(self.until);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.until {
            return ctx.finish();
        }
        ctx.set_timer(self.until);
    }

    /// As of an end that is open: who is gone resets it, and the wait is over.
    fn on_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.say(self.ends.own.wire(self.nxt).wrapping_sub(1), ctx);
    }

    fn report(&self) -> FlowReport {
        self.report
    }
}
