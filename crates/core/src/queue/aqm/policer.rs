use super::{Aqm, Verdict, View};
use crate::limit::{Bound, Limit};
use crate::packet::Packet;
use crate::roles::Drop;
use crate::units::{Rate, Time};

/// A token, in what a rate brings in a picosecond.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// Drops on arrival what does not conform to a rate: a token bucket (RFC 2697's committed one) that fills at the rate, is
/// full at the start, and has room for a burst. What conforms is queued as without it.
#[derive(Debug, Clone)]
pub struct Policer {
    rate: Rate,
    most: u128,
    tokens: u128,
    filled: Time,
}

impl Policer {
    /// Of `rate`, with a bucket for `burst`; a time is that much at the rate.
    pub fn new(rate: Rate, burst: Limit) -> Policer {
        let most = u128::from(burst.bound(rate).bytes) * BYTE;
        Policer { rate, most, tokens: most, filled: Time::ZERO }
    }
}

impl Aqm for Policer {
    fn indifferent_within(&self) -> Bound {
        Bound::NOTHING
    }

    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let brought = u128::from(view.now.saturating_sub(self.filled).0) * u128::from(self.rate.0);
        (self.tokens, self.filled) = ((self.tokens + brought).min(self.most), view.now);
        match self.tokens.checked_sub(u128::from(packet.size) * BYTE) {
            Some(left) => {
                self.tokens = left;
                Verdict::Pass
            }
            None => Verdict::Drop(Drop::Policy),
        }
    }

    fn reset(&mut self) {
        self.tokens = self.most;
    }
}
