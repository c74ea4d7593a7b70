//! Shared test helpers of AQMs and schedulers.

use super::{Aqm, Scheduler, Verdict, View};
use crate::packet::{FlowId, NodeId, Packet, Pool};
use crate::rng::{Purpose, Stream, stream};
use crate::roles::Backlog;
use crate::units::{Rate, Time};

/// A packet of a flow, whose sender is node 0.
pub fn packet(flow: u32, size: u32) -> Packet {
    Packet::new(FlowId(flow), NodeId(0), NodeId(1), size)
}

/// Brings packets to a scheduler: of which flows, of which sizes.
pub fn push(scheduler: &mut impl Scheduler, pool: &mut Pool, arrivals: &[(u32, u32)]) {
    for (flow, size) in arrivals {
        let pkt = pool.insert(packet(*flow, *size));
        scheduler.push(pkt, pool);
    }
}

/// Packets that leave a queue that stays as it is.
pub struct Leaving {
    sojourn: Time,
    backlog: Backlog,
    rng: Stream,
}

impl Leaving {
    /// Each has waited for `sojourn`, and `behind` bytes wait behind it.
    pub fn new(sojourn: Time, behind: u64) -> Leaving {
        Leaving {
            sojourn,
            backlog: Backlog { packets: behind / 1500, bytes: behind },
            rng: stream(1, Purpose::Ports, 0),
        }
    }

    /// One of them leaves.
    pub fn ask(&mut self, aqm: &mut impl Aqm, now: Time) -> Verdict {
        let mut packet = packet(0, 1500);
        let view = &mut View {
            now,
            backlog: self.backlog,
            lane: self.backlog,
            rate: Rate::from_mbps(10),
            mtu: 1500,
            idle_since: None,
            sojourn: self.sojourn,
            rng: &mut self.rng,
        };
        aqm.dequeue(&mut packet, view)
    }
}
