//! The consumer of a flow: fetches an object segment by segment, at the rates that its Data bring.

mod paths;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::rng::{below, unit};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use super::params::{MirccParams, Repair, RttSource, Update};
use crate::icn::header::{Class, InterestHeader, Stamped, Trail, Way, data_headers, microseconds};
use crate::icn::object::Object;
use crate::icn::params::{Paths as PathsOf, Steering};
use crate::icn::path::PathId;
use crate::icn::pending::{Answered, Course, RoundTrips};
use crate::icn::segments::Segments;
use paths::{Paths, Turn};

/// RFC 6298, §2.2: mean deviations above the mean round trip.
const RTO_K: u32 = 4;

/// The time until an Interest is repeated that nothing tells of doubles at most so often. Ours, as for
/// repeats.
const MAX_SILENCES: u32 = 4;

/// Silence at an object's end says nothing before. Ours: what a shaper's wait may come to at once.
const LEAST_PATIENCE: Time = Time::from_ms(10);

/// How much sooner an Interest without a hint is taken for lost after another was answered, in doublings;
/// it is one later after each that was taken for lost. Ours: 5 % of loss leave it where it is.
const RELIEF: f64 = 1.0 / 16.0;

/// At most so many doublings. Ours.
const MAX_PATIENCE: f64 = 8.0;

/// How soon a consumer without a path asks again after a Nack that tells no rate. Ours.
const AGAIN: Time = Time::from_ms(10);

/// The timeout before the first Data; doubled with each repeat. 200 ms: ndn-cxx's least.
const FIRST_TIMEOUT: Time = Time::from_ms(200);

/// The consumer.
pub struct Fetch {
    params: Arc<MirccParams>,
    segments: Segments,
    /// Size of an Interest, unless its headers are longer.
    interest: u32,
    stop: Time,
    paths: Paths,
    rtts: RoundTrips,
    /// While no path is known: when to ask again.
    probe_at: Time,
    /// When something was last sent, or came; and how often nothing came after all had been asked
    /// for.
    last_news: Time,
    silences: u32,
    /// Doublings of the time after which an Interest without a hint is taken for lost. It may have found
    /// a path that is much longer; asked for again, its Data come over a known one, and the longer
    /// path stays unknown.
    patience: f64,
    /// Data that came over another path than their Interests were steered onto.
    strayed: u64,
    report: FlowReport,
}

impl Fetch {
    /// The consumer of a flow.
    pub fn new(flow: &FlowSpec, params: Arc<MirccParams>) -> Fetch {
        Fetch {
            segments: Segments::of(Object::of(flow, data_headers(params.steering))),
            interest: params.interest.0.min(u64::from(flow.mtu)) as u32,
            stop: flow.stop.unwrap_or(Time::MAX),
            paths: Paths::new(&params, flow.rate.filter(|r| r.0 > 0)),
            rtts: RoundTrips::new(params.min_rto, RTO_K),
            probe_at: Time::ZERO,
            last_news: Time::ZERO,
            silences: 0,
            patience: 0.0,
            strayed: 0,
            report: FlowReport::default(),
            params,
        }
    }

    /// Sends an Interest in that segment.
    fn ask(&mut self, segment: u32, turn: Option<Turn>, ctx: &mut EndpointCtx<'_>) {
        self.report.retransmitted += u64::from(self.segments.take(segment));
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
        let expected = self.segments.object().data_size(segment);
        let nonce = below(ctx.rng, 1 << 32) as u32;
        let mut interest = Packet::interest(ctx.flow, ctx.node, self.segments.object().name, segment, nonce);
        interest.set_header(&InterestHeader { class, expected, rtt: rtt.map_or(0, microseconds), way });
        interest.payload = self.interest.saturating_sub(interest.wire_size()) as u16;
        interest.measure();
        ctx.send(interest);
        let steered = steered && turn.is_some();
        let keeps_line = steered || self.params.paths == PathsOf::One;
        let line = turn.filter(|_| keeps_line).map(|t| (t.path, t.class));
        let course = Course { path: turn.map(|t| t.path), steered, line };
        self.segments.sent(segment, ctx.now, course, self.timeout());
        self.last_news = ctx.now;
        self.report.sent += 1;
    }

    /// How long to wait for what no later Data tell of.
    fn timeout(&self) -> Time {
        match self.params.repair {
            // What was asked for twice tells no round trip, so the first Data end this.
            Repair::LaterData if self.report.delivered == 0 => FIRST_TIMEOUT.min(self.params.min_rto),
            Repair::LaterData | Repair::Timeout => self.rtts.timeout(),
        }
    }

    /// When to ask once more, so that Data tell what is lost: two round trips after the last was asked
    /// for, or came. Only if nothing is left to ask for: other Interests' Data will tell else.
    fn probes_at(&mut self) -> Time {
        let waits = self.params.repair == Repair::LaterData && self.segments.is_waiting();
        let Some(mean) = self.rtts.smoothed().filter(|_| waits && self.segments.wanted().is_none()) else {
            return Time::MAX;
        };
        let patience = (mean * 2).max(self.rtts.with_deviation().unwrap_or(mean)).max(LEAST_PATIENCE);
        self.last_news.saturating_add(patience * (1 << self.silences.min(MAX_SILENCES)))
    }

