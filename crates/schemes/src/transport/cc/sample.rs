//! What a controller with [`SAMPLES`] is told of single packets: draft-ietf-ccwg-bbr, "Delivery Rate
//! Samples".
//!
//! [`SAMPLES`]: super::CongestionController::SAMPLES

use midpath_core::units::{Bytes, Rate, Time};

/// What the newest packet tells of the path that an ACK reports for the first time: of those that it
/// reports, the one that was sent last. Bytes are of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes delivered on this connection so far.
    pub total: u64,
    /// The same when the packet was sent. The difference is what was delivered meanwhile.
    pub prior: u64,
    /// In what time: that between the two ACKs, or between the two sendings, whichever is longer.
    pub interval: Time,
    /// The packet's round trip, unless it was repeated and nothing says which one has arrived.
    pub rtt: Option<Time>,
    /// The application, not the controller, was what limited the sender when the packet was sent.
    pub app_limited: bool,
    /// Bytes in flight when it had been sent, itself included.
    pub in_flight: u64,
    /// Bytes in flight now.
    pub pipe: u64,
    /// Bytes that were taken for lost between its sending and now.
    pub lost: u64,
    /// Bytes that this ACK has made so.
    pub newly_lost: u64,
    /// The window has been full at some time since it was sent.
    pub window_limited: bool,
}

impl Sample {
    /// Bytes that were delivered between the packet's sending and now.
    pub const fn delivered(&self) -> u64 {
        self.total - self.prior
    }

    /// How fast they were delivered. Nothing is known of it if that took less than `least`, the
    /// shortest round trip: a repeat was sent, and it was the original that arrived.
    pub fn rate(&self, least: Time) -> Option<Rate> {
        let known = self.interval >= least && !self.interval.is_zero();
        known.then(|| Rate::from_bytes_in(Bytes(self.delivered()), self.interval))
    }
}

/// A packet that is taken for lost. Bytes are of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// When.
    pub now: Time,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes in flight when it had been sent, itself included.
    pub in_flight: u64,
    /// Bytes that have been taken for lost since it was sent, itself included.
    pub lost: u64,
    /// Bytes delivered on this connection so far.
    pub total: u64,
    /// The application, not the controller, was what limited the sender when it was sent.
    pub app_limited: bool,
    /// Whether it follows directly on the packet that was lost before it: the same hole.
    pub follows: bool,
}
