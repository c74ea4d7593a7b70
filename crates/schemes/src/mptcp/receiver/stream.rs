//! The data stream as the receiver has it: RFC 8684, §3.3.1.

use midpath_core::ranges::RangeSet;

use crate::mptcp::header::Place;

/// Separate ranges held out of order at most, as a TCP's receiver.
const MAX_RANGES: usize = 1 << 19;

/// What has come in order, and what beyond it.
#[derive(Debug, Default)]
pub struct Stream {
    /// The next data sequence number expected.
    next: u64,
    held: RangeSet,
    /// The length of the stream, once a DATA_FIN has told it.
    end: Option<u64>,
}

/// What a packet did to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// It delivered more than itself, or it was the last: worth telling at once.
    pub urgent: bool,
    /// Bytes that it delivered.
    pub delivered: u64,
}

impl Stream {
    /// Bytes delivered in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }
    /// Bytes held out of order.
    pub fn held(&self) -> u64 {
        self.held.bytes()
    }
    /// Whether everything has come.
    pub fn complete(&self) -> bool {
        self.end == Some(self.next)
    }
    /// The data ACK: RFC 8684, §3.3.3, the DATA_FIN takes one number.
    pub fn ack(&self) -> u64 {
        self.next + u64::from(self.complete())
    }

    /// Whether there is room for `place` in a buffer of `buffer` bytes, and it contradicts no
    /// DATA_FIN.
    fn acceptable(&self, place: &Place, buffer: u64) -> bool {
        let highest = self.held.last().map_or(self.next, |r| r.1).max(place.to);
        let end = self.end.or(place.end);
        let agrees = place.end.is_none_or(|e| Some(e) == end);
        // RFC 8684, §3.3.4: the window counts from the data ACK. An end that it cannot reach yet is
        // no end that can be kept to.
        let edge = self.next.saturating_add(buffer);
        let in_window = place.to <= edge && place.end.is_none_or(|e| e <= edge);
        in_window && agrees && end.is_none_or(|e| highest <= e) && self.held.len() < MAX_RANGES
    }

    /// Takes the bytes in, wherever they came from. `None`: they are refused.
    pub fn take(&mut self, place: &Place, buffer: u64) -> Option<Taken> {
        if !self.acceptable(place, buffer) {
            return None;
        }
        let (was_complete, before) = (self.complete(), self.next);
        self.end = self.end.or(place.end);
        if place.to > self.next {
            if place.from <= self.next && self.held.is_empty() {
                self.next = place.to;
            } else {
                self.held.insert(place.from.max(self.next), place.to);
            }
        }
        if let Some((_, to)) = self.held.first().filter(|r| r.0 <= self.next) {
            self.held.remove_below(to);
            self.next = to;
        }
        let urgent = self.next > place.to.max(before) || (self.complete() && !was_complete);
        Some(Taken { urgent, delivered: self.next - before })
    }
}