    /// Sends what is due, and sets the timer for what comes next.
    fn pump(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop {
            return ctx.finish();
        }
        self.time_out(ctx.now);
        if self.probes_at() <= ctx.now {
            self.segments.probe();
            self.silences += 1;
            self.report.timeouts += 1;
            self.last_news = ctx.now;
        }
        self.paths.expire(ctx.now);
        let next = match self.paths.is_empty() {
            true => self.segments.next_timeout(self.timeout()).min(self.find_a_path(ctx)),
            false => {
                let turn = self.take_turns(ctx);
                self.segments.first_of(turn, self.timeout())
            }
        };
        ctx.set_timer(next.min(self.probes_at()).min(self.stop));
    }

    /// Asks for what is wanted in the turns that are due; says when the next one is.
    fn take_turns(&mut self, ctx: &mut EndpointCtx<'_>) -> Time {
        while let Some(segment) = self.segments.wanted() {
            let Some(turn) = self.paths.turn(ctx.now) else { return self.paths.next_turn() };
            self.ask(segment, Some(turn), ctx);
            self.paths.taken(turn, ctx.now, self.segments.object().data_size(segment));
        }
        Time::MAX
    }

    /// While no path is known there is one Interest at a time (§4.3.3: "only a single initial
    /// message for any given path is needed").
    fn find_a_path(&mut self, ctx: &mut EndpointCtx<'_>) -> Time {
        if ctx.now < self.probe_at {
            return if self.segments.wanted().is_some() { self.probe_at } else { Time::MAX };
        }
        // What is on its way has a timeout of its own.
        let Some(segment) = self.segments.wanted() else { return Time::MAX };
        self.ask(segment, None, ctx);
        let mut wait = self.timeout();
        if wait < self.params.min_rto {
            // Nothing has come so far.
            wait = (wait * (1 << self.silences.min(MAX_SILENCES))).min(self.params.min_rto);
            self.silences += 1;
        }
        self.probe_at = ctx.now.saturating_add(wait);
        self.probe_at
    }

    /// Puts what has not come in time on the list again.
    fn time_out(&mut self, now: Time) {
        let timeout = self.timeout();
        while let Some((_, path)) = self.segments.late(now, timeout) {
            self.report.timeouts += 1;
            if let Some(path) = path {
                self.paths.lost(path, now);
            }
        }
    }

    fn data(&mut self, data: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = data.header::<Stamped>() else { return };
        let Some(answered) = self.segments.answered(data) else { return };
        if let Some(rtt) = answered.round_trip(ctx.now) {
            self.rtts.add(ctx.now, rtt);
            self.report.rtt(rtt);
        }
        let path = self.path_of(header.path);
        self.strayed += u64::from(answered.strayed(path));
        // Where two Interests in one segment meet, one's value goes back over the other's path.
        if answered.is_sure() || !matches!(header.trail, Trail::Value(_)) {
            self.paths.data(path, header.trail, header.stamps(), ctx.now);
        }
        (self.last_news, self.silences) = (ctx.now, 0);
        self.find_lost(&answered, path, ctx.now);
        self.report.delivered += u64::from(data.payload);
        if self.segments.complete() {
            self.report.completed = Some(ctx.now);
            ctx.finish();
        }
    }

    /// What later Data say of earlier Interests.
    fn find_lost(&mut self, answered: &Answered, path: PathId, now: Time) {
        if self.params.repair == Repair::Timeout {
            return;
        }
        // RFC 6298's time without its least. An Interest without a hint may have gone a longer way.
        let (mean, usual) = (self.rtts.smoothed(), self.rtts.with_deviation().unwrap_or(now));
        let long = usual.max(mean.map_or(now, |mean| mean * 4)).mul_f64(self.patience.exp2());
        if answered.wandered() {
            self.patience = (self.patience - RELIEF).max(0.0);
        }
        let strays = self.segments.find_lost(answered, path, [usual, long].map(|time| now.saturating_sub(time)));
        self.patience = (self.patience + f64::from(strays)).min(MAX_PATIENCE);
    }

    /// With one path per flow all Data are that path's, whatever routers say.
    fn path_of(&self, path: PathId) -> PathId {
        if self.params.paths == PathsOf::One { PathId::START } else { path }
    }

    fn nack(&mut self, nack: &Packet, ctx: &mut EndpointCtx<'_>) {
        let segment = nack.segment();
        let Some(path) = self.segments.refused(segment) else { return };
        self.last_news = ctx.now;
        let Some(header) = nack.header::<Stamped>() else {
            // From a forwarder that has no way on, or found a loop: another Interest may go another
            // way.
            self.probe_at = ctx.now.saturating_add(AGAIN);
            return;
        };
        match path {
            Some(path) => self.paths.nack(path, header.stamps(), ctx.now, unit(ctx.rng)),
            // No Data yet: the rate that it tells says when to ask again.
            None => {
                let bits = 8.0 * f64::from(self.segments.object().data_size(segment));
                let wait = Time::from_secs_f64(bits / header.stamps().primary.max(1.0));
                self.probe_at = ctx.now.saturating_add(wait.min(self.timeout()));
            }
        }
    }
}

impl Endpoint for Fetch {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        // RCP's consumers are the baseline's.
        if self.params.spread && self.params.rates.update == Update::Mircc {
            self.paths.set_phase(unit(ctx.rng), self.segments.object().data_size(0));
        }
        self.pump(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.name() != Some(self.segments.object().name) {
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
