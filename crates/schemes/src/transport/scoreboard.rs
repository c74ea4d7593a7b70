//! The sender's scoreboard: RFC 6675, as ranges and an edge instead of a record per segment.
//!
//! What makes it small: IsLost is monotone (if a byte is lost, so is every un-SACKed byte below
//! it), so one number, [`Scoreboard::edge`], separates lost from not lost. So pipe is a sum of
//! terms that are kept up to date, and nothing here grows while nothing is lost.
//!
//! RFC 6675 knows what it has retransmitted by one number, HighRxt, that begins again with each
//! recovery: what is still in flight then is sent again. Here it is a set of ranges that outlives a
//! recovery, as Linux's mark on each segment does. While nothing is lost twice both say the same
//! within a recovery.

use midpath_core::packet::{MAX_SACK, Packet, SackBlock, Sequence};
use midpath_core::ranges::RangeSet;

/// The bytes that a block is about, if it is true of what is outstanding.
fn range(block: &SackBlock, own: Sequence, una: u64, nxt: u64) -> Option<(u64, u64)> {
    let (from, to) = (own.offset(block.from, una)?, own.offset(block.to, una)?);
    (from < to && from >= una && to <= nxt).then_some((from, to))
}

/// RFC 2883, §4: what an ACK of all below `ack` reports as a duplicate. The first block then lies below that, or in the
/// second.
pub fn duplicate(packet: &Packet, own: Sequence, ack: u64) -> Option<(u64, u64)> {
    let [first, more @ ..] = packet.sack_blocks() else { return None };
    let (from, to) = (own.offset(first.from, ack)?, own.offset(first.to, ack)?);
    let below = to <= ack;
    let within = more.first().is_some_and(|second| second.holds(first.from) && second.holds(first.to.wrapping_sub(1)));
    (from < to && (below || within)).then_some((from, to))
}

/// The blocks of an ACK that are true of what is outstanding.
pub fn blocks(packet: &Packet, own: Sequence, una: u64, nxt: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    packet.sack_blocks().iter().filter_map(move |block| range(block, own, una, nxt))
}

/// What the receiver has reported by SACK, and what was retransmitted.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    sacked: RangeSet,
    /// What was retransmitted and, as far as is known, is on its way. Nothing of it is SACKed.
    repeated: RangeSet,
    /// All below that is not SACKed is in `repeated`: where to look for what is to be sent next.
    high_rxt: u64,
    /// Un-SACKed bytes below this are lost.
    edge: u64,
    /// SACKed bytes at or above `edge`.
    above_edge: u64,
    /// The rescue retransmission of this recovery has been sent (RFC 6675, §2: RescueRxt).
    rescued: bool,
    /// The blocks of the last ACK. Most come again with the next one, and say nothing then.
    said: [SackBlock; MAX_SACK],
}

impl Scoreboard {
    /// Whether the receiver has reported nothing above SND.UNA, and nothing retransmitted is on its
    /// way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty() && self.repeated.is_empty()
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
    /// Whether anything that was retransmitted is on its way, as far as is known.
    pub fn has_repeats(&self) -> bool {
        !self.repeated.is_empty()
    }
    /// Whether the byte at `at` has been retransmitted and is on its way, as far as is known.
    pub fn on_its_way(&self, at: u64) -> bool {
        self.repeated.containing(at).is_some()
    }

    /// Update() of RFC 6675, §4: takes in the blocks of an ACK; returns how many bytes they report
    /// for the first time. Blocks that reach outside what is outstanding are false and ignored.
    /// `own` says which bytes the numbers are of.
    pub fn update(&mut self, packet: &Packet, own: Sequence, una: u64, nxt: u64) -> u64 {
        let (mut fresh, mut said) = (0, [SackBlock::default(); MAX_SACK]);
        for (block, place) in packet.sack_blocks().iter().zip(&mut said) {
            if !self.said.contains(block) {
                let Some((from, to)) = range(block, own, una, nxt) else { continue };
                fresh += self.insert(from, to);
            }
            *place = *block;
        }
        self.said = said;
        fresh
    }

    /// The blocks of an ACK as [`blocks`] has them, but those that the last one had too.
    pub fn news(&self, packet: &Packet, own: Sequence, una: u64, nxt: u64) -> impl Iterator<Item = (u64, u64)> {
        let new = packet.sack_blocks().iter().filter(|block| !self.said.contains(block));
        new.filter_map(move |block| range(block, own, una, nxt))
    }

    fn insert(&mut self, from: u64, to: u64) -> u64 {
        let below = if from < self.edge { self.sacked.bytes_within(from, self.edge.min(to)) } else { 0 };
        let fresh = self.sacked.insert(from, to);
        self.above_edge += fresh - self.edge.min(to).saturating_sub(from).saturating_sub(below);
        if fresh > 0 && !self.repeated.is_empty() {
            self.repeated.remove(from, to);
        }
        fresh
    }

