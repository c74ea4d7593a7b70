//! What a node pauses at its neighbours: for each of their queues, how many queues here hold too much of what it sent.

use midpath_core::packet::{PacketId, PortId};
use midpath_core::units::Time;

use super::header::{MAX_QUEUES, PauseBitmap};

/// A queue of the neighbour at a port.
pub type Upstream = (PortId, u8);

/// The counters of a node, which its ports share.
#[derive(Debug)]
pub struct Pauses {
    queues: usize,
    /// `pauseCounter`: by ingress port and upstream queue.
    counts: Box<[u32]>,
    /// The packet that came in last, and is being routed.
    arrived: Option<(PacketId, PortId, Time)>,
}

impl Pauses {
    /// Of a node with so many ports, whose neighbours have so many queues at each, at most.
    pub fn new(ports: usize, queues: usize) -> Pauses {
        Pauses { queues, counts: vec![0; ports * queues].into(), arrived: None }
    }

    /// Called when a packet has come in through a port, before it is routed.
    pub fn came_in(&mut self, id: PacketId, port: PortId, now: Time) {
        self.arrived = Some((id, port, now));
    }

    /// The port that a packet came in through just now; `None` of the node's own packets.
    pub fn take_ingress(&mut self, id: PacketId, now: Time) -> Option<PortId> {
        self.arrived.take().filter(|a| (a.0, a.2) == (id, now)).map(|a| a.1)
    }

    fn count(&mut self, (port, queue): Upstream) -> Option<&mut u32> {
        if usize::from(queue) >= self.queues {
            return None; // a neighbour with more queues than we can name
        }
        self.counts.get_mut(usize::from(port.0) * self.queues + usize::from(queue))
    }

    /// A queue here holds too much. Says whether the queue upstream is to be paused for it, or `None` where that is not known.
    pub fn raise(&mut self, upstream: Upstream) -> Option<bool> {
        let count = self.count(upstream)?;
        *count += 1;
        Some(*count == 1)
    }

    /// It holds too much no longer. Says whether the queue upstream may go on.
    pub fn lower(&mut self, upstream: Upstream) -> bool {
        let count = self.count(upstream).expect("it was raised");
        *count -= 1;
        *count == 0
    }

    /// What the neighbour at a port is to pause.
    pub fn frame(&self, port: PortId) -> PauseBitmap {
        let from = usize::from(port.0) * self.queues;
        let own = self.counts.get(from..from + self.queues).unwrap_or_default();
        let bits = own.iter().take(MAX_QUEUES as usize).enumerate();
        PauseBitmap(bits.fold(0, |bits, (queue, count)| bits | u128::from(*count > 0) << queue))
    }
}
