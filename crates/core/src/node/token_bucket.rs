//! A token bucket that shapes: packets wait, none is dropped.

use crate::units::{Rate, Time, TxClock};

/// Bits per second times picoseconds in a byte.
const BYTE: i128 = 8 * 1_000_000_000_000;

/// A transmitter that sends at the link's rate while its bucket has tokens. A packet that finds too few is sent all the
/// same, and the next one waits until they are there: in the long run the rate is the bucket's exactly.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    line: TxClock,
    rate: Rate,
    most: i128,
    tokens: i128,
    filled: Time,
}

impl TokenBucket {
    /// Full at the start: `burst` bytes at `line`, then `rate`.
    pub fn new(line: Rate, rate: Rate, burst: u64) -> TokenBucket {
        let most = i128::from(burst) * BYTE;
        TokenBucket { line: TxClock::new(line), rate, most, tokens: most, filled: Time::ZERO }
    }

    /// Takes a packet now: when its last bit leaves, and when the next may begin.
    pub(super) fn send(&mut self, size: u32, now: Time) -> (Time, Time) {
        let brought = i128::from(now.saturating_sub(self.filled).0) * i128::from(self.rate.0);
        self.tokens = (self.tokens + brought).min(self.most) - i128::from(size) * BYTE;
        debug_assert!(self.tokens <= self.most && now >= self.filled, "a bucket holds no more than its burst");
        self.filled = now;
        let end = now + self.line.time(size);
        let missing = u128::try_from(-self.tokens).unwrap_or(0).div_ceil(u128::from(self.rate.0));
        (end, end.max(now.saturating_add(Time(u64::try_from(missing).unwrap_or(u64::MAX)))))
    }
}