    /// SND.UNA has moved: returns how many of the bytes passed had been SACKed.
    pub fn advance(&mut self, una: u64) -> u64 {
        self.repeated.remove_below(una);
        self.high_rxt = self.high_rxt.max(una);
        let gone = self.sacked.remove_below(una);
        if una > self.edge {
            (self.edge, self.above_edge) = (una, self.sacked.bytes());
        }
        if self.sacked.is_empty() {
            self.said = Default::default(); // numbers wrap: the same ones may be news one day
        }
        gone
    }

    /// IsLost() of RFC 6675, §4, for all bytes at once: `dup_thresh` separate ranges above, or more
    /// than `dup_thresh - 1` full segments. Walks down from the highest range, no further than it
    /// must.
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

    /// Whether DupThresh segments have been SACKed: `dup_thresh` separate ranges, or more than `dup_thresh - 1` full
    /// segments.
    pub fn many_sacked(&self, dup_thresh: u32, mss: u64) -> bool {
        self.sacked.len() >= dup_thresh as usize || self.sacked.bytes() > u64::from(dup_thresh - 1) * mss
    }

    /// What is not SACKed below `edge` is lost by its time of sending.
    pub fn raise_edge(&mut self, edge: u64) {
        if edge > self.edge {
            self.above_edge -= self.sacked.bytes_within(self.edge, edge);
            self.edge = edge;
        }
    }

    /// Nothing is lost after all.
    pub fn nothing_lost(&mut self, una: u64) {
        (self.edge, self.above_edge) = (una, self.sacked.bytes());
    }

    /// After a timeout all that was sent before `recover` is lost.
    pub fn all_lost(&mut self, una: u64, recover: u64) {
        self.edge = recover.max(una);
        self.above_edge = self.sacked.bytes_within(self.edge, u64::MAX);
    }

    /// A recovery begins. What an earlier one has retransmitted is still on its way.
    pub fn begin(&mut self, una: u64) {
        (self.high_rxt, self.rescued) = (self.high_rxt.max(una), false);
    }

    /// A timeout: what was retransmitted is lost, too.
    pub fn forget_repeats(&mut self, una: u64) {
        self.repeated.clear();
        (self.high_rxt, self.rescued) = (una, false);
    }

    /// RFC 2018, §8, and RFC 6675, §5.1: after a timeout reports may be kept unless the receiver
    /// has reneged, which shows in SND.UNA lying in what it had reported.
    pub fn forget_if_reneged(&mut self, una: u64) {
        if self.sacked.containing(una).is_some() {
            self.sacked.clear();
            self.above_edge = 0;
            self.said = Default::default();
        }
    }

    /// SetPipe() of RFC 6675, §4: bytes neither SACKed nor lost, and bytes retransmitted and not
    /// SACKed.
    #[inline]
    pub fn pipe(&self, una: u64, nxt: u64) -> u64 {
        let edge = self.edge.max(una);
        debug_assert!(edge <= nxt && self.high_rxt >= una);
        (nxt - edge) - self.above_edge + self.repeated.bytes()
    }

    /// The first bytes at or above `high_rxt` and below `limit` that are neither SACKed nor on
    /// their way again.
    fn open(&self, limit: u64) -> Option<(u64, u64)> {
        let mut gaps = self.sacked.missing(self.high_rxt.min(limit), limit);
        if self.repeated.last().is_none_or(|last| last.1 <= self.high_rxt) {
            return gaps.next();
        }
        gaps.flat_map(|(from, to)| self.repeated.missing(from, to)).next()
    }

    /// NextSeg(), rule 1, and rule 3 when `lost` is false: the first hole that was not
    /// retransmitted, below the highest SACKed byte or what else is lost.
    pub fn hole(&self, lost: bool) -> Option<(u64, u64)> {
        self.open(self.highest().max(self.edge)).filter(|(from, _)| !lost || *from < self.edge)
    }

    /// After a timeout: the first hole that was not sent again, up to `recover`.
    pub fn hole_below(&self, recover: u64) -> Option<(u64, u64)> {
        self.open(recover)
    }

    /// NextSeg(), rule 4: the hole that holds the highest outstanding un-SACKed byte, once per
    /// recovery; none if that was retransmitted.
    pub fn rescue(&mut self, una: u64, nxt: u64) -> Option<(u64, u64)> {
        if self.rescued {
            return None;
        }
        self.rescued = true;
        let (mut top, mut hole) = (nxt, None);
        for (from, to) in self.sacked.iter().rev() {
            if to < top {
                hole = Some((to, top));
                break;
            }
            top = from;
        }
        let (from, to) = hole.unwrap_or((una, top));
        (from < to && !self.on_its_way(to - 1)).then_some((from, to))
    }

    /// `[from, to)` has been retransmitted.
    pub fn retransmitted(&mut self, from: u64, to: u64) {
        if self.open(from).is_none() {
            self.high_rxt = self.high_rxt.max(to);
        }
        self.repeated.insert(from, to);
    }

    /// What was retransmitted of `[from, to)` is lost again: returns how many bytes that is.
    pub fn lost_again(&mut self, from: u64, to: u64) -> u64 {
        let gone = self.repeated.remove(from, to);
        if gone > 0 {
            self.high_rxt = self.high_rxt.min(from);
        }
        gone
    }
}
