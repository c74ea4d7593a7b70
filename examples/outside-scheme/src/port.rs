//! What the port does: a stamp. What it writes depends on the order of arrivals alone, so in front
//! of a FIFO this is a timetable.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::units::{Bytes, Time};

use crate::header::Reading;

/// Writes the queueing delay into packets.
#[derive(Debug, Default)]
pub struct Stamp {
    /// What the last packet of the scheme found waiting.
    found: Time,
}

impl Aqm for Stamp {
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        // ACKs carry the echo, which is not this port's to change. Other schemes' packets pass
        // untouched.
        if packet.payload > 0
            && let Some(Reading(so_far)) = packet.header::<Reading>()
        {
            // What waits before it, at the port's rate.
            let delay = view.rate.time_for(Bytes(view.backlog.bytes));
            packet.set_header(&Reading(so_far.max(delay)));
            self.found = delay;
        }
        Verdict::Pass
    }

    fn reset(&mut self) {
        *self = Stamp::default();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("state", f64::from(u8::from(!self.found.is_zero()))));
        out.push(("found_s", self.found.as_secs_f64()));
    }
}
