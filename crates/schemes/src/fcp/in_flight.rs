//! When packets were sent, by their nonce: the round trip of each echo, on the sender's own clock.

use midpath_core::fifo::Fifo;
use midpath_core::units::Time;

/// Packets remembered at most: those that are out, on any path of today. Ours.
const MOST: usize = 1 << 17;

/// Whether nonce `a` comes after `b`. Nonces wrap; half of them are behind.
pub fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).wrapping_sub(1) < u32::MAX / 2
}

/// The packets that no echo has answered, in order: when each was sent, up to the one with the nonce `last`.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    sent: Fifo<Time>,
    last: u32,
}

impl InFlight {
    /// A packet has been sent. Nonces rise by one.
    pub fn sent(&mut self, nonce: u32, now: Time) {
        debug_assert!(self.sent.is_empty() || nonce == self.last.wrapping_add(1), "{nonce} after {}", self.last);
        if self.sent.len() >= MOST {
            self.sent.skip(1);
        }
        self.sent.push(now);
        self.last = nonce;
    }

    /// An echo has come: how long ago the packet was sent that it answers. What was sent before
    /// that is forgotten; a second answer to one packet, and one to what was never sent, tell
    /// nothing.
    pub fn answered(&mut self, nonce: u32, now: Time) -> Option<Time> {
        if after(nonce, self.last) {
            self.sent.clear();
        }
        let behind = self.last.wrapping_sub(nonce) as usize;
        let place = self.sent.len().checked_sub(behind + 1)?;
        self.sent.skip(place);
        self.sent.pop().map(|at| now.saturating_sub(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_answered_once_and_in_order() {
        let mut sent = InFlight::default();
        let ms = Time::from_ms;
        for (nonce, at) in [(u32::MAX, 1), (0, 2), (1, 3), (2, 5)] {
            sent.sent(nonce, ms(at));
        }
        assert_eq!(sent.answered(0, ms(10)), Some(ms(8)));
        assert_eq!(sent.answered(u32::MAX, ms(11)), None, "overtaken");
        assert_eq!(sent.answered(0, ms(11)), None, "a second time");
        assert_eq!(sent.answered(2, ms(12)), Some(ms(7)));
        assert_eq!(sent.answered(900, ms(13)), None, "never sent");
    }

    #[test]
    fn nonces_wrap() {
        assert!(after(1, 0) && !after(0, 1) && !after(5, 5));
        assert!(after(3, u32::MAX - 3) && !after(u32::MAX - 3, 3));
    }
}
