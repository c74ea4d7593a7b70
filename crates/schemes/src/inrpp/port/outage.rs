//! While a link is down, its queued packets take the detour, including ACKs, and ACKs that arrive by the detour
//! count as if they had come over the link. Ours: in the paper ACKs stay on the reverse path of their data, so a
//! port with a failed link gets no feedback and sends none, although its detour works.

use midpath_core::packet::Pkt;
use midpath_core::roles::{Inbound, PortCtx, Transmitter};

use super::InrppPort;
use crate::inrpp::header::{InrppHeader, set_via, via};
use crate::inrpp::overlay::PeerKind;

impl InrppPort {
    /// Called when the link has changed: whether it is down and can be gone around. What waits in the
    /// buffer goes to the cache then, for detours begin there.
    pub(super) fn note_link(&mut self, ctx: &mut PortCtx<'_>) {
        let off = ctx.transmitter == Transmitter::Busy { until: None };
        self.down = off && self.config.additions.around_outages && !self.paths.is_empty();
        if !self.down {
            return;
        }
        let waiting = std::mem::take(&mut self.buffer).queue;
        for pkt in waiting.into_iter().rev() {
            let packet = &ctx.pool[&pkt];
            self.cache.push_first((packet.flow, packet.src), pkt, ctx.pool);
        }
    }

    /// An ACK on its way around the link of its data has come in: what it says is believed, or taken
    /// off, and it goes on. At the end of its detour it goes to the interface of its data.
    pub(super) fn on_detoured_ack(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        let packet = &ctx.pool[&pkt];
        let Some(mut option) = packet.header::<InrppHeader>() else { return Inbound::Forward(pkt) };
        if option.notifies() && !self.is_authentic(packet, &option) {
            (option.slow, option.cancel) = (None, None);
        }
        (option.number, option.mac) = (0, 0); // signed anew when it leaves
        let arrives = option.via == Some(self.me.0);
        if arrives {
            option.via = None;
        }
        ctx.pool[&pkt].set_header(&option);
        if !arrives {
            return Inbound::Forward(pkt);
        }
        match self.ways.data_port(&ctx.pool[&pkt], self.me.0).filter(|port| *port != ctx.me) {
            Some(port) => {
                ctx.hand_over(port, pkt);
                Inbound::Keep
            }
            None => Inbound::Forward(pkt),
        }
    }

    /// Whether an ACK is on a detour. Only routers send anything around: from others the tag is taken
    /// off.
    pub(super) fn is_detoured(&self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> bool {
        if via(&ctx.pool[pkt]).is_none() {
            return false;
        }
        let routers = matches!(self.peer_kind, PeerKind::Neighbour) && self.config.additions.around_outages;
        if !routers {
            set_via(&mut ctx.pool[pkt], None);
        }
        routers
    }
}
