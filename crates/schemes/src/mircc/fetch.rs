//! The consumer of a flow: fetches an object segment by segment, at the rates that its Data bring.

mod paths;
mod pending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::packet::{Kind, Name, Packet};
use midpath_core::rng::{below, unit};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::{Bytes, Time};

use super::header::{InterestHeader, Stamped, Way, data_headers, microseconds};
use super::params::{MirccParams, Paths as PathsOf, RttSource, Steering};
use super::path::PathId;
use super::rates::Class;
use paths::{Paths, Turn};
pub use pending::{Pending, RoundTrips};

/// RFC 6298, §2.2: mean deviations above the mean round trip.
const RTO_K: u32 = 4;

/// How soon a consumer without a path asks again after a Nack that tells no rate. Ours.
const AGAIN: Time = Time::from_ms(10);

/// An object, as its consumer and its producer know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: Name,
    /// Bytes of payload in each segment but the last.
    pub payload: u16,
    /// Bytes in all; without end if `None`.
    pub size: Option<Bytes>,
    /// Bytes of headers on its Data.
    headers: u16,
}

impl Object {
    /// What a flow moves, with so many bytes of headers on Data.
    pub fn of(flow: &FlowSpec, headers: u32) -> Object {
        let payload = flow.mtu.saturating_sub(headers).clamp(1, u32::from(u16::MAX) - headers);
        Object { name: flow.name, payload: payload as u16, size: flow.size, headers: headers as u16 }
    }

    /// How many segments it has. An empty one has one, with nothing in it.
    pub fn segments(&self) -> u64 {
        self.size.map_or(1 << 32, |s| s.0.div_ceil(u64::from(self.payload)).max(1))
    }

    /// Bytes of payload in a segment.
    pub fn payload_of(&self, segment: u32) -> u16 {
        let before = u64::from(segment) * u64::from(self.payload);
        let left = self.size.map_or(u64::MAX, |s| s.0.saturating_sub(before));
        left.min(u64::from(self.payload)) as u16
    }

    /// The Data that answer an Interest in it, if it has that segment.
    pub fn answer(&self, interest: &Packet) -> Option<Packet> {
        let mine = interest.kind == Kind::Interest && interest.name() == Some(self.name);
        let segment = Some(interest.segment()).filter(|s| mine && u64::from(*s) < self.segments())?;
        let mut data = *interest;
        data.answer(Kind::Data, self.payload_of(segment));
        Some(data)
    }

    /// Bytes on the link of a segment's Data.
    pub fn data_size(&self, segment: u32) -> u16 {
        self.payload_of(segment) + self.headers
    }
}

/// The consumer.
pub struct Fetch {
    params: Arc<MirccParams>,
    object: Object,
    /// Size of an Interest, unless its headers are longer.
    interest: u32,
    stop: Time,
    /// The segment that nobody has asked for yet.
    next: u64,
    /// Segments to be asked for again.
    again: VecDeque<u32>,
    pending: Pending,
    paths: Paths,
    rtts: RoundTrips,
    /// While no path is known: when to ask again.
    probe_at: Time,
    received: u64,
    /// Data that came over another path than their Interests were steered onto.
    strayed: u64,
    report: FlowReport,
}

impl Fetch {
    /// The consumer of a flow.
    pub fn new(flow: &FlowSpec, params: Arc<MirccParams>) -> Fetch {
        Fetch {
            object: Object::of(flow, data_headers(params.steering)),
            interest: params.interest.0.min(u64::from(flow.mtu)) as u32,
            stop: flow.stop.unwrap_or(Time::MAX),
            next: 0,
            again: VecDeque::new(),
            pending: Pending::default(),
            paths: Paths::new(&params, flow.rate.filter(|r| r.0 > 0)),
            rtts: RoundTrips::new(params.min_rto, RTO_K),
            probe_at: Time::ZERO,
            received: 0,
            strayed: 0,
            report: FlowReport::default(),
            params,
        }
    }

    /// The segment to ask for next: one that did not come, before new ones.
    fn wanted(&mut self) -> Option<u32> {
        while let Some(segment) = self.again.front() {
            if self.pending.waits_to_be_sent(*segment) {
                return Some(*segment);
            }
            self.again.pop_front();
        }
        (self.next < self.object.segments()).then_some(self.next as u32)
    }

    /// Sends an Interest in that segment.
    fn ask(&mut self, segment: u32, turn: Option<Turn>, ctx: &mut EndpointCtx<'_>) {
        if self.again.front() == Some(&segment) {
            self.again.pop_front();
            self.report.retransmitted += 1;
        } else {
            self.next += 1;
        }
        let class = turn.map_or(Class::Primary, |t| t.class);
        // §4.3.3: a share of the primary Interests finds new paths.
        let steered =
            self.params.paths == PathsOf::All && (class == Class::Secondary || unit(ctx.rng) >= self.params.hintless);
        let way = match turn.filter(|_| steered) {
            Some(turn) => turn.way,
            // §4.3.2: "probe for different paths by using new random numbers".
            None if self.params.steering == Steering::RandomValue => {
                Way::Value { value: below(ctx.rng, u64::MAX), spare: 0 }
            }
            None => Way::Any { spare: 0 },
        };
        let rtt = match self.params.rates.rtt {
            RttSource::Average => self.rtts.smoothed(),
            RttSource::Least => self.rtts.least(ctx.now),
            RttSource::Upstream => None,
        };
        let expected = self.object.data_size(segment);
        let nonce = below(ctx.rng, 1 << 32) as u32;
        let mut interest = Packet::interest(ctx.flow, ctx.node, self.object.name, segment, nonce);
        interest.set_header(&InterestHeader { class, expected, rtt: rtt.map_or(0, microseconds), way });
        interest.payload = self.interest.saturating_sub(interest.wire_size()) as u16;
        interest.measure();
        ctx.send(interest);
        let steered = steered && turn.is_some();
        self.pending.sent(segment, ctx.now, turn.map(|t| t.path), steered, self.rtts.timeout());
        self.report.sent += 1;
    }

