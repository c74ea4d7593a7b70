//! The consumer of a flow: fetches an object segment by segment, at the rates that its Data bring
//! ([`Asking`]).

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::rng::below;
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};
use midpath_core::units::{Bytes, Time};

use super::asking::{Ask, Asking};
use super::mean::InflationFactor;
use super::params::{Inflation, MirccParams};
use crate::icn::header::{InterestHeader, Stamped, data_headers, microseconds};
use crate::icn::object::Object;
use crate::icn::params::Steering;
use crate::icn::segments::Segments;
use crate::tally::Tally;

/// The consumer.
pub struct Fetch {
    params: Arc<MirccParams>,
    object: Object,
    asking: Asking,
    /// Size of an Interest, unless its headers are longer.
    interest: u32,
    /// With `inflation = "average"`; and the size of the last Interest, and of the largest Data.
    factor: Option<Box<InflationFactor>>,
    last: u32,
    largest: u16,
    stop: Time,
    delivery: Delivery,
    tally: Tally,
    retransmitted: u64,
}

impl Fetch {
    /// The consumer of a flow.
    pub fn new(flow: &FlowSpec, params: Arc<MirccParams>) -> Fetch {
        let object = Object::of(flow, data_headers(params.steering));
        Fetch {
            object,
            asking: Asking::new(
                &params,
                Segments::of(object.segments()).kept_for(params.lifetime),
                flow.rate.filter(|r| r.0 > 0),
            ),
            interest: params.interest.0.min(u64::from(flow.mtu)) as u32,
            factor: (params.inflation == Inflation::Average).then(Box::default),
            last: 0,
            largest: u16::try_from(flow.mtu).unwrap_or(u16::MAX),
            stop: flow.stop.unwrap_or(Time::MAX),
            delivery: Delivery::default(),
            tally: Tally::default(),
            retransmitted: 0,
            params,
        }
    }

    /// How large the Data of the next Interest are, by those that came.
    fn expected(&self) -> Option<u16> {
        let unknown = Bytes(u64::from(self.largest));
        let expected = self.factor.as_ref()?.expected(Bytes(u64::from(self.last)), unknown);
        Some(expected.0.min(unknown.0) as u16)
    }

    fn send(&mut self, ask: Ask, ctx: &mut EndpointCtx<'_>) {
        let Ask { segment, class, way, rtt, again } = ask;
        self.retransmitted += u64::from(again);
        let nonce = below(ctx.rng, 1 << 32) as u32;
        let mut interest = Packet::interest(ctx.flow, ctx.node, self.object.name, segment, nonce);
        // Without a manifest nobody knows before.
        let expected = if self.factor.is_some() { self.largest } else { self.object.data_size(segment) };
        interest.set_header(&InterestHeader { class, expected, rtt: rtt.map_or(0, microseconds), way });
        let headers = interest.wire_size();
        interest.payload = self.interest.saturating_sub(headers) as u16;
        interest.size = headers + u32::from(interest.payload);
        self.last = interest.size;
        if let Some(factor) = &mut self.factor {
            factor.on_interest(Bytes(u64::from(interest.size)));
        }
        ctx.send(interest);
        self.tally.sent(true);
    }

    /// Sends what is due, and sets the timer for what comes next.
    fn pump(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop {
            return ctx.finish();
        }
        self.asking.on_time(&self.params, ctx.now);
        debug_assert!(self.asking.rates().iter().all(|r| *r >= 0.0 && r.is_finite()), "{:?}", self.asking.rates());
        loop {
            let (expected, object) = (self.expected(), &self.object);
            let size = |segment| expected.unwrap_or_else(|| object.data_size(segment));
            let Some(ask) = self.asking.poll(&self.params, ctx.now, ctx.rng, size) else { break };
            self.send(ask, ctx);
        }
        ctx.set_timer(self.asking.next(&self.params, ctx.now).min(self.stop));
    }

    fn data(&mut self, data: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = data.header::<Stamped>() else { return };
        // What is shorter than the segment would leave a hole.
        if data.payload != self.object.payload_of(data.segment()) {
            return;
        }
        let Some(rtt) = self.asking.on_data(&self.params, ctx.now, data.segment(), header) else { return };
        if let Some(rtt) = rtt {
            self.tally.rtt(rtt);
        }
        if let Some(factor) = &mut self.factor {
            factor.on_data(Bytes(u64::from(data.size)));
        }
        self.delivery.on_bytes(data.payload.into(), ctx.now);
        if self.asking.segments().complete() {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            ctx.finish();
        }
    }

    fn nack(&mut self, nack: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = nack.segment();
        let stamps = nack.header::<Stamped>().map(|header| header.stamps());
        self.asking.on_nack(ctx.now, ctx.rng, segment, stamps, self.object.data_size(segment));
    }
}

impl Endpoint for Fetch {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        let first = if self.factor.is_some() { self.largest } else { self.object.data_size(0) };
        self.asking.start(&self.params, ctx.rng, first);
        self.pump(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.name() != Some(self.object.name) {
            return;
        }
        match packet.kind {
            Kind::Data => self.data(packet, ctx),
            Kind::Nack => self.nack(packet, ctx),
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
        let rate = self.asking.rates().iter().sum::<f64>() as u64;
        let srtt = self.asking.smoothed().unwrap_or(Time::ZERO);
        let (retransmitted, timeouts) = (self.retransmitted, self.asking.timeouts);
        let rest = FlowReport { rate, srtt, retransmitted, timeouts, ..FlowReport::default() };
        self.delivery.report(self.tally.report(rest))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let [primary, secondary] = self.asking.rates();
        out.push(("primary_rate_bps", primary));
        out.push(("secondary_rate_bps", secondary));
        out.push(("paths", self.asking.paths() as f64));
        // By pathIds that forwarders remember, only paths that have changed are missed.
        if self.params.steering != Steering::Shortcut {
            out.push(("strayed", self.asking.strayed as f64));
        }
    }
}
