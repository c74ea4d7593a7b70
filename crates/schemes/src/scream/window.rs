//! Network congestion control (§4.2): the reference window. Times are in seconds, windows in bytes.

use super::params::{ScreamEcn, ScreamParams};

/// §4.2.1.3.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const L4S_UPDATE_S: f64 = 0.01;
/// §4.2.1.4.
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
const QDELAY_DEV_THRESHOLD_S: f64 = 0.01;
/// §4.2.2.
const QDELAY_TARGET_HI_S: f64 = 0.4;
pub const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const POST_CONGESTION_DELAY_RTT: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
pub const VIRTUAL_RTT_S: f64 = 0.025;
/// §4.3.1.
const REF_WND_OVERHEAD_MIN: f64 = 1.5;
const REF_WND_OVERHEAD_MAX: f64 = 3.0;
/// §4.5.3. The rate is over 100 ms, `kRateUpdateInterval_ntp` of the authors' implementation, or a round trip if longer.
const ACKED_BITRATE_MARGIN: f64 = 0.8;
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;
const ACKED_INTERVAL_S: f64 = 0.1;
/// §4.5.4: lengths of histories, and the loss event rate.
const NORMS: usize = 200;
const RECENT_NORMS: usize = 50;
const LOSS_EVENT_RATE: f64 = 0.002;
/// A history entry every 50 ms, a loss event rate over 50 round trips: `kSlowUpdateInterval_ntp` and `lossEventRate` of
/// the authors' implementation.
const NORM_INTERVAL_S: f64 = 0.05;
const LOSS_EVENT_G: f64 = 0.02;

/// What a report says to the window, and what else counts.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub now: f64,
    pub s_rtt: f64,
    /// The queue delay of the newest data unit, if a new one was delivered.
    pub qdelay: Option<f64>,
    pub bytes: f64,
    pub bytes_ce: f64,
    pub delivered: f64,
    pub marked: f64,
    pub lost: f64,
    /// Now, and the target bitrate at which growth ends.
    pub in_flight: f64,
    pub target_bitrate: f64,
    pub max_bitrate: f64,
}

/// The reference window and all that moves it.
#[derive(Debug, Clone)]
pub struct Window {
    ecn: ScreamEcn,
    reduce_jitter: bool,
    loss_threshold: f64,
    competing: Option<Competing>,
    qdelay_target_lo: f64,
    mss: f64,
    ref_wnd: f64,
    /// ref_wnd_i, and whether it may be updated.
    inflection: f64,
    inflection_free: bool,
    congestion_at: f64,
    reaction_at: f64,
    /// The last reaction to a loss or a classic mark.
    step_at: f64,
    /// Lost or marked data units since the last reaction.
    loss_detected: bool,
    units_marked: bool,
    loss_rate: f64,
    l4s_alpha: f64,
    l4s_at: f64,
    delivered: f64,
    marked: f64,
    qdelay: f64,
    qdelay_avg: f64,
    qdelay_max_avg: f64,
    qdelay_min_avg: f64,
    qdelay_dev_avg: f64,
    qdelay_at: f64,
    delay_scale: f64,
    qdelay_target: f64,
    /// acked_bitrate, and what has been acknowledged since it was updated.
    acked_bitrate: f64,
    acked: f64,
    acked_at: f64,
    /// max_bytes_in_flight of this round trip and the one before.
    most: f64,
    most_before: f64,
    round_at: f64,
}

impl Window {
    /// What a flow begins with. Times of 0.0 in the draft are a wall clock's: long ago.
    pub fn new(params: &ScreamParams, mss: f64) -> Window {
        let target = params.qdelay_target.as_secs_f64();
        Window {
            ecn: params.ecn,
            reduce_jitter: params.reduce_jitter,
            loss_threshold: params.loss_threshold,
            competing: params.competing_flows.then(Competing::default),
            qdelay_target_lo: target,
            mss,
            ref_wnd: MIN_REF_WND,
            inflection: 1.0,
            inflection_free: true,
            congestion_at: f64::NEG_INFINITY,
            reaction_at: f64::NEG_INFINITY,
            step_at: f64::NEG_INFINITY,
            loss_detected: false,
            units_marked: false,
            loss_rate: 0.0,
            l4s_alpha: 0.0,
            l4s_at: f64::NEG_INFINITY,
            delivered: 0.0,
            marked: 0.0,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_max_avg: target,
            qdelay_min_avg: 0.0,
            qdelay_dev_avg: 0.0,
            qdelay_at: f64::NEG_INFINITY,
            delay_scale: 1.0,
            qdelay_target: target,
            acked_bitrate: 0.0,
            acked: 0.0,
            acked_at: f64::NEG_INFINITY,
            most: 0.0,
            most_before: 0.0,
            round_at: f64::NEG_INFINITY,
        }
    }

