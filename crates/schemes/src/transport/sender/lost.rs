//! What of the scoreboard is lost, and what is to be sent again: RFC 6675, §4.
//!
//! IsLost is monotone (if a byte is lost, so is every un-SACKed byte below it), and so is RACK while segments stand in
//! the order of sending: both move an edge. Where the network stores, segments are lost one by one.

use std::ops::Range;

use super::scoreboard::{LOST, RETRANS, Scoreboard, Sent};

impl Scoreboard {
    /// IsLost() of RFC 6675, §4, for all bytes at once.
    pub fn find_lost(&mut self, dup_thresh: u32, mss: u64) {
        let edge = self.with_enough_above(dup_thresh, mss).unwrap_or(self.una());
        self.set_edge(edge);
    }

    /// Whether DupThresh segments have been SACKed, in the sense of RFC 6675.
    pub fn many_sacked(&self, dup_thresh: u32, mss: u64) -> bool {
        self.with_enough_above(dup_thresh, mss).is_some()
    }

    /// The highest place above which `dup_thresh` separate ranges have been SACKed, or more than `dup_thresh - 1` full
    /// segments. Walks down from the highest, no further than it must.
    fn with_enough_above(&self, dup_thresh: u32, mss: u64) -> Option<u64> {
        let enough = u64::from(dup_thresh - 1) * mss;
        let (mut ranges, mut bytes, mut within) = (0, 0, false);
        let mut i = self.place(self.highest());
        while i > 0 && bytes < self.sacked() {
            i -= 1;
            let sacked = self.get(i).filter(|sent| sent.is_sacked());
            if let Some(sent) = sacked {
                let begin = self.begin_of(i);
                ranges += u32::from(!within);
                bytes += sent.end() - begin;
                if ranges >= dup_thresh || bytes > enough {
                    return Some(begin);
                }
            }
            within = sacked.is_some();
        }
        None
    }

    /// What is not SACKed is lost below `edge`, and not above.
    pub fn set_edge(&mut self, edge: u64) {
        let before = self.edge();
        if before == edge {
            return; // mostly
        }
        if before < edge {
            return self.raise_edge(edge, self.within(before, edge));
        }
        self.reports.edge = edge;
        self.within(edge, before).for_each(|i| self.tag(i, 0, LOST));
    }

    /// The same where it is above; what is not SACKed between is one of these segments.
    pub fn raise_edge(&mut self, edge: u64, between: Range<usize>) {
        let before = self.edge();
        debug_assert!(between.is_empty() || between.start == self.place(before));
        debug_assert!((between.end.max(self.place(before))..self.place(edge)).all(|i| self.at(i).is_sacked()));
        self.reports.edge = edge;
        for i in between {
            if self.get(i).is_some_and(|sent| !sent.is_sacked()) {
                self.tag(i, LOST, 0);
            }
        }
        self.reports.first_missing = self.reports.first_missing.min(before);
    }

    /// After a timeout all that was sent before `recover` is lost.
    pub fn all_lost(&mut self, recover: u64) {
        self.set_edge(recover.max(self.una()));
    }

    /// Nothing is lost after all.
    pub fn nothing_lost(&mut self) {
        self.set_edge(self.una());
    }

    /// The segment that holds the byte at `at` is lost, whatever was sent after it, and with it its repeat.
    pub fn lose(&mut self, at: u64) {
        let i = self.place(at);
        if self.get(i).is_some_and(|sent| !sent.is_sacked()) {
            self.tag(i, LOST, RETRANS);
            self.reports.first_missing = self.reports.first_missing.min(at);
        }
    }

    /// What was retransmitted of `[from, to)` is lost again: returns how many bytes that is.
    pub fn lost_again(&mut self, from: u64, to: u64) -> u64 {
        self.lost_again_from(self.place(from), from, to)
    }

    /// The same from this segment on.
    pub fn lost_again_from(&mut self, first: usize, from: u64, to: u64) -> u64 {
        let before = self.retrans();
        self.within_from(first, from, to).for_each(|i| self.tag(i, 0, RETRANS));
        if self.retrans() < before {
            self.reports.first_missing = self.reports.first_missing.min(from);
        }
        before - self.retrans()
    }

