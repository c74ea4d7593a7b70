//! What the two ends do: a window of packets, acknowledged one by one, repeated from the first gap
//! after a silence.

use midpath_core::packet::{Flags, IP_HEADER, NodeId, Packet, Sequence, TCP_HEADER, shim_size};
use midpath_core::ranges::RangeSet;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::{Bytes, Time};

use crate::header::Reading;
use crate::params::AimdParams;

/// IP's and TCP's header: its packets look like TCP's segments without options.
const BARE: u32 = IP_HEADER + TCP_HEADER;
/// The same with a reading in its shim.
pub const HEADERS: u32 = BARE + shim_size(8);
/// Numbers on the wire have 32 bits and wrap; ours count from zero and don't.
const NUMBERS: Sequence = Sequence::with(0, 0);
/// The first window, in packets. TCP's (RFC 6928, §2).
const FIRST_WINDOW: f64 = 10.0;
/// How long without an ACK before the window is sent again. Ours: TCP's smallest timeout (RFC 6298,
/// §2.4).
const SILENCE: Time = Time::from_secs(1);

/// The active end.
pub struct Sender {
    flow: FlowSpec,
    params: AimdParams,
    payload: u64,
    /// In packets.
    window: f64,
    /// First byte not acknowledged, next byte to send.
    acked: u64,
    next: u64,
    /// The byte whose acknowledgement measures the round trip, and when what ends there was sent.
    timed: Option<(u64, Time)>,
    rtt: Time,
    /// When the window may change again: once per round trip.
    review_at: Time,
    /// The last reading that came back.
    last: Time,
    report: FlowReport,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub fn new(flow: FlowSpec, params: AimdParams) -> Sender {
        let payload = u64::from(flow.mtu - HEADERS);
        let (window, report) = (FIRST_WINDOW, FlowReport::default());
        let (acked, next, timed, rtt, review_at) = (0, 0, None, Time::ZERO, Time::ZERO);
        let last = Time::ZERO;
        Sender { flow, params, payload, window, acked, next, timed, rtt, review_at, last, report }
    }

    fn size(&self) -> u64 {
        self.flow.size.map_or(u64::MAX, |s| s.0)
    }

    fn fill_window(&mut self, ctx: &mut EndpointCtx<'_>) {
        let stopped = self.flow.stop.is_some_and(|stop| ctx.now >= stop);
        while !stopped && self.next < self.size() && self.next - self.acked < (self.window * self.payload as f64) as u64
        {
            let payload = self.payload.min(self.size() - self.next);
            let mut packet = Packet::new(ctx.flow, self.flow.src, self.flow.dst, BARE + payload as u32);
            (packet.seq, packet.payload) = (NUMBERS.wire(self.next), payload as u16);
            packet.set_header(&Reading(Time::ZERO));
            ctx.send(packet);
            self.next += payload;
            self.timed.get_or_insert((self.next, ctx.now));
            self.report.sent += 1;
        }
        ctx.set_timer(ctx.now + SILENCE);
    }

    /// Additive increase below the target, multiplicative decrease above, once per round trip.
    fn review(&mut self, reading: Time, now: Time) {
        self.last = reading;
        if now < self.review_at {
            return;
        }
        self.review_at = now + self.rtt;
        self.window = next_window(self.window, reading, &self.params);
    }
}

/// The window after a round trip whose longest queueing delay was `reading`, in packets.
fn next_window(window: f64, reading: Time, params: &AimdParams) -> f64 {
    if reading < params.target { window + params.increase } else { (window * params.decrease).max(1.0) }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.fill_window(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        // An ACK for what was never sent is a hostile peer's.
        let acked = NUMBERS.offset(packet.ack, self.acked).unwrap_or(0).min(self.next);
        self.acked = self.acked.max(acked);
        if let Some((_, at)) = self.timed.take_if(|(end, _)| *end <= acked) {
            self.rtt = ctx.now.saturating_sub(at);
            self.report.rtt(self.rtt);
        }
        if let Some(Reading(reading)) = packet.header() {
            self.review(reading, ctx.now);
        }
        if self.acked >= self.size() {
            return ctx.finish();
        }
        self.fill_window(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.report.timeouts += 1;
        self.report.retransmitted += (self.next - self.acked).div_ceil(self.payload);
        (self.next, self.timed) = (self.acked, None); // whose repeat is acknowledged, nobody could tell
        self.window = (self.window / 2.0).max(1.0);
        self.fill_window(ctx);
    }

    fn report(&self) -> FlowReport {
        FlowReport { cwnd: (self.window * self.payload as f64) as u64, ..self.report }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("phase", f64::from(u8::from(self.last >= self.params.target))));
        out.push(("reading_s", self.last.as_secs_f64()));
    }
}

/// The passive end.
pub struct Receiver {
    sender: NodeId,
    size: Option<Bytes>,
    received: RangeSet,
    report: FlowReport,
}

impl Receiver {
    /// What the first packet of a flow opens. How much there is to come is what the application
    /// expects, if it does.
    pub fn new(first: &Packet, expected: Option<&FlowSpec>) -> Receiver {
        let size = expected.and_then(|flow| flow.size);
        Receiver { sender: first.src, size, received: RangeSet::new(), report: FlowReport::default() }
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(from) = NUMBERS.offset(packet.seq, self.report.delivered) else { return };
        self.received.insert(from, from + u64::from(packet.payload));
        self.report.delivered = self.received.containing(0).map_or(0, |r| r.1);
        if self.size.is_some_and(|s| self.report.delivered >= s.0) {
            self.report.completed.get_or_insert(ctx.now);
        }
        let mut ack = Packet::new(ctx.flow, ctx.node, self.sender, BARE);
        (ack.flags, ack.ack) = (Flags::ACK, NUMBERS.wire(self.report.delivered));
        if let Some(reading) = packet.header::<Reading>() {
            ack.set_header(&reading);
        }
        ctx.send(ack);
    }

    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn report(&self) -> FlowReport {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_below_the_target_and_shrinks_at_it() {
        let params = AimdParams { target: Time::from_ms(5), increase: 2.0, decrease: 0.5 };
        assert_eq!(next_window(10.0, Time::from_ms(4), &params), 12.0);
        assert_eq!(next_window(10.0, Time::from_ms(5), &params), 5.0);
        assert_eq!(next_window(1.0, Time::from_secs(1), &params), 1.0);
    }
}
