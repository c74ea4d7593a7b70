//! What the port does: drop-tail, and a stamp. The start of transmission is known on arrival, so this is a timetable.

use midpath_core::packet::Packet;
use midpath_core::queue::Bound;
use midpath_core::roles::{Admission, AdmitCtx, Drop, Verdict};

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
            packet.set_header(&Reading(so_far.max(ctx.start - ctx.now)));
        }
        Verdict::Accept
    }
}
