//! What an active end counts of its flow, without repeats and timeouts, which few flows have.

use midpath_core::roles::FlowReport;
use midpath_core::units::Time;

/// A part of the [`FlowReport`], in half of its bytes: each flow keeps one. Packed, for it stands beside others of 32 bits.
#[derive(Debug, Clone, Copy, Default)]
#[repr(Rust, packed(4))]
pub struct Tally {
    pub rtt_min: Time,
    rtt_max: Time,
    /// The sum of round trips, of which 64 bits are 213 days: its lower bits.
    rtt_sum: u64,
    /// How many there were, and the packets sent that carry payload, or ask for some, repeats included: lower bits.
    rtt_count: u32,
    sent: u32,
    /// The bits above them.
    rtt_sum_high: u16,
    rtt_count_high: u8,
    sent_high: u8,
}

const _: () = assert!(size_of::<Tally>() == 36);

impl Tally {
    /// Counts a round trip.
    #[inline]
    pub fn rtt(&mut self, rtt: Time) {
        self.rtt_min = if self.rtt_count == 0 && self.rtt_count_high == 0 { rtt } else { self.rtt_min.min(rtt) };
        self.rtt_max = self.rtt_max.max(rtt);
        let (sum, over) = self.rtt_sum.overflowing_add(rtt.0);
        (self.rtt_sum, self.rtt_sum_high) = (sum, self.rtt_sum_high + u16::from(over));
        let (count, over) = self.rtt_count.overflowing_add(1);
        (self.rtt_count, self.rtt_count_high) = (count, self.rtt_count_high + u8::from(over));
    }

    /// Counts a packet, if it `counts`.
    #[inline]
    pub fn sent(&mut self, counts: bool) {
        let (sent, over) = self.sent.overflowing_add(counts.into());
        (self.sent, self.sent_high) = (sent, self.sent_high + u8::from(over));
    }

    fn count(low: u32, high: u8) -> u64 {
        u64::from(high) << 32 | u64::from(low)
    }

    /// What was counted, and the rest of the report from elsewhere.
    pub fn report(&self, rest: FlowReport) -> FlowReport {
        FlowReport {
            sent: Tally::count(self.sent, self.sent_high),
            rtt_min: self.rtt_min,
            rtt_max: self.rtt_max,
            rtt_sum: u128::from(self.rtt_sum_high) << 64 | u128::from(self.rtt_sum),
            rtt_count: Tally::count(self.rtt_count, self.rtt_count_high),
            ..rest
        }
    }
}
