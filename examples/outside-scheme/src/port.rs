//! What the port does: a stamp. What it writes depends on the order of arrivals alone, so in front of a FIFO this is a timetable.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::units::Bytes;

use crate::header::Reading;

/// Writes the queueing delay into packets.
pub struct Stamp;

impl Aqm for Stamp {
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        // ACKs carry the echo, which is not this port's to change. Other schemes' packets pass untouched.
        if packet.payload > 0
            && let Some(Reading(so_far)) = packet.header::<Reading>()
        {
            // What waits before it, at the port's rate.
            let delay = view.rate.time_for(Bytes(view.backlog.bytes));
            packet.set_header(&Reading(so_far.max(delay)));
        }
        Verdict::Pass
    }
}
