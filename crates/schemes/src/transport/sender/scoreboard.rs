//! The sender's scoreboard: one record for each segment that is outstanding, with the tags that Linux's `tcp_skb_cb`
//! has. RFC 6675, RFC 8985 and repair where the network stores differ in who tags a segment as lost, and when.
//!
//! Mostly nothing is tagged, and all segments but the last are of one length. Then a time is all that a record has.
//!
//! Round trips come from the records' times (RFC 6298, §3), not from timestamps, whose ticks are coarse. Sums of bytes
//! by tag are kept up to date, so SetPipe of RFC 6675 is an expression. What is lost, and what is sent again, is in
//! `lost.rs`.

use std::collections::VecDeque;

use midpath_core::fifo::Fifo;
use midpath_core::packet::{MAX_SACK, Packet, SackBlock, Sequence};
use midpath_core::units::Time;

use super::Repair;
use super::rates::AtSending;
use crate::transport::lazy_box::{Initial, LazyBox};

/// Reported by SACK.
const SACKED: u64 = 1 << 63;
/// Taken for lost, when it was sent first.
pub const LOST: u64 = 1 << 62;
/// Sent again and, as far as is known, on its way.
pub const RETRANS: u64 = 1 << 61;
/// Sent more than once.
const EVER_RETRANS: u64 = 1 << 60;
const END: u64 = EVER_RETRANS - 1;
/// With a length that all segments but the last have.
const ODD: u32 = 1 << 31;
/// How many records assertions look at each time.
const FEW: usize = 64;

/// A segment that is outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// One past its last number, below its tags.
    word: u64,
    /// When it was last sent.
    pub at: Time,
}

impl Sent {
    /// One past its last number.
    #[inline]
    pub const fn end(self) -> u64 {
        self.word & END
    }
    #[inline]
    pub const fn has(self, tag: u64) -> bool {
        self.word & tag != 0
    }
    pub const fn is_sacked(self) -> bool {
        self.has(SACKED)
    }
    /// Lost, and not sent again since.
    pub const fn is_missing(self) -> bool {
        is_missing(self.word)
    }
    /// It has been sent more than once: who knows which one is acknowledged (Karn's algorithm, RFC
    /// 6298, §3)?
    pub const fn again(self) -> bool {
        self.has(EVER_RETRANS)
    }
}

/// Lost, and not sent again since.
const fn is_missing(word: u64) -> bool {
    word & (LOST | RETRANS) == LOST
}

/// A segment that an ACK reports for the first time, as it was before.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    pub begin: u64,
    pub sent: Sent,
    /// Where the controller asks for samples.
    pub then: Option<AtSending>,
}

/// A run of bytes that was sent at some time. If the segment there has been sent again since, this says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sending {
    pub from: u64,
    pub to: u64,
    pub at: Time,
}

/// Bytes outstanding by tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    sacked: u64,
    lost: u64,
    retrans: u64,
    /// Lost, and not sent again since.
    missing: u64,
}

impl Sums {
    /// Counts `bytes` more of a segment with these tags; fewer of them in two's complement.
    #[inline]
    fn count(&mut self, sent: Sent, bytes: u64) {
        if !sent.has(SACKED | LOST | RETRANS) {
            return; // mostly
        }
        let add = |sum: &mut u64, holds: bool| *sum = if holds { sum.wrapping_add(bytes) } else { *sum };
        add(&mut self.sacked, sent.has(SACKED));
        add(&mut self.lost, sent.has(LOST));
        add(&mut self.retrans, sent.has(RETRANS));
        add(&mut self.missing, sent.is_missing());
    }

    /// A segment of so many `bytes` has other tags: one or two of them.
    #[inline]
    fn count_change(&mut self, before: u64, after: u64, bytes: u64) {
        let change = |sum: &mut u64, was: bool, is: bool| {
            if was != is {
                *sum = if is { *sum + bytes } else { *sum - bytes };
            }
        };
        change(&mut self.sacked, before & SACKED != 0, after & SACKED != 0);
        change(&mut self.lost, before & LOST != 0, after & LOST != 0);
        change(&mut self.retrans, before & RETRANS != 0, after & RETRANS != 0);
        change(&mut self.missing, is_missing(before), is_missing(after));
    }
}