    pub fn ref_wnd(&self) -> f64 {
        self.ref_wnd
    }
    pub fn l4s_alpha(&self) -> f64 {
        self.l4s_alpha
    }
    pub fn qdelay(&self) -> f64 {
        self.qdelay
    }
    pub fn qdelay_target(&self) -> f64 {
        self.qdelay_target
    }
    /// ref_wnd_ratio (§4.1.1).
    pub fn ratio(&self) -> f64 {
        (self.mss / self.ref_wnd).min(1.0)
    }

    /// The window for a rate, once the round-trip time is known.
    pub fn begin(&mut self, ref_wnd: f64) {
        self.ref_wnd = ref_wnd.max(MIN_REF_WND);
    }

    /// send_wnd (§4.3.1), with ref_wnd_overhead between its bounds.
    pub fn send_wnd(&self, in_flight: f64) -> f64 {
        let overhead = REF_WND_OVERHEAD_MIN + (REF_WND_OVERHEAD_MAX - REF_WND_OVERHEAD_MIN) * self.delay_scale;
        self.ref_wnd * overhead - in_flight
    }

    /// Data are in flight.
    pub fn on_sent(&mut self, in_flight: f64) {
        self.most = self.most.max(in_flight);
    }

    /// A report has come.
    pub fn on_report(&mut self, event: &Event) {
        self.most = self.most.max(event.in_flight);
        self.acked(event);
        self.delay(event);
        self.losses(event);
        self.marks(event);
        let scale = self.inflection_scale();
        self.reduce(event, scale);
        self.increase(event, scale);
        if event.now - self.round_at >= event.s_rtt {
            (self.most_before, self.most, self.round_at) = (self.most, event.in_flight, event.now);
        }
        debug_assert!(self.ref_wnd.is_finite() && self.ref_wnd >= MIN_REF_WND, "{self:?}");
    }

    /// §4.2.1.3: l4s_alpha, a fast attack and slow decay.
    fn marks(&mut self, event: &Event) {
        self.delivered += event.delivered;
        self.marked += event.marked;
        self.units_marked |= event.marked > 0.0 && self.ecn != ScreamEcn::Off;
        if event.now - self.l4s_at < L4S_UPDATE_S.min(event.s_rtt) || self.delivered == 0.0 {
            return;
        }
        let fraction = self.marked / self.delivered;
        self.l4s_alpha = if fraction >= self.l4s_alpha {
            L4S_AVG_G_UP * fraction + (1.0 - L4S_AVG_G_UP) * self.l4s_alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.l4s_alpha
        };
        (self.l4s_at, self.delivered, self.marked) = (event.now, 0.0, 0.0);
    }

    /// acked_bitrate (§4.5.3).
    fn acked(&mut self, event: &Event) {
        self.acked += event.bytes;
        let took = event.now - self.acked_at;
        if took >= ACKED_INTERVAL_S.max(event.s_rtt) {
            self.acked_bitrate = 8.0 * self.acked / took;
            (self.acked, self.acked_at) = (0.0, event.now);
        }
    }

