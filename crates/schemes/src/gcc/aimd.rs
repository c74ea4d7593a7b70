//! A_hat, the delay-based rate (§5.5; `aimd_rate_control.cc`, `link_capacity_estimator.cc`). Bits per second, seconds.

use super::detector::Signal;

/// η (§5.5), and the least step: `MultiplicativeRateIncrease`.
const GROWTH: f64 = 1.08;
const LEAST_STEP: f64 = 1000.0;
/// Frames per second and the packet of the additive increase (§5.5).
const FRAMES: f64 = 30.0;
const PACKET_BITS: f64 = 8.0 * 1200.0;
/// The detector's delay (§5.5), and the least additive increase a second: `GetNearMaxIncreaseRateBpsPerSecond`.
const DETECTOR_S: f64 = 0.1;
const LEAST_GROWTH: f64 = 4000.0;
/// A_hat is at most so many times R_hat (§5.5), and 10 kbps: `ChangeBitrate`.
const BEYOND: f64 = 1.5;
const BEYOND_BPS: f64 = 10_000.0;
/// Decreases are this far apart, by the round trip: `TimeToReduceFurther`.
const APART: (f64, f64) = (0.01, 0.2);
/// Before the first round trip: `kDefaultRtt`.
pub const FIRST_RTT_S: f64 = 0.2;

/// The rate at which over-use happened: an average that forgets, in kilobits per second, and its variance over it.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    estimate: Option<f64>,
    deviation: f64,
}

impl Capacity {
    /// The estimate and what three of its standard deviations are, in bits per second (§5.5).
    fn range(&self) -> Option<(f64, f64)> {
        self.estimate.map(|kbps| (1000.0 * kbps, 3000.0 * (self.deviation * kbps).sqrt()))
    }

    fn on_overuse(&mut self, bps: f64) {
        let sample = bps / 1000.0;
        let estimate = self.estimate.map_or(sample, |old| 0.95 * old + 0.05 * sample);
        let error = estimate - sample;
        self.deviation = (0.95 * self.deviation + 0.05 * error * error / estimate.max(1.0)).clamp(0.4, 2.5);
        self.estimate = Some(estimate);
    }
}

/// The state machine's states (§5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The rate.
#[derive(Debug, Clone, Copy)]
pub struct Aimd {
    backoff: f64,
    min: f64,
    rate: f64,
    state: State,
    capacity: Capacity,
    changed: Option<f64>,
    pub rtt: f64,
}

impl Aimd {
    pub fn new(start: f64, min: f64, backoff: f64) -> Aimd {
        let (state, changed) = (State::Hold, None);
        let capacity = Capacity { estimate: None, deviation: 0.4 };
        Aimd { backoff, min, rate: start.max(min), state, capacity, changed, rtt: FIRST_RTT_S }
    }
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// What the delays say, beside the rate that arrives (`delay_based_bwe.cc`).
    pub fn update(&mut self, signal: Signal, arrives: Option<f64>, now: f64) {
        match (signal, arrives) {
            (Signal::Overuse, Some(arrives)) if self.may_decrease(arrives, now) => self.decrease(arrives, now),
            // Nothing is known yet: half.
            (Signal::Overuse, None) => self.set(self.rate / 2.0, now),
            (Signal::Overuse, _) => {}
            (Signal::Underuse, _) => self.state = State::Hold,
            (Signal::Normal, arrives) => self.increase(arrives.unwrap_or(self.rate), now),
        }
    }

    /// A probe's result, or what else the rate is from now on.
    pub fn set(&mut self, rate: f64, now: f64) {
        (self.rate, self.changed) = (rate.max(self.min), Some(now));
    }

    fn may_decrease(&self, arrives: f64, now: f64) -> bool {
        let apart = self.rtt.clamp(APART.0, APART.1);
        self.changed.is_none_or(|changed| now - changed >= apart) || arrives < 0.5 * self.rate
    }

    fn decrease(&mut self, arrives: f64, now: f64) {
        let mut rate = self.backoff * arrives;
        if rate > self.rate
            && let Some((capacity, _)) = self.capacity.range()
        {
            rate = self.backoff * capacity;
        }
        if self.capacity.range().is_some_and(|(capacity, apart)| arrives < capacity - apart) {
            self.capacity.estimate = None;
        }
        self.capacity.on_overuse(arrives);
        self.state = State::Hold;
        self.set(rate.min(self.rate), now);
    }

    fn increase(&mut self, arrives: f64, now: f64) {
        if self.state == State::Hold {
            (self.state, self.changed) = (State::Increase, Some(now));
        }
        if self.capacity.range().is_some_and(|(capacity, apart)| arrives > capacity + apart) {
            self.capacity.estimate = None;
        }
        let most = BEYOND * arrives + BEYOND_BPS;
        let since = now - self.changed.unwrap_or(now);
        if self.rate < most {
            let step = match self.capacity.estimate {
                Some(_) => self.near_max_growth() * since,
                None => (self.rate * (GROWTH.powf(since.min(1.0)) - 1.0)).max(LEAST_STEP),
            };
            self.rate = (self.rate + step).min(most);
        }
        self.set(self.rate, now);
    }

    /// The additive increase, in bits per second each second: a packet in two response times (§5.5).
    pub fn near_max_growth(&self) -> f64 {
        let frame = self.rate / FRAMES;
        let packet = frame / (frame / PACKET_BITS).ceil();
        (packet / (2.0 * (self.rtt + DETECTOR_S))).max(LEAST_GROWTH)
    }
}
