//! What the port does: drop-tail, and a stamp. What it decides depends on the order of arrivals alone, so this is a timetable.

use midpath_core::packet::Packet;
use midpath_core::queue::Bound;
use midpath_core::roles::{Admission, AdmitCtx, Drop, Verdict};
use midpath_core::units::Bytes;

use crate::header::Reading;

/// The rule of every port.
pub struct Stamp {
    bound: Bound,
}

impl Stamp {
    /// Holds at most `bound`.
    pub fn new(bound: Bound) -> Stamp {
        Stamp { bound }
    }
}

impl Admission for Stamp {
    fn admit(&mut self, packet: &mut Packet, ctx: &mut AdmitCtx<'_>) -> Verdict {
        if !self.bound.admits(ctx.backlog, packet.size) {
            return Verdict::Drop(Drop::Queue);
        }
        // ACKs carry the echo, which is not this port's to change. Other schemes' packets pass untouched.
        if packet.payload > 0
            && let Some(Reading(so_far)) = packet.header::<Reading>()
        {
            // What waits before it, at the port's rate.
            let delay = ctx.rate.time_for(Bytes(ctx.backlog.bytes));
            packet.set_header(&Reading(so_far.max(delay)));
        }
        Verdict::Accept
    }
}
