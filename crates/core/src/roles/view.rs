//! What a port can see when it handles a packet.

use crate::limit::Backlog;
use crate::rng::Stream;
use crate::units::{Rate, Time};

/// What an AQM may know of its port. Nothing of it is a promise about the future.
pub struct View<'a> {
    /// The time.
    pub now: Time,
    /// What waits, the packet in question not counted.
    pub backlog: Backlog,
    /// The part of it that waits in the packet's own lane: all of it where the scheduler has one
    /// queue.
    pub lane: Backlog,
    /// The port's rate.
    pub rate: Rate,
    /// The link's largest packet.
    pub mtu: u32,
    /// When the transmitter last became idle, if it is idle now and nothing waits.
    pub idle_since: Option<Time>,
    /// How long the packet has waited; zero when it arrives.
    pub sojourn: Time,
    /// The random stream of the node's ports.
    pub rng: &'a mut Stream,
}

impl View<'_> {
    /// Whether a packet that arrives now has to wait.
    #[inline]
    pub const fn busy(&self) -> bool {
        self.idle_since.is_none()
    }
}
