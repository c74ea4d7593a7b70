//! Default AQMs for transports that need marks, if a scenario's `[queue]` names none.

use std::sync::Arc;

use midpath_core::queue::{AqmSpec, Discipline, Limit, QueueSpec};
use midpath_core::roles::{Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Rate;

/// What nodes run: drop-tail queues get this AQM, others stay as they are.
struct Marking {
    aqm: fn(&PortSpec) -> AqmSpec,
    /// Whether hosts mark at their own ports, too.
    hosts: bool,
}

/// The network of a transport that needs marks of routers.
pub fn marking(aqm: fn(&PortSpec) -> AqmSpec) -> Option<Arc<dyn Network>> {
    Some(Arc::new(Marking { aqm, hosts: false }))
}

/// The same where hosts mark, too.
pub fn marking_everywhere(aqm: fn(&PortSpec) -> AqmSpec) -> Option<Arc<dyn Network>> {
    Some(Arc::new(Marking { aqm, hosts: true }))
}

impl Network for Marking {
    fn has_plain_queues(&self) -> bool {
        true
    }
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let marks = || QueueSpec { aqm: (self.aqm)(spec), ..spec.queue };
        let plain = spec.queue.is_drop_tail() && (self.hosts || !spec.host);
        let queue = if plain { marks() } else { spec.queue };
        Ok(queue.build(spec.link.rate))
    }
}

/// Half of what a port's queue holds, in bytes: a threshold at most that high marks before the queue is full.
pub fn half(limit: Limit, rate: Rate, mtu: u32) -> u64 {
    let bound = limit.bound(rate);
    bound.bytes.min(bound.packets.saturating_mul(u64::from(mtu))) / 2
}
