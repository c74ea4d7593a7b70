//! A header alone, sent to hear what the network says: for controllers whose next packet is far
//! away.
//!
//! On the wire it is a keep-alive (RFC 1122, §4.2.3.6): the number before SND.UNA and no data,
//! which any receiver answers at once.

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::{Sender, State};
use crate::transport::cc::NetworkAssisted;

/// Beyond that the timeout is shorter on any path.
const MAX_HALVINGS: u8 = 20;

impl<C: NetworkAssisted> Sender<C> {
    /// When it is time to ask. While nobody answers, half as often each time: a link that is down
    /// must not be filled with questions. Ours.
    #[inline]
    pub(super) fn ask_at(&self) -> Time {
        match self.control.asks_after(&self.view()) {
            Some(after) if self.state == State::Open => {
                let patience = Time(after.0.saturating_mul(1 << self.pace.asking.min(MAX_HALVINGS)));
                self.pace.last.0.max(self.pace.asked).saturating_add(patience.min(self.rtt.rto(&self.settings.tcp)))
            }
            _ => Time::MAX,
        }
    }

    /// Sends a header alone.
    pub(super) fn ask_network(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.numbered(0, self.una(), ctx);
        p.seq = p.seq.wrapping_sub(1);
        p.flags = Flags::ACK.with(self.ace());
        let pace = &mut *self.pace;
        (pace.asked, pace.asking) = (ctx.now, pace.asking.saturating_add(1));
        self.dispatch(p, ctx);
    }

    /// The answer to it measures the round trip as an acknowledgement of data does; its timestamp
    /// says what it is an answer to.
    #[inline]
    pub(super) fn on_probe_answer(&mut self, packet: &Packet, now: Time) {
        if let Some(pace) = self.pace.get_mut().filter(|pace| pace.asking > 0 && self.ends.echoes(packet, pace.asked)) {
            pace.asking = 0;
            let asked = pace.asked;
            self.measured(now.saturating_sub(asked));
        }
    }
}
