//! Repeats that are lost, too: RFC 8985's reasoning for what RFC 6675 leaves to the timer.
//!
//! A repeat is lost when something has arrived that was sent later, by more than packets are
//! reordered: by send times, for numbers say nothing of the order in which repeats and new data
//! left.

use std::collections::VecDeque;

use midpath_core::packet::Packet;
use midpath_core::units::Time;

use super::Sender;
use super::times::Timed;
use crate::transport::cc::NetworkAssisted;

/// A segment that was sent again. If it has been sent once more since, this says nothing.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    from: u64,
    to: u64,
    at: Time,
}

/// Repeats in the order of sending.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    queue: VecDeque<Repeat>,
    /// When the newest segment was sent that has arrived since there were any (RACK.xmit_ts of RFC
    /// 8985, §5.2).
    newest: Time,
    /// What the last rescue repeated (RFC 6675, NextSeg, rule 4). It was a guess: what arrives of
    /// it is most likely the original, and says nothing of what was sent before the repeat.
    guess: (u64, u64),
}

impl Repeats {
    /// `[from, to)` is about to be repeated though nothing says that it is lost.
    pub fn guesses(&mut self, from: u64, to: u64) {
        self.guess = (from, to);
    }

    /// None is on its way.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// The next repeat that was sent longer than `window` before something that has arrived.
    fn overtaken(&mut self, window: Time) -> Option<Repeat> {
        let before = self.newest.saturating_sub(window);
        if self.queue.front()?.at >= before { None } else { self.queue.pop_front() }
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// `[from, to)` has been sent again, in order to repair a loss.
    pub(super) fn note_repeat(&mut self, from: u64, to: u64, now: Time) {
        if !self.board.has_repeats() {
            self.repeats.clear();
        }
        self.board.retransmitted(from, to);
        if self.sack_on() {
            self.repeats.queue.push_back(Repeat { from, to, at: now });
        }
    }

    /// Called before an ACK's numbers are taken in: when what it reports for the first time was
    /// sent.
    pub(super) fn note_evidence(&mut self, packet: &Packet, ack: u64, now: Time) {
        if !self.sack_on() || !self.board.has_repeats() && self.tail.is_none() {
            return;
        }
        let (una, nxt, base, sacked) = (self.una, self.nxt, self.stats.rtt_min, self.board.reported());
        let (mut newest, guess, tail) = (self.repeats.newest, self.repeats.guess, &mut self.tail);
        // RFC 8985, §6.2, step 2: what comes within less than a round trip of its repeat is the
        // original. Where queues grew, the least round trip is far below today's: so not from a
        // guess, which may follow its original at once.
        let mut arrived = |(end, timed): (u64, Timed)| {
            let guessed = guess.0 < end && end <= guess.1;
            if !timed.again || (now.saturating_sub(timed.at) >= base && !guessed) {
                newest = newest.max(timed.at);
                if let Some(tail) = tail.as_mut() {
                    tail.arrived(timed.at, end, now);
                }
            }
        };
        for (from, to) in sacked.missing(una, ack) {
            self.times.within(from, to).for_each(&mut arrived);
        }
        for (from, to) in self.board.news(packet, self.ends.own, una, nxt) {
            for (from, to) in sacked.missing(from.max(ack), to) {
                self.times.within(from, to).for_each(&mut arrived);
            }
        }
        self.repeats.newest = newest;
    }

    /// Called after an ACK's numbers have been taken in: repeats that have been overtaken are lost.
    /// Whether any is. Where the network stores, repeats wait beside others, and send times say
    /// less.
    pub(super) fn find_lost_again(&mut self, now: Time) -> bool {
        if !self.board.has_repeats() || self.settings.stores {
            return false;
        }
        // RFC 8985, §6.2, step 4: a quarter of a round trip is not yet loss.
        let window = Time(self.stats.rtt_min.0 / 4);
        let mut lost = 0;
        while let Some(Repeat { from, to, at }) = self.repeats.overtaken(window) {
            let from = from.max(self.una);
            if from < to && self.times.of(from).is_some_and(|(_, timed)| timed.at == at) {
                let again = self.board.lost_again(from, to);
                if again > 0 {
                    self.note_lost(from, to, true, now);
                }
                lost += again;
            }
        }
        lost > 0
    }
}
