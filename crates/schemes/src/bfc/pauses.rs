//! What a node pauses at its neighbours: for each of their queues, how many of its packets wait here that found too much
//! before them.

use midpath_core::packet::{PacketId, PortId};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::header::{MAX_QUEUES, PauseBitmap};

/// A queue of the neighbour at a port.
pub type Upstream = (PortId, u8);

/// The counters of a node, which its ports share.
#[derive(Debug)]
pub struct Pauses {
    queues: usize,
    /// `pauseCounter`: by ingress port and upstream queue.
    counts: Box<[u32]>,
    /// `counterIncr`: of packets that wait here, which counter they have raised.
    raised: FxHashMap<PacketId, Upstream>,
    /// The packet that came in last, and is being routed.
    arrived: Option<(PacketId, PortId, Time)>,
}

impl Pauses {
    /// Of a node with so many ports, whose neighbours have so many queues at each, at most.
    pub fn new(ports: usize, queues: usize) -> Pauses {
        let counts = vec![0; ports * queues].into();
        Pauses { queues, counts, raised: FxHashMap::default(), arrived: None }
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

    /// Called with a packet that found too much before it. Says whether its queue upstream is to be paused for it.
    pub fn raise(&mut self, id: PacketId, upstream: Upstream) -> bool {
        let Some(count) = self.count(upstream) else { return false };
        *count += 1;
        let first = *count == 1;
        self.raised.insert(id, upstream);
        first
    }

    /// Called with a packet that waits here no longer. Says at which port the neighbour may go on with a queue.
    pub fn left(&mut self, id: PacketId) -> Option<PortId> {
        let upstream = self.raised.remove(&id)?;
        let count = self.count(upstream).expect("it was raised");
        *count -= 1;
        (*count == 0).then_some(upstream.0)
    }

    /// What the neighbour at a port is to pause.
    pub fn frame(&self, port: PortId) -> PauseBitmap {
        let from = usize::from(port.0) * self.queues;
        let own = self.counts.get(from..from + self.queues).unwrap_or_default();
        let bits = own.iter().take(MAX_QUEUES as usize).enumerate();
        PauseBitmap(bits.fold(0, |bits, (queue, count)| bits | u128::from(*count > 0) << queue))
    }
}