/// What was so when the outstanding segments were sent, one for each, where the controller asks for samples.
pub type Samples<'a> = Option<&'a mut Fifo<AtSending>>;

/// The outstanding segments in order of their numbers.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    /// When each was last sent.
    times: Fifo<Time>,
    /// SND.UNA: the first byte not yet acknowledged, which may lie within the first segment.
    una: u64,
    /// SND.NXT is so many above that: a window has no more than 2^30.
    flight: u32,
    /// The first segment begins so many below.
    before: u32,
    /// SND.WND: how far beyond SND.UNA the receiver's window reaches, 2^30 at most.
    room: u32,
    /// How long all segments are; with [`ODD`] all but the last; 0: [`Reports::words`] says.
    each: u32,
    /// What there is to say of them.
    pub(super) reports: LazyBox<Reports>,
}

/// What was reported of segments beside the acknowledgement, what is lost, and what was sent again.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    sums: Sums,
    /// Where each segment ends, with its tags, if any has tags or a length of its own.
    words: Option<Fifo<u64>>,
    /// When this is acknowledged, whether there is a need for that.
    look_at: u64,
    /// One past the highest byte that was ever reported by SACK.
    highest: u64,
    /// As [`Scoreboard::edge`] says, if it is above SND.UNA.
    pub edge: u64,
    /// Nothing below is missing: where to look for what is to be sent again.
    pub first_missing: u64,
    /// The rescue retransmission of this recovery has been sent (RFC 6675, §2: RescueRxt).
    pub rescued: bool,
    /// What was sent again, in the order of sending.
    pub repeats: VecDeque<Sending>,
    /// What only repairs need.
    pub repair: Repair,
    /// The blocks of the last ACK. Most come again with the next one, and say nothing then.
    said: [SackBlock; MAX_SACK],
}

impl Initial for Reports {
    const INITIAL: &'static Reports = &Reports {
        sums: Sums { sacked: 0, lost: 0, retrans: 0, missing: 0 },
        words: None,
        look_at: 0,
        highest: 0,
        edge: 0,
        first_missing: 0,
        rescued: false,
        repeats: VecDeque::new(),
        repair: Repair::NONE,
        said: [SackBlock { from: 0, to: 0 }; MAX_SACK],
    };
}

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

