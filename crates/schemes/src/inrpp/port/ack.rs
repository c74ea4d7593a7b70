//! Algorithm 1: what an ACK that comes in through the interface of its data changes, and what it is told.

use midpath_core::packet::{Flags, Pkt};
use midpath_core::roles::PortCtx;

use super::InrppPort;
use crate::inrpp::cache::{Key, START};
use crate::inrpp::header::{InrppHeader, Slow, echoes, has_nonces, is_carried, notifies};
use crate::inrpp::overlay::Side;
use crate::inrpp::params::Notify;
use crate::inrpp::state::{Note, State, Thresholds};

/// What all flows together should have of a cache that is filled beyond S_high: S_high at S_high and nothing when it is full, so that
/// it drains the faster the less room is left.
fn shrink(t: &Thresholds, stored: u64) -> u64 {
    let (room, whole) = (t.size.saturating_sub(stored), (t.size - t.high).max(1));
    (u128::from(t.high) * u128::from(room) / u128::from(whole)) as u64
}

impl InrppPort {
    /// ACK-Processing(interface, ACK).
    pub(super) fn on_ack(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        // Lines 2–13.
        self.look(ctx.now);
        self.screen(pkt, ctx);
        self.say_stored(pkt, ctx);
        let packet = ctx.pool[pkt];
        self.watch.heard((packet.flow, packet.dst));
        if packet.flags.has(Flags::SYN) {
            self.say_begin(pkt, ctx);
        }
        // The handshake is no ACK of data: "new flows enter the system in open-loop mode" (§II-B), unless flows are steered.
        let own = self.own_note(ctx.now).filter(|_| self.config.steer || !packet.flags.has(Flags::SYN));
        if own.is_none() && !notifies(&packet) {
            self.slowed = None;
            return;
        }
        let Some(mut option) = packet.header::<InrppHeader>() else { return };
        if option.notifies() && !self.trusts(&packet, &option) {
            (option.slow, option.cancel) = (None, None);
        }
        // The lane of the data that this ACK is about.
        let key = (packet.flow, packet.dst);
        if !self.host {
            self.obey(key, &mut option, ctx); // on a host it is the sender's to obey: one loop, not one inside another
        }
        self.tell(key, own, packet.flags.has(Flags::SYN), &mut option);
        if self.host {
            self.slowed = option.slow.map(|_| ctx.now);
            self.revive_at = self.revive_at.min(ctx.now.saturating_add(self.config.expiry));
        }
        (option.number, option.mac) = (0, 0); // signed anew when it leaves
        ctx.pool[pkt].set_header(&option);
        self.settle(ctx);
    }

