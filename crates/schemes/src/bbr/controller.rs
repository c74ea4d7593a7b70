//! The controller's callbacks, in the order of "Algorithm Organization".

use midpath_core::rng;
use midpath_core::units::{Rate, Time};

use super::filter::{CycleFilter, MaxFilter};
use super::losses::Bounds;
use super::phases::{Phase, ProbeRtt};
use super::probing::{AckPhase, Waits};
use crate::transport::cc::{
    Ack, Congestion, CongestionController, Lost, NetworkAssisted, Opening, Pause, Sample, Window,
};
use crate::transport::lazy_box::LazyBox;

/// Bytes as a float, which are fewer than 2^63: five instructions less.
#[inline]
pub(super) fn bytes(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// The larger of two, of which both are numbers: one instruction, where [`f64::max`] has five.
#[inline]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The same of the smaller.
#[inline]
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// What C.delivered was at some time: its lower half. Those that are compared are less than 2^31 apart, for no window is
/// larger than 2^30: so much is delivered while a packet is outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Total(u32);

impl Total {
    pub const fn of(total: u64) -> Total {
        Total(total as u32)
    }

    /// Whether this much had been delivered when a packet was sent, by its P.delivered.
    #[inline]
    pub const fn is_reached(self, prior: u64) -> bool {
        (prior as u32).wrapping_sub(self.0) as i32 >= 0
    }
}

/// RS, and what of the connection's state C an ACK finds. Bytes are of payload, rates in bytes per
/// second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub now: Time,
    /// RS.rtt, RS.delivery_rate (0: unknown), RS.delivered, RS.newly_acked.
    pub rtt: Option<Time>,
    pub rate: f64,
    pub delivered: u32,
    pub newly_acked: f64,
    /// RS.prior_delivered and C.delivered.
    pub prior: u64,
    pub total: u64,
    /// RS.is_app_limited, RS.tx_in_flight, RS.lost.
    pub app_limited: bool,
    pub in_flight: f64,
    pub lost: f64,
    /// C.inflight, C.is_cwnd_limited.
    pub pipe: f64,
    pub window_limited: bool,
}

/// BBR. Fields have the draft's names; infinity is the draft's, too. What a phase alone needs, or what no loss has
/// touched yet, is in boxes.
#[derive(Debug, Clone)]
pub struct Bbr {
    // Of the connection.
    mss: u16,
    /// Bytes of headers on a packet.
    overhead: u16,
    /// C.InitialCwnd, in segments.
    initial_cwnd: u32,
    pub(super) sack: bool,
    pub(super) sends_quanta: bool,
    pub(super) in_recovery: bool,
    /// C.min_rtt and C.delivered.
    shortest: Time,
    pub(super) delivered: Total,
    // The state machine.
    pub(super) phase: Phase,
    pub(super) round_start: bool,
    pub(super) idle_restart: bool,
    pub(super) full_bw_reached: bool,
    pub(super) full_bw_now: bool,
    pub(super) full_bw_count: u8,
    pub(super) round_count: u32,
    pub(super) next_round_delivered: Total,
    pub(super) full_bw: f64,
    // The model.
    pub(super) max_bw_filter: CycleFilter,
    pub(super) bw: f64,
    pub(super) min_rtt: Time,
    pub(super) min_rtt_stamp: Time,
    pub(super) extra_acked_filter: MaxFilter,
    pub(super) extra_acked_interval_start: Time,
    pub(super) extra_acked_delivered: f64,
    // Losses.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: u32,
    pub(super) is_loss_in_round: bool,
    pub(super) loss_round_start: bool,
    pub(super) loss_round_delivered: Total,
    pub(super) bounds: LazyBox<Bounds>,
    // ProbeBW.
    pub(super) ack_phase: AckPhase,
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
    pub(super) bw_probe_up_rounds: u8,
    /// In Drain: since that began.
    pub(super) rounds_since_probe_up: u32,
    /// BBR.cycle_stamp and BBR.bw_probe_wait, added up.
    pub(super) probe_at: Time,
    pub(super) waits: Waits,
    // ProbeRTT.
    pub(super) probe_rtt_min_delay: Time,
    pub(super) probe_rtt_min_stamp: Time,
    pub(super) probe_rtt: Option<Box<ProbeRtt>>,
    // What it sends by.
    pub(super) prior_cwnd: u64,
    /// Bytes of payload per second.
    pub(super) pacing_rate: f64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Bbr>() == 232);

impl Bbr {
    /// OnInit, as far as it needs no connection.
    pub(super) fn new(mss: u32, sends_quanta: bool) -> Bbr {
        Bbr {
            mss: mss as u16,
            overhead: 0,
            initial_cwnd: 0,
            sack: true,
            sends_quanta,
            in_recovery: false,
            shortest: Time::MAX,
            delivered: Total::default(),
            phase: Phase::Startup,
            round_start: false,
            idle_restart: false,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw_count: 0,
            round_count: 0,
            next_round_delivered: Total::default(),
            full_bw: 0.0,
            max_bw_filter: CycleFilter::default(),
            bw: 0.0,
            min_rtt: Time::MAX,
            min_rtt_stamp: Time::ZERO,
            extra_acked_filter: MaxFilter::default(),
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            bw_latest: 0.0,
            inflight_latest: 0,
            is_loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: Total::default(),
            bounds: LazyBox::default(),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            probe_at: Time::ZERO,
            waits: Waits::default(),
            probe_rtt_min_delay: Time::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt: None,
            prior_cwnd: 0,
            pacing_rate: 0.0,
        }
    }

    /// C.SMSS.
    pub(super) fn mss(&self) -> u64 {
        self.mss.into()
    }

