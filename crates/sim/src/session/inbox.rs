//! What has come on a channel, and who waits for it.

use std::collections::VecDeque;

use super::Callback;

/// Bytes that nobody has received yet, and receives that wait for bytes, in order.
#[derive(Default)]
pub(super) struct Inbox {
    arrived: u64,
    waiting: VecDeque<(u64, Callback)>,
}

impl Inbox {
    pub fn wait(&mut self, bytes: u64, on_done: Callback) {
        self.waiting.push_back((bytes, on_done));
    }

    pub fn arrive(&mut self, bytes: u64) {
        self.arrived = self.arrived.saturating_add(bytes);
    }

    /// The next receive, if all that it waits for has come.
    pub fn take(&mut self) -> Option<Callback> {
        let (bytes, _) = self.waiting.front()?;
        self.arrived = self.arrived.checked_sub(*bytes)?;
        self.waiting.pop_front().map(|(_, on_done)| on_done)
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.arrived == 0 && self.waiting.is_empty()
    }
}