    /// Sends what is due, and sets the timer for what comes next.
    fn pump(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop {
            return ctx.finish();
        }
        self.time_out(ctx.now);
        self.paths.expire(ctx.now);
        let mut next = self.pending.next_timeout(self.rtts.timeout());
        match self.paths.is_empty() {
            true => next = next.min(self.find_a_path(ctx)),
            false => {
                while let Some(segment) = self.wanted() {
                    let Some(turn) = self.paths.turn(ctx.now) else { break };
                    self.ask(segment, Some(turn), ctx);
                    self.paths.taken(turn, ctx.now, self.object.data_size(segment));
                }
                if self.wanted().is_some() {
                    next = next.min(self.paths.next_turn());
                }
                next = next.min(self.pending.next_timeout(self.rtts.timeout()));
            }
        }
        ctx.set_timer(next.min(self.stop));
    }

    /// While no path is known there is one Interest at a time (§4.3.3: "only a single initial message for any given path is needed").
    fn find_a_path(&mut self, ctx: &mut EndpointCtx<'_>) -> Time {
        if ctx.now < self.probe_at {
            return if self.wanted().is_some() { self.probe_at } else { Time::MAX };
        }
        // What is on its way has a timeout of its own.
        let Some(segment) = self.wanted() else { return Time::MAX };
        self.ask(segment, None, ctx);
        self.probe_at = ctx.now.saturating_add(self.rtts.timeout());
        self.probe_at
    }

    /// Puts what has not come in time on the list again.
    fn time_out(&mut self, now: Time) {
        let timeout = self.rtts.timeout();
        while let Some((segment, path)) = self.pending.late(now, timeout) {
            self.report.timeouts += 1;
            self.again.push_back(segment);
            if let Some(path) = path {
                self.paths.lost(path);
            }
        }
    }

    fn data(&mut self, data: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = data.segment();
        let Some(header) = data.header::<Stamped>() else { return };
        // What is shorter than the segment would leave a hole.
        if data.payload != self.object.payload_of(segment) {
            return;
        }
        let Some(answered) = self.pending.answered(segment) else { return };
        if let Some(rtt) = answered.round_trip(ctx.now) {
            self.rtts.add(ctx.now, rtt);
            self.report.rtt(rtt);
        }
        let path = self.path_of(header.path);
        self.strayed += u64::from(answered.strayed(path));
        self.paths.data(path, header.trail, header.stamps(), ctx.now);
        self.received += 1;
        self.report.delivered += u64::from(data.payload);
        if self.received == self.object.segments() {
            self.report.completed = Some(ctx.now);
            ctx.finish();
        }
    }

    /// With one path per flow all Data are that path's, whatever routers say.
    fn path_of(&self, path: PathId) -> PathId {
        if self.params.paths == PathsOf::One { PathId::START } else { path }
    }

    fn nack(&mut self, nack: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = nack.segment();
        let Some(path) = self.pending.refused(segment) else { return };
        self.again.push_back(segment);
        let Some(header) = nack.header::<Stamped>() else {
            // From a forwarder that has no way on, or found a loop: another Interest may go another way.
            self.probe_at = ctx.now.saturating_add(AGAIN);
            return;
        };
        match path {
            Some(path) => self.paths.nack(path, header.stamps()),
            // No Data yet: the rate that it tells says when to ask again.
            None => {
                let bits = 8.0 * f64::from(self.object.data_size(segment));
                let wait = Time::from_secs_f64(bits / header.stamps().primary.max(1.0));
                self.probe_at = ctx.now.saturating_add(wait.min(self.rtts.timeout()));
            }
        }
    }
}

impl Endpoint for Fetch {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
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
        if self.report.completed.is_none() {
            self.pump(ctx);
        }
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.pump(ctx);
    }

    fn report(&self) -> FlowReport {
        FlowReport { rate: self.paths.rate() as u64, srtt: self.rtts.smoothed().unwrap_or(Time::ZERO), ..self.report }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let [primary, secondary] = self.paths.rates();
        out.push(("primary_rate_bps", primary));
        out.push(("secondary_rate_bps", secondary));
        out.push(("paths", self.paths.len() as f64));
        // By pathIds that forwarders remember, only paths that have changed are missed.
        if self.params.steering != Steering::Shortcut {
            out.push(("strayed", self.strayed as f64));
        }
    }
}
