//! Reactions to loss: "Exiting Startup Based on Packet Loss", "Updating the Model Upon Packet Loss".

use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round, Total, larger};
use super::expiry::Expiry;
use super::phases::Phase;
use crate::transport::cc::{Lost, Window};
use crate::transport::lazy_box::Initial;

/// What losses, or marks, have made of the model, and what few ask for: nothing until the first of them.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    /// How far ProbeBW_UP is from raising `inflight_longterm`.
    pub bw_probe_up_acked: f64,
    pub probe_up_acked_per_inc: f64,
    undo: Undo,
    /// Runs of bytes lost in this round.
    holes_in_round: u32,
    /// Not the draft's: see `expiry.rs`.
    pub expiry: Option<Box<Expiry>>,
}

/// BBR.undo_state and the bounds of the model before a round's first loss.
#[derive(Debug, Clone, Copy)]
struct Undo {
    phase: Phase,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Initial for Bounds {
    const INITIAL: &'static Bounds = &Bounds {
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
        bw_probe_up_acked: 0.0,
        probe_up_acked_per_inc: f64::INFINITY,
        undo: Undo {
            phase: Phase::Startup,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
        },
        holes_in_round: 0,
        expiry: None,
    };
}

impl Bbr {
    /// BBR.bw_shortterm.
    #[inline]
    pub(super) fn bw_shortterm(&self) -> f64 {
        self.bounds.get().map_or(f64::INFINITY, |bounds| bounds.bw_shortterm)
    }

    /// BBR.inflight_shortterm.
    #[inline]
    pub(super) fn inflight_shortterm(&self) -> f64 {
        self.bounds.get().map_or(f64::INFINITY, |bounds| bounds.inflight_shortterm)
    }

    /// BBR.inflight_longterm.
    #[inline]
    pub(super) fn inflight_longterm(&self) -> f64 {
        self.bounds.get().map_or(f64::INFINITY, |bounds| bounds.inflight_longterm)
    }

    /// CheckStartupHighLoss.
    pub(super) fn check_startup_high_loss(&mut self, rs: &Round) {
        if self.phase != Phase::Startup || self.full_bw_reached || !self.in_recovery {
            return;
        }
        let high = if self.sack {
            // A round that began with the first loss is over, so recovery has lasted one.
            self.loss_round_start
                && self.bounds.holes_in_round >= c::STARTUP_FULL_LOSS_CNT
                && is_inflight_too_high(rs.lost, rs.in_flight, true)
        } else {
            self.is_loss_in_round
        };
        if high {
            (self.full_bw_reached, self.full_bw_now) = (true, true);
            self.bounds.inflight_longterm = self.bdp().max(self.inflight_latest.into()).floor();
        }
    }

    /// NoteLoss.
    pub(super) fn note_congestion(&mut self, delivered: Total, window: &Window) {
        if !self.is_loss_in_round {
            self.save_state();
            self.loss_round_delivered = delivered;
            self.save_cwnd(window);
            self.bounds.holes_in_round = 0;
        }
        self.is_loss_in_round = true;
    }

    /// SaveStateUponLoss.
    fn save_state(&mut self) {
        let (phase, bounds) = (self.phase, &mut *self.bounds);
        bounds.undo = Undo {
            phase,
            bw_shortterm: bounds.bw_shortterm,
            inflight_shortterm: bounds.inflight_shortterm,
            inflight_longterm: bounds.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection. It may lead back to a phase that the diagram does not lead to.
    pub(super) fn handle_spurious_loss(&mut self, window: &Window) {
        let undo = self.bounds.undo;
        self.is_loss_in_round = false;
        self.reset_full_bw();
        if let Some(bounds) = self.bounds.get_mut() {
            bounds.bw_shortterm = bounds.bw_shortterm.max(undo.bw_shortterm);
            bounds.inflight_shortterm = bounds.inflight_shortterm.max(undo.inflight_shortterm);
            bounds.inflight_longterm = bounds.inflight_longterm.max(undo.inflight_longterm);
        }
        if self.phase == Phase::ProbeRtt || self.phase == undo.phase {
            return;
        }
        match undo.phase {
            Phase::Startup => self.phase = Phase::Startup,
            Phase::Up => {
                self.phase = Phase::Refill;
                self.start_up(self.bw, self.delivered, window);
            }
            _ => {}
        }
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost_packet(&mut self, lost: &Lost, window: &Window) {
        self.note_congestion(Total::of(lost.total), window);
        let bounds = &mut *self.bounds;
        bounds.holes_in_round += u32::from(!lost.follows || bounds.holes_in_round == 0);
        if !self.is_bw_probe_sample {
            return;
        }
        let in_flight = lost.in_flight as f64;
        if is_inflight_too_high(lost.lost as f64, in_flight, self.sack) {
            let at = inflight_at_loss(in_flight, lost.lost as f64, lost.bytes as f64);
            self.handle_inflight_too_high(at, lost.app_limited, lost.now, Total::of(lost.total), window);
        }
    }

    /// HandleInflightTooHigh.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        in_flight: f64,
        app_limited: bool,
        now: Time,
        delivered: Total,
        window: &Window,
    ) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            // Whole bytes, as windows are: one byte less than it limits nothing, and would never raise it again.
            self.bounds.inflight_longterm = in_flight.max(self.target_inflight(window) * c::BETA).floor();
        }
        if self.phase == Phase::Up {
            self.start_down_at(now, delivered);
        }
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Round) {
        self.loss_round_start = false;
        self.bw_latest = larger(self.bw_latest, rs.rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if self.loss_round_delivered.is_reached(rs.prior) {
            self.loss_round_delivered = Total::of(rs.total);
            self.loss_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Round) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.rate, rs.delivered);
        }
    }

    /// ResetCongestionSignals.
    pub(super) fn reset_congestion_signals(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0);
    }

    /// UpdateCongestionSignals, once the round is over.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        // AdaptLowerBoundsFromCongestion.
        if !self.is_loss_in_round || self.phase.is_probing() {
            return;
        }
        let (max_bw, bw_latest, inflight_latest) = (self.max_bw(), self.bw_latest, f64::from(self.inflight_latest));
        let bounds = &mut *self.bounds;
        // InitLowerBounds.
        if bounds.bw_shortterm == f64::INFINITY {
            bounds.bw_shortterm = max_bw;
        }
        if bounds.inflight_shortterm == f64::INFINITY {
            bounds.inflight_shortterm = window.cwnd as f64;
        }
        // LossLowerBounds.
        bounds.bw_shortterm = bw_latest.max(c::BETA * bounds.bw_shortterm);
        bounds.inflight_shortterm = inflight_latest.max(c::BETA * bounds.inflight_shortterm);
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term_model(&mut self) {
        if let Some(bounds) = self.bounds.get_mut() {
            (bounds.bw_shortterm, bounds.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        }
    }
}

/// IsInflightTooHigh.
pub(super) fn is_inflight_too_high(lost: f64, in_flight: f64, sack: bool) -> bool {
    lost > in_flight * c::LOSS_THRESH || (lost > 0.0 && !sack)
}

/// InflightAtLoss: the volume in flight at which losses crossed the threshold, within a packet of
/// `size` bytes.
pub(super) fn inflight_at_loss(in_flight: f64, lost: f64, size: f64) -> f64 {
    let (inflight_prev, lost_prev) = (in_flight - size, lost - size);
    let lost_prefix = (c::LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - c::LOSS_THRESH);
    inflight_prev + lost_prefix
}
