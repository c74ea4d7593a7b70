//! The receiver: it counts media, and reports arrivals (SCReAM's draft, §6).

use std::collections::VecDeque;

use midpath_core::packet::{Kind, NodeId, Packet};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, Half};
use midpath_core::units::Time;

use super::feedback::{Arrival, RTP, Report, Rtp, ntp};

/// A report is due after so many data units, with a frame's last one, or so long after the last report (§6).
const UNITS: u32 = 16;
const INTERVAL: Time = Time::from_ms(40);
/// Each report has this many of the newest sequence numbers, so that one that is lost costs nothing (§7).
const SPAN: u64 = 32;

/// The passive end.
pub struct Receiver {
    to: NodeId,
    size: Option<u64>,
    delivery: Delivery,
    ssrc: u32,
    /// The newest sequence numbers, the highest last; extended from sixteen bits.
    arrivals: VecDeque<Option<Arrival>>,
    highest: u64,
    /// Data units since the last report, and when that was.
    unreported: u32,
    reported_at: Time,
    /// One-way delay of the last whole frame's last data unit.
    frame_delay: Option<Time>,
}

impl Receiver {
    pub fn new(to: NodeId, size: Option<u64>) -> Receiver {
        Receiver {
            to,
            size,
            delivery: Delivery::default(),
            ssrc: 0,
            arrivals: VecDeque::new(),
            highest: 0,
            unreported: 0,
            reported_at: Time::ZERO,
            frame_delay: None,
        }
    }

    /// Notes an arrival. What lies further back than a report says nothing.
    fn note(&mut self, sequence: u16, arrival: Arrival) {
        if self.arrivals.is_empty() {
            self.highest = u64::from(sequence);
            self.arrivals.push_back(Some(arrival));
            return;
        }
        let ahead = i64::from(sequence.wrapping_sub(self.highest as u16) as i16);
        if ahead > 0 {
            let skipped = (ahead - 1).min(SPAN as i64) as usize;
            self.arrivals.extend(std::iter::repeat_n(None, skipped));
            self.arrivals.push_back(Some(arrival));
            self.highest = self.highest.wrapping_add_signed(ahead);
            let over = self.arrivals.len().saturating_sub(SPAN as usize);
            self.arrivals.drain(..over);
        } else if let Some(place) =
            self.arrivals.len().checked_sub(1 + ahead.unsigned_abs() as usize).and_then(|at| self.arrivals.get_mut(at))
        {
            place.get_or_insert(arrival);
        }
    }

    fn send_report(&mut self, ctx: &mut EndpointCtx<'_>) {
        let begin = self.highest.wrapping_sub(self.arrivals.len() as u64 - 1) as u16;
        let blocks = self.arrivals.iter().copied().collect();
        let bytes = Report { ssrc: self.ssrc, begin, blocks, at: ntp(ctx.now) }.bytes();
        let mut packet = Packet::new(ctx.flow, ctx.node, self.to, 0);
        (packet.kind, packet.payload) = (Kind::Datagram, bytes.len() as u16);
        packet.measure();
        ctx.send_carrying(packet, bytes.into());
        (self.unreported, self.reported_at) = (0, ctx.now);
        ctx.cancel_timer();
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let payload = ctx.payload();
        let Some(rtp) = payload.as_ref().and_then(|bytes| Rtp::get(bytes)) else { return };
        self.ssrc = rtp.ssrc;
        self.note(rtp.sequence, Arrival { at: ntp(ctx.now), ecn: packet.ecn });
        if !rtp.padding {
            self.delivery.on_bytes(u64::from(packet.payload).saturating_sub(RTP as u64), ctx.now);
        }
        if rtp.marker {
            self.frame_delay = packet.stamped().map(|encoded| ctx.now.saturating_sub(encoded));
        }
        self.unreported += 1;
        let due = self.reported_at.saturating_add(INTERVAL);
        if rtp.marker || self.unreported >= UNITS || ctx.now >= due {
            self.send_report(ctx);
        } else {
            ctx.set_timer(due);
        }
        if self.size.is_some_and(|size| self.delivery.bytes() >= size) {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            ctx.finish();
        }
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.send_report(ctx);
    }
    fn report(&self) -> FlowReport {
        self.delivery.report(FlowReport::default())
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend(self.frame_delay.map(|delay| ("frame_delay_s", delay.as_secs_f64())));
    }
}
