//! Lossless classes: priority-based flow control (IEEE 802.1Qbb) between neighbours.
//!
//! A node counts its buffered bytes by ingress port and class ([`Buffer`]). Above the threshold XOFF, the port
//! pauses that class at the neighbour ([`PauseFrame`]); below XON it resumes it. The headroom absorbs packets in
//! flight. [`PfcPort`] does both: it wraps the queues of a scheme, one per class.
//!
//! A run without PFC has no such port and no cost.

mod account;
mod buffer;
mod frame;
mod port;
#[cfg(test)]
mod tests;

pub use account::{Account, Full, Pool, Thresholds};
pub use buffer::{Buffer, PauseRecord, SharedBuffer, Waiting};
pub use frame::{FRAME_SIZE, MAX_CLASSES, PauseFrame};
pub use port::{ClassOf, Lane, PfcPort};

use crate::limit::Limit;
use crate::units::{Bytes, Rate, Time};

/// The limit of a lossless class's queue: none, for what came in is counted by port.
pub const NO_LIMIT: Limit = Limit::Bytes(1 << 50);

/// The link that leads to a port, as far as its headroom goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upstream {
    /// The neighbour's rate.
    pub rate: Rate,
    /// The port's own rate, at which pause frames go back.
    pub back: Rate,
    /// Propagation delay each way.
    pub delay: Time,
    /// The most that is added to it for packets to the port.
    pub jitter: Time,
    /// The largest packet either way.
    pub mtu: u32,
}

impl Upstream {
    /// The most bytes of a class that come in above XOFF.
    ///
    /// The packet that crosses XOFF is the first. The pause frame waits for the packet that its port
    /// is sending, is sent, and takes the link's delay. A packet that the neighbour has begun then is
    /// sent to its end. All that the neighbour has begun before comes in, the link's delay later.
    pub fn headroom(&self) -> Bytes {
        let mtu = u64::from(self.mtu);
        let frame = self.back.time_for(Bytes(mtu)).saturating_add(self.back.time_for(Bytes(FRAME_SIZE.into())));
        let time = frame.saturating_add(self.delay).saturating_add(self.delay).saturating_add(self.jitter);
        Bytes(self.rate.bytes_in(time).0.saturating_add(1 + 2 * mtu))
    }
}
