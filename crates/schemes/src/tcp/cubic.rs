//! CUBIC: RFC 9438.

use std::sync::Arc;

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};

use super::equations;
use crate::params::{require, share};
use crate::transport::TcpTable;
use crate::transport::cc::{Ack, Congestion, CongestionController, ControllerConfig, NetworkAssisted, Pause, Window};
use crate::transport::growth::Growth;
use crate::transport::params::{HyStartRule, TcpParams};

/// The parameters of `cubic`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CubicParams {
    /// What all TCPs share.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// C, in segments per cubic second. 0.4 is RFC 9438, §5.1.
    pub c: f64,
    /// The window after a congestion event, as a share of that before. 0.7 is RFC 9438, §4.6.
    #[serde(deserialize_with = "share")]
    pub beta: f64,
    /// Fast convergence (RFC 9438, §4.7).
    pub fast_convergence: bool,
    /// At least as fast as Reno (RFC 9438, §4.3).
    pub tcp_friendly: bool,
}

impl Default for CubicParams {
    fn default() -> CubicParams {
        let Constants { c, beta, fast_convergence, tcp_friendly } = Constants::RFC9438;
        CubicParams { tcp: TcpParams::default(), c, beta, fast_convergence, tcp_friendly }
    }
}

impl TcpTable for CubicParams {
    type Config = CubicConfig;
    fn split(self) -> Result<(TcpParams, CubicConfig), SpecError> {
        require(self.c.is_finite() && self.c > 0.0, "c", "a positive number")?;
        require(self.beta > 0.0 && self.beta < 1.0, "beta", "above 0 and below 1")?;
        let constants = Constants {
            c: self.c,
            beta: self.beta,
            fast_convergence: self.fast_convergence,
            tcp_friendly: self.tcp_friendly,
        };
        let others = (constants != Constants::RFC9438).then(|| Arc::new(constants));
        Ok((self.tcp, CubicConfig(others)))
    }
}

/// Builds [`Cubic`]: with other constants than RFC 9438's, if there are any.
#[derive(Debug, Clone)]
pub struct CubicConfig(Option<Arc<Constants>>);

/// What all flows share.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Constants {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    tcp_friendly: bool,
}

impl Constants {
    const RFC9438: Constants = Constants { c: 0.4, beta: 0.7, fast_convergence: true, tcp_friendly: true };
}

impl ControllerConfig for CubicConfig {
    type Controller = Cubic;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Cubic {
        // §4.10: CUBIC SHOULD use HyStart++.
        let mut growth: Growth<Stage> = Growth::new(tcp, mss, HyStartRule::Rfc9406);
        if self.0.is_some() {
            growth.own_mut().constants.clone_from(&self.0);
        }
        Cubic { growth }
    }
}

/// Linux's `bictcp_update`: "the initial growth of cubic function may be too conservative when the available
/// bandwidth is still unknown". A segment for as many at least.
const SEARCH_PER: f64 = 20.0;

/// Grows as a cubic function of the time since the last congestion event.
#[derive(Debug, Clone)]
pub struct Cubic {
    growth: Growth<Stage>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Cubic>() == size_of::<Growth>());

/// A stage of congestion avoidance. Windows are in segments, times in seconds.
#[derive(Debug, Clone)]
struct Stage {
    /// W_max: the window before the last reduction, lowered by fast convergence.
    w_max: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// W_est: what Reno's window would be.
    w_est: f64,
    /// K: seconds from the start of the epoch to W_max.
    k: f64,
    /// When the present stage of congestion avoidance began; [`Time::MAX`] before its first ACK.
    epoch: Time,
    /// When the last ACK came.
    seen: Time,
    /// Whether the stage that begins next returns to W_max (after fast recovery) or starts from
    /// where it is.
    from_max: bool,
    /// No loss has shown a maximum since the start, or since a timeout.
    searching: bool,
    /// What was so before the last reduction (§4.9).
    before: Option<Box<Growth<Stage>>>,
    /// Other constants than RFC 9438's.
    constants: Option<Arc<Constants>>,
}

impl Default for Stage {
    fn default() -> Stage {
        Stage {
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k: 0.0,
            epoch: Time::MAX,
            seen: Time::ZERO,
            from_max: false,
            searching: true,
            before: None,
            constants: None,
        }
    }
}

impl Stage {
    fn constants(&self) -> Constants {
        self.constants.as_deref().copied().unwrap_or(Constants::RFC9438)
    }

