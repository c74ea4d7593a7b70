//! The sender's scoreboard: RFC 6675, as ranges and a few edges instead of a record per segment.
//!
//! What makes it small: IsLost is monotone (if a byte is lost, so is every un-SACKed byte below it), so one number,
//! [`Scoreboard::edge`], separates lost from not lost. And HighRxt separates retransmitted from not retransmitted. So
//! pipe is a sum of four terms that are kept up to date, and nothing here grows while nothing is lost.

use midpath_core::packet::{Packet, Sequence};
use midpath_core::ranges::RangeSet;

/// The blocks of an ACK that are true of what is outstanding.
pub fn blocks(packet: &Packet, own: Sequence, una: u64, nxt: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let blocks = packet.sack_blocks().iter();
    blocks
        .filter_map(move |b| Some((own.offset(b.from, una)?, own.offset(b.to, una)?)))
        .filter(move |(from, to)| from < to && *from >= una && *to <= nxt)
}

/// What the receiver has reported by SACK, and what was retransmitted.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    sacked: RangeSet,
    /// One past the highest byte retransmitted in this recovery (RFC 6675, §2: HighRxt + 1).
    high_rxt: u64,
    /// SACKed bytes below `high_rxt`.
    below_rxt: u64,
    /// Un-SACKed bytes below this are lost.
    edge: u64,
    /// SACKed bytes at or above `edge`.
    above_edge: u64,
    /// The rescue retransmission of this recovery has been sent (RFC 6675, §2: RescueRxt).
    rescued: bool,
}

impl Scoreboard {
    /// Whether the receiver has reported nothing above SND.UNA.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }
    /// Bytes reported.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked.bytes()
    }
    /// What has been reported.
    pub fn reported(&self) -> &RangeSet {
        &self.sacked
    }
    /// One past the highest byte reported; zero when nothing is.
    pub fn highest(&self) -> u64 {
        self.sacked.last().map_or(0, |r| r.1)
    }
    /// Un-SACKed bytes below this are lost.
    #[inline]
    pub fn edge(&self) -> u64 {
        self.edge
    }
    /// One past the highest byte retransmitted.
    pub fn high_rxt(&self) -> u64 {
        self.high_rxt
    }

    /// Update() of RFC 6675, §4: takes in the blocks of an ACK; returns how many bytes they report for the first time.
    /// Blocks that reach outside what is outstanding are false and ignored. `own` says which bytes the numbers are of.
    pub fn update(&mut self, packet: &Packet, own: Sequence, una: u64, nxt: u64) -> u64 {
        blocks(packet, own, una, nxt).map(|(from, to)| self.insert(from, to)).sum()
    }

    /// Adds a range in two parts, below and above `high_rxt`, to know how much of it is below.
    fn insert(&mut self, from: u64, to: u64) -> u64 {
        let middle = self.high_rxt.clamp(from, to);
        let below = self.sacked.insert(from, middle);
        self.below_rxt += below;
        below + self.sacked.insert(middle, to)
    }

    /// SND.UNA has moved: returns how many of the bytes passed had been SACKed.
    pub fn advance(&mut self, una: u64) -> u64 {
        let gone = self.sacked.remove_below(una);
        if una >= self.high_rxt {
            (self.high_rxt, self.below_rxt) = (una, 0);
        } else {
            self.below_rxt -= gone;
        }
        gone
    }

    /// IsLost() of RFC 6675, §4, for all bytes at once: `dup_thresh` separate ranges above, or more than
    /// `dup_thresh - 1` full segments. Walks down from the highest range, no further than it must.
    pub fn find_lost(&mut self, una: u64, dup_thresh: u32, mss: u64) {
        let enough = u64::from(dup_thresh - 1) * mss;
        let (mut ranges, mut bytes) = (0, 0);
        for (from, to) in self.sacked.iter().rev() {
            ranges += 1;
            bytes += to - from;
            if ranges >= dup_thresh || bytes > enough {
                (self.edge, self.above_edge) = (from, bytes);
                return;
            }
        }
        (self.edge, self.above_edge) = (una, self.sacked.bytes());
    }

    /// After a timeout all that was sent before `recover` is lost.
    pub fn all_lost(&mut self, una: u64, recover: u64) {
        self.edge = recover.max(una);
        self.above_edge = self.sacked.bytes_within(self.edge, u64::MAX);
    }

    /// Nothing has been retransmitted yet in the recovery that begins.
    pub fn begin(&mut self, una: u64) {
        (self.high_rxt, self.below_rxt, self.rescued) = (una, 0, false);
    }

    /// RFC 2018, §8, and RFC 6675, §5.1: after a timeout reports may be kept unless the receiver has reneged, which shows
    /// in SND.UNA lying in what it had reported.
    pub fn forget_if_reneged(&mut self, una: u64) {
        if self.sacked.containing(una).is_some() {
            self.sacked.clear();
            self.below_rxt = 0;
        }
    }

    /// SetPipe() of RFC 6675, §4: bytes neither SACKed nor lost, and bytes retransmitted and not SACKed.
    #[inline]
    pub fn pipe(&self, una: u64, nxt: u64) -> u64 {
        let edge = self.edge.max(una);
        debug_assert!(edge <= nxt && self.high_rxt >= una);
        (nxt - edge) - self.above_edge + (self.high_rxt - una) - self.below_rxt
    }

    /// NextSeg(), rule 1, and rule 3 when `lost` is false: the first hole above HighRxt, below the highest SACKed byte.
    pub fn hole(&self, lost: bool) -> Option<(u64, u64)> {
        let (from, to) = self.sacked.gap_from(self.high_rxt)?;
        (!lost || from < self.edge).then_some((from, to))
    }

    /// After a timeout: the first hole above what was sent again, up to `recover`.
    pub fn hole_below(&self, recover: u64) -> Option<(u64, u64)> {
        let from = self.sacked.containing(self.high_rxt).map_or(self.high_rxt, |r| r.1);
        let to = self.sacked.gap_from(from).map_or(recover, |g| g.1.min(recover));
        (from < to).then_some((from, to))
    }

    /// NextSeg(), rule 4: the hole that holds the highest outstanding un-SACKed byte, once per recovery.
    pub fn rescue(&mut self, una: u64, nxt: u64) -> Option<(u64, u64)> {
        if self.rescued {
            return None;
        }
        self.rescued = true;
        let mut top = nxt;
        for (from, to) in self.sacked.iter().rev() {
            if to < top {
                return Some((to, top));
            }
            top = from;
        }
        (una < top).then_some((una, top))
    }

    /// `[from, to)` has been retransmitted: HighRxt moves up, over SACKed bytes too.
    pub fn retransmitted(&mut self, from: u64, to: u64) {
        if to > self.high_rxt {
            self.below_rxt += from.saturating_sub(self.high_rxt);
            self.high_rxt = to;
        }
    }
}
