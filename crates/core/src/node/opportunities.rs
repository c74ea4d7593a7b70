//! Delivery opportunities: a transmitter that sends at listed times, as in mahimahi.

use std::sync::Arc;

use crate::units::Time;

/// What one opportunity delivers. mahimahi's manual says 1500 bytes (its code 1504, with the header
/// of its own device).
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// The times of a trace, over and over.
#[derive(Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// In order, none later than `period`; several at one time are several opportunities.
    times: Vec<Time>,
    /// When the first time comes again.
    period: Time,
}

impl Opportunities {
    /// The times of a trace, which starts again at its last time, as mahimahi's do. `None` if there
    /// is none above zero, or if they are not in order.
    pub fn new(times: Vec<Time>) -> Option<Opportunities> {
        let period = *times.last()?;
        (!period.is_zero() && times.is_sorted()).then_some(Opportunities { times, period })
    }

    /// The times of one round.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// All times from the beginning on, round after round, without end.
    pub fn from_start(&self) -> impl Iterator<Item = Time> + '_ {
        (0u64..).flat_map(move |round| (0..self.times.len()).map(move |i| self.at(round, i)))
    }

    fn at(&self, round: u64, i: usize) -> Time {
        Time(self.period.0.saturating_mul(round).saturating_add(self.times[i].0))
    }

    /// How long a round is.
    pub fn period(&self) -> Time {
        self.period
    }
}

/// Where a transmitter is in its opportunities.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    all: Arc<Opportunities>,
    round: u64,
    next: usize,
    /// What the opportunity at hand can still deliver.
    left: u32,
}

impl Turn {
    pub fn new(all: Arc<Opportunities>) -> Turn {
        Turn { all, round: 0, next: 0, left: OPPORTUNITY_BYTES }
    }

    fn at(&self) -> Time {
        self.all.at(self.round, self.next)
    }

    fn advance(&mut self) {
        self.next += 1;
        self.left = OPPORTUNITY_BYTES;
        if self.next == self.all.times.len() {
            (self.next, self.round) = (0, self.round + 1);
        }
    }

    /// Lets pass what lies before `now`: what an opportunity could have delivered then is lost.
    fn pass(&mut self, now: Time) {
        if self.at() >= now {
            return;
        }
        // The last time of a round is the beginning of the next, so `now` is in the round before or
        // in its own.
        let before = (now.0 / self.all.period.0).saturating_sub(1).max(self.round);
        for round in before.. {
            let start = self.all.period.0.saturating_mul(round);
            let next = self.all.times.partition_point(|t| start.saturating_add(t.0) < now.0);
            if next < self.all.times.len() {
                (self.round, self.next, self.left) = (round, next, OPPORTUNITY_BYTES);
                return;
            }
        }
    }

    /// Sends a packet of `size` bytes that is at the head of the line from `now` on; says when its
    /// last byte is delivered. It takes what the opportunity at hand has left, and goes on with the
    /// next.
    pub fn send(&mut self, size: u32, now: Time) -> Time {
        self.pass(now);
        let mut rest = size;
        loop {
            if self.left == 0 {
                self.advance();
            }
            let sent = rest.min(self.left);
            (rest, self.left) = (rest - sent, self.left - sent);
            if rest == 0 {
                return self.at();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turn(ms: &[u64]) -> Turn {
        let times = ms.iter().map(|t| Time::from_ms(*t)).collect();
        Turn::new(Arc::new(Opportunities::new(times).expect("a trace")))
    }

    #[test]
    fn one_packet_per_opportunity_and_the_trace_starts_again() {
        let mut t = turn(&[2, 2, 5]);
        let mut now = Time::ZERO;
        let ends: Vec<u64> = (0..7)
            .map(|_| {
                now = t.send(1500, now);
                now.0 / 1_000_000_000
            })
            .collect();
        assert_eq!(ends, [2, 2, 5, 7, 7, 10, 12]);
    }

    #[test]
    fn rounds_follow_each_other() {
        let all = turn(&[2, 2, 5]).all;
        let ms: Vec<u64> = all.from_start().take(7).map(|t| t.0 / 1_000_000_000).collect();
        assert_eq!(ms, [2, 2, 5, 7, 7, 10, 12]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let ms = Time::from_ms;
        let mut t = turn(&[1, 2, 3, 4]);
        assert_eq!((t.send(700, ms(0)), t.send(700, ms(1))), (ms(1), ms(1)));
        assert_eq!(t.send(700, ms(1)), ms(2), "100 bytes of the first, 600 of the second");
        assert_eq!(t.send(2000, ms(2)), ms(3), "900 of the second, 1100 of the third");
    }

    #[test]
    fn what_nobody_uses_is_lost() {
        let ms = Time::from_ms;
        let mut t = turn(&[1, 2, 3]);
        assert_eq!(t.send(100, Time::from_us(2500)), ms(3));
        assert_eq!(t.send(1500, ms(1000)), ms(1000), "3 · 333 + 1");
        assert_eq!(t.send(1500, Time::from_us(5_000_500)), ms(5001));
    }

    proptest! {
        /// Against every opportunity in turn.
        #[test]
        fn it_delivers_as_mahimahi_does(
            gaps in prop::collection::vec(0u64..4, 1..8), packets in prop::collection::vec((1u32..4000, 0u64..6000), 1..30),
        ) {
            let mut sum = 1;
            let ms: Vec<u64> = gaps.iter().map(|g| { sum += g; sum }).collect();
            let mut t = turn(&ms);
            let mut every = (0u64..).flat_map(|r| { let p = sum; ms.clone().into_iter().map(move |m| Time::from_ms(r * p + m)) }).peekable();
            let (mut left, mut free) = (OPPORTUNITY_BYTES, Time::ZERO);
            for (size, gap_us) in packets {
                let now = free + Time::from_us(gap_us);
                while *every.peek().unwrap() < now { every.next(); left = OPPORTUNITY_BYTES; }
                let mut rest = size;
                while rest > 0 {
                    if left == 0 { every.next(); left = OPPORTUNITY_BYTES; }
                    let sent = rest.min(left);
                    rest -= sent;
                    left -= sent;
                }
                free = *every.peek().unwrap();
                prop_assert_eq!(t.send(size, now), free);
            }
        }
    }
}
