//! A consumer's Interests: sent at the rates on its Data, over all paths of these Data, with retransmission of lost
//! ones.
//!
//! It handles no packets, so real and simulated consumers share it. The caller reports arrivals, and calls
//! [`Asking::poll`] for the next Interest until there is none.

mod paths;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod tests;

use midpath_core::rng::{Stream, below, unit};
use midpath_core::units::{Rate, Time};

use super::params::{LONGEST, MirccParams, Repair, RttSource, Split, Update};
use crate::icn::header::{Class, Stamped, Stamps, Trail, Way};
use crate::icn::params::{PathSelection, Steering};
use crate::icn::path::PathId;
use crate::icn::pending::{Answered, Course};
use crate::icn::round_trips::{RTO_K, RoundTrips};
use crate::icn::segments::Segments;
use paths::{Paths, Turn};

/// The time until an Interest is repeated that nothing tells of doubles at most so often. Ours, as for
/// repeats.
const MAX_SILENCES: u32 = 4;

/// How much sooner an Interest without a hint is taken for lost after another was answered, in doublings;
/// it is one later after each that was taken for lost. Ours: 5 % of loss leave it where it is.
const RELIEF: f64 = 1.0 / 16.0;

/// At most so many doublings. Ours.
const MAX_PATIENCE: f64 = 8.0;

/// How soon a consumer without a path asks again after a Nack that tells no rate. Ours.
const AGAIN: Time = Time::from_ms(10);

/// The timeout before the first Data; doubled with each repeat. 200 ms: ndn-cxx's least.
const FIRST_TIMEOUT: Time = Time::from_ms(200);

/// How much longer it is to each next Interest without a hint, up to a second. Ours: 15 from 2 ms to a second.
const RARER: f64 = 1.5;

/// How long a share of the primary Interests finds paths, too. Ours: objects that take seconds have no time for rare ones.
const EAGER: Time = Time::from_secs(10);

/// How forwarders draw a next hop for an Interest that finds a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draw {
    /// §4.3.3.
    ByBandwidth,
    Evenly,
}

/// An Interest to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What it asks for.
    pub segment: u32,
    /// Its class.
    pub class: Class,
    /// Which way it goes.
    pub way: Way,
    /// The round trip that it tells.
    pub rtt: Option<Time>,
    /// Whether it was asked for before.
    pub again: bool,
}

/// What is asked for.
#[derive(Debug)]
pub struct Asking {
    segments: Segments,
    paths: Paths,
    rtts: RoundTrips,
    /// How long to wait for what no later Data tell of: as the round trips until now say.
    timeout: Time,
    /// While no path is known: when to ask again.
    probe_at: Time,
    /// And when there is something to do then.
    wake_at: Time,
    /// When something was last sent, and how often nothing came after all had been asked for.
    last_sent: Time,
    silences: u32,
    /// Doublings of the time after which an Interest without a hint is taken for lost. It may have found
    /// a path that is much longer; asked for again, its Data come over a known one, and the longer
    /// path stays unknown.
    patience: f64,
    /// When an Interest without a hint is due, and how long that is after the one before.
    explores_at: Time,
    explored: Time,
    eager_until: Time,
    /// Whether Data have come.
    begun: bool,
    /// Data that came over another path than their Interests were steered onto.
    pub strayed: u64,
    /// What was not answered in time.
    pub timeouts: u64,
}

impl Asking {
    /// Nothing has come. At most at this rate, if the flow has one of its own.
    pub fn new(params: &MirccParams, segments: Segments, limit: Option<Rate>) -> Asking {
        let mut asking = Asking {
            segments,
            paths: Paths::new(params, limit),
            rtts: RoundTrips::new(params.min_rto, RTO_K),
            timeout: Time::ZERO,
            probe_at: Time::ZERO,
            wake_at: Time::MAX,
            last_sent: Time::ZERO,
            silences: 0,
            patience: 0.0,
            explores_at: Time::ZERO,
            explored: Time::ZERO,
            eager_until: Time::ZERO,
            begun: false,
            strayed: 0,
            timeouts: 0,
        };
        asking.timeout = asking.timeout_now(params);
        asking
    }

