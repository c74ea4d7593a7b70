//! Fast path of an idle port: packets that leave without a context, and packets that it may skip.

use midpath_core::packet::{Flags, Pkt};
use midpath_core::roles::HopCtx;
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::header::{is_bare, says_nothing};
use crate::inrpp::overlay::PeerKind;
use crate::inrpp::siblings::Siblings;
use crate::inrpp::state::State;

/// What a port is like until it is called next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Idle {
    /// In Push, without packets, promises, nonces or contenders, and all of that is published: a packet
    /// that leaves changes its load alone.
    pub(super) on: bool,
    /// And it has nothing to say on ACKs: one that brings nothing changes nothing.
    pub(super) silent: bool,
}

// Tests compare with ports that are never idle.
#[cfg(test)]
thread_local! {
    pub(in crate::inrpp) static NEVER_IDLE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl InrppPort {
    /// Called when all is published.
    #[inline]
    pub(super) fn note_idle(&mut self, now: Time) {
        let on = self.machine.state() == State::Push
            && self.on_wire.is_none()
            && self.waiting_packets() == 0
            && self.store.is_empty()
            && !self.cache.closed()
            && self.contenders.is_empty()
            && self.promises.is_empty();
        #[cfg(test)]
        let on = on && !NEVER_IDLE.get();
        self.idle = Idle { on, silent: on && self.slowed.is_none() && self.machine.notification(now).is_none() };
    }

    /// Whether an ACK brings nothing to a port that is silent.
    pub(super) fn ignores_ack(&self, pkt: &Pkt, hop: &HopCtx<'_>) -> bool {
        let packet = &hop.pool[pkt];
        let trusted = matches!(self.peer_kind, PeerKind::Neighbour) || !self.config.keys.on();
        let bare = if trusted { says_nothing(packet) } else { is_bare(packet) };
        // A message would be read with it.
        bare && !packet.flags.has(Flags::SYN) && !hop.shared::<Siblings>().has_message(hop.me)
    }
}
