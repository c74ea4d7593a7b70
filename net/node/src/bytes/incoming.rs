//! Received data that the application has not read yet.

use std::collections::VecDeque;

use midpath_core::ranges::RangeSet;
use midpath_core::roles::Ended;

use super::windows::Windows;

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
    /// What it might send at first.
    first: u64,
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

    /// The offset up to which there is room. It grows as the application reads.
    pub(super) fn room(&mut self, windows: &mut Windows) -> u64 {
        if self.ended.is_some() {
            return self.edge;
        }
        if self.edge == 0 {
            self.first = windows.promise_first();
            self.edge = self.first;
        } else {
            self.edge += windows.promise(self.promised(), self.base, self.first);
        }
        self.starved = self.promised() == 0;
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
            // What a fast flow has needed once is not kept for an idle one.
            self.kept = VecDeque::new();
        }
        read
    }
}