    /// §4.2.1.4: qdelay_avg, a slow attack and fast decay; and how much the delay varies.
    fn delay(&mut self, event: &Event) {
        let Some(qdelay) = event.qdelay else { return };
        self.qdelay = qdelay;
        if let Some(competing) = &mut self.competing {
            self.qdelay_target = competing.target(event, qdelay, self.qdelay_target_lo, self.qdelay_target);
        }
        if self.reduce_jitter {
            self.qdelay_max_avg = self.qdelay_max_avg.max(qdelay).min(self.qdelay_target);
            self.qdelay_min_avg = self.qdelay_min_avg.min(qdelay);
        }
        if event.now - self.qdelay_at < VIRTUAL_RTT_S.min(event.s_rtt) {
            return;
        }
        self.qdelay_at = event.now;
        self.qdelay_avg = if qdelay < self.qdelay_avg {
            qdelay
        } else {
            QDELAY_AVG_G * qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
        if self.reduce_jitter {
            self.qdelay_max_avg *= 1.0 - QDELAY_MIN_MAX_AVG_G;
            self.qdelay_min_avg += QDELAY_MIN_MAX_AVG_G * (self.qdelay_max_avg - self.qdelay_min_avg);
            let deviation = self.qdelay_max_avg - self.qdelay_min_avg;
            self.qdelay_dev_avg += QDELAY_DEV_AVG_G * (deviation - self.qdelay_dev_avg);
            self.delay_scale = (1.0 - self.qdelay_dev_avg / QDELAY_DEV_THRESHOLD_S).clamp(0.0, 1.0);
        }
    }

    /// §4.5.2: losses count as congestion above a rate, or where the queue grows.
    fn losses(&mut self, event: &Event) {
        let threshold = self.loss_threshold;
        if threshold > 0.0 {
            let alpha = (threshold / 4.0).min(self.mss / self.ref_wnd / 2.0);
            // Data units one after the other, the lost ones last.
            self.loss_rate *= (1.0 - alpha).powf(event.delivered + event.lost);
            self.loss_rate += 1.0 - (1.0 - alpha).powf(event.lost);
        }
        let congested = self.loss_rate > threshold || self.qdelay_avg > self.qdelay_target / 4.0;
        self.loss_detected |= event.lost > 0.0 && (threshold == 0.0 || congested);
    }

    /// scl_t (§4.2.2.1): small near the last known maximum.
    fn inflection_scale(&self) -> f64 {
        let scale = 8.0 * (self.ref_wnd - self.inflection) / self.inflection;
        (scale * scale).clamp(0.1, 1.0)
    }

    /// §4.2.2.1. A loss or a classic mark counts once per round trip (§3.1; `detectLoss` of the authors' implementation):
    /// by the pseudocode it would each VIRTUAL_RTT, and is not scaled by that.
    fn reduce(&mut self, event: &Event, scale: f64) {
        let Event { now, s_rtt, .. } = *event;
        let lost = std::mem::take(&mut self.loss_detected);
        let marked = std::mem::take(&mut self.units_marked);
        if lost || marked {
            self.congestion_at = now;
        }
        if now - self.reaction_at < VIRTUAL_RTT_S.min(s_rtt) {
            // They wait for the next reaction.
            (self.loss_detected, self.units_marked) = (lost, marked);
            return;
        }
        let l4s = self.ecn == ScreamEcn::L4s;
        let whole = now - self.step_at >= s_rtt;
        let (lost, marked) = (lost && whole, marked && (l4s || whole));
        let half = self.qdelay_target / 2.0;
        if !lost && !marked && self.qdelay_avg <= half {
            return;
        }
        if self.inflection_free {
            (self.inflection, self.inflection_free) = (self.ref_wnd, false);
        }
        // Backoff can occur every VIRTUAL_RTT; and a target below what arrives has fallen already (§4.5.3).
        let low = event.target_bitrate < ACKED_BITRATE_MARGIN * self.acked_bitrate;
        let undershoot = if low { BACKOFF_SCALE_LOW_TARGET_RATE } else { 1.0 };
        let per_reaction = undershoot / f64::max(1.0, s_rtt / VIRTUAL_RTT_S);
        self.ref_wnd *= if lost {
            BETA_LOSS
        } else if marked && l4s {
            let mut backoff = self.l4s_alpha / 2.0 * per_reaction;
            if self.qdelay < self.qdelay_target / 4.0 {
                backoff *= scale.max(0.25) * self.delay_scale.max(0.25);
            }
            if now - self.reaction_at > 100.0 * s_rtt.max(VIRTUAL_RTT_S) && self.most_before > 0.0 {
                self.ref_wnd = self.ref_wnd.min(self.most_before);
            }
            1.0 - backoff
        } else if marked {
            BETA_ECN
        } else {
            // l4s_alpha_v_t.
            let virtual_alpha = ((self.qdelay_avg - half) / half).clamp(0.0, 1.0);
            1.0 - virtual_alpha / 2.0 * per_reaction
        };
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.reaction_at = now;
        if lost || marked && !l4s {
            self.step_at = now;
        }
    }

    fn max_allowed(&self) -> f64 {
        self.mss + self.most.max(self.most_before) * BYTES_IN_FLIGHT_HEAD_ROOM
    }

    /// §4.2.2.2.
    fn increase(&mut self, event: &Event, scale: f64) {
        let Event { now, s_rtt, target_bitrate, max_bitrate, .. } = *event;
        let rtt = s_rtt.max(VIRTUAL_RTT_S);
        let post_congestion = ((now - self.congestion_at) / (POST_CONGESTION_DELAY_RTT * rtt)).clamp(0.0, 1.0);
        let multiplicative = MUL_INCREASE_FACTOR * self.ref_wnd / self.mss;
        let increment = (event.bytes - event.bytes_ce).max(0.0)
            * self.ratio()
            * (s_rtt / VIRTUAL_RTT_S).min(1.0)
            * scale.max(0.25)
            * self.delay_scale.max(0.1)
            * (1.0 + multiplicative * post_congestion * scale);
        let grown = self.ref_wnd + increment;
        if increment > 0.0 && grown <= self.max_allowed() && target_bitrate < max_bitrate {
            (self.ref_wnd, self.inflection_free) = (grown, true);
        }
    }

    /// Near the highest rate the window follows what is in flight (§4.2.2.2, by `updateCwnd` of the authors'
    /// implementation): at least what `highest` bytes per round trip need.
    pub fn limit(&mut self, highest: f64) {
        self.ref_wnd = self.ref_wnd.min(self.most.max(self.most_before).max(highest)).max(MIN_REF_WND);
    }
}

/// Competing flows compensation (§4.5.4).
#[derive(Debug, Clone, Default)]
struct Competing {
    /// qdelay over the lowest target, newest last.
    norms: std::collections::VecDeque<f64>,
    norm_at: Option<f64>,
    /// The share of round trips with losses.
    loss_event_rate: f64,
    lost: bool,
    round_at: f64,
}

impl Competing {
    /// adjust_qdelay_target(qdelay), at most every 50 ms.
    fn target(&mut self, event: &Event, qdelay: f64, lowest: f64, current: f64) -> f64 {
        self.lost |= event.lost > 0.0;
        if event.now - self.round_at >= event.s_rtt {
            let found = f64::from(u8::from(std::mem::take(&mut self.lost)));
            self.loss_event_rate += LOSS_EVENT_G * (found - self.loss_event_rate);
            self.round_at = event.now;
        }
        if self.norm_at.is_some_and(|at| event.now - at < NORM_INTERVAL_S) {
            return current;
        }
        self.norm_at = Some(event.now);
        self.norms.push_back(qdelay / lowest);
        if self.norms.len() > NORMS {
            self.norms.pop_front();
        }
        let mean = |norms: &mut dyn ExactSizeIterator<Item = f64>| {
            let count = norms.len() as f64;
            norms.sum::<f64>() / count
        };
        let average = mean(&mut self.norms.iter().copied());
        let variance = mean(&mut self.norms.iter().map(|norm| (norm - average).powi(2)));
        let recent = mean(&mut self.norms.range(self.norms.len().saturating_sub(RECENT_NORMS)..).copied());
        let fresh = (recent + variance.sqrt()) * lowest;
        let target = if self.loss_event_rate > LOSS_EVENT_RATE {
            1.5 * fresh
        } else if variance < 0.2 {
            fresh
        } else if fresh < lowest {
            (current * 0.5).max(fresh)
        } else {
            current * 0.9
        };
        target.min(QDELAY_TARGET_HI_S).max(lowest)
    }
}
