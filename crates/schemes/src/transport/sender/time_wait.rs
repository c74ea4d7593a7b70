//! What is left of an end in TIME-WAIT (RFC 9293, §3.10.7.4): it answers the peer's FIN until its
//! time is over. Most connections of a long run are in this state, so it keeps nothing else.

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport};
use midpath_core::units::Time;

use crate::tally::Tally;
use crate::transport::segment::Ends;

/// A closed connection that may have to answer one more FIN, and what it reports.
#[derive(Debug)]
pub(in crate::transport) struct TimeWait<R> {
    /// When it is over, and how long that is after the last FIN.
    pub until: Time,
    pub linger: Time,
    pub ends: Ends,
    /// The window that it told last.
    pub window: u32,
    /// The numbers of the peer's FIN, and of what this end would send next.
    pub fin: u32,
    pub nxt: u32,
    /// What its ACKs say.
    pub flags: Flags,
    pub report: R,
}

const _: () = assert!(size_of::<TimeWait<Last>>() == 120);

/// What an active end reports at last, where it had no rate and few timeouts: less than half of a [`FlowReport`].
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(2))]
pub(super) struct Last {
    tally: Tally,
    srtt: Time,
    cwnd: u32,
    retransmitted: u32,
    timeouts: u16,
}

impl Last {
    /// It, if it says as much as `report`, of which `tally` is a part.
    pub fn of(tally: Tally, report: &FlowReport) -> Option<Last> {
        let last = Last {
            tally,
            srtt: report.srtt,
            cwnd: report.cwnd.try_into().ok()?,
            retransmitted: report.retransmitted.try_into().ok()?,
            timeouts: report.timeouts.try_into().ok()?,
        };
        (FlowReport::from(last) == *report).then_some(last)
    }
}

impl From<Last> for FlowReport {
    fn from(Last { tally, srtt, cwnd, retransmitted, timeouts }: Last) -> FlowReport {
        let (cwnd, retransmitted, timeouts) = (cwnd.into(), retransmitted.into(), timeouts.into());
        tally.report(FlowReport { srtt, cwnd, retransmitted, timeouts, ..FlowReport::default() })
    }
}

impl<R> TimeWait<R> {
    /// All that the peer has sent is acknowledged, by a segment of this number.
    fn say(&self, seq: u32, ctx: &mut EndpointCtx<'_>) {
        let mut ack = self.ends.packet(0, self.window, ctx);
        (ack.seq, ack.ack, ack.flags) = (seq, self.fin.wrapping_add(1), self.flags);
        ctx.send(ack);
    }
}

impl<R: Copy + Into<FlowReport> + std::fmt::Debug + Send + 'static> Endpoint for TimeWait<R> {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return;
        }
        if packet.flags.has(Flags::RST) {
            // RFC 5961, §3.2: a reset counts only at the number that is expected next.
            if packet.seq == self.fin.wrapping_add(1) {
                ctx.finish();
            }
            return;
        }
        let again = packet.flags.has(Flags::FIN) && packet.seq.wrapping_add(u32::from(packet.payload)) == self.fin;
        if again {
            self.ends.remember(packet, ctx.now);
            self.until = ctx.now.saturating_add(self.linger);
        }
        // Data come late, too.
        if again || packet.payload > 0 {
            self.say(self.nxt, ctx);
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
        self.say(self.nxt.wrapping_sub(1), ctx);
    }

    fn report(&self) -> FlowReport {
        self.report.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What does not fit is kept whole.
    #[test]
    fn a_short_report_says_as_much_as_a_whole_one_or_is_none() {
        let mut tally = Tally::default();
        (1..4).for_each(|ms| tally.rtt(Time::from_ms(ms)));
        tally.sent(true);
        let (cwnd, most) = (14_480, u64::from(u32::MAX));
        let plain =
            FlowReport { cwnd, srtt: Time::from_ms(2), retransmitted: most, timeouts: 3, ..FlowReport::default() };
        let whole = tally.report(plain);
        assert_eq!(Last::of(tally, &whole).map(FlowReport::from), Some(whole));
        for more in [
            FlowReport { rate: 1, ..whole },
            FlowReport { cwnd: most + 1, ..whole },
            FlowReport { retransmitted: most + 1, ..whole },
            FlowReport { timeouts: 1 << 16, ..whole },
            FlowReport { delivered: 1, ..whole },
        ] {
            assert!(Last::of(tally, &more).is_none(), "{more:?}");
        }
    }
}
