//! A token bucket that shapes: packets wait for their tokens.

use crate::units::{Rate, Time, TxClock};

/// Bits per second times picoseconds in a byte.
const BYTE: i128 = 8 * 1_000_000_000_000;

/// A transmitter that sends at the link's rate while its bucket has tokens, and a packet of which some are missing waits for
/// none of them but lets the next one wait: in the long run it sends at the bucket's rate exactly.
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
        self.filled = now;
        let end = now + self.line.time(size);
        let missing = u128::try_from(-self.tokens).unwrap_or(0).div_ceil(u128::from(self.rate.0));
        (end, end.max(now.saturating_add(Time(u64::try_from(missing).unwrap_or(u64::MAX)))))
    }
}