    /// §V-C: what comes from where not everybody is an INRPP router counts when one has signed it. Hosts have nothing to give: "the
    /// endpoints do not originate slow-down notifications". That holds for nonces, too: the sender would echo them in place of true ones.
    fn screen(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        if matches!(self.side, Side::Neighbour) || !self.config.keys.on() {
            return;
        }
        let packet = ctx.pool[pkt];
        // Receivers echo what ports have put on data where that is the way.
        let echoes = self.config.notify == Notify::Acks && echoes(&packet);
        if !notifies(&packet) && !has_nonces(&packet) && !echoes {
            return;
        }
        let Some(mut option) = packet.header::<InrppHeader>() else { return };
        let good = match &self.side {
            Side::Plain(beyond) => {
                let from = beyond.signers(&packet);
                self.line.verify_far(&mut self.far, &self.config.keys, from, self.me.0, &packet, &option)
            }
            Side::Host | Side::Neighbour => {
                self.line.refuse();
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

    /// Tells the border behind this router whether this interface stores: the last one that does is the ingress's.
    fn say_stored(&self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &mut ctx.pool[pkt];
        if is_carried(packet)
            && let Some(option) = packet.header::<InrppHeader>()
        {
            packet.set_header(&InrppHeader { stored: self.machine.state() != State::Push, ..option });
        }
    }

    /// How much a flow that starts may have on its way, until it hears more: what the cache has room for, in equal parts for those that start now.
    /// A quarter of the room, for what is acknowledged lets as much again in until this port presses, and others will start. Nothing is said
    /// where S_high leaves what the rule for it asks for, and where the scenario says what S_high is.
    fn say_begin(&self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        if self.host || !self.limits.tight || !self.config.steer || !self.config.backpressure {
            return;
        }
        let room = self.limits.cache.size.saturating_sub(self.cache.stored().custody);
        let part = u32::try_from(room / 4 / self.starts.recent(ctx.now)).unwrap_or(u32::MAX);
        let packet = &mut ctx.pool[pkt];
        if let Some(option) = packet.header::<InrppHeader>() {
            let begin = option.begin.map_or(part, |least| least.min(part));
            packet.set_header(&InrppHeader { begin: Some(begin), ..option });
        }
    }

    /// Whether a notification is the neighbour's.
    fn trusts(&mut self, packet: &midpath_core::packet::Packet, option: &InrppHeader) -> bool {
        match self.side {
            Side::Neighbour => self.line.verify(&self.config.keys, self.peer, self.me.0, packet, option),
            // What was not has been taken off.
            Side::Host | Side::Plain(_) => true,
        }
    }

    /// Lines 14–26: what the hop downstream asks for.
    fn obey(&mut self, key: Key, option: &mut InrppHeader, ctx: &PortCtx<'_>) {
        // Lines 19–22: the request was for this hop. The nonce stays on the ACK for the sender.
        if let Some(slow) = option.slow.take() {
            // Line 16.
            if let Some(evicted) = self.store.add(slow.nonce, ctx.now) {
                self.cache.open(evicted);
            }
            self.cache.gate(key, slow.nonce, ctx.now);
            self.revive_at = self.revive_at.min(ctx.now.saturating_add(self.config.expiry));
            // Lines 17 and 18. The node asks for a packet after this call.
            self.cache.grant(key, option.releases.max(1).into(), slow.release.into());
        }
        // Lines 23–25; line 27: the cancellation goes on to the sender, which stops echoing the nonce.
        if let Some(nonce) = option.cancel
            && self.store.remove(nonce)
        {
            self.cache.open(nonce);
        }
    }

    /// Lines 4 and 8: what this interface has to say to the hop upstream, under its own nonce. (In the algorithm a slow-down that is passed
    /// on keeps the nonce of the interface downstream; then a cancellation of this interface's nonce would undo nothing upstream.)
    fn tell(&mut self, key: Key, own: Option<Note>, first: bool, option: &mut InrppHeader) {
        match own {
            Some(Note::SlowDown) => {
                let release = if first { self.start(key) } else { self.release(key) };
                option.slow = Some(Slow { nonce: self.nonce, release });
                option.nonces.add(self.nonce);
            }
            Some(Note::Cancel) => {
                option.cancel = Some(self.nonce);
                option.nonces.remove(self.nonce);
            }
            None => {}
        }
    }

    /// What an ACK of this flow releases upstream. With steering: none while the flow has more than its part of what the cache should hold;
    /// two while it has less than its part of what is halfway from S_low to S_high, so that a port cancels when there is too little to send,
    /// not when its flows have too few packets in their loops.
    fn release(&self, key: Key) -> u16 {
        if !self.config.steer {
            return 1;
        }
        let (stored, t) = (self.cache.stored().custody, &self.limits.cache);
        if stored <= t.high {
            let (has, part) = self.cache.part(key, t.low.midpoint(t.high));
            return 1 + u16::from(has < part);
        }
        let (has, part) = self.cache.part(key, shrink(t, stored));
        match has {
            _ if has > part => 0,
            _ if has < part / 2 => 2,
            _ => 1,
        }
    }

    /// How many packets a flow begins its loop with that starts in backpressure: its part of the cache, as far as half of the room that is left
    /// has it, for others may start at the same time.
    fn start(&self, key: Key) -> u16 {
        let t = &self.limits.cache;
        let room = t.size.saturating_sub(self.cache.stored().custody) / 2;
        let packets = self.cache.part(key, t.high).1.min(room) / self.cache.quantum();
        u16::try_from(packets).unwrap_or(u16::MAX).max(START)
    }

    /// Signs the notification on an ACK that leaves through this port. A host has no key.
    pub(super) fn sign_note(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let packet = ctx.pool[pkt];
        let says = notifies(&packet);
        let to = match &self.side {
            // Across plain routers a signature vouches for bare nonces, too.
            Side::Plain(beyond) if says || has_nonces(&packet) => beyond.next(packet.dst, packet.key),
            _ if says => Some(self.peer),
            _ => return,
        };
        if let Some(mut option) = packet.header::<InrppHeader>()
            && let Some(to) = to
            && !self.host
        {
            self.line.sign(&self.config.keys, ctx.now, self.me.0, to, &packet, &mut option);
            ctx.pool[pkt].set_header(&option);
        }
    }

    /// The variant for asymmetric paths (§II-A, note): nonce and cancellation go on the data.
    pub(super) fn tag_data(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        if !self.config.backpressure {
            return;
        }
        let (Some(note), Some(mut option)) = (self.machine.note(ctx.now), ctx.pool[pkt].header::<InrppHeader>()) else {
            return;
        };
        match note {
            Note::SlowDown => option.far_slow = Some(self.nonce),
            Note::Cancel => option.far_cancel = Some(self.nonce),
        }
        ctx.pool[pkt].set_header(&option);
    }
}
