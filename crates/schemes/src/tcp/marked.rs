//! The share of marked bytes, as RFC 8257, §3.3 estimates it: DCTCP's, and Prague's.

use midpath_core::spec::SpecError;

use super::equations;
use crate::params::require;
use crate::transport::cc::Ack;

/// The estimate, and what has been delivered since it was last brought up to date: in a round that is two windows at
/// most, so less than 2^32 bytes. More may be said to be marked, and then all is.
#[derive(Debug, Clone, Copy)]
pub struct MarkedShare {
    /// DCTCP.Alpha.
    alpha: f64,
    /// DCTCP.WindowEnd: SND.NXT when the round began.
    round_end: u64,
    /// DCTCP.BytesAcked.
    acked: u32,
    /// DCTCP.BytesMarked.
    marked: u32,
}

impl MarkedShare {
    /// Before the first round: `alpha` is guessed.
    pub fn new(alpha: f64) -> MarkedShare {
        MarkedShare { alpha, round_end: 0, acked: 0, marked: 0 }
    }

    /// Refuses parameters that are no weight and no share.
    pub fn check(g: f64, initial_alpha: f64) -> Result<(), SpecError> {
        require(g > 0.0 && g <= 1.0, "g", "above 0 and at most 1")?;
        require((0.0..=1.0).contains(&initial_alpha), "initial_alpha", "from 0 to 1")
    }

    /// The estimated share of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Steps 1 to 3. What SACK reports counts when it is reported, once.
    #[inline]
    pub fn count(&mut self, ack: &Ack) {
        self.acked = added(self.acked, ack.delivered);
        self.marked = added(self.marked, ack.marked);
    }

    /// Step 4: whether all that was under way when the round began is acknowledged.
    #[inline]
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una > self.round_end && self.acked > 0
    }

    /// Steps 5 and 6: M = marked / acked counts into the estimate, with weight `g`.
    pub fn learn(&mut self, g: f64) {
        debug_assert!(self.acked > 0, "a round in which nothing was delivered");
        let m = (f64::from(self.marked) / f64::from(self.acked)).min(1.0);
        self.alpha = equations::dctcp_alpha(self.alpha, g, m).clamp(0.0, 1.0);
    }

    /// Steps 7 and 8: another round begins.
    pub fn begin(&mut self, ack: &Ack) {
        (self.acked, self.marked, self.round_end) = (0, 0, ack.nxt);
    }
}

/// A sum, at most what fits.
#[inline]
pub(super) fn added(sum: u32, bytes: u64) -> u32 {
    (u64::from(sum) + bytes).min(u32::MAX.into()) as u32
}
