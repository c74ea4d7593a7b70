//! Reactions to loss: "Exiting Startup Based on Packet Loss", "Updating the Model Upon Packet Loss".

use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round};
use super::phases::Phase;
use crate::transport::cc::{Lost, Window};
use crate::transport::lazy_box::Initial;

/// BBR.undo_state and the bounds of the model before a round's first loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undo {
    phase: Phase,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Initial for Undo {
    const INITIAL: &'static Undo = &Undo {
        phase: Phase::Startup,
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };
}

impl Bbr {
    /// CheckStartupHighLoss.
    pub(super) fn check_startup_high_loss(&mut self, rs: &Round) {
        let high = if self.sack {
            // A round that began with the first loss is over, so recovery has lasted one.
            self.loss_round_start
                && self.holes_in_round >= c::STARTUP_FULL_LOSS_CNT
                && is_inflight_too_high(rs.lost, rs.in_flight, true)
        } else {
            self.is_loss_in_round
        };
        if self.phase == Phase::Startup && !self.full_bw_reached && self.in_recovery && high {
            (self.full_bw_reached, self.full_bw_now) = (true, true);
            self.inflight_longterm = self.bdp().max(self.inflight_latest).floor();
        }
    }

    /// NoteLoss.
    pub(super) fn note_congestion(&mut self, delivered: u64, window: &Window) {
        if !self.is_loss_in_round {
            self.save_state();
            self.loss_round_delivered = delivered;
            self.save_cwnd(window);
            self.holes_in_round = 0;
        }
        self.is_loss_in_round = true;
    }

    /// SaveStateUponLoss.
    fn save_state(&mut self) {
        *self.undo = Undo {
            phase: self.phase,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection. It may lead back to a phase that the diagram does not lead to.
    pub(super) fn handle_spurious_loss(&mut self, window: &Window) {
        let undo = *self.undo;
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
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
        self.note_congestion(lost.total, window);
        self.holes_in_round += u32::from(!lost.follows || self.holes_in_round == 0);
        if !self.is_bw_probe_sample {
            return;
        }
        let in_flight = lost.in_flight as f64;
        if is_inflight_too_high(lost.lost as f64, in_flight, self.sack) {
            let at = inflight_at_loss(in_flight, lost.lost as f64, lost.bytes as f64);
            self.handle_inflight_too_high(at, lost.app_limited, lost.now, lost.total, window);
        }
    }

    /// HandleInflightTooHigh.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        in_flight: f64,
        app_limited: bool,
        now: Time,
        delivered: u64,
        window: &Window,
    ) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            // Whole bytes, as windows are: one byte less than it limits nothing, and would never raise it again.
            self.inflight_longterm = in_flight.max(self.target_inflight(window) * c::BETA).floor();
        }
        if self.phase == Phase::Up {
            self.start_down_at(now, delivered);
        }
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Round) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(rs.rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if rs.prior >= self.loss_round_delivered {
            self.loss_round_delivered = rs.total;
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
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// UpdateCongestionSignals, once the round is over.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        // AdaptLowerBoundsFromCongestion.
        if !self.is_loss_in_round || self.phase.is_probing() {
            return;
        }
        // InitLowerBounds.
        if self.bw_shortterm == f64::INFINITY {
            self.bw_shortterm = self.max_bw;
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = window.cwnd as f64;
        }
        // LossLowerBounds.
        self.bw_shortterm = self.bw_latest.max(c::BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(c::BETA * self.inflight_shortterm);
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
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
