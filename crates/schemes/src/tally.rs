//! What an active end counts of its flow, without repeats and timeouts, which few flows have.

use midpath_core::roles::FlowReport;
use midpath_core::units::Time;

/// A part of the [`FlowReport`], in half of its bytes: each flow keeps one. Packed, for it stands beside others of 32 bits.
#[derive(Debug, Clone, Copy, Default)]
#[repr(Rust, packed(4))]
pub struct Tally {
    /// Packets sent that carry payload, or ask for some, repeats included.
    pub sent: u64,
    pub rtt_min: Time,
    rtt_max: Time,
    /// The sum of round trips, of which 64 bits are 213 days: its lower bits, and those above them.
    rtt_sum: u64,
    rtt_sum_high: u32,
    rtt_count: u64,
}

const _: () = assert!(size_of::<Tally>() == 44);

impl Tally {
    /// Counts a round trip.
    #[inline]
    pub fn rtt(&mut self, rtt: Time) {
        self.rtt_min = if self.rtt_count == 0 { rtt } else { self.rtt_min.min(rtt) };
        self.rtt_max = self.rtt_max.max(rtt);
        let (sum, over) = self.rtt_sum.overflowing_add(rtt.0);
        (self.rtt_sum, self.rtt_sum_high) = (sum, self.rtt_sum_high + u32::from(over));
        self.rtt_count += 1;
    }

    /// What was counted, and the rest of the report from elsewhere.
    pub fn report(&self, rest: FlowReport) -> FlowReport {
        FlowReport {
            sent: self.sent,
            rtt_min: self.rtt_min,
            rtt_max: self.rtt_max,
            rtt_sum: u128::from(self.rtt_sum_high) << 64 | u128::from(self.rtt_sum),
            rtt_count: self.rtt_count,
            ..rest
        }
    }
}
