//! An application's data from the first unacknowledged byte.

use std::collections::VecDeque;

use midpath_core::roles::{Ended, Supply};

/// A stream's bytes that may have to be sent again, and those that wait to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// The offset of the first byte kept.
    base: u64,
    kept: VecDeque<u8>,
    capacity: usize,
    closed: bool,
    ended: Option<Ended>,
}

impl Outgoing {
    pub(super) fn new(capacity: usize) -> Outgoing {
        Outgoing { base: 0, kept: VecDeque::new(), capacity, closed: false, ended: None }
    }

    /// How much it takes at most now; all flows' budget may leave less.
    pub(super) fn room(&self) -> usize {
        if self.closed || self.ended.is_some() { 0 } else { self.capacity.saturating_sub(self.kept.len()) }
    }

    /// Takes as much of `bytes` as there is room for; says how much.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.kept.extend(&bytes[..taken]);
        taken
    }

    /// Nothing follows what has been written.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether nothing more will be written.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Why it has ended, if it has: [`Ended::Complete`] when the other end has everything.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    pub(super) fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }

    pub(super) fn supply(&self) -> Supply {
        Supply { given: self.base + self.kept.len() as u64, closed: self.closed }
    }

    /// A copy of `length` bytes from the offset `at` on.
    ///
    /// # Panics
    /// If they are not here: an endpoint that sends what is acknowledged or was never handed over
    /// would send something else in their place.
    pub(super) fn slice(&self, at: u64, length: usize) -> Box<[u8]> {
        let from = at.checked_sub(self.base).expect("sent data is not acknowledged yet") as usize;
        self.kept.range(from..from + length).copied().collect()
    }

    /// Bytes kept.
    pub fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// All below the offset has arrived.
    pub(super) fn forget_below(&mut self, up_to: u64) {
        let done = (up_to.saturating_sub(self.base) as usize).min(self.kept.len());
        self.kept.drain(..done);
        self.base += done as u64;
        // What a fast flow has needed once is not kept for a slow one.
        if self.kept.is_empty() {
            self.kept = VecDeque::new();
        } else if self.kept.capacity() > 4 * self.kept.len().max(1 << 14) {
            self.kept.shrink_to(2 * self.kept.len());
        }
    }
}
