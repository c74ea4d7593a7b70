//! The state machine but for ProbeBW's cycle: Startup, Drain, ProbeRTT ("State Machine Operation").

use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round, Total};
use crate::describe::{State, Tone};
use crate::transport::cc::Window;

/// BBR.state, as `gauges` number it: [`Phase::STATES`] has the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Cruise,
    Startup,
    Drain,
    Down,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    /// State 0 is the one at rest.
    pub const STATES: [State; 7] = [
        State::new("ProbeBW_CRUISE", Tone::Calm),
        State::new("Startup", Tone::Busy),
        State::new("Drain", Tone::Relief),
        State::new("ProbeBW_DOWN", Tone::Relief),
        State::new("ProbeBW_REFILL", Tone::Busy),
        State::new("ProbeBW_UP", Tone::Busy),
        State::new("ProbeRTT", Tone::Relief),
    ];

    /// "State Transition Diagram": whether the next phase may follow.
    pub const fn leads_to(self, next: Phase) -> bool {
        match (self, next) {
            (Phase::ProbeRtt, Phase::Startup | Phase::Down) => true,
            (Phase::ProbeRtt, _) => false,
            (_, Phase::ProbeRtt)
            | (Phase::Startup, Phase::Drain)
            | (Phase::Drain | Phase::Up, Phase::Down)
            | (Phase::Down, Phase::Cruise)
            | (Phase::Down | Phase::Cruise, Phase::Refill)
            | (Phase::Refill, Phase::Up) => true,
            _ => false,
        }
    }

    /// IsInAProbeBWState.
    pub const fn is_probe_bw(self) -> bool {
        matches!(self, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// IsProbingBW.
    pub const fn is_probing(self) -> bool {
        matches!(self, Phase::Startup | Phase::Refill | Phase::Up)
    }

    /// The column "Pacing Gain" of "Summary of Control Behavior".
    pub const fn pacing_gain(self) -> f64 {
        match self {
            Phase::Startup => c::STARTUP_PACING_GAIN,
            Phase::Drain => c::DRAIN_PACING_GAIN,
            Phase::Down => c::DOWN_PACING_GAIN,
            Phase::Up => c::UP_PACING_GAIN,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        }
    }

    /// The column "Cwnd Gain".
    pub const fn cwnd_gain(self) -> f64 {
        match self {
            Phase::Up => c::UP_CWND_GAIN,
            Phase::ProbeRtt => c::PROBE_RTT_CWND_GAIN,
            _ => c::DEFAULT_CWND_GAIN,
        }
    }
}

/// What ProbeRTT alone needs, from when it begins until nothing is under way that it has held back.
#[derive(Debug, Clone)]
pub(super) struct ProbeRtt {
    /// BBR.probe_rtt_done_stamp; [`Time::MAX`] while there is none.
    done_stamp: Time,
    round_done: bool,
    /// MarkConnectionAppLimited: it held back the packets that were sent while C.delivered was from the first number to
    /// the second.
    pub held_back: Option<(u64, u64)>,
}

impl Bbr {
    /// Goes into a phase.
    pub(super) fn enter(&mut self, next: Phase) {
        debug_assert!(self.phase.leads_to(next), "{:?} does not lead to {next:?}", self.phase);
        self.phase = next;
    }

    /// ResetFullBW.
    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// CheckFullBWReached.
    pub(super) fn check_full_bw_reached(&mut self, rs: &Round) {
        if self.full_bw_now || !self.round_start || rs.app_limited {
            return;
        }
        if rs.rate >= self.full_bw * c::FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = rs.rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= c::FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, rs: &Round) {
        self.check_startup_high_loss(rs);
        if self.phase == Phase::Startup && self.full_bw_reached {
            // EnterDrain.
            self.enter(Phase::Drain);
            self.rounds_since_probe_up = 0;
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, rs: &Round) {
        if self.phase == Phase::Drain
            && (rs.pipe <= self.inflight(self.bw, 1.0) || self.rounds_since_probe_up > c::DRAIN_ROUNDS)
        {
            self.start_down(rs);
        }
    }

    /// UpdateMinRTT: BBR.probe_rtt_expired.
    pub(super) fn update_min_rtt(&mut self, rs: &Round) -> bool {
        let probe_rtt_expired = rs.now > self.probe_rtt_min_stamp.saturating_add(c::PROBE_RTT_INTERVAL);
        if let Some(rtt) = rs.rtt
            && (rtt < self.probe_rtt_min_delay || probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, rs.now);
        }
        let expired = rs.now > self.min_rtt_stamp.saturating_add(c::MIN_RTT_FILTER_LEN);
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
        probe_rtt_expired
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, rs: &Round, expired: bool, window: &mut Window) {
        if self.phase != Phase::ProbeRtt && expired && !self.idle_restart {
            self.enter(Phase::ProbeRtt);
            self.save_cwnd(window);
            let held_back = self.probe_rtt.take().and_then(|before| before.held_back);
            self.probe_rtt = Some(Box::new(ProbeRtt { done_stamp: Time::MAX, round_done: false, held_back }));
            self.stop_probing();
            self.start_round(Total::of(rs.total));
        }
        if self.phase == Phase::ProbeRtt {
            self.handle_probe_rtt(rs, window);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, rs: &Round, window: &mut Window) {
        let least = self.probe_rtt_cwnd();
        let Some(probe) = &mut self.probe_rtt else { return };
        // MarkConnectionAppLimited.
        let until = rs.total + rs.pipe as u64;
        probe.held_back = Some((probe.held_back.map_or(rs.total, |held| held.0), until));
        if probe.done_stamp == Time::MAX {
            if rs.pipe <= least {
                probe.done_stamp = rs.now.saturating_add(c::PROBE_RTT_DURATION);
                probe.round_done = false;
                self.start_round(Total::of(rs.total));
            }
        } else {
            probe.round_done |= self.round_start;
            if probe.round_done {
                self.check_probe_rtt_done(rs.now, Total::of(rs.total), window);
            }
        }
    }

    /// A packet with this P.delivered has arrived: what ProbeRTT held back may all have.
    #[inline]
    pub(super) fn forget_held_back(&mut self, prior: u64) {
        let Some(probe) = &mut self.probe_rtt else { return };
        if probe.held_back.is_some_and(|held| prior > held.1) {
            probe.held_back = None;
            if self.phase != Phase::ProbeRtt {
                self.probe_rtt = None;
            }
        }
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, total: Total, window: &mut Window) {
        if self.probe_rtt.as_ref().is_some_and(|probe| now > probe.done_stamp) {
            self.probe_rtt_min_stamp = now;
            self.restore_cwnd(window);
            self.exit_probe_rtt(now, total);
        }
    }

    /// ExitProbeRTT.
    fn exit_probe_rtt(&mut self, now: Time, total: Total) {
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down_at(now, total);
            self.enter(Phase::Cruise);
        } else {
            self.enter(Phase::Startup);
        }
    }
}
