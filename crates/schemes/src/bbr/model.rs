//! The model of the path: bandwidth, round trip, aggregation ("Updating Network Path Model
//! Parameters"), and the window and pace that follow ("Updating Control Parameters").

use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round, Total, bytes, larger, smaller};
use super::phases::Phase;
use crate::transport::cc::Window;

impl Bbr {
    /// UpdateRound.
    fn update_round(&mut self, rs: &Round) {
        self.round_start = self.next_round_delivered.is_reached(rs.prior);
        if self.round_start {
            self.start_round(Total::of(rs.total));
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    /// StartRound.
    pub(super) fn start_round(&mut self, total: Total) {
        self.next_round_delivered = total;
    }

    /// BBR.max_bw.
    #[inline]
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter.largest()
    }

    /// UpdateMaxBw.
    pub(super) fn update_max_bw(&mut self, rs: &Round) {
        self.update_round(rs);
        if rs.rate > 0.0 && (rs.rate >= self.max_bw() || !rs.app_limited) && !self.is_expired(rs.prior) {
            self.max_bw_filter.update(rs.rate);
        }
    }

    /// UpdateACKAggregation.
    pub(super) fn update_ack_aggregation(&mut self, rs: &Round, window: &Window) {
        let interval = rs.now.saturating_sub(self.extra_acked_interval_start);
        let mut expected = self.bw * interval.short_secs_f64();
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_interval_start, expected) = (0.0, rs.now, 0.0);
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = smaller(self.extra_acked_delivered - expected, bytes(window.cwnd));
        let rounds = if self.full_bw_reached { c::EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked_filter.update(extra, self.round_count, rounds);
    }

    /// BoundBWForModel.
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = smaller(self.max_bw(), self.bw_shortterm());
    }

    /// MinPipeCwnd.
    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        bytes(c::MIN_PIPE_CWND * self.mss())
    }

    /// BDPMultiple.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == Time::MAX {
            return self.initial_cwnd();
        }
        gain * bw * self.min_rtt.short_secs_f64()
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// QuantizationBudget.
    fn quantization_budget(&self, inflight: f64) -> f64 {
        let mut cap = larger(inflight, self.min_pipe_cwnd());
        if self.sends_quanta {
            // UpdateOffloadBudget.
            cap = larger(cap, bytes(c::QUANTA * self.quantum()));
        }
        if self.phase == Phase::Up { cap + bytes(2 * self.mss()) } else { cap }
    }

    /// Inflight.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// UpdateMaxInflight.
    fn max_inflight(&self) -> f64 {
        self.quantization_budget(self.bdp_multiple(self.bw, self.phase.cwnd_gain()) + self.extra_acked_filter.largest())
    }

    /// InitPacingRate.
    pub(super) fn init_pacing_rate(&mut self, srtt: Time) {
        let srtt = if srtt.is_zero() { Time::from_ms(1) } else { srtt };
        self.pacing_rate = c::STARTUP_PACING_GAIN * self.initial_cwnd() / srtt.as_secs_f64();
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * c::PACING_MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// SetSendQuantum.
    pub(super) fn quantum(&self) -> u64 {
        if !self.sends_quanta {
            return 0;
        }
        let sent = (self.pacing_rate * c::QUANTUM_TIME.as_secs_f64()) as u64;
        sent.min(c::MOST_QUANTUM).max(2 * self.mss())
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&self, rs: &Round, window: &mut Window) {
        let (most, mut cwnd) = (self.max_inflight(), bytes(window.cwnd));
        if self.full_bw_reached {
            cwnd = smaller(cwnd + rs.newly_acked, most);
        } else if cwnd < most || bytes(rs.total) < self.initial_cwnd() {
            cwnd += rs.newly_acked;
        }
        cwnd = larger(cwnd, self.min_pipe_cwnd());
        // BoundCwndForProbeRTT.
        if self.phase == Phase::ProbeRtt {
            cwnd = smaller(cwnd, self.probe_rtt_cwnd());
        }
        window.set(smaller(cwnd, self.cwnd_cap()) as i64 as u64);
    }

    /// BoundCwndForModel: its cap.
    fn cwnd_cap(&self) -> f64 {
        let cap = match self.phase {
            Phase::Cruise | Phase::ProbeRtt => self.inflight_with_headroom(),
            Phase::Down | Phase::Refill | Phase::Up => self.inflight_longterm(),
            Phase::Startup | Phase::Drain => f64::INFINITY,
        };
        larger(smaller(cap, self.inflight_shortterm()), self.min_pipe_cwnd())
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        larger(self.bdp_multiple(self.bw, c::PROBE_RTT_CWND_GAIN), self.min_pipe_cwnd())
    }

    /// SaveCwnd.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        self.prior_cwnd = if !self.in_recovery && self.phase != Phase::ProbeRtt {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&self, window: &mut Window) {
        window.set(window.cwnd.max(self.prior_cwnd));
    }
}
