//! The window where an application reads what has come: it is told from the room that there is, and
//! its edge never goes back (RFC 9293, §3.8.6).

use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::{Receiver, State};

/// The least time between two answers to resets out of turn: Linux' `tcp_invalid_ratelimit`.
const CHALLENGES: Time = Time::from_ms(500);

impl Receiver {
    /// Takes over what the application has room for, where there is one.
    #[inline]
    pub(super) fn take_room(&mut self, ctx: &EndpointCtx<'_>) {
        if let Some(room) = ctx.room() {
            let most = self.next.saturating_add(self.settings.tcp.receive_window.0);
            let known = if self.extras.edge == u64::MAX { 0 } else { self.extras.edge };
            self.extras.edge = room.min(most).max(known);
        }
    }

    /// The window: what is left up to the edge, where there is one.
    #[inline]
    pub(super) fn window(&self) -> u32 {
        let edge = self.extras.get().map(|extras| extras.edge).filter(|edge| *edge != u64::MAX);
        edge.map_or(self.settings.tcp.receive_window.0, |edge| edge.saturating_sub(self.next)) as u32
    }

    /// The application has room for more: the peer is told if it may be waiting for that, and then
    /// only of a full packet or half the window (RFC 9293, §3.8.6.2.2).
    pub(super) fn offer_more(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_room(ctx);
        if self.state != State::Established || self.extras.edge == u64::MAX {
            return;
        }
        let (most, packet) = (self.settings.tcp.receive_window.0, u64::from(self.ends.mtu));
        let grown = self.extras.edge.saturating_sub(self.extras.told);
        let closed = self.extras.told.saturating_sub(self.next) < packet;
        if grown >= most / 2 || closed && grown >= packet.min(most / 2) {
            self.acknowledge(ctx);
        }
    }

    /// Whether an offset is in the window, or next to it: where a sender is that filled it.
    pub(super) fn is_in_window(&self, at: u64) -> bool {
        (self.next..=self.next.saturating_add(self.ends.receive_window(self.window()))).contains(&at)
    }

    /// Acknowledges what has come, but not for each packet that somebody makes up (RFC 5961, §7).
    pub(in crate::transport) fn challenge(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.extras.challenged.is_none_or(|at| ctx.now >= at.saturating_add(CHALLENGES)) {
            self.extras.challenged = Some(ctx.now);
            self.acknowledge(ctx);
            ctx.set_timer(self.due_at);
        }
    }
}
