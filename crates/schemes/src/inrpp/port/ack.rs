//! Processing of an ACK that arrives through the interface of its data: state changes and notifications. The steps
//! around algorithm 1, in order.

use midpath_core::packet::{Flags, Packet, Pkt};
use midpath_core::roles::PortCtx;
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::algorithm1;
use crate::inrpp::cache::{Cache, Key};
use crate::inrpp::header::{self, InrppHeader, Nonce, Slow};
use crate::inrpp::nonces::Store;
use crate::inrpp::note::{self, Form};
use crate::inrpp::params::Notify;
use crate::inrpp::state::{Notification, State};

impl InrppPort {
    /// ACK-Processing(interface, ACK). What it says has been `vouched` for, or is looked at here.
    pub(super) fn on_ack(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>, vouched: bool) {
        // Lines 2–13.
        self.update_state(ctx.now);
        let packet = &ctx.pool[pkt];
        let says = header::Flags::of(packet);
        if says.carried() {
            self.mark_stored(pkt, ctx);
        }
        if says.idle() {
            return;
        }
        let packet = &ctx.pool[pkt];
        // The lane of the data that this ACK is about.
        let (key, first) = ((packet.flow, packet.dst), packet.flags.has(Flags::SYN) || says.begins());
        self.watch.ack_came(key);
        // The handshake is no ACK of data: "new flows enter the system in open-loop mode" (§II-B),
        // unless flows are steered.
        let notification = self.notification_on_acks(ctx.now).filter(|_| self.config.additions.steer || !first);
        let notified = notification.is_some() || says.says();
        if !notified {
            self.slowed = None;
        }
        if !notified && !first {
            return;
        }
        let form = if first { None } else { note::form(packet.headers()) };
        match (form, notification) {
            (Some(Form::Plain), Some(Notification::SlowDown)) => return self.ask_to_slow_down(key, pkt, ctx),
            (Some(Form::Noted | Form::Signed), None) if self.host => return self.on_note_at_host(pkt, ctx, vouched),
            _ => {}
        }
        let packet = &ctx.pool[pkt];
        let Some(mut option) = packet.header::<InrppHeader>() else { return };
        // Before anything changes: the signature is of what came.
        if option.notifies() && !vouched && !self.is_authentic(packet, &option) {
            (option.slow, option.cancel) = (None, None);
        }
        // Who is slowed down from the beginning on has its promise with that.
        if first && !(self.config.additions.promises && notification == Some(Notification::SlowDown)) {
            self.advertise_room(key, &mut option, ctx.now);
        }
        if !notified {
            ctx.pool[pkt].set_header(&option);
            return;
        }
        if !self.host {
            self.apply_notification(key, &mut option, ctx); // on a host it is the sender's to obey: one loop, not one inside another
        }
        self.notify_upstream(key, notification, first, ctx.now, &mut option);
        if notification == Some(Notification::SlowDown)
            && let Some(slow) = option.slow
        {
            self.note_released(key, slow.release, &ctx.pool[pkt]);
        }
        match notification {
            Some(Notification::SlowDown) => ctx.note("slow-down", self.occupancy() as f64, Some(pkt)),
            Some(Notification::Cancel) => ctx.note("cancel", self.occupancy() as f64, Some(pkt)),
            None => {}
        }
        if self.host {
            self.note_slowed(option.slow.is_some(), ctx.now);
        }
        (option.number, option.mac) = (0, 0); // signed anew when it leaves
        ctx.pool[pkt].set_header(&option);
        self.update_and_publish(ctx);
    }

    fn note_slowed(&mut self, slowed: bool, now: Time) {
        self.slowed = slowed.then_some(now);
        self.revive_at = self.revive_at.min(now.saturating_add(self.config.expiry));
    }

    /// The same of an ACK that brings nothing and is asked to slow down upstream, in place.
    fn ask_to_slow_down(&mut self, key: Key, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let release = self.release(key, ctx.now);
        self.note_released(key, release, &ctx.pool[pkt]);
        note::slow_down(&mut ctx.pool[pkt], Slow { nonce: self.nonce, release });
        ctx.note("slow-down", self.occupancy() as f64, Some(pkt));
        if self.host {
            self.note_slowed(true, ctx.now);
        }
        self.publish_unchanged(ctx);
    }

