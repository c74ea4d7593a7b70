//! No answers: links forget the flow's spending, and it restarts. Ours (`restart`).

use super::Sender;
use crate::transport::cc::Window;

/// Links have forgotten the flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silence {
    /// The newest packet before that was found out. Answers to earlier ones tell old prices.
    pub before: u32,
    /// What the flow sends until it hears, bytes per second.
    pub rate: f64,
}

impl Sender {
    /// Nothing has come back for long: the links have forgotten a budget that was not paid for a
    /// window, and what they told is old. Until a packet from now on is answered, the flow sends
    /// `rate` bytes per second at most. That is what its budget is worth then; the rest is announced
    /// as at the start.
    pub(super) fn forget(&mut self, rate: f64) {
        self.silent = Some(Box::new(Silence { before: self.nonce, rate }));
        self.announced.clear();
        self.pace.rate = self.pace.rate.min(rate);
    }

    /// Whether the flow had to wait for more than a round trip, for nothing was answered: the packet
    /// that is answered after `round_trip` s had more after it than a window.
    pub(super) fn was_window_limited(&self, round_trip: f64, window: &Window) -> bool {
        self.params.additions().restart && self.rtt > 0.0 && round_trip - window.cwnd as f64 / self.pace.rate > self.rtt
    }
}