impl Scoreboard {
    /// What is not SACKed below is lost, where losses are a phase.
    pub fn edge(&self) -> u64 {
        self.reports.edge.max(self.una)
    }
    /// Whether the receiver has reported nothing above SND.UNA, and nothing retransmitted is on its
    /// way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.reports.get().is_none_or(|reports| reports.sums.sacked | reports.sums.retrans == 0)
    }
    /// The same, and nothing is lost.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        let all = |sums: &Sums| sums.sacked | sums.retrans | sums.lost;
        self.reports.get().is_none_or(|reports| all(&reports.sums) == 0)
    }
    /// Bytes reported.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.reports.get().map_or(0, |reports| reports.sums.sacked)
    }
    /// Bytes that were lost when they were sent first.
    pub fn lost(&self) -> u64 {
        self.reports.sums.lost
    }
    /// Bytes that are lost and not sent again.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.reports.sums.missing
    }
    /// Bytes that were retransmitted and are on their way, as far as is known.
    pub fn retrans(&self) -> u64 {
        self.reports.sums.retrans
    }
    /// Segments outstanding.
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// One past the highest byte reported; zero when nothing is.
    pub fn highest(&self) -> u64 {
        if self.reports.sums.sacked > 0 { self.reports.highest } else { 0 }
    }
    /// One past the last byte sent.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.una + self.flight()
    }
    /// Bytes sent and not yet acknowledged.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.flight.into()
    }
    /// One past the last byte that the receiver's window admits.
    #[inline]
    pub fn edge_of_window(&self) -> u64 {
        self.una + u64::from(self.room)
    }
    /// The receiver's window reaches to `edge`, or as far as it did before SND.UNA moved by `moved`. How far that is.
    #[inline]
    pub fn widen(&mut self, edge: u64, moved: u64) -> u64 {
        let edge = edge.max(self.edge_of_window() - moved);
        debug_assert!(edge >= self.una, "an acknowledgement beyond its window");
        self.room = (edge - self.una) as u32;
        edge
    }
    /// SND.UNA.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// SetPipe() of RFC 6675, §4: bytes neither SACKed nor lost, and bytes retransmitted and not
    /// SACKed.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.flight() - self.reports.sums.sacked - self.reports.sums.lost + self.reports.sums.retrans
    }

    /// New data up to `end` have been sent.
    #[inline]
    pub fn sent(&mut self, end: u64, at: Time) {
        debug_assert!(self.nxt() < end && end <= END && end - self.una <= u64::from(u32::MAX >> 1));
        let long = (end - self.nxt()) as u32;
        if long != self.each {
            self.sent_apart(end, long);
        }
        self.flight += long;
        self.times.push(at);
    }

    /// The same where not all segments are of one length.
    #[cold]
    fn sent_apart(&mut self, end: u64, long: u32) {
        match self.len() {
            0 => self.each = long,
            // So that is how long they are.
            1 if self.each & ODD != 0 => self.each = self.before + self.flight,
            _ => {}
        }
        match self.each {
            each if each == long => {}
            each if each != 0 && each & ODD == 0 => self.each |= ODD,
            _ => self.words_mut().push(end),
        }
    }

    /// Gives back the room for segments that are outstanding no more: a connection that waits for
    /// its end is kept for long.
    pub fn shrink(&mut self) {
        self.times.shrink_to(0);
        if let Some(reports) = self.reports.get_mut() {
            reports.repeats = VecDeque::new();
        }
    }

    /// Where the segment that holds the byte at `at` stands; mostly it is the first.
    #[inline]
    pub fn place(&self, at: u64) -> usize {
        if at <= self.una {
            return 0; // mostly
        }
        let begin = self.first_byte();
        let from = (at - begin) as u32;
        if at >= self.nxt() {
            return self.len();
        }
        let first = match self.words() {
            Some(words) => (words.front().unwrap_or_default() & END).saturating_sub(begin) as u32,
            None => self.each & !ODD,
        };
        if from < first {
            return 0;
        }
        // Most segments are as long as the first.
        let guess = (from / first.max(1)) as usize;
        match self.words() {
            Some(words) => Scoreboard::place_among(words, at, guess),
            None => guess.min(self.len() - 1),
        }
    }

    /// The same where lengths differ: maybe it is that one.
    #[inline]
    fn place_among(words: &Fifo<u64>, at: u64, guess: usize) -> usize {
        match (words.get(guess.wrapping_sub(1)), words.get(guess)) {
            (Some(before), Some(here)) if before & END <= at && at < here & END => guess,
            _ => words.partition_point(|word| word & END <= at),
        }
    }

    /// Where the first segment begins.
    #[inline]
    fn first_byte(&self) -> u64 {
        self.una - u64::from(self.before)
    }

    /// Where each segment ends, with its tags, if that does not follow from how many are before it.
    #[inline]
    fn words(&self) -> Option<&Fifo<u64>> {
        self.reports.get()?.words.as_ref()
    }

    /// The same, to be changed.
    #[inline]
    fn words_mut(&mut self) -> &mut Fifo<u64> {
        if self.each != 0 {
            self.make_words();
        }
        self.reports.words.as_mut().expect("just made")
    }

    #[cold]
    #[inline(never)]
    fn make_words(&mut self) {
        let mut words = Fifo::default();
        words.shrink_to(self.len() + 1);
        (0..self.len()).for_each(|i| words.push(self.word(i)));
        (self.reports.words, self.reports.look_at) = (Some(words), self.nxt());
        self.each = 0;
    }

    /// Forgets those of `whole` segments, and the others if they say nothing any more.
    fn forget_words(&mut self, whole: usize) {
        if self.each != 0 {
            return;
        }
        let (begin, nxt) = (self.first_byte(), self.nxt());
        let Some(reports) = self.reports.get_mut() else { return };
        let Some(words) = &mut reports.words else { return };
        words.skip(whole);
        if self.una < reports.look_at {
            return;
        }
        let each = words.front().map_or(1, |first| (first & END) - begin);
        let (even, last) = (|i: usize| begin + (i as u64 + 1) * each, words.len().saturating_sub(1));
        if words.iter().enumerate().all(|(i, word)| word == even(i) || i == last && word <= END) {
            let odd = if words.is_empty() || nxt == even(last) { 0 } else { ODD };
            (reports.words, self.each) = (None, each as u32 | odd);
        } else {
            reports.look_at = nxt;
        }
    }

    /// Where the `i`th segment ends, with its tags.
    #[inline]
    fn word(&self, i: usize) -> u64 {
        match self.each {
            0 => self.words().and_then(|words| words.get(i)).expect("outstanding"),
            _ if i + 1 == self.len() => self.nxt(),
            each => self.first_byte() + (i as u64 + 1) * u64::from(each & !ODD),
        }
    }

    /// Where the `i`th segment begins.
    #[inline]
    pub fn begin_of(&self, i: usize) -> u64 {
        i.checked_sub(1).map_or(self.first_byte(), |before| self.word(before) & END)
    }

    #[inline]
    pub fn get(&self, i: usize) -> Option<Sent> {
        self.times.get(i).map(|at| Sent { word: self.word(i), at })
    }

    /// The same where there is one.
    #[inline]
    pub(super) fn at(&self, i: usize) -> Sent {
        self.get(i).expect("outstanding")
    }

    /// The segment that holds the byte at `at`.
    #[inline]
    pub fn of(&self, at: u64) -> Option<Sent> {
        self.get(self.place(at))
    }

    /// Whether the first segment, and no other, is all that an ACK of all below `ack` covers.
    #[inline]
    pub fn is_first(&self, ack: u64) -> bool {
        self.get(0).is_some_and(|first| first.end() == ack)
    }

    /// Where of this `sending` is outstanding, if it was the last there: the byte, and the segment's place.
    pub fn latest(&self, sending: &Sending) -> Option<(u64, usize)> {
        let from = sending.from.max(self.una);
        let i = self.place(from);
        self.get(i).filter(|sent| from < sending.to && sent.at == sending.at).map(|_| (from, i))
    }

    /// Where the last segment begins, if nothing below SND.UNA is outstanding.
    pub fn last(&self) -> u64 {
        self.len().checked_sub(2).map_or(self.una, |before| self.at(before).end().max(self.una))
    }

    /// The segments that begin in `[from, to)`, or hold its first byte, by their places.
    pub fn within(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        self.within_from(self.place(from), from, to)
    }

    /// The same; the first of them is known.
    #[inline]
    pub fn within_from(&self, first: usize, from: u64, to: u64) -> std::ops::Range<usize> {
        // Mostly it is about one.
        let last = |to: u64| match self.get(first) {
            Some(sent) if to > sent.end() => self.place(to - 1),
            _ => first,
        };
        first..if from < to { (last(to) + 1).min(self.len()) } else { first }
    }

    /// Replaces the tags in `clear` by those in `set`.
    pub fn tag(&mut self, i: usize, set: u64, clear: u64) {
        if self.each != 0 && set == 0 {
            return; // nothing is tagged
        }
        if self.each != 0 {
            self.make_words();
        }
        let begin = self.begin_of(i).max(self.una);
        let Some(Reports { words: Some(words), sums, .. }) = self.reports.get_mut() else { return };
        let Some(word) = words.get_mut(i) else { return };
        let (before, after) = (*word, *word & !clear | set);
        if before != after {
            *word = after;
            sums.count_change(before, after, (before & END) - begin);
        }
    }

    /// A segment's end is put at `at`, which lies within one. Where the segment behind it stands then.
    fn split(&mut self, at: u64, samples: &mut Samples<'_>) -> usize {
        let i = self.place(at);
        let Some(sent) = self.get(i).filter(|_| at > self.una && self.begin_of(i) < at) else { return i };
        self.words_mut().insert(i, sent.word & !END | at);
        self.times.insert(i, sent.at);
        if let Some(samples) = samples
            && let Some(sample) = samples.get(i)
        {
            samples.insert(i, sample);
        }
        i + 1
    }

    /// Numbers from `from` to before `to` have been sent again, whatever for.
    pub fn sent_again(&mut self, from: u64, to: u64, at: Time) {
        for i in self.within(from, to) {
            *self.words_mut().get_mut(i).expect("outstanding") |= EVER_RETRANS;
            *self.times.get_mut(i).expect("outstanding") = at;
        }
    }

    /// The same, in order to repair a loss.
    pub fn retransmitted(&mut self, from: u64, to: u64, at: Time, samples: Samples<'_>) {
        let known = self.reports.first_missing >= from;
        let none_before = known || self.next_missing().is_none_or(|i| self.begin_of(i) >= from);
        let first = self.place(from);
        if self.begin_of(first).max(self.una) == from && self.get(first).is_some_and(|sent| sent.end() == to) {
            *self.times.get_mut(first).expect("outstanding") = at;
            self.tag_repeat(first, EVER_RETRANS);
        } else {
            self.sent_again(from, to, at);
            self.retransmitted_in_parts(from, to, samples);
        }
        if none_before {
            self.reports.first_missing = self.reports.first_missing.max(to);
        }
    }

    /// The same where that is not one segment.
    #[cold]
    fn retransmitted_in_parts(&mut self, from: u64, to: u64, mut samples: Samples<'_>) {
        let first = self.split(from, &mut samples);
        let whole = self.get(first).is_some_and(|sent| sent.end() == to);
        let last = if whole { first + 1 } else { self.split(to, &mut samples) };
        (first..last).for_each(|i| self.tag_repeat(i, 0));
    }

    /// A segment is on its way again, unless it has arrived.
    #[inline]
    fn tag_repeat(&mut self, i: usize, tags: u64) {
        self.tag(i, if self.at(i).is_sacked() { tags } else { tags | RETRANS }, 0);
    }

    /// SND.UNA moves to `ack`, and nothing more is to be said of what is below: returns the first whole segment of that.
    #[inline]
    pub fn pass(&mut self, ack: u64) -> Option<Sent> {
        debug_assert!(self.reports.sums == Sums::default());
        if self.each.wrapping_sub(1) >= ODD - 1 {
            return self.pass_one_by_one(ack);
        }
        let (first, mut whole, mut rest) = (self.times.front(), 0, self.before + (ack - self.una) as u32);
        let end = self.first_byte() + u64::from(self.each);
        while rest >= self.each {
            (whole, rest) = (whole + 1, rest - self.each);
        }
        self.forget(whole, ack, rest);
        first.filter(|_| whole > 0).map(|at| Sent { word: end, at })
    }

    /// The same where they are not all of one length.
    #[cold]
    fn pass_one_by_one(&mut self, ack: u64) -> Option<Sent> {
        let (first, mut whole, mut begin) = (self.get(0).filter(|s| s.end() <= ack), 0, self.first_byte());
        while let Some(sent) = self.get(whole).filter(|s| s.end() <= ack) {
            (whole, begin) = (whole + 1, sent.end());
        }
        self.forget(whole, ack, (ack - begin) as u32);
        self.forget_words(whole);
        first
    }

    /// SND.UNA moves to `ack`, which the first segment but `whole` begins so many `before`.
    #[inline]
    fn forget(&mut self, whole: usize, ack: u64, before: u32) {
        self.times.skip(whole);
        (self.flight, self.before) = (self.flight - (ack - self.una) as u32, before);
        self.una = ack;
        self.give_back();
    }

    /// The same. What had not been SACKed of it has `arrived`.
    pub fn acknowledged(&mut self, ack: u64, mut samples: Samples<'_>, arrived: &mut Vec<Arrived>) -> Option<Sent> {
        debug_assert!(samples.as_ref().is_none_or(|samples| samples.len() == self.len()), "one for each");
        let (mut first, mut whole, mut begin) = (None, 0, self.first_byte());
        while let Some(sent) = self.get(whole).filter(|s| s.end() <= ack) {
            first = first.or(Some(sent));
            if let Some(reports) = self.reports.get_mut() {
                reports.sums.count(sent, (sent.end() - begin.max(self.una)).wrapping_neg());
            }
            let then = samples.as_mut().and_then(|samples| samples.pop());
            if !sent.is_sacked() {
                arrived.push(Arrived { begin, sent, then });
            }
            (whole, begin) = (whole + 1, sent.end());
        }
        let in_part = if begin < ack { self.get(whole) } else { None };
        if let Some(reports) = self.reports.get_mut() {
            if let Some(sent) = in_part {
                reports.sums.count(sent, (ack - begin.max(self.una)).wrapping_neg());
            }
            if reports.sums.sacked == 0 {
                reports.said = Default::default(); // numbers wrap: the same ones may be news one day
            }
        }
        self.forget(whole, ack, (ack - begin) as u32);
        self.forget_words(whole);
        first
    }

    /// A ring goes round all of its memory: what slow start has needed once would be in the
    /// cache for good.
    #[inline]
    fn give_back(&mut self) {
        if self.times.capacity() > 8 * self.len().max(4) {
            self.times.shrink_to(2 * self.len());
        }
    }

    /// Update() of RFC 6675, §4: takes in the blocks of an ACK; returns how many bytes they report
    /// for the first time, of whole segments. Blocks that reach outside what is outstanding are false and ignored.
    /// `own` says which bytes the numbers are of.
    pub fn update(
        &mut self,
        packet: &Packet,
        own: Sequence,
        mut samples: Samples<'_>,
        arrived: &mut Vec<Arrived>,
    ) -> u64 {
        let (before, nxt) = (self.reports.sums.sacked, self.nxt());
        let mut said = [SackBlock::default(); MAX_SACK];
        for (block, place) in packet.sack_blocks().iter().zip(&mut said) {
            if !self.reports.said.contains(block) {
                let Some(range) = range(block, own, self.una, nxt) else { continue };
                self.sack(*block, range, &mut samples, arrived);
            }
            *place = *block;
        }
        self.reports.said = said;
        self.reports.sums.sacked - before
    }

    /// The receiver has `[from, to)`, which are `block`'s numbers. What blocks of the last ACK have said of that is passed
    /// over.
    fn sack(
        &mut self,
        block: SackBlock,
        (from, to): (u64, u64),
        samples: &mut Samples<'_>,
        arrived: &mut Vec<Arrived>,
    ) {
        let mut news = block;
        for said in &self.reports.said {
            news.from = if said.holds(news.from) { said.to } else { news.from };
            news.to = if said.holds(news.to.wrapping_sub(1)) { said.from } else { news.to };
        }
        let offset = |number: u32| from.saturating_add_signed((number.wrapping_sub(block.from) as i32).into());
        let (first, last) = (offset(news.from), offset(news.to));
        for i in self.within(first, last.max(first)) {
            let (begin, sent) = (self.begin_of(i).max(self.una), self.at(i));
            if begin >= from && sent.end() <= to && !sent.is_sacked() {
                let (begin, then) = (self.begin_of(i), samples.as_ref().and_then(|samples| samples.get(i)));
                arrived.push(Arrived { begin, sent, then });
                self.tag(i, SACKED, LOST | RETRANS);
                self.reports.highest = self.reports.highest.max(sent.end());
            }
        }
    }

    /// RFC 2018, §8, and RFC 6675, §5.1: after a timeout reports may be kept unless the receiver
    /// has reneged, which shows in SND.UNA lying in what it had reported.
    pub fn forget_if_reneged(&mut self) {
        if self.get(0).is_some_and(Sent::is_sacked) {
            for i in 0..self.len() {
                let lost =
                    if self.at(i).is_sacked() && self.begin_of(i).max(self.una) < self.edge() { LOST } else { 0 };
                self.tag(i, lost, SACKED);
            }
            (self.reports.said, self.reports.highest, self.reports.first_missing) = (Default::default(), 0, self.una);
        }
    }

    /// What must be so, for assertions: the records reach from SND.UNA to SND.NXT, and each byte has one state, or is
    /// lost and sent again. Where there are few, also that they are in order, and that the sums are theirs.
    pub fn is_consistent(&self, una: u64, nxt: u64) -> bool {
        let Sums { sacked, lost, retrans, missing } = self.reports.sums;
        let within = (self.una, self.nxt()) == (una, nxt) && self.edge() <= nxt;
        let once = sacked + lost <= nxt - una && sacked + retrans <= nxt - una && missing <= lost;
        let reach = |words: &Fifo<u64>| words.len() == self.len() && words.back().map(|word| word & END) == Some(nxt);
        let words = if self.each == 0 { self.words().is_none_or(reach) } else { self.words().is_none() };
        within && once && words && (self.len() > FEW || self.reports.sums == self.sum_up())
    }

    fn sum_up(&self) -> Sums {
        let (mut sums, mut begin) = (Sums::default(), self.una);
        for sent in (0..self.len()).map(|i| self.at(i)) {
            assert!(begin < sent.end() && !(sent.is_sacked() && sent.has(LOST | RETRANS)));
            sums.count(sent, sent.end() - begin);
            begin = sent.end();
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::harness::{FLOW, HOSTS};

    const MS: fn(u64) -> Time = Time::from_ms;

    /// Segments of 100 bytes, sent at 1, 2, 3 ms and so on.
    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (1..=segments).for_each(|i| board.sent(i * 100, MS(i)));
        board
    }

    fn sack(board: &mut Scoreboard, from: u64, to: u64) -> u64 {
        let (own, mut packet) = (Sequence::after_syn(0), Packet::new(FLOW, HOSTS[1], HOSTS[0], 52));
        packet.sack_len = 1;
        packet.sack_mut()[0] = SackBlock { from: own.wire(from), to: own.wire(to) };
        board.update(&packet, own, None, &mut Vec::new())
    }

    #[test]
    fn the_last_segment_begins_where_the_one_before_ends() {
        let mut board = board(3);
        assert_eq!(Scoreboard::default().last(), 0);
        board.sent_again(100, 200, MS(9));
        assert_eq!(board.last(), 200);
        board.acknowledged(250, None, &mut Vec::new());
        assert_eq!(board.last(), 250);
    }

    #[test]
    fn the_first_acknowledged_segment_is_timed() {
        let mut board = board(5);
        let mut timed = |ack| board.acknowledged(ack, None, &mut Vec::new()).map(|sent| (sent.at, sent.again()));
        assert_eq!(timed(200), Some((MS(1), false)));
        assert_eq!(timed(250), None, "no whole segment");
        board.sent_again(200, 300, MS(9));
        let mut timed = |ack| board.acknowledged(ack, None, &mut Vec::new()).map(|sent| (sent.at, sent.again()));
        assert_eq!(timed(400), Some((MS(9), true)));
        board.sent_again(450, 460, MS(10));
        let mut timed = |ack| board.acknowledged(ack, None, &mut Vec::new()).map(|sent| (sent.at, sent.again()));
        assert_eq!((timed(500), timed(500)), (Some((MS(10), true)), None));
    }

    #[test]
    fn a_segment_is_reported_when_all_of_it_is() {
        let mut board = board(5);
        assert_eq!(sack(&mut board, 150, 350), 100, "the third");
        assert_eq!(sack(&mut board, 150, 400), 100);
        assert_eq!(sack(&mut board, 100, 400), 100, "the second, in part said before");
        assert_eq!((board.sacked(), sack(&mut board, 100, 400)), (300, 0));
        assert!(board.is_consistent(0, 500));
    }

    /// Where segments are as long as the first, and where they are not.
    #[test]
    fn places_are_found_whatever_the_segments_are() {
        let (even, mut uneven) = (board(20), board(20));
        for at in [30, 150, 160, 170, 910, 1999] {
            uneven.split(at, &mut None);
        }
        let mut moved = even.clone();
        moved.acknowledged(350, None, &mut Vec::new());
        for board in [even, uneven, moved] {
            let all: Vec<u64> = (0..board.len()).map(|i| board.at(i).end()).collect();
            let place = |at| all.iter().position(|end| at < *end).unwrap_or(all.len());
            for from in board.una()..2100 {
                assert_eq!(board.place(from), place(from), "{from}");
                for to in [from, from + 1, from + 99, from + 100, from + 101, from + 700] {
                    let until = if from < to { (place(to - 1) + 1).min(all.len()) } else { place(from) };
                    assert_eq!(board.within(from, to), place(from)..until, "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn what_is_repeated_in_part_is_a_segment_of_its_own() {
        let mut board = board(3);
        board.set_edge(200);
        board.retransmitted(50, 150, MS(9), None);
        assert_eq!((board.len(), board.missing(), board.retrans()), (5, 100, 100));
        assert_eq!((board.hole(1), board.pipe()), (Some((0, 50)), 200));
        assert_eq!((sack(&mut board, 50, 150), board.lost()), (100, 100));
        assert!(board.is_consistent(0, 300));
    }

    #[test]
    fn a_receiver_that_reneges_has_reported_nothing() {
        let mut board = board(4);
        sack(&mut board, 100, 300);
        board.set_edge(100);
        board.acknowledged(150, None, &mut Vec::new());
        board.forget_if_reneged();
        assert_eq!((board.sacked(), board.highest(), board.pipe()), (0, 0, 250));
        assert!(board.is_consistent(150, 400));
        assert_eq!(sack(&mut board, 200, 300), 100, "news again");
    }
}
