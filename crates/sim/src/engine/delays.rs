//! One-way delays of datagrams, flow by flow.

use std::sync::Arc;

use midpath_core::packet::{FlowId, Packet};
use midpath_core::stats::DelayHistogram;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

/// What datagrams of one flow took from their application to their receiver's.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// All of them.
    pub histogram: DelayHistogram,
    /// The least.
    pub min: Time,
    /// Sum of |D(i−1, i)|, the differences between one and the next in order of arrival.
    variation: u128,
    last: Time,
    /// How many were late.
    pub late: u64,
}

impl Delays {
    /// One more; above `late_after` it is late.
    pub fn add(&mut self, delay: Time, late_after: Time) {
        if self.histogram.count() == 0 {
            self.min = delay;
        } else {
            self.min = self.min.min(delay);
            self.variation += u128::from(delay.0.abs_diff(self.last.0));
        }
        self.last = delay;
        self.late += u64::from(delay > late_after);
        self.histogram.add(delay);
    }

    /// Mean of |D(i−1, i)| in seconds: RFC 3550's jitter is the moving average of the same (§6.4.1).
    pub fn jitter(&self) -> Option<f64> {
        let differences = self.histogram.count().checked_sub(1).filter(|n| *n > 0)?;
        Some(self.variation as f64 / 1e12 / differences as f64)
    }

    /// A quantile in seconds, to within a bucket.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.histogram.quantile(q).map(|s| s.max(self.min.as_secs_f64()))
    }
}

/// Those of a part's flows.
#[derive(Debug, Default)]
pub(super) struct AllDelays {
    pub of: FxHashMap<FlowId, Box<Delays>>,
    /// What is late, where flows say so.
    pub late_after: Arc<FxHashMap<FlowId, Time>>,
}

impl AllDelays {
    /// A datagram has reached its receiver.
    #[inline(never)]
    pub fn arrived(&mut self, packet: &Packet, sent: Time, now: Time) {
        let late_after = self.late_after.get(&packet.flow).copied().unwrap_or(Time::MAX);
        self.of.entry(packet.flow).or_default().add(now.saturating_sub(sent), late_after);
    }
}
