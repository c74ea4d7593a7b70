//! GCC as the control of a call: the lower of the delay-based and the loss-based rate (§3).

use midpath_core::packet::Ecn;
use midpath_core::units::{Rate, Time};

use super::aimd::Aimd;
use super::arrivals::Groups;
use super::detector::{Detector, Signal};
use super::filter::{Kalman, Trendline};
use super::loss::LossBased;
use super::params::{GccFilter, GccParams};
use super::probe::Probes;
use super::throughput::Throughput;
use crate::calls::feedback::NTP;
use crate::calls::in_flight::Arrived;
use crate::calls::{CallConfig, CallControl, Encoder, Feedback};

/// Data units leave at this over the target: `kDefaultPaceMultiplier`.
const PACE: f64 = 2.5;
/// Without a report for so long the target falls to this share of itself, every so often: `RttBasedBackoff`.
const SILENCE: Time = Time::from_secs(3);
const EVERY: Time = Time::from_secs(1);
const DROP: f64 = 0.8;
/// The gain of the round-trip time that reordering and gauges go by: RFC 6298.
const RTT_GAIN: f64 = 1.0 / 8.0;

/// What estimates the trend.
#[derive(Debug, Clone)]
enum Filter {
    Trendline(Trendline),
    Kalman(Kalman),
}

/// One call's.
pub struct Gcc {
    max: f64,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    throughput: Throughput,
    delay: Aimd,
    loss: LossBased,
    probes: Probes,
    trend: f64,
    /// The receiver's first time, so that its clock may wrap, and what has gone since, in its ticks.
    clock: Option<(u32, i64)>,
    s_rtt: Option<f64>,
    /// When the last report came, and the last decrease without one.
    reported: Option<Time>,
    dropped: Time,
}

impl CallConfig for GccParams {
    type Control = Gcc;
    fn encoder(&self) -> Encoder {
        let GccParams { max_rate, frames, frame_spread, mss, max_media_delay, .. } = *self;
        Encoder { max_rate, frames, frame_spread, mss, max_media_delay, codepoint: Ecn::NotEct }
    }
    fn control(&self, _mss: u32, max: Rate) -> Gcc {
        let max = max.as_f64();
        let (min, start) = (self.min_rate.as_f64().min(max), self.start_rate.as_f64().min(max));
        Gcc {
            max,
            groups: Groups::default(),
            filter: match self.filter {
                GccFilter::Trendline => Filter::Trendline(Trendline::default()),
                GccFilter::Kalman => Filter::Kalman(Kalman::default()),
            },
            detector: Detector::new(self.k_up, self.k_down),
            throughput: Throughput::default(),
            delay: Aimd::new(start, min, self.backoff),
            loss: LossBased::new(start, min, max, self.loss_growth),
            probes: if self.probing { Probes::new(start, max) } else { Probes::default() },
            trend: 0.0,
            clock: None,
            s_rtt: None,
            reported: None,
            dropped: Time::ZERO,
        }
    }
}

impl Gcc {
    /// The receiver's time in milliseconds.
    fn came(&mut self, at: u32) -> f64 {
        let (last, ticks) = self.clock.unwrap_or((at, 0));
        let ticks = ticks + i64::from(at.wrapping_sub(last) as i32);
        self.clock = Some((at, ticks));
        ticks as f64 * 1000.0 / f64::from(NTP)
    }

    /// A data unit has come.
    fn on_arrival(&mut self, unit: &Arrived) {
        let (came, sent) = (self.came(unit.at), unit.sent);
        self.throughput.add(came, unit.size);
        if unit.probe > 0 {
            self.probes.add(unit.probe, unit.size, sent.as_secs_f64(), came / 1000.0);
        }
        let Some(delta) = self.groups.add(sent.as_secs_f64() * 1000.0, came) else { return };
        let trend = match &mut self.filter {
            Filter::Trendline(line) => line.update(&delta),
            Filter::Kalman(kalman) => Some(kalman.update(&delta)).map(|m| (m, m)),
        };
        if let Some((trend, scaled)) = trend {
            self.trend = scaled;
            self.detector.update(trend, scaled, delta.sent, delta.at);
        }
    }
}

impl CallControl for Gcc {
    fn target(&self) -> f64 {
        self.loss.rate()
    }
    fn pace_rate(&self) -> f64 {
        PACE * self.target()
    }
    fn on_frame(&mut self, _waited: f64, _period: f64, _size: f64, now: Time) {
        let reported = *self.reported.get_or_insert(now);
        if now.saturating_sub(reported) > SILENCE && now.saturating_sub(self.dropped) >= EVERY {
            self.dropped = now;
            self.loss.set(DROP * self.loss.rate());
        }
    }
    fn probe(&mut self, now: Time) -> Option<f64> {
        self.probes.next(now.as_secs_f64())
    }
    fn on_report(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.at.as_secs_f64();
        self.reported = Some(feedback.at);
        if let Some((sent, _)) = feedback.found.newest {
            let rtt = feedback.at.saturating_sub(sent).as_secs_f64();
            self.delay.rtt = rtt;
            self.s_rtt = Some(self.s_rtt.map_or(rtt, |old| old + RTT_GAIN * (rtt - old)));
        }
        for unit in feedback.arrived {
            self.on_arrival(unit);
        }
        let found = self.probes.result(now);
        match found.filter(|_| self.detector.signal() != Signal::Overuse) {
            Some(rate) => {
                self.delay.set(rate, now);
                self.loss.begin(rate);
                self.throughput.expect_change();
            }
            None if feedback.arrived.is_empty() => {}
            None => self.delay.update(self.detector.signal(), self.throughput.bps(), now),
        }
        let packets = feedback.found.delivered + feedback.found.lost;
        self.loss.update(feedback.found.lost, packets, self.delay.rate(), self.delay.rtt, now);
    }
    fn s_rtt(&self) -> f64 {
        self.s_rtt.unwrap_or(self.delay.rtt)
    }
    fn measured_rtt(&self) -> Time {
        Time::from_secs_f64(self.s_rtt.unwrap_or(0.0))
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("delay_based_bps", self.delay.rate().min(self.max)),
            ("arriving_bps", self.throughput.bps().unwrap_or(0.0)),
            ("trend", self.trend),
            ("trend_threshold", self.detector.threshold()),
            ("loss_share", self.loss.share()),
        ]);
    }
}
