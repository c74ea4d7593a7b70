//! As_hat, the loss-based rate (§6; `send_side_bandwidth_estimation.cc`). Bits per second, seconds.

use std::collections::VecDeque;

/// p below which it grows, and above which it falls (§6).
const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
/// A share of losses is of so many packets at least: `kLimitNumPackets`.
const PACKETS: u64 = 20;
/// Growth is over the least rate of this time, and decreases are so far apart, beside a round trip:
/// `kBweIncreaseInterval`, `kBweDecreaseInterval`.
const INCREASE_S: f64 = 1.0;
const DECREASE_S: f64 = 0.3;
/// So that the least rates grow, too: `UpdateEstimate`.
const EXTRA: f64 = 1000.0;
/// Until then, and without losses, the delay-based rate alone counts: `kStartPhase`.
const START_S: f64 = 2.0;

/// The rate, which is never above the delay-based one.
#[derive(Debug, Clone)]
pub struct LossBased {
    growth: f64,
    min: f64,
    max: f64,
    rate: f64,
    lost: u64,
    packets: u64,
    /// p of the last packets that were enough, which has not had a decrease.
    share: Option<f64>,
    unanswered: bool,
    began: Option<f64>,
    decreased: Option<f64>,
    /// Rates of the last second, the least first.
    least: VecDeque<(f64, f64)>,
}

impl LossBased {
    pub fn new(start: f64, min: f64, max: f64, growth: f64) -> LossBased {
        LossBased {
            growth,
            min,
            max,
            rate: start.clamp(min, max),
            lost: 0,
            packets: 0,
            share: None,
            unanswered: false,
            began: None,
            decreased: None,
            least: VecDeque::new(),
        }
    }
    pub fn rate(&self) -> f64 {
        self.rate
    }
    pub fn share(&self) -> f64 {
        self.share.unwrap_or(0.0)
    }

    /// A report: of so many data units some were lost. The delay-based rate bounds it.
    pub fn update(&mut self, lost: u64, packets: u64, delay_based: f64, rtt: f64, now: f64) {
        (self.lost, self.packets) = (self.lost + lost, self.packets + packets);
        if self.packets >= PACKETS {
            (self.share, self.unanswered) = (Some(self.lost as f64 / self.packets as f64), true);
            (self.lost, self.packets) = (0, 0);
        }
        let (began, least) = (*self.began.get_or_insert(now), self.least(now));
        let next = match self.share {
            _ if self.share() == 0.0 && now - began < START_S => self.rate.max(delay_based),
            None => self.rate,
            Some(share) if share <= LOW => self.growth * least + EXTRA,
            Some(share) if share > HIGH && self.may_decrease(rtt, now) => {
                (self.unanswered, self.decreased) = (false, Some(now));
                self.rate * (1.0 - 0.5 * share)
            }
            Some(_) => self.rate,
        };
        self.set(next.min(delay_based));
    }

    /// A probe's result.
    pub fn begin(&mut self, rate: f64) {
        self.set(rate);
        self.least.clear();
    }

    /// Nothing is heard of the receiver.
    pub fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(self.min, self.max);
    }

    fn may_decrease(&self, rtt: f64, now: f64) -> bool {
        self.unanswered && self.decreased.is_none_or(|at| now - at >= DECREASE_S + rtt)
    }

    /// The least rate of the last second.
    fn least(&mut self, now: f64) -> f64 {
        while self.least.front().is_some_and(|(at, _)| now - at > INCREASE_S) {
            self.least.pop_front();
        }
        while self.least.back().is_some_and(|(_, rate)| self.rate <= *rate) {
            self.least.pop_back();
        }
        self.least.push_back((now, self.rate));
        self.least[0].1
    }
}
