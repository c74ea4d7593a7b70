//! What has arrived for an application and is not read yet, and the budget of all that may.

use std::collections::VecDeque;

use midpath_core::ranges::RangeSet;
use midpath_core::roles::Ended;

/// What a flow is promised before anything of it has been read: 64 KiB, TCP's window without
/// scaling (RFC 9293), so that a flow which never reads holds little.
const FIRST: u64 = 1 << 16;

/// Of what the budget has left one flow gets at most this share at a time, so that there is always
/// something for the next one. Ours.
const SHARE: u64 = 4;

/// The bounds on what flows are promised room for, and what has been promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Bytes promised to all flows together.
    budget: u64,
    /// Bytes promised to one flow, before anything of it has been read and at most.
    first: u64,
    most: u64,
    promised: u64,
    /// Of the same size is the budget for what applications here have written: so much of it is
    /// kept.
    written: u64,
}

impl Default for Windows {
    /// 64 MiB for all, 4 MiB for one: 200 ms at 160 Mbps. Ours; both are settings.
    fn default() -> Windows {
        Windows::new(64 << 20, 4 << 20)
    }
}

impl Windows {
    /// Nothing promised yet.
    pub fn new(budget: u64, most: u64) -> Windows {
        Windows { budget, first: FIRST.min(most), most, promised: 0, written: 0 }
    }

    /// As the simulator has them: never the limit.
    pub fn ample() -> Windows {
        Windows { budget: 1 << 50, first: 1 << 30, most: 1 << 30, promised: 0, written: 0 }
    }

    /// Bytes that peers may send, or have sent and nobody has read.
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// Promises up to `wish` bytes more; says how many.
    fn promise(&mut self, wish: u64) -> u64 {
        let promised = wish.min((self.budget - self.promised) / SHARE);
        self.promised += promised;
        promised
    }

    /// How much of `wish` more an application may write.
    pub(super) fn may_write(&self, wish: u64) -> u64 {
        wish.min(self.budget.saturating_sub(self.written) / SHARE)
    }

    /// So much has been written, or is kept no more.
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(super) fn freed(&mut self, bytes: u64) {
        self.written -= bytes;
    }

    /// Bytes that applications here have written and that are not acknowledged.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// So much of what was promised has come and is read, or will never come.
    pub(super) fn kept(&mut self, bytes: u64) {
        self.promised -= bytes;
    }
}

/// A stream's bytes that have come and wait to be read. Held are at most those up to the promised
/// offset, in one ring: a peer that sends single bytes out of order costs ranges, not buffers.
#[derive(Debug, Default)]
pub struct Incoming {
    /// What has been read.
    base: u64,
    /// What follows, with gaps.
    kept: VecDeque<u8>,
    /// Where there is none: offsets that have come, from `base` on.
    come: RangeSet,
    /// One past the last byte that the peer may send.
    edge: u64,
    starved: bool,
    ended: Option<Ended>,
    /// The endpoint is gone; the application may still read.
    gone: bool,
}

impl Incoming {
    /// Bytes that can be read now.
    pub fn readable(&self) -> usize {
        self.come.first().filter(|first| first.0 == self.base).map_or(0, |first| (first.1 - first.0) as usize)
    }

    /// Why it has ended, if it has. After [`Ended::Complete`] all there ever is can be read; after
    /// anything else the application is to be told of a failure, whatever has come.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Whether it is complete, and read to its end.
    pub fn is_done(&self) -> bool {
        self.ended == Some(Ended::Complete) && self.come.is_empty()
    }

    /// Up to `most` bytes that can be read, which stay.
    pub fn peek(&self, most: usize) -> Vec<u8> {
        self.kept.iter().take(self.readable().min(most)).copied().collect()
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.base
    }

    pub(super) fn is_starved(&self) -> bool {
        self.starved && self.ended.is_none()
    }

    pub(super) fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }

    pub(super) fn note_gone(&mut self) {
        self.gone = true;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// What is promised and not read.
    pub(super) fn promised(&self) -> u64 {
        self.edge - self.base
    }

    /// The offset up to which there is room. It grows as the application reads: twice what has been
    /// read, as slow start grows, up to the bound.
    pub(super) fn room(&mut self, windows: &mut Windows) -> u64 {
        let window = (2 * self.base).clamp(windows.first, windows.most);
        let wish = (self.base + window).saturating_sub(self.edge);
        if wish > 0 && self.ended.is_none() {
            let promised = windows.promise(wish);
            self.edge += promised;
            self.starved = promised < wish;
        }
        self.edge
    }

    /// Takes bytes in at an offset; what is here stays as it is. Says whether more can be read.
    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) -> bool {
        let (from, to) = (at.max(self.base), (at + bytes.len() as u64).min(self.edge));
        if from >= to {
            return false;
        }
        let before = self.readable();
        let (base, reach) = (self.base, (to - self.base) as usize);
        if self.kept.len() < reach {
            self.kept.resize(reach, 0);
        }
        for (gap, end) in self.come.missing(from, to).collect::<Vec<_>>() {
            let place = (gap - base) as usize..(end - base) as usize;
            let new = &bytes[(gap - at) as usize..(end - at) as usize];
            self.kept.range_mut(place).zip(new).for_each(|(kept, new)| *kept = *new);
        }
        self.come.insert(from, to);
        self.readable() > before
    }

    pub(super) fn read(&mut self, most: usize, out: &mut Vec<u8>) -> usize {
        let read = self.readable().min(most);
        out.extend(self.kept.drain(..read));
        self.base += read as u64;
        self.come.remove_below(self.base);
        if self.kept.is_empty() {
            self.kept.shrink_to(FIRST as usize);
        }
        read
    }
}