    /// The same of a note that has come to the host of its sender, which has nothing to add, in place.
    fn on_note_at_host(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>, vouched: bool) {
        let genuine = vouched || self.is_authentic_note(&ctx.pool[pkt]);
        let packet = &mut ctx.pool[pkt];
        let slows = genuine && note::slows(packet);
        if genuine {
            note::unsign(packet);
        } else if let Some(option) = packet.header::<InrppHeader>() {
            packet.set_header(&InrppHeader { slow: None, cancel: None, number: 0, mac: 0, ..option });
        }
        self.note_slowed(slows, ctx.now);
        self.publish_unchanged(ctx);
    }

    /// What an ACK that comes in now is to be told; nothing where backpressure is off or goes by
    /// data.
    fn notification_on_acks(&self, now: Time) -> Option<Notification> {
        let speaks = self.config.backpressure && self.config.notify == Notify::Acks;
        if speaks { self.machine.notification(now) } else { None }
    }

    /// A carried ACK tells the border behind this router whether this interface stores: the last one that does is
    /// the ingress's.
    fn mark_stored(&self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &mut ctx.pool[pkt];
        if let Some(option) = packet.header::<InrppHeader>() {
            packet.set_header(&InrppHeader { stored: self.machine.state() != State::Push, ..option });
        }
    }

    /// Lines 14–26: what the hop downstream asks for. The nonce stays on the ACK for the sender.
    fn apply_notification(&mut self, key: Key, option: &mut InrppHeader, ctx: &PortCtx<'_>) {
        if option.slow.is_some() {
            self.revive_at = self.revive_at.min(ctx.now.saturating_add(self.config.expiry));
        }
        let (store, cache, releases) = (&mut self.store, &mut self.cache, option.releases.max(1).into());
        let mut interface = Flow { store, cache, key, releases, sparse: self.config.additions.sparse, now: ctx.now };
        algorithm1::process(&mut interface, &mut option.slow, option.cancel);
    }

    /// Lines 4 and 8: what this interface has to say to the hop upstream, under its own nonce. (In
    /// the algorithm a slow-down that is passed on keeps the nonce of the interface downstream;
    /// then a cancellation of this interface's nonce would undo nothing upstream.)
    fn notify_upstream(
        &mut self,
        key: Key,
        notification: Option<Notification>,
        first: bool,
        now: Time,
        option: &mut InrppHeader,
    ) {
        match notification {
            Some(Notification::SlowDown) => {
                let release = if first { self.start(key, now) } else { self.release(key, now) };
                option.slow = Some(Slow { nonce: self.nonce, release });
                option.nonces.add(self.nonce);
            }
            Some(Notification::Cancel) => {
                option.cancel = Some(self.nonce);
                option.nonces.remove(self.nonce);
            }
            None => {}
        }
    }

    /// The variant for asymmetric paths (§II-A, note): nonce and cancellation go on the data.
    pub(super) fn tag_data(&mut self, packet: &mut Packet, now: Time) {
        if !self.config.backpressure {
            return;
        }
        let (Some(notification), Some(mut option)) = (self.machine.notification(now), packet.header::<InrppHeader>())
        else {
            return;
        };
        match notification {
            Notification::SlowDown => option.far_slow = Some(self.nonce),
            Notification::Cancel => option.far_cancel = Some(self.nonce),
        }
        packet.set_header(&option);
    }
}

/// The interface as algorithm 1 sees it while it works on the ACK of one flow.
struct Flow<'a> {
    store: &'a mut Store,
    cache: &'a mut Cache,
    key: Key,
    /// Packets that the ACK stands for.
    releases: u32,
    /// Flows may have less than a packet in a round trip.
    sparse: bool,
    now: Time,
}

impl algorithm1::Interface for Flow<'_> {
    fn add_nonce(&mut self, nonce: Nonce) {
        if let Some(evicted) = self.store.add(nonce, self.now) {
            self.cache.open(evicted);
        }
        self.cache.gate(self.key, nonce, self.now);
    }
    /// The node asks the port for a packet after this call.
    fn forward_data(&mut self, slow: Slow) {
        self.cache.grant(self.key, self.releases, slow.release.into());
        if slow.release == 0 && self.sparse {
            self.cache.grant_last(self.key);
        }
    }
    fn remove_nonce(&mut self, nonce: Nonce) {
        if self.store.remove(nonce) {
            self.cache.open(nonce);
        }
    }
}
