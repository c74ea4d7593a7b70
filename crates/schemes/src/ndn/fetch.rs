//! The consumer: a window of Interests, as `ndncatchunks` has it.

use std::sync::Arc;

use midpath_core::packet::{Ecn, Kind, Packet};
use midpath_core::rng::below;
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};
use midpath_core::units::Time;

use super::params::NdnParams;
use super::window::Window;
use crate::icn::object::Object;
use crate::icn::pending::Course;
use crate::icn::round_trips::RoundTrips;
use crate::icn::segments::Segments;
use crate::tally::Tally;

/// The consumer of a flow.
pub struct WindowFetch {
    params: Arc<NdnParams>,
    object: Object,
    segments: Segments,
    stop: Time,
    window: Window,
    /// Interests on their way.
    flying: u64,
    /// After a Nack, when the next Interest goes: alone, until Data come.
    probe_at: Option<Time>,
    rtts: RoundTrips,
    /// The window shrinks again only for segments above this one: once per round trip.
    recovery: Option<u64>,
    delivery: Delivery,
    tally: Tally,
    retransmitted: u64,
    timeouts: u64,
}

impl WindowFetch {
    /// At its start.
    pub fn new(flow: &FlowSpec, params: Arc<NdnParams>) -> WindowFetch {
        let object = Object::of(flow, super::scheme::HEADERS);
        WindowFetch {
            object,
            segments: Segments::of(object.segments()).kept_for(params.lifetime),
            stop: flow.stop.unwrap_or(Time::MAX),
            window: Window::new(&params),
            flying: 0,
            probe_at: None,
            rtts: RoundTrips::new(params.min_rto, params.rto_k),
            recovery: None,
            delivery: Delivery::default(),
            tally: Tally::default(),
            retransmitted: 0,
            timeouts: 0,
            params,
        }
    }

    fn ask(&mut self, segment: u32, ctx: &mut EndpointCtx<'_>) {
        self.retransmitted += u64::from(self.segments.take(segment));
        let nonce = below(ctx.rng, 1 << 32) as u32;
        let mut interest = Packet::interest(ctx.flow, ctx.node, self.object.name, segment, nonce);
        interest.ecn = if self.params.marks { Ecn::Ect0 } else { Ecn::NotEct };
        interest.payload = (self.params.interest.0 as u32).saturating_sub(interest.wire_size()) as u16;
        interest.measure();
        ctx.send(interest);
        self.segments.on_interest_sent(segment, ctx.now, Course::default(), self.rtts.timeout());
        self.flying += 1;
        self.tally.sent(true);
    }

    /// Sends what the window has room for, and sets the timer for the next timeout.
    fn pump(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop {
            return ctx.finish();
        }
        self.time_out(ctx.now);
        if self.probe_at.is_none_or(|at| at <= ctx.now) {
            self.probe_at = self.probe_at.map(|_| self.next_probe(ctx.now));
            let most = if self.probe_at.is_some() { self.flying as f64 + 1.0 } else { self.window.size().floor() };
            while (self.flying as f64) < most {
                let Some(segment) = self.segments.wanted() else { break };
                self.ask(segment, ctx);
            }
        }
        let probe_at = self.probe_at.unwrap_or(Time::MAX);
        ctx.set_timer(self.segments.next_timeout(self.rtts.timeout()).min(probe_at).min(self.stop));
    }

    fn time_out(&mut self, now: Time) {
        let timeout = self.rtts.timeout();
        while let Some(late) = self.segments.late(now, timeout) {
            self.flying -= 1;
            if late.lost {
                self.timeouts += 1;
                // Before a round trip is known the timeout is a guess, and says nothing of congestion.
                if self.rtts.smoothed().is_some() {
                    self.congested(u64::from(late.segment), now);
                }
            }
        }
    }

    /// Once per round trip: only for what was asked for after the last decrease.
    fn congested(&mut self, segment: u64, now: Time) {
        if self.recovery.is_none_or(|last| segment > last) {
            self.recovery = Some(self.segments.next());
            self.window.shrink(now);
        }
    }

    fn data(&mut self, data: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = data.segment();
        // What is shorter than the segment would leave a hole.
        if data.payload != self.object.payload_of(segment) {
            return;
        }
        let Some(answered) = self.segments.answered(segment) else { return };
        self.flying -= u64::from(answered.flew());
        self.probe_at = None;
        if let Some(rtt) = answered.tell(&mut self.rtts, ctx.now) {
            self.tally.rtt(rtt);
        }
        match data.ecn == Ecn::Ce && self.params.marks {
            true => self.congested(u64::from(segment), ctx.now),
            false => self.window.grow(ctx.now, self.rtts.smoothed()),
        }
        self.delivery.on_bytes(data.payload.into(), ctx.now);
        if self.segments.complete() {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            ctx.finish();
        }
    }

    /// When to ask whether there is a way again. Ours: after the least timeout, or a round trip.
    fn next_probe(&self, now: Time) -> Time {
        now.saturating_add(self.rtts.smoothed().unwrap_or_default().max(self.params.min_rto))
    }

    /// There is no way to the producer, and what is asked for at once is refused, too: one Interest at a time asks whether
    /// there is one again. Ours: ndn-tools' fetcher gives up.
    fn nack(&mut self, nack: &Packet, now: Time) {
        let segment = nack.segment();
        if self.segments.refused(segment).is_some() {
            self.flying -= 1;
            self.congested(u64::from(segment), now);
            self.probe_at.get_or_insert(self.next_probe(now));
        }
    }
}

impl Endpoint for WindowFetch {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.pump(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.name() != Some(self.object.name) {
            return;
        }
        match packet.kind {
            Kind::Data => self.data(packet, ctx),
            Kind::Nack => self.nack(packet, ctx.now),
            _ => return,
        }
        if !self.delivery.is_complete() {
            self.pump(ctx);
        }
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.pump(ctx);
    }

    fn report(&self) -> FlowReport {
        let cwnd = self.window.size() * f64::from(self.object.data_size(0));
        let rest = FlowReport {
            cwnd: cwnd as u64,
            srtt: self.rtts.smoothed().unwrap_or(Time::ZERO),
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            ..FlowReport::default()
        };
        self.delivery.report(self.tally.report(rest))
    }
}
