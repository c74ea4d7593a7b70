//! Packets of a size not yet confirmed for the path. If it is too large, they are retransmitted in smaller fragments.

use std::collections::VecDeque;

use midpath_core::units::Time;

/// Packets that are kept. Ours: those of 100 ms, after which a report comes, at 8 Mbps. Ends repeat what is beyond.
const KEPT: usize = 64;

#[derive(Debug)]
struct Sent {
    number: u32,
    at: Time,
    /// Of the datagram.
    size: u16,
    packet: Box<[u8]>,
}

/// The packets of one link.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    /// The oldest first.
    packets: VecDeque<Sent>,
    /// A report has passed one over.
    missing: bool,
}

impl Unconfirmed {
    /// A packet was sent, in a datagram of this number and size or more of them.
    pub fn on_sent(&mut self, now: Time, number: u32, size: u16, packet: &[u8]) {
        if self.packets.len() < KEPT {
            self.packets.push_back(Sent { number, at: now, size, packet: packet.into() });
        }
    }

    /// A report: the lower half of one more than the highest number that came, and the largest datagram since the last
    /// report.
    pub fn on_report(&mut self, next: u32, largest: u16) {
        let passed = |sent: &Sent| (sent.number.wrapping_sub(next) as i32) < 0;
        self.packets.retain(|sent| !passed(sent) || sent.size > largest);
        self.missing = self.packets.front().is_some_and(passed);
    }

    /// A datagram of this size that was sent at `at` came through.
    pub fn on_confirmed(&mut self, at: Time, size: u16) {
        self.packets.retain(|sent| sent.at > at || sent.size > size);
        self.missing = false;
    }

    /// Whether one should have been reported by now, if that takes so long at most.
    pub fn is_suspect(&self, now: Time, reported_within: Time) -> bool {
        self.missing || self.packets.front().is_some_and(|sent| now >= sent.at.saturating_add(reported_within))
    }

    /// All of them, to be sent again.
    pub fn take(&mut self) -> impl Iterator<Item = Box<[u8]>> + use<> {
        self.missing = false;
        std::mem::take(&mut self.packets).into_iter().map(|sent| sent.packet)
    }

    /// Forgets them: the neighbour has begun anew.
    pub fn clear(&mut self) {
        *self = Unconfirmed::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    /// Numbers 10 and 12 are large, 11 is not.
    fn three() -> Unconfirmed {
        let mut sent = Unconfirmed::default();
        sent.on_sent(MS(1), 10, 1400, b"first");
        sent.on_sent(MS(3), 12, 1472, b"last");
        sent
    }

    #[test]
    fn what_a_report_covers_is_forgotten() {
        let mut sent = three();
        sent.on_report(13, 1472);
        assert!(!sent.is_suspect(MS(9000), MS(200)));
        let mut sent = three();
        sent.on_report(11, 1400);
        assert!(!sent.is_suspect(MS(202), MS(200)) && sent.is_suspect(MS(203), MS(200)));
        assert_eq!(sent.take().count(), 1);
    }

    #[test]
    fn large_packets_that_small_ones_overtake_are_suspect_at_once() {
        let mut sent = three();
        sent.on_report(12, 60);
        assert!(sent.is_suspect(MS(4), MS(200)));
        sent.on_confirmed(MS(2), 1400);
        assert!(!sent.is_suspect(MS(4), MS(200)), "it was lost for something else");
        sent.on_report(13, 1400);
        assert!(sent.is_suspect(MS(4), MS(200)));
        assert_eq!(sent.take().map(|packet| packet.to_vec()).collect::<Vec<_>>(), [b"last"]);
    }

    #[test]
    fn it_is_bounded_and_numbers_wrap() {
        let mut sent = Unconfirmed::default();
        (0..1000u32).for_each(|i| sent.on_sent(MS(1), (u32::MAX - 10).wrapping_add(i), 1400, b"x"));
        assert_eq!(sent.packets.len(), KEPT);
        sent.on_report(5, 1400);
        assert_eq!(sent.packets.len(), KEPT - 16);
    }
}
