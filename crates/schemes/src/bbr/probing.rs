//! ProbeBW's cycle: "ProbeBW Algorithm Details".

use midpath_core::rng::{self, Purpose, Stream};
use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round, Total, bytes, larger, smaller};
use super::losses::is_inflight_too_high;
use super::phases::Phase;
use crate::transport::cc::Window;

/// BBR.ack_phase: what ACKs say of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What a connection draws its waits from: a stream's seed and how many it has drawn, which tell the rest in fewer bytes,
/// until there are so many that they take too long to draw again.
#[derive(Debug, Clone)]
pub(super) enum Waits {
    Few { seed: u64, drawn: u32 },
    Many(Box<Stream>),
}

/// Ours.
const FEW: u32 = 16;

impl Default for Waits {
    fn default() -> Waits {
        Waits::new(0)
    }
}

impl Waits {
    pub fn new(seed: u64) -> Waits {
        Waits::Few { seed, drawn: 0 }
    }

    /// Zero or one round trip, and a part of a second.
    pub fn draw(&mut self) -> (u32, f64) {
        let next = |stream: &mut Stream| (rng::below(stream, 2) as u32, rng::unit(stream));
        match self {
            Waits::Many(stream) => next(stream),
            Waits::Few { seed, drawn } => {
                let mut stream = rng::stream(*seed, Purpose::Endpoints, 0);
                (0..*drawn).for_each(|_| _ = next(&mut stream));
                let wait = next(&mut stream);
                *drawn += 1;
                if *drawn == FEW {
                    *self = Waits::Many(Box::new(stream));
                }
                wait
            }
        }
    }
}

impl Bbr {
    /// The probe is over, its ACKs are still to come.
    pub(super) fn stop_probing(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, rs: &Round) {
        self.start_down_at(rs.now, Total::of(rs.total));
    }

    /// The same when no ACK is at hand.
    pub(super) fn start_down_at(&mut self, now: Time, total: Total) {
        self.reset_congestion_signals();
        if let Some(bounds) = self.bounds.get_mut() {
            bounds.probe_up_acked_per_inc = f64::INFINITY;
        }
        self.pick_probe_wait(now);
        self.stop_probing();
        self.start_round(total);
        self.enter(Phase::Down);
    }

    /// StartProbeBW_REFILL.
    fn start_refill(&mut self, rs: &Round) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        if let Some(bounds) = self.bounds.get_mut() {
            bounds.bw_probe_up_acked = 0.0;
        }
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(Total::of(rs.total));
        self.enter(Phase::Refill);
    }

    /// StartProbeBW_UP.
    pub(super) fn start_up(&mut self, rate: f64, delivered: Total, window: &Window) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(delivered);
        self.reset_full_bw();
        self.full_bw = rate;
        self.enter(Phase::Up);
        self.raise_slope(window);
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, rs: &Round, window: &Window) {
        if !self.full_bw_reached || self.adapt_long_term_model(rs, window) {
            return;
        }
        let phase = self.phase;
        match phase {
            Phase::Down if self.is_time_to_probe(rs.now, window) => self.start_refill(rs),
            Phase::Down if self.is_time_to_cruise(rs) => self.enter(Phase::Cruise),
            Phase::Cruise if self.is_time_to_probe(rs.now, window) => self.start_refill(rs),
            Phase::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(rs.rate, Total::of(rs.total), window);
            }
            Phase::Up if self.is_time_to_go_down(rs, window) => {
                self.prev_probe_too_high = false;
                self.start_down(rs);
            }
            _ => {}
        }
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, rs: &Round) -> bool {
        rs.pipe <= self.inflight_with_headroom() && rs.pipe <= self.inflight(self.max_bw(), 1.0)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, rs: &Round, window: &Window) -> bool {
        if self.prev_probe_too_high && rs.pipe >= self.inflight_longterm() {
            self.prev_probe_precautionary = true;
            return true;
        }
        if rs.window_limited && window.cwnd as f64 >= self.inflight_longterm() {
            self.reset_full_bw();
            self.full_bw = rs.rate;
            return false;
        }
        self.full_bw_now
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.inflight_longterm();
        if longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = larger(c::HEADROOM * longterm, bytes(self.mss()));
        larger(longterm - headroom, self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self, window: &Window) {
        let growth = (1u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(c::MOST_DOUBLINGS);
        let per_inc = (window.cwnd as f64 / growth).max(self.mss() as f64);
        // Nothing is raised while there is no bound.
        if let Some(bounds) = self.bounds.get_mut() {
            bounds.probe_up_acked_per_inc = per_inc;
        }
    }

    /// ProbeInflightLongtermUpward.
    fn probe_inflight_upward(&mut self, rs: &Round, window: &Window) {
        let (mss, Some(bounds)) = (self.mss(), self.bounds.get_mut()) else { return };
        if !rs.window_limited || (window.cwnd as f64) < bounds.inflight_longterm {
            return;
        }
        bounds.bw_probe_up_acked += rs.newly_acked;
        if bounds.bw_probe_up_acked >= bounds.probe_up_acked_per_inc {
            let delta = (bounds.bw_probe_up_acked / bounds.probe_up_acked_per_inc).floor();
            bounds.bw_probe_up_acked -= delta * bounds.probe_up_acked_per_inc;
            bounds.inflight_longterm += delta * mss as f64;
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// AdaptLongTermModel: whether it has changed the phase.
    fn adapt_long_term_model(&mut self, rs: &Round, window: &Window) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.phase.is_probe_bw() && !rs.app_limited {
                // AdvanceMaxBwFilter.
                self.max_bw_filter.advance();
            }
            if self.phase.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill(rs);
                return true;
            }
        }
        if is_inflight_too_high(rs.lost, rs.in_flight, self.sack) {
            return false;
        }
        match self.bounds.get_mut() {
            Some(bounds) if bounds.inflight_longterm < f64::INFINITY => {
                bounds.inflight_longterm = larger(bounds.inflight_longterm, rs.in_flight);
            }
            _ => return false,
        }
        if self.phase == Phase::Up {
            self.probe_inflight_upward(rs, window);
        }
        false
    }

    /// IsTimeToProbeBW: HasElapsedInPhase or IsRenoCoexistenceProbeTime.
    fn is_time_to_probe(&self, now: Time, window: &Window) -> bool {
        let reno = || smaller(self.target_inflight(window) / bytes(self.mss()), f64::from(c::RENO_ROUNDS));
        now > self.probe_at || f64::from(self.rounds_since_probe_up) >= reno()
    }

    /// PickProbeWait.
    fn pick_probe_wait(&mut self, now: Time) {
        let (rounds, part) = self.waits.draw();
        self.rounds_since_probe_up = rounds;
        self.probe_at = now.saturating_add(c::PROBE_WAIT.saturating_add(Time::from_secs_f64(part)));
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        smaller(self.bdp(), bytes(window.cwnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_those_of_one_stream() {
        let (mut stream, mut waits) = (rng::stream(5, Purpose::Endpoints, 0), Waits::new(5));
        for _ in 0..3 * FEW {
            assert_eq!(waits.draw(), (rng::below(&mut stream, 2) as u32, rng::unit(&mut stream)));
        }
        assert!(matches!(waits, Waits::Many(_)) && size_of::<Waits>() == 16);
    }
}
