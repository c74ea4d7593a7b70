use super::FlowReport;
use crate::units::Time;

/// What a receiver has delivered: each passive end keeps one, and reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delivery {
    bytes: u64,
    /// When the last of them was.
    last_at: Time,
    complete: bool,
}

impl Delivery {
    /// Counts payload that is delivered now, if any.
    #[inline]
    pub fn on_bytes(&mut self, bytes: u64, now: Time) {
        debug_assert!(now >= self.last_at, "delivered at {now:?}, after {:?}", self.last_at);
        self.bytes += bytes;
        self.last_at = if bytes > 0 && !self.complete { now } else { self.last_at };
    }

    /// All bytes have been delivered; whether that was not so before. The flow was complete with its last byte, which may
    /// have come before the FIN; a flow of no bytes is complete now.
    pub fn on_complete(&mut self, now: Time) -> bool {
        let first = !self.complete;
        if first && self.bytes == 0 {
            self.last_at = now;
        }
        self.complete = true;
        first
    }

    /// How many bytes have been delivered.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all have been.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// A report with what was delivered, and the rest of it from elsewhere.
    pub fn report(&self, rest: FlowReport) -> FlowReport {
        FlowReport { delivered: self.bytes, completed: self.complete.then_some(self.last_at), ..rest }
    }
}
