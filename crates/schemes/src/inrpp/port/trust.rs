//! Verification of notifications, and signing (§V-C).

use midpath_core::packet::{NodeId, Packet, Pkt};
use midpath_core::roles::PortCtx;
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::header::{InrppHeader, echoes, has_nonces, notifies};
use crate::inrpp::note::{self, Form};
use crate::inrpp::overlay::PeerKind;
use crate::inrpp::params::Notify;

impl InrppPort {
    /// §V-C: what comes from where not everybody is an INRPP router counts when one has signed it.
    /// Hosts have nothing to give: "the endpoints do not originate slow-down notifications". That
    /// holds for nonces, too: the sender would echo them in place of true ones.
    pub(super) fn strip_unsigned(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        if matches!(self.peer_kind, PeerKind::Neighbour) || !self.config.keys.on() {
            return;
        }
        let packet = &ctx.pool[pkt];
        // Receivers echo what ports have put on data where that is the way.
        let echoes = self.config.notify == Notify::Acks && echoes(packet);
        if !notifies(packet) && !has_nonces(packet) && !echoes {
            return;
        }
        let Some(mut option) = packet.header::<InrppHeader>() else { return };
        let good = match &self.peer_kind {
            PeerKind::Plain(plain_region) => {
                let from = plain_region.signers(packet);
                self.link_mac.verify_far(&mut self.far, &self.config.keys, from, self.me.0, packet, &option)
            }
            PeerKind::Host | PeerKind::Neighbour => {
                self.link_mac.refuse();
                false
            }
        };
        if !good {
            (option.slow, option.cancel, option.nonces) = (None, None, Default::default());
        }
        if self.config.notify == Notify::Acks {
            (option.far_slow, option.far_cancel) = (None, None);
        }
        (option.number, option.mac) = (0, 0);
        ctx.pool[pkt].set_header(&option);
    }

    /// The same where the note stands in a header of the usual form.
    fn sign_note(&mut self, packet: &mut Packet, to: NodeId, now: Time) {
        let ends = (self.me.0, to);
        if !self.host
            && let Some((number, mac)) =
                self.link_mac.sign_words(&self.config.keys, now, ends, |number| note::words(packet, number))
        {
            note::sign(packet, number, mac);
        }
    }

    /// As [`InrppPort::is_authentic`], where the note stands in a header of the usual form.
    pub(super) fn is_authentic_note(&mut self, packet: &Packet) -> bool {
        let signature = note::signature(packet);
        match self.peer_kind {
            PeerKind::Neighbour => {
                let words = note::words(packet, signature.0);
                self.link_mac.verify_words(&self.config.keys, (self.peer, self.me.0), words, signature)
            }
            PeerKind::Host | PeerKind::Plain(_) => true,
        }
    }

    /// Whether a notification is the neighbour's.
    pub(super) fn is_authentic(&mut self, packet: &Packet, option: &InrppHeader) -> bool {
        match self.peer_kind {
            PeerKind::Neighbour => self.link_mac.verify(&self.config.keys, self.peer, self.me.0, packet, option),
            // What was not has been taken off.
            PeerKind::Host | PeerKind::Plain(_) => true,
        }
    }

    /// Signs the notification on an ACK that leaves through this port. A host has no key.
    pub(super) fn sign_notification(&mut self, packet: &mut Packet, now: Time) {
        let says = notifies(packet);
        let to = match &self.peer_kind {
            // Across plain routers a signature vouches for bare nonces, too.
            PeerKind::Plain(plain_region) if says || has_nonces(packet) => plain_region.next(packet.dst, packet.key),
            _ if says => Some(self.peer),
            _ => return,
        };
        if note::form(packet.headers()) == Some(Form::Noted)
            && let Some(to) = to
        {
            return self.sign_note(packet, to, now);
        }
        if let Some(mut option) = packet.header::<InrppHeader>()
            && let Some(to) = to
            && !self.host
        {
            self.link_mac.sign(&self.config.keys, now, self.me.0, to, packet, &mut option);
            packet.set_header(&option);
        }
    }
}
