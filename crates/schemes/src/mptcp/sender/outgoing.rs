//! The data stream as the sender has it: RFC 8684, §3.3. Bytes count from 0; packets have the
//! initial data sequence number added.

use midpath_core::roles::Supply;

/// The stream's numbers; the DATA_FIN takes the one after the last byte (§3.3.3).
#[derive(Debug, Clone, Copy)]
pub struct Outgoing {
    /// The first byte that the receiver lacks.
    una: u64,
    /// The first byte that no subflow has had.
    next: u64,
    /// One past the last byte that the receiver's buffer has room for.
    edge: u64,
    /// The length of the stream; `u64::MAX` while nobody knows.
    end: u64,
    /// One past the last byte that the application has handed over.
    given: u64,
}

impl Outgoing {
    /// A stream of `size` bytes, or one without end.
    pub fn new(size: Option<u64>) -> Outgoing {
        let end = size.map_or(u64::MAX, |s| s.min(u64::MAX / 2));
        Outgoing { una: 0, next: 0, edge: 0, end, given: u64::MAX }
    }

    /// The application has handed over so much.
    pub fn supply(&mut self, supply: Supply) {
        self.given = supply.given;
        if supply.closed {
            self.end = self.end.min(supply.given);
        }
    }

    /// The first byte that the receiver lacks.
    pub fn una(&self) -> u64 {
        self.una
    }
    /// The first byte that no subflow has had.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// The length of the stream; `u64::MAX` while nobody knows.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Whether the receiver has all data.
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.end
    }
    /// Whether there are data that no subflow has had.
    pub fn has_more(&self) -> bool {
        self.next < self.end.min(self.given)
    }

    /// A SYN-ACK: the window counts from the first byte.
    pub fn on_window(&mut self, window: u64) {
        self.edge = self.edge.max(window);
    }

    /// Whether this can be a data ACK, if perhaps an old one. What was never sent cannot be
    /// acknowledged.
    pub fn may_be_acknowledged(&self, ack: u64) -> bool {
        ack <= self.next + u64::from(self.next == self.end)
    }

    /// A data ACK with the window that counts from it; whether it is news.
    pub fn on_ack(&mut self, ack: u64, window: u64) -> bool {
        if !self.may_be_acknowledged(ack) || ack < self.una {
            return false;
        }
        self.edge = self.edge.max(ack.saturating_add(window));
        let news = ack > self.una;
        self.una = ack;
        news
    }

    /// How much of a segment of at most `mss` bytes may be taken now: a whole one, or the stream's
    /// last, or (RFC 9293, §3.8.6.2.1) what the window has room for when nothing is out that would
    /// open it.
    pub fn segment(&self, mss: u64) -> u64 {
        let wanted = mss.min(self.end.min(self.given) - self.next);
        let room = self.edge.saturating_sub(self.next);
        if room >= wanted {
            wanted
        } else if self.una == self.next {
            room
        } else {
            0
        }
    }

    /// Takes `bytes`; returns the first one's number.
    pub fn take(&mut self, bytes: u64) -> u64 {
        self.next += bytes;
        self.next - bytes
    }

    /// There is no more than what has been taken.
    pub fn stop(&mut self) {
        self.end = self.end.min(self.next);
    }
}
