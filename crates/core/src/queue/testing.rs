//! What the AQMs' unit tests share.

use super::{Aqm, Verdict, View};
use crate::packet::{FlowId, NodeId, Packet};
use crate::rng::{Purpose, Stream, stream};
use crate::roles::Backlog;
use crate::units::{Rate, Time};

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
        let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
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
