//! The record of what is outstanding, one entry a segment: when it was sent, and for controllers that ask for
//! delivery-rate samples, what was so then. Round trips come from here (RFC 6298, §3), not from timestamps, whose
//! ticks are coarse.

use std::collections::VecDeque;

use midpath_core::units::Time;

use super::rates::AtSending;

/// A segment that is outstanding: two words, for there are as many as windows have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    /// One past its last number, and in the highest bit whether it has been sent more than once.
    end: u64,
    /// When it was last sent.
    at: Time,
}

const AGAIN: u64 = 1 << 63;

impl Sent {
    #[inline]
    const fn end(self) -> u64 {
        self.end & !AGAIN
    }

    #[inline]
    const fn timed(self) -> Timed {
        Timed { at: self.at, again: self.end & AGAIN != 0 }
    }
}

/// When the first of the segments that an ACK covers was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    /// When it was last sent.
    pub at: Time,
    /// It has been sent more than once: who knows which one is acknowledged (Karn's algorithm, RFC
    /// 6298, §3)?
    pub again: bool,
}

/// The outstanding segments in order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct SendRecord {
    sent: VecDeque<Sent>,
    /// One for each of `sent`, where the controller asks for samples; else none.
    samples: VecDeque<AtSending>,
    /// Where the first segment begins.
    begin: u64,
}

impl SendRecord {
    /// New data up to `end` have been sent.
    #[inline]
    pub fn sent(&mut self, end: u64, at: Time) {
        debug_assert!(end < AGAIN);
        self.sent.push_back(Sent { end, at });
    }

    /// The same, for a controller that asks for samples.
    pub fn note(&mut self, sample: AtSending) {
        self.samples.push_back(sample);
        debug_assert_eq!(self.samples.len(), self.sent.len());
    }

    /// The segments of which some byte in `[from, to)` is, which has been sent again.
    pub fn samples_within(&mut self, from: u64, to: u64) -> impl Iterator<Item = &mut AtSending> {
        let (first, last) = (self.place(from), self.place(to - 1));
        self.samples.range_mut(first..(last + 1).min(self.sent.len()))
    }

    /// The `i`th segment with where it begins, its end, and when it was sent.
    pub fn sample(&mut self, i: usize) -> Option<(u64, u64, Timed, &mut AtSending)> {
        let (sent, begin) = (*self.sent.get(i)?, self.begin_of(i));
        Some((begin, sent.end(), sent.timed(), self.samples.get_mut(i)?))
    }

    #[inline]
    fn begin_of(&self, i: usize) -> u64 {
        i.checked_sub(1).map_or(self.begin, |before| self.sent[before].end())
    }

    /// Gives back the room for segments that are outstanding no more: a connection that waits for
    /// its end is kept for long.
    pub fn shrink(&mut self) {
        self.sent.shrink_to_fit();
        self.samples.shrink_to_fit();
    }

    /// Numbers from `from` to before `to` have been sent again.
    pub fn sent_again(&mut self, from: u64, to: u64, at: Time) {
        let first = self.place(from);
        for sent in self.sent.range_mut(first..) {
            (sent.at, sent.end) = (at, sent.end | AGAIN);
            if sent.end() >= to {
                break;
            }
        }
    }

    /// Where the segment that holds the byte at `from` stands; mostly it is the first.
    #[inline]
    pub fn place(&self, from: u64) -> usize {
        if self.sent.front().is_none_or(|first| from < first.end()) {
            0
        } else {
            self.sent.partition_point(|s| s.end() <= from)
        }
    }

    /// The segment that holds the byte at `from`: one past its end, when it was last sent, and
    /// whether that was more than once.
    #[inline]
    pub fn of(&self, from: u64) -> Option<(u64, Timed)> {
        let sent = self.sent.get(self.place(from))?;
        Some((sent.end(), sent.timed()))
    }

    /// Where the last segment begins, if nothing below `una` is outstanding.
    pub fn last(&self, una: u64) -> u64 {
        self.sent.len().checked_sub(2).map_or(una, |before| self.sent[before].end().max(una))
    }

    /// The segments that lie in `[from, to)`, at least in part, as [`SendRecord::of`] tells them.
    pub fn within(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, Timed)> + '_ {
        let first = self.place(from);
        let mut at = from;
        self.sent.range(first..).map_while(move |sent| {
            let here = at < to;
            at = sent.end();
            here.then_some((sent.end(), sent.timed()))
        })
    }

    /// All below `una` is acknowledged: forgets it, and says when the first whole segment of that
    /// was sent.
    #[inline]
    pub fn acknowledged(&mut self, una: u64) -> Option<Timed> {
        let first = self.sent.front().filter(|s| s.end() <= una);
        let first = first.map(|s| s.timed());
        while let Some(sent) = self.sent.front().filter(|s| s.end() <= una) {
            self.begin = sent.end();
            self.sent.pop_front();
            self.samples.pop_front();
        }
        // A ring goes round all of its memory: what slow start has needed once would be in the
        // cache for good.
        if self.sent.capacity() > 8 * self.sent.len().max(4) {
            self.sent.shrink_to(2 * self.sent.len());
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    #[test]
    fn the_last_segment_begins_where_the_one_before_ends() {
        let mut times = SendRecord::default();
        assert_eq!(times.last(7), 7);
        (1..=3).for_each(|i| times.sent(i * 100, MS(i)));
        times.sent_again(100, 200, MS(9));
        assert_eq!((times.last(0), times.last(250)), (200, 250));
    }

    #[test]
    fn the_first_acknowledged_segment_is_timed() {
        let mut times = SendRecord::default();
        (1..=5).for_each(|i| times.sent(i * 100, MS(i)));
        let timed = |i, again| Some(Timed { at: MS(i), again });
        assert_eq!(times.acknowledged(200), timed(1, false));
        assert_eq!(times.acknowledged(250), None, "no whole segment");
        times.sent_again(200, 300, MS(9));
        assert_eq!(times.acknowledged(400), timed(9, true));
        times.sent_again(450, 460, MS(10));
        assert_eq!((times.acknowledged(500), times.acknowledged(500)), (timed(10, true), None));
    }
}
