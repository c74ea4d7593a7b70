//! Bursts that find the capacity at the start (`probe_controller.cc`, `probe_bitrate_estimator.cc`). Bits per second,
//! seconds.

use std::collections::VecDeque;

/// Multiples of the start rate: `first_exponential_probe_scale`, `second_exponential_probe_scale`.
const FIRST: [f64; 2] = [3.0, 6.0];
/// A result above this share of the last probe has another, of twice the result: `further_probe_threshold`,
/// `further_exponential_probe_scale`.
const ENOUGH: f64 = 0.7;
const FURTHER: f64 = 2.0;
/// A result is waited for so long: `kMaxWaitingTimeForProbingResult`.
const PATIENCE_S: f64 = 1.0;
/// A result is of so many data units: four fifths of a probe's.
const UNITS: u32 = 4;
/// Beyond this they were not sent, or did not come, as a burst: `kMaxProbeInterval`. What came faster than it was sent,
/// twice, says nothing: `kMaxValidRatio`.
const LONGEST_S: f64 = 1.0;
const MOST_FASTER: f64 = 2.0;
/// What came slower than this share was slowed by the path, of which this share is used: `kMinRatioForUnsaturatedLink`,
/// `kTargetUtilizationFraction`.
const UNSATURATED: f64 = 0.9;
const USED: f64 = 0.95;

/// Data units of one probe that have come.
#[derive(Debug, Clone, Copy, Default)]
struct Cluster {
    number: u32,
    /// Whether one has come since it was last asked.
    fresh: bool,
    units: u32,
    bytes: f64,
    sent: (f64, f64),
    came: (f64, f64),
    /// Of the one that was sent last, and that came first.
    last_size: f64,
    first_size: f64,
}

impl Cluster {
    fn add(&mut self, size: f64, sent: f64, came: f64) {
        if self.units == 0 {
            (self.sent, self.came, self.first_size) = ((sent, sent), (came, came), size);
        }
        (self.units, self.bytes, self.fresh) = (self.units + 1, self.bytes + size, true);
        self.sent.0 = self.sent.0.min(sent);
        if sent >= self.sent.1 {
            (self.sent.1, self.last_size) = (sent, size);
        }
        if came < self.came.0 {
            (self.came.0, self.first_size) = (came, size);
        }
        self.came.1 = self.came.1.max(came);
    }

    fn rate(&self) -> Option<f64> {
        let span = |(from, to): (f64, f64)| Some(to - from).filter(|span| *span > 0.0 && *span <= LONGEST_S);
        let sent = 8.0 * (self.bytes - self.last_size) / span(self.sent)?;
        let came = 8.0 * (self.bytes - self.first_size) / span(self.came)?;
        let rate = if came < UNSATURATED * sent { USED * came } else { came.min(sent) };
        (self.units >= UNITS && came <= MOST_FASTER * sent).then_some(rate)
    }
}

/// Probes that are to be sent, and what the last one has found.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    next: VecDeque<f64>,
    max: f64,
    /// A result above this has another probe, if it comes until then.
    further: Option<(f64, f64)>,
    cluster: Cluster,
}

impl Probes {
    pub fn new(start: f64, max: f64) -> Probes {
        let next = FIRST.iter().map(|times| (times * start).min(max)).collect();
        Probes { next, max, further: None, cluster: Cluster::default() }
    }

    /// The rate of the next one, which is sent now.
    pub fn next(&mut self, now: f64) -> Option<f64> {
        let rate = self.next.pop_front()?;
        // The highest rate has none beyond.
        self.further = (rate < self.max).then_some((ENOUGH * rate, now + PATIENCE_S));
        Some(rate)
    }

    /// A data unit of one has come.
    pub fn add(&mut self, number: u32, size: u32, sent: f64, came: f64) {
        if number != self.cluster.number {
            self.cluster = Cluster { number, ..Cluster::default() };
        }
        self.cluster.add(size.into(), sent, came);
    }

    /// What the last one has found, where more of it has come.
    pub fn result(&mut self, now: f64) -> Option<f64> {
        let fresh = std::mem::take(&mut self.cluster.fresh);
        let rate = self.cluster.rate().filter(|_| fresh)?;
        if self.next.is_empty() && self.further.take_if(|(above, until)| rate > *above && now <= *until).is_some() {
            self.next.push_back((FURTHER * rate).min(self.max));
        }
        Some(rate.min(self.max))
    }
}