    /// C.InitialCwnd, in bytes.
    pub(super) fn initial_cwnd(&self) -> f64 {
        (u64::from(self.initial_cwnd) * self.mss()) as f64
    }

    /// Bytes on the wire per byte of payload.
    fn wire(&self) -> f64 {
        f64::from(u32::from(self.mss) + u32::from(self.overhead)) / f64::from(self.mss)
    }

    /// Whether ProbeRTT held back a packet with this P.delivered.
    fn is_held_back(&self, prior: u64) -> bool {
        let held_back = self.probe_rtt.as_ref().and_then(|probe| probe.held_back);
        held_back.is_some_and(|(from, to)| (from..=to).contains(&prior))
    }

    fn round(&mut self, ack: &Ack, sample: &Sample) -> Round {
        if let Some(rtt) = sample.rtt {
            self.shortest = self.shortest.min(rtt);
        }
        self.forget_held_back(sample.prior);
        self.delivered = Total::of(sample.total);
        let least = if self.shortest == Time::MAX { Time::ZERO } else { self.shortest };
        Round {
            now: ack.now,
            rtt: sample.rtt,
            rate: sample.rate(least).map_or(0.0, |r| r.as_f64() / 8.0),
            delivered: sample.delivered() as u32,
            newly_acked: bytes(ack.delivered),
            prior: sample.prior,
            total: sample.total,
            app_limited: sample.app_limited || self.is_held_back(sample.prior),
            in_flight: bytes(sample.in_flight),
            lost: bytes(sample.lost),
            pipe: bytes(sample.pipe),
            window_limited: sample.window_limited,
        }
    }

    /// UpdateModelAndState.
    fn update_model_and_state(&mut self, rs: &Round, window: &mut Window) {
        self.update_latest_delivery_signals(rs);
        // UpdateCongestionSignals.
        self.update_max_bw(rs);
        self.expire_max_bw(rs);
        if self.loss_round_start {
            self.adapt_lower_bounds(window);
            self.is_loss_in_round = false;
        }
        self.update_ack_aggregation(rs, window);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done(rs);
        self.update_cycle(rs, window);
        let expired = self.update_min_rtt(rs);
        self.check_probe_rtt(rs, expired, window);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }
}

impl NetworkAssisted for Bbr {}

impl CongestionController for Bbr {
    const SAMPLES: bool = true;
    const OWN_WINDOW: bool = true;

    /// OnInit.
    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        // A full segment is less than 64 KiB, and the first window is of whole ones.
        (self.mss, self.overhead) = (window.mss as u16, opening.overhead as u16);
        self.initial_cwnd = (window.cwnd / window.mss) as u32;
        debug_assert_eq!(self.initial_cwnd(), window.cwnd as f64);
        self.sack = opening.sack;
        self.waits = Waits::new(rng::below(opening.rng, u64::MAX));
        if !opening.srtt.is_zero() {
            (self.min_rtt, self.shortest) = (opening.srtt, opening.srtt);
        }
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (opening.now, opening.now);
        self.extra_acked_interval_start = opening.now;
        self.init_pacing_rate(opening.srtt);
    }

    /// UpdateOnACK.
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, sample: &Sample) {
        let rs = self.round(ack, sample);
        self.update_model_and_state(&rs, window);
        // UpdateControlParameters.
        self.set_pacing_rate(self.phase.pacing_gain());
        self.set_cwnd(&rs, window);
    }

    fn on_lost(&mut self, window: &mut Window, lost: &Lost) {
        self.handle_lost_packet(lost, window);
    }

    /// HandleRestartFromIdle. The draft leaves what was acknowledged before the pause in the sum, so that an application
    /// of many pauses makes it, and with it the window, grow for ever; Linux's `bbr_cwnd_event` begins anew.
    fn on_restart(&mut self, window: &mut Window, pause: &Pause) {
        let now = pause.now;
        self.idle_restart = true;
        (self.extra_acked_interval_start, self.extra_acked_delivered) = (now, 0.0);
        if self.phase.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.phase == Phase::ProbeRtt {
            self.check_probe_rtt_done(now, self.delivered, window);
        }
    }

    /// OnEnterFastRecovery.
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.save_cwnd(window);
        self.in_recovery = true;
        window.cwnd
    }

    /// OnEnterRTO: everything is taken for lost, so C.inflight + 1 is a segment.
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.save_cwnd(window);
        self.in_recovery = true;
        window.mss
    }

    /// "ECN": a connection that has it "MUST treat any CE marks as congestion". How is ours: as the first
    /// loss of a round, and while probing as too much in flight.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.note_congestion(self.delivered, window);
        if self.is_bw_probe_sample {
            self.handle_inflight_too_high(congestion.flight as f64, false, congestion.now, self.delivered, window);
        }
        window.cwnd
    }

    fn on_undo(&mut self, window: &mut Window) {
        self.handle_spurious_loss(window);
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.in_recovery = false;
        self.restore_cwnd(window);
    }

    /// What paces counts headers, the model does not.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(Rate(((8.0 * self.pacing_rate * self.wire()) as i64).max(1) as u64))
    }

    fn send_quantum(&self) -> u64 {
        if self.sends_quanta { (self.quantum() as f64 * self.wire()) as u64 } else { 0 }
    }

    fn phase(&self, _window: &Window) -> &'static str {
        Phase::STATES[self.phase as usize].name
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let known = |bytes: f64| if bytes.is_finite() { bytes } else { 0.0 };
        out.extend([
            ("phase", f64::from(self.phase as u8)),
            ("bw_bps", 8.0 * self.bw),
            ("min_rtt_s", if self.min_rtt == Time::MAX { 0.0 } else { self.min_rtt.as_secs_f64() }),
            ("inflight_longterm_bytes", known(self.inflight_longterm())),
        ]);
    }
}