    /// The window at t, in segments.
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        equations::w_cubic(c, t, self.k, self.w_max)
    }

    /// Begins a stage of congestion avoidance.
    fn begin(&mut self, c: f64, window: &Window, now: Time) {
        let cwnd = window.segments();
        if self.from_max && cwnd < self.w_max {
            self.k = equations::k(c, self.w_max, cwnd);
        } else {
            // §4.8 and §4.10: after a timeout, or slow start that ended without loss, K = 0 and
            // W_max = cwnd.
            self.k = 0.0;
            self.w_max = cwnd;
        }
        self.w_est = cwnd;
        (self.epoch, self.seen) = (now, now);
        self.from_max = false;
    }

    /// §4.3, equation 4: W_est grows by alpha * segments_acked / cwnd.
    fn estimate_reno(&mut self, beta: f64, cwnd: f64, segments: f64) {
        let alpha = if self.w_est < self.cwnd_prior { equations::alpha_cubic(beta) } else { 1.0 };
        self.w_est = equations::w_est(self.w_est, alpha, segments, cwnd);
    }
}

impl Cubic {
    /// §4.2 to §4.5: congestion avoidance on `acked` bytes.
    fn avoid(&mut self, window: &mut Window, acked: u64, ack: &Ack) {
        let by_linux = self.growth.is_linux();
        let stage = self.growth.own_mut();
        let Constants { c, beta, tcp_friendly, .. } = stage.constants();
        if stage.epoch == Time::MAX {
            stage.begin(c, window, ack.now);
        }
        let t = ack.now.saturating_sub(stage.epoch).as_secs_f64();
        debug_assert!(stage.epoch <= ack.now && stage.k >= 0.0 && stage.w_est > 0.0, "{stage:?}");
        let cwnd = window.segments();
        let segments = acked as f64 / window.mss as f64;
        stage.estimate_reno(beta, cwnd, segments);
        let least = if stage.searching && by_linux { segments / SEARCH_PER } else { 0.0 };
        // §4.3: in the Reno-friendly region cwnd is W_est.
        if tcp_friendly && stage.w_cubic(c, t) < stage.w_est {
            return window.grow((stage.w_est - cwnd).max(least) * window.mss as f64);
        }
        // §4.4, §4.5: cwnd += (target - cwnd) / cwnd per segment.
        let target = equations::target(stage.w_cubic(c, t + ack.srtt.as_secs_f64()), cwnd);
        window.grow(((target - cwnd) / cwnd * segments).max(least) * window.mss as f64);
    }

    /// The time since the last ACK does not count.
    fn skip_to(&mut self, now: Time) {
        let Some(stage) = self.growth.known_own() else { return };
        if stage.epoch < Time::MAX {
            stage.epoch = stage.epoch.saturating_add(now.saturating_sub(stage.seen)).min(now);
        }
        stage.seen = now;
    }

    /// §4.6 and §4.7: remembers the window and returns the new threshold.
    fn reduce(&mut self, window: &Window, flight: u64) -> u64 {
        self.growth.own_mut().before = None;
        let before = Box::new(self.growth.clone());
        let stage = self.growth.own_mut();
        let Constants { beta, fast_convergence, .. } = stage.constants();
        stage.before = Some(before);
        let cwnd = window.segments();
        let falling = cwnd < stage.w_max;
        stage.w_max = if falling && fast_convergence { equations::w_max_released(cwnd, beta) } else { cwnd };
        stage.cwnd_prior = cwnd;
        stage.epoch = Time::MAX;
        (stage.from_max, stage.searching) = (true, false);
        self.growth.restart();
        (flight as f64 * beta) as u64
    }
}

impl NetworkAssisted for Cubic {}

impl CongestionController for Cubic {
    const DONE_WITH_DATA: bool = true;

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(stage) = self.growth.known_own() {
            stage.seen = ack.now;
        }
        let left = if window.in_slow_start() { self.growth.slow_start(window, ack) } else { ack.acked };
        if left > 0 {
            self.avoid(window, left, ack);
        }
    }
    fn on_unlimited_ack(&mut self, ack: &Ack) {
        // §5.8: time in which the window was not the limit does not count towards t.
        self.skip_to(ack.now);
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        if congestion.ecn_reduced {
            return window.ssthresh; // RFC 3168, §6.1.2: no second reduction for one window of data.
        }
        self.reduce(window, congestion.flight)
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let ssthresh = self.reduce(window, congestion.flight);
        let stage = self.growth.own_mut();
        (stage.from_max, stage.searching) = (false, true); // §4.8
        self.growth.restart_slowly(congestion.now);
        ssthresh
    }
    fn on_restart(&mut self, window: &mut Window, pause: &Pause) {
        // §5.8: nor does a pause.
        self.skip_to(pause.now);
        if pause.idle > pause.rto {
            window.restart(pause.initial);
        }
    }
    fn on_undo(&mut self, _window: &mut Window) {
        // §4.9: the stage goes on as if nothing had happened.
        let Some(stage) = self.growth.known_own() else { return };
        let seen = stage.seen;
        if let Some(before) = stage.before.take() {
            self.growth = *before;
            self.growth.own_mut().seen = seen;
        }
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        // §4.6: ECN-Echo is a congestion event like a loss; cwnd stands for the flight, as RFC 3168
        // has it.
        let ssthresh = self.reduce(window, window.cwnd);
        self.growth.own_mut().before = None; // a mark is never spurious
        ssthresh
    }
}
