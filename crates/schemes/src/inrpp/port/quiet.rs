//! Fast path of an idle port: packets that leave without a context, and packets that it may skip.

use std::any::Any;

use midpath_core::packet::{Flags, Packet};
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::header::{is_bare, says_nothing};
use crate::inrpp::overlay::PeerKind;
use crate::inrpp::siblings::Siblings;
use crate::inrpp::state::State;

/// What a port is like until it is called next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quiet {
    /// In Push, without packets, promises, nonces or contenders, and all of that is published: a packet
    /// that leaves changes its load alone.
    pub(super) on: bool,
    /// And it has nothing to say on ACKs: one that brings nothing changes nothing.
    pub(super) deaf: bool,
}

impl InrppPort {
    /// Called when all is published.
    #[inline]
    pub(super) fn note_quiet(&mut self, now: Time) {
        let on = self.machine.state() == State::Push
            && self.on_wire.is_none()
            && self.waiting_packets() == 0
            && self.store.is_empty()
            && !self.cache.closed()
            && self.contenders.is_empty()
            && self.promises.is_empty();
        self.quiet = Quiet { on, deaf: on && self.slowed.is_none() && self.machine.notification(now).is_none() };
    }

    /// Whether an ACK brings nothing to a port that is deaf.
    pub(super) fn overlooks_ack(&self, packet: &Packet, shared: Option<&(dyn Any + Send)>) -> bool {
        let trusted = matches!(self.peer_kind, PeerKind::Neighbour) || !self.config.keys.on();
        let bare = if trusted { says_nothing(packet) } else { is_bare(packet) };
        // A letter would be read with it.
        let letter = || shared.and_then(|s| s.downcast_ref::<Siblings>()).is_none_or(|s| s.has_letter(self.me.1));
        bare && !packet.flags.has(Flags::SYN) && !letter()
    }
}