    /// A recovery begins. What an earlier one has retransmitted is still on its way.
    pub fn begin(&mut self) {
        self.reports.rescued = false;
    }

    /// A timeout: what was retransmitted is lost, too.
    pub fn forget_repeats(&mut self) {
        self.lost_again(self.una(), self.nxt());
        self.reports.repeats.clear();
        self.reports.rescued = false;
    }

    /// The first segment that is lost and was not sent again.
    pub fn next_missing(&self) -> Option<usize> {
        let missing = |i: &usize| self.get(*i).is_some_and(Sent::is_missing);
        (self.missing() > 0).then(|| (self.place(self.reports.first_missing)..self.len()).find(missing))?
    }

    /// NextSeg(), rule 1: the first hole that is lost and was not retransmitted, or the first `most` bytes of it.
    #[inline]
    pub fn hole(&mut self, most: u64) -> Option<(u64, u64)> {
        if self.missing() == 0 { None } else { self.first_hole_that_is_lost(most) }
    }

    #[inline(never)]
    fn first_hole_that_is_lost(&mut self, most: u64) -> Option<(u64, u64)> {
        let hole = self.next_missing().map(|i| self.run(i, most, Sent::is_missing))?;
        self.reports.first_missing = hole.0;
        Some(hole)
    }

    /// The same, though it is not lost yet (rule 3): below the highest SACKed byte.
    pub fn hole_below_sacked(&self, most: u64) -> Option<(u64, u64)> {
        let open = |sent: Sent| !sent.is_sacked() && !sent.has(RETRANS);
        let i = (0..self.place(self.highest())).find(|i| self.get(*i).is_some_and(open))?;
        Some(self.run(i, most, open))
    }

    /// What is outstanding from SND.UNA to the first byte that is SACKed, or the first `most` bytes of it.
    pub fn first_hole(&self, most: u64) -> (u64, u64) {
        self.run(0, most, |sent| !sent.is_sacked())
    }

    /// From the `i`th segment on, as far as `keep` says so of the next, at least `most` bytes if there are.
    fn run(&self, i: usize, most: u64, keep: impl Fn(Sent) -> bool) -> (u64, u64) {
        let from = self.begin_of(i).max(self.una());
        let mut ends = (i..self.len()).filter_map(|j| self.get(j));
        let mut to = ends.next().map_or(from, Sent::end);
        while to < from + most
            && let Some(next) = ends.next().filter(|sent| keep(*sent))
        {
            to = next.end();
        }
        (from, to)
    }

    /// NextSeg(), rule 4: the end of the hole that holds the highest outstanding un-SACKed byte, once per
    /// recovery; none if that was retransmitted. At least `most` bytes if it has them.
    pub fn rescue(&mut self, most: u64) -> Option<(u64, u64)> {
        if std::mem::replace(&mut self.reports.rescued, true) {
            return None;
        }
        let holds = |i: &usize| self.get(*i).is_some_and(|sent| !sent.is_sacked());
        let last = (0..self.len()).rev().find(holds)?;
        let to = self.get(last).filter(|sent| !sent.has(RETRANS))?.end();
        let short = |i: &usize| holds(i) && to - self.begin_of(i + 1) < most;
        let first = (0..last).rev().take_while(short).last().unwrap_or(last);
        Some((self.begin_of(first).max(self.una()), to))
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::units::Time;

    use super::*;

    /// NextSeg(), rule 4, of short segments: as many as a full one has bytes, once a recovery.
    #[test]
    fn a_rescue_repeats_as_much_as_a_full_segment() {
        for (most, rescued) in [(100, (400, 500)), (101, (300, 500)), (250, (200, 500)), (9000, (0, 500))] {
            let mut board = Scoreboard::default();
            (1..=5).for_each(|i| board.sent(i * 100, Time::from_ms(i)));
            assert_eq!((board.rescue(most), board.rescue(most)), (Some(rescued), None), "{most}");
        }
    }
}