    /// Called at the start; the first Data have this size.
    pub fn start(&mut self, params: &MirccParams, rng: &mut Stream, size: u16) {
        // RCP's consumers are the baseline's.
        if params.additions.spread && params.rates.update == Update::Mircc {
            self.paths.set_phase(unit(rng), size);
        }
    }

    /// The segments.
    pub fn segments(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// The rates of both classes over all paths, in bits of Data per second.
    pub fn rates(&self) -> [f64; 2] {
        self.paths.rates()
    }

    /// Paths that are known.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// The mean round trip.
    pub fn smoothed(&self) -> Option<Time> {
        self.rtts.smoothed()
    }

    /// Called before [`Asking::poll`]: finds what is late.
    pub fn on_time(&mut self, params: &MirccParams, now: Time) {
        self.time_out(now);
        // Else other Interests' Data will tell.
        if self.segments.wanted().is_none() {
            self.look_again(params, now);
        }
        self.paths.expire(now);
        if self.paths.is_empty() {
            self.wake_at = self.segments.next_timeout(self.timeout);
        }
    }

    /// Nothing is left to ask for: puts on the list again what Data have shown to be lost, or what
    /// silence has.
    fn look_again(&mut self, params: &MirccParams, now: Time) {
        if self.doubts_at(params, now) <= now {
            let times = self.patience(now);
            self.segments.find_doubted(now, times);
        }
        if self.probes_at(params) <= now {
            self.segments.probe();
            self.silences += 1;
            self.timeouts += 1;
            self.last_sent = now;
        }
    }

    /// The next Interest, if one is due. Ask again. `size` says how large the Data of a segment are.
    #[inline]
    pub fn poll(
        &mut self,
        params: &MirccParams,
        now: Time,
        rng: &mut Stream,
        size: impl Fn(u32) -> u16,
    ) -> Option<Ask> {
        if self.paths.is_empty() {
            return self.find_a_path(params, now, rng);
        }
        let segment = self.segments.wanted()?;
        let turn = self.paths.turn(now)?;
        let ask = self.ask(params, segment, Some(turn), now, rng);
        self.paths.taken(turn, now, size(segment));
        Some(ask)
    }

    /// When to call [`Asking::on_time`] and [`Asking::poll`] next, after there was no Interest more.
    pub fn next(&mut self, params: &MirccParams, now: Time) -> Time {
        let wanted = self.segments.wanted().is_some();
        let repair = if wanted { Time::MAX } else { self.probes_at(params).min(self.doubts_at(params, now)) };
        if self.paths.is_empty() {
            return self.wake_at.min(repair);
        }
        let turn = if wanted { self.paths.next_turn() } else { Time::MAX };
        self.segments.first_of(turn, self.timeout).min(repair)
    }

    /// An Interest in that segment.
    fn ask(&mut self, params: &MirccParams, segment: u32, turn: Option<Turn>, now: Time, rng: &mut Stream) -> Ask {
        let again = self.segments.take(segment);
        let class = turn.map_or(Class::Primary, |t| t.class);
        let several = params.paths == PathSelection::All;
        let explores = if several && class == Class::Primary { self.explores(params, now, rng) } else { None };
        let steered = several && explores.is_none();
        let way = match turn.filter(|_| steered) {
            Some(turn) => turn.way,
            // §4.3.2: "probe for different paths by using new random numbers".
            None if params.steering == Steering::RandomValue => {
                Way::Value { value: below(rng, u64::MAX), spare: 0, evenly: params.explores() }
            }
            // A flow begins on a wide path.
            None => Way::Any { spare: 0, evenly: turn.is_some() && explores == Some(Draw::Evenly) },
        };
        let steered = steered && turn.is_some();
        let keeps_line = steered || params.paths == PathSelection::One;
        // Both classes wait in one queue, so Data of either tell of both.
        let path = turn.map(|t| t.path);
        let rtt = self.rtt(params, path.filter(|_| steered && keeps_line), now);
        let course = Course { path, steered, in_line: keeps_line && path.is_some() };
        self.segments.on_interest_sent(segment, now, course, self.timeout);
        self.last_sent = now;
        Ask { segment, class, way, rtt, again }
    }

    /// The round trip that an Interest tells: of the path that it is steered onto; the flow's, while that has none or
    /// where none is steered. d(t) is "per-packet RTT" (§3.1.2), and paths of a flow differ.
    fn rtt(&self, params: &MirccParams, steered: Option<PathId>, now: Time) -> Option<Time> {
        let path = steered.and_then(|line| self.segments.trips(line));
        let of = |rtt: fn(&RoundTrips, Time) -> Option<Time>| {
            path.and_then(|path| rtt(path, now)).or_else(|| rtt(&self.rtts, now))
        };
        match params.rates.rtt {
            RttSource::Average => of(|trips, _| trips.smoothed()),
            RttSource::Least => of(RoundTrips::least),
            RttSource::Upstream => None,
        }
    }

    /// §4.3.3: whether a primary Interest has no hint, and finds a path: a share of them does.
    ///
    /// Ours: that share in the first seconds, and others for which forwarders draw evenly, ever rarer up to one a second:
    /// they find a path that has a thousandth of the bandwidth, and do not fill it.
    fn explores(&mut self, params: &MirccParams, now: Time, rng: &mut Stream) -> Option<Draw> {
        let drawn = unit(rng) < params.hintless;
        if !params.explores() || params.hintless == 0.0 {
            return drawn.then_some(Draw::ByBandwidth);
        }
        if now < self.explores_at {
            return (drawn && now < self.eager_until).then_some(Draw::ByBandwidth);
        }
        let first = self.paths.mean_gap().mul_f64(1.0 / params.hintless);
        let begun = self.explored > Time::ZERO;
        if !begun {
            self.eager_until = now.saturating_add(EAGER);
        }
        let next = if begun { self.explored.mul_f64(RARER) } else { first };
        self.explored = next.min(LONGEST);
        self.explores_at = now.saturating_add(self.explored);
        begun.then_some(Draw::Evenly)
    }

    /// What the timeout is now.
    fn timeout_now(&self, params: &MirccParams) -> Time {
        match params.repair {
            // What was asked for twice tells no round trip, so the first Data end this.
            Repair::LaterData if !self.begun => FIRST_TIMEOUT.min(params.min_rto),
            Repair::LaterData | Repair::Timeout => self.rtts.timeout(),
        }
    }

    /// When to ask once more, so that Data tell what is lost: two round trips after the last was asked
    /// for. Only if nothing is left to ask for: other Interests' Data will tell else.
    fn probes_at(&mut self, params: &MirccParams) -> Time {
        let waits = params.repair == Repair::LaterData && self.segments.is_waiting();
        let Some(all) = self.rtts.patience().filter(|_| waits && self.segments.wanted().is_none()) else {
            return Time::MAX;
        };
        // Round trips of several paths vary together more than those of one.
        let patience = self.segments.patience().map_or(all, |longest| longest.min(all));
        self.last_sent.saturating_add(patience * (1 << self.silences.min(MAX_SILENCES)))
    }

    /// When something that Data have shown to be missing is lost. Only if nothing is left to ask for, as
    /// above.
    fn doubts_at(&mut self, params: &MirccParams, now: Time) -> Time {
        if params.repair == Repair::Timeout || !self.begun || self.segments.wanted().is_some() {
            return Time::MAX;
        }
        let times = self.patience(now);
        self.segments.next_doubted(times)
    }

    /// After which time an Interest is lost that others have overtaken: RFC 6298's without its least.
    fn usual(&self, now: Time) -> Time {
        self.rtts.with_deviation().unwrap_or(now)
    }

    /// And one without a hint, which may have gone a longer way. At an object's end none is worth a wait.
    fn long(&self, now: Time, ending: bool) -> Time {
        let (mean, usual) = (self.rtts.smoothed(), self.usual(now));
        match ending {
            true => usual.max(mean.unwrap_or(now) * 2),
            false => usual.max(mean.map_or(now, |mean| mean * 4)).mul_f64(self.patience.exp2()),
        }
    }

    /// Both.
    fn patience(&mut self, now: Time) -> [Time; 2] {
        let ending = self.segments.is_ending();
        [self.usual(now), self.long(now, ending)]
    }

    /// While no path is known there is one Interest at a time (§4.3.3: "only a single initial
    /// message for any given path is needed").
    fn find_a_path(&mut self, params: &MirccParams, now: Time, rng: &mut Stream) -> Option<Ask> {
        // What is on its way has a timeout of its own.
        let segment = self.segments.wanted()?;
        if now < self.probe_at {
            self.wake_at = self.wake_at.min(self.probe_at);
            return None;
        }
        let ask = self.ask(params, segment, None, now, rng);
        let mut wait = self.timeout;
        if wait < params.min_rto {
            // Nothing has come so far.
            wait = (wait * (1 << self.silences.min(MAX_SILENCES))).min(params.min_rto);
            self.silences += 1;
        }
        self.probe_at = now.saturating_add(wait);
        self.wake_at = self.wake_at.min(self.probe_at);
        Some(ask)
    }

    /// Puts what has not come in time on the list again.
    fn time_out(&mut self, now: Time) {
        while let Some(late) = self.segments.late(now, self.timeout) {
            self.timeouts += u64::from(late.lost);
            if let Some(path) = late.path.filter(|_| late.lost) {
                self.paths.lost(path, now);
            }
        }
    }

    /// Called with Data, and what they carry. The round trip, if it is sure which Interest was
    /// answered; the outer `None`: they were not asked for, or have come already.
    pub fn on_data(&mut self, params: &MirccParams, now: Time, segment: u32, header: Stamped) -> Option<Option<Time>> {
        let answered = self.segments.answered(segment)?;
        let rtt = answered.tell(&mut self.rtts, now);
        // With one path per flow all Data are that path's, whatever routers say.
        let path = if params.paths == PathSelection::One { PathId::START } else { header.path };
        if let Some(steered) = answered.strayed(path) {
            self.strayed += 1;
            self.paths.strayed(steered, header.stamps(), now);
        }
        // Where two Interests in one segment meet, one's value goes back over the other's path.
        if answered.is_sure() || !matches!(header.trail, Trail::Value(_)) {
            self.paths.data(path, header.trail, header.stamps(), now);
        }
        // Ours, with `secondary_packets` alone: without it, fewer networks had their secondary rates within 5 %. The
        // cause was not found.
        if params.split == Split::Paths
            && params.rates.secondary_packets > 0.0
            && let Some(turn) = answered.instead_of(path)
        {
            self.paths.swapped(turn, path);
        }
        self.silences = 0;
        self.find_lost(params, &answered, path, now);
        self.begun = true;
        self.timeout = self.timeout_now(params);
        Some(rtt)
    }

    /// What later Data say of earlier Interests.
    fn find_lost(&mut self, params: &MirccParams, answered: &Answered, path: PathId, now: Time) {
        if params.repair == Repair::Timeout {
            return;
        }
        let (ending, wandered) = (self.segments.is_ending(), answered.wandered());
        self.segments.find_lost(answered, path, now, self.usual(now));
        let strays = match self.segments.has_stray() {
            true => self.segments.find_strays(now, self.long(now, ending)),
            false => 0,
        };
        let before = if wandered { (self.patience - RELIEF).max(0.0) } else { self.patience };
        self.patience = (before + f64::from(strays)).min(MAX_PATIENCE);
    }

    /// Called with a Nack, and the rates that it tells, if it does; `size` is that of its Data.
    pub fn on_nack(&mut self, now: Time, rng: &mut Stream, segment: u32, stamps: Option<Stamps>, size: u16) {
        let Some(path) = self.segments.refused(segment) else { return };
        let Some(stamps) = stamps else {
            // From a forwarder that has no way on, or found a loop: another Interest may go another
            // way.
            self.probe_at = now.saturating_add(AGAIN);
            return;
        };
        match path {
            Some(path) => self.paths.nack(path, stamps, now, unit(rng)),
            // No Data yet: the rate that it tells says when to ask again.
            None => {
                let wait = Time::from_secs_f64(8.0 * f64::from(size) / stamps.primary.max(1.0));
                self.probe_at = now.saturating_add(wait.min(self.timeout));
            }
        }
    }
}
