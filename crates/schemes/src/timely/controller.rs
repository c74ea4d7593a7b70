//! The controller's callbacks. Rates are in bytes of payload per second; pacing includes headers.

use midpath_core::units::{Rate, Time};

use super::equations::{Path, State};
use super::params::TimelyParams;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, Opening, Window, shortest};

/// The paper's δ and thresholds, in shortest round trips and packets of its 20 us and 10 Gbps.
const DELTA_PACKETS: f64 = 1.0 / 60.0;
const T_LOW: f64 = 2.5;
const T_HIGH: f64 = 25.0;

/// The window is what the rate sends in so many round trips: the rate limits, an outage is not filled. Ours.
const ROUND_TRIPS: f64 = 2.0;

/// A rate that follows the gradient of the round-trip time.
#[derive(Debug, Clone, Copy)]
pub struct Timely {
    params: TimelyParams,
    state: State,
    /// The shortest round trip measured; zero before the first.
    min_rtt: Time,
    /// An ACK beyond this is the next completion event.
    round: u64,
    mss: f64,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Timely {
    pub(super) fn new(params: TimelyParams) -> Timely {
        Timely { params, state: State::new(0.0), min_rtt: Time::ZERO, round: 0, mss: 0.0, wire: 1.0 }
    }

    fn path(&self) -> Path {
        let TimelyParams { alpha, beta, t_low, t_high, delta, .. } = self.params;
        let min_rtt = self.min_rtt.as_secs_f64();
        let t_low = t_low.map_or(T_LOW * min_rtt, Time::as_secs_f64);
        let t_high = t_high.map_or(T_HIGH * min_rtt, Time::as_secs_f64);
        let delta = delta.map_or(DELTA_PACKETS * self.mss / min_rtt, |d| d.0 as f64 / 8.0 / self.wire);
        Path { alpha, beta, t_low, t_high: t_high.max(t_low), min_rtt, delta }
    }

    /// The first round trip is known: the rate that TCP's first window is.
    fn begin(&mut self, window: &Window) {
        if self.state.rate == 0.0 && !self.min_rtt.is_zero() {
            self.state = State::new(window.cwnd as f64 / self.min_rtt.as_secs_f64());
        }
    }

    fn window(&self, srtt: Time) -> u64 {
        (ROUND_TRIPS * self.state.rate * srtt.max(self.min_rtt).as_secs_f64()) as u64
    }
}

impl NetworkAssisted for Timely {}

impl CongestionController for Timely {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.mss = window.mss as f64;
        self.wire = (window.mss + opening.overhead) as f64 / self.mss;
        self.min_rtt = opening.srtt;
        self.begin(window);
    }

    /// A completion event per round trip, as in the artefact; the paper has one per segment of 16 to 64 kB.
    fn on_delivery(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.min_rtt = shortest(self.min_rtt, rtt);
        self.begin(window);
        if ack.una > self.round {
            self.round = ack.nxt;
            self.state.complete(&self.path(), rtt.as_secs_f64());
            window.set(self.window(ack.srtt).max(window.mss));
        }
    }

    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        let before = self.state.rate;
        if before > 0.0 {
            self.state.halve(&self.path());
        }
        let share = if before > 0.0 { self.state.rate / before } else { 0.5 };
        ((window.cwnd as f64 * share) as u64).max(window.mss)
    }

    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.on_loss(window, congestion)
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        (self.state.rate > 0.0).then(|| Rate(((8.0 * self.state.rate * self.wire) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let gradient = if self.min_rtt.is_zero() { 0.0 } else { self.state.gradient(self.min_rtt.as_secs_f64()) };
        out.extend([("rate_bps", 8.0 * self.state.rate), ("gradient", gradient)]);
    }
}
