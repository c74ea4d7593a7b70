//! The controller's callbacks. It also acts as the notification point: it turns the marks that ACKs count into one
//! notification per N. Rates are in bytes of payload per second; pacing includes headers.

use midpath_core::units::{Rate, Time};

use super::equations::{Gains, Round, State};
use super::params::DcqcnParams;
use crate::transport::UNLIMITED;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, Opening, Window, shortest};

/// N, T and K of the paper: §3.1, table 14.
const CNP_INTERVAL: Time = Time::from_us(50);
const TIMER: Time = Time::from_us(55);
/// The paper's 40 Mbps in packets of 1500 bytes per 55 us.
const ADDITIVE_PACKETS: f64 = 40e6 * 55e-6 / (8.0 * 1500.0);
/// R_HAI over R_AI.
const HYPER: f64 = 10.0;

/// The host's link is not known: the target is at most so many times what was delivered at most in a round
/// trip. Ours.
const BEYOND_DELIVERED: f64 = 2.0;

/// A rate that marks cut, and that recovers by a timer and a byte counter.
#[derive(Debug, Clone, Copy)]
pub struct Dcqcn {
    params: DcqcnParams,
    state: State,
    /// The shortest round trip measured; zero before the first.
    min_rtt: Time,
    /// A notification counts from then on; α falls, and the rate grows, then.
    cnp_at: Time,
    calm_at: Time,
    grow_at: Time,
    /// Bytes delivered since the byte counter went round.
    counted: u64,
    /// An ACK beyond this ends a round trip, which began then with so much delivered since.
    round: u64,
    began: Time,
    delivered: u64,
    /// The most that was delivered in a round trip, per second.
    most: f64,
    mss: f64,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Dcqcn {
    pub(super) fn new(params: DcqcnParams) -> Dcqcn {
        Dcqcn {
            params,
            state: State::new(0.0),
            min_rtt: Time::ZERO,
            cnp_at: Time::ZERO,
            calm_at: Time::ZERO,
            grow_at: Time::ZERO,
            counted: 0,
            round: 0,
            began: Time::ZERO,
            delivered: 0,
            most: 0.0,
            mss: 0.0,
            wire: 1.0,
        }
    }

    fn timer(&self) -> Time {
        self.params.timer.unwrap_or(TIMER.max(self.min_rtt))
    }

    fn gains(&self) -> Gains {
        let bytes = |rate: Rate| rate.0 as f64 / 8.0 / self.wire;
        let additive = self.params.rate_ai.map_or(ADDITIVE_PACKETS * self.mss / self.timer().as_secs_f64(), bytes);
        let hyper = self.params.rate_hai.map_or(HYPER * additive, bytes);
        let most = (BEYOND_DELIVERED * self.most).max(self.state.current);
        Gains { g: self.params.g, fast_recovery: self.params.fast_recovery, additive, hyper, most }
    }

    /// The first round trip is known: the rate that TCP's first window is.
    fn begin(&mut self, window: &Window, now: Time) {
        if self.state.current == 0.0 && !self.min_rtt.is_zero() {
            self.state = State::new(window.cwnd as f64 / self.min_rtt.as_secs_f64());
            (self.began, self.calm_at) = (now, now.saturating_add(self.timer()));
            self.grow_at = self.calm_at;
        }
    }

    /// A notification, if N has gone since the one before.
    fn notify(&mut self, now: Time) {
        if now < self.cnp_at || self.state.current == 0.0 {
            return;
        }
        let gains = self.gains();
        self.state.cut(&gains);
        // Ours: an R_AI is the least, for what is less is added at once.
        self.state.current = self.state.current.max(gains.additive);
        self.cnp_at = now.saturating_add(self.params.cnp_interval.unwrap_or(CNP_INTERVAL.max(self.min_rtt)));
        self.calm_at = now.saturating_add(self.timer());
        (self.grow_at, self.counted) = (self.calm_at, 0);
    }

    /// The timers, as far as ACKs show the time: at most one increase for each.
    fn tick(&mut self, ack: &Ack) {
        let (gains, timer) = (self.gains(), self.timer());
        if ack.now >= self.calm_at {
            let late = ack.now.saturating_sub(self.calm_at).as_ns() / timer.as_ns().max(1);
            self.state.calm(&gains, i32::try_from(late + 1).unwrap_or(i32::MAX));
            self.calm_at = ack.now.saturating_add(timer);
        }
        if ack.now >= self.grow_at {
            self.state.increase(&gains, Round::Timer);
            self.grow_at = ack.now.saturating_add(timer);
        }
        self.counted += ack.delivered;
        if self.counted >= self.params.byte_counter.0 {
            self.counted -= self.params.byte_counter.0;
            self.state.increase(&gains, Round::Bytes);
        }
    }

    fn count(&mut self, ack: &Ack) {
        self.delivered += ack.delivered;
        if ack.una > self.round {
            let seconds = ack.now.saturating_sub(self.began).max(self.min_rtt).as_secs_f64();
            self.most = self.most.max(self.delivered as f64 / seconds);
            (self.round, self.began, self.delivered) = (ack.nxt, ack.now, 0);
        }
    }

    fn window(&self, window: &Window) -> u64 {
        if self.params.window_rtts == 0 {
            return window.mss * u64::from(UNLIMITED);
        }
        let bytes = f64::from(self.params.window_rtts) * self.state.current * self.min_rtt.as_secs_f64();
        (bytes as u64).max(window.mss)
    }
}

impl NetworkAssisted for Dcqcn {}

impl CongestionController for Dcqcn {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.mss = window.mss as f64;
        self.wire = (window.mss + opening.overhead) as f64 / self.mss;
        self.min_rtt = opening.srtt;
        self.begin(window, opening.now);
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = shortest(self.min_rtt, rtt);
        }
        self.begin(window, ack.now);
        if self.state.current == 0.0 {
            return;
        }
        self.count(ack);
        if ack.marks > 0 {
            self.notify(ack.now);
        }
        self.tick(ack);
        window.set(self.window(window));
    }

    /// DCQCN's networks lose nothing; elsewhere a loss is a notification. Ours.
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.notify(congestion.now);
        if self.state.current == 0.0 { window.cwnd / 2 } else { self.window(window) }
    }

    /// What was marked was answered as it was delivered.
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        let rate = self.state.current;
        (rate > 0.0).then(|| Rate(((8.0 * rate * self.wire) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let State { current, target, alpha, .. } = self.state;
        out.extend([("rate_bps", 8.0 * current), ("target_bps", 8.0 * target), ("alpha", alpha)]);
    }
}
