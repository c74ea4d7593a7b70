//! The port's state after each call: algorithm 1's state from the occupancy, the next wake-up, and the values that
//! siblings read.

use midpath_core::packet::Pkt;
use midpath_core::roles::{HopCtx, PortCtx};
use midpath_core::units::{Bytes, Time};

use super::InrppPort;
use crate::inrpp::describe::STATES;
use crate::inrpp::load::PublishedLoad;
use crate::inrpp::siblings::Siblings;
use crate::inrpp::state::State;

impl InrppPort {
    /// S. The buffer counts where it fills the memory beyond S_high, and until it has drained below
    /// S_low then; what passes through it otherwise is not stored.
    #[inline]
    pub(super) fn occupancy(&self) -> u64 {
        let custody = self.cache.stored().custody;
        if !self.config.additions.count_buffer {
            return custody;
        }
        let held = self.in_custody();
        let counts = held > self.limits.cache.high || self.machine.state() == State::Backpressure;
        if counts { held } else { custody }
    }

    /// Called when a packet starts onto the wire, or none does.
    #[inline]
    pub(super) fn note_wire(&mut self, pkt: &Option<Pkt>, ctx: &PortCtx<'_>) {
        if self.machine.state() == State::Backpressure {
            self.on_wire = pkt.as_ref().and_then(|pkt| self.wire_in_backpressure(pkt, ctx));
        }
    }

    /// The bytes of a packet that starts onto the wire, and until when they count as occupancy: where
    /// the buffer does, and no more than S_low is left beside it.
    fn wire_in_backpressure(&self, pkt: &Pkt, ctx: &PortCtx<'_>) -> Option<(u64, Time)> {
        let counts = self.config.additions.count_buffer && self.limits.memory.is_some();
        let short = self.in_custody() < self.limits.cache.low.max(1);
        let size = u64::from(ctx.pool[pkt].size);
        (counts && short).then(|| (size, ctx.now.saturating_add(ctx.link().rate.time_for(Bytes(size)))))
    }

    /// Follows the occupancy (algorithm 1, lines 2–13).
    #[inline]
    pub(super) fn update_state(&mut self, now: Time) {
        let before = self.machine.state();
        // A link that sends is not short of packets, where its memory has room for no more than one.
        let wire = self.on_wire.filter(|wire| now < wire.1).map_or(0, |wire| wire.0);
        let after = self.machine.update(self.occupancy() + wire, &self.limits.cache, now, self.config.lasting);
        if before != after {
            self.change_state(before, after);
        }
    }

    #[cold]
    fn change_state(&mut self, before: State, after: State) {
        self.counts.pressed += u64::from(after == State::Backpressure);
        if before == State::Backpressure {
            self.counts.unheard += self.watch.unheard() as u64;
            self.watch.clear();
            self.overdue.relent();
        }
    }

    /// What ends every call: the state, what siblings know, the timer.
    pub(super) fn update_and_publish(&mut self, ctx: &mut PortCtx<'_>) {
        self.update_state(ctx.now);
        self.publish_all(ctx);
    }

    /// The same after a call that has followed the occupancy and not changed it: Push and B stay what they
    /// are.
    #[inline]
    pub(super) fn publish_unchanged(&mut self, ctx: &mut PortCtx<'_>) {
        if !matches!(self.machine.state(), State::Push | State::Backpressure) {
            self.update_state(ctx.now);
        }
        self.publish_all(ctx);
    }

    fn publish_all(&mut self, ctx: &mut PortCtx<'_>) {
        let stays = self.machine.state() == State::Push && self.noted == State::Push;
        if stays && self.on_wire.is_none() && self.store.is_empty() {
            return self.publish_in_push(&mut ctx.hop());
        }
        self.on_wire = self.on_wire.filter(|wire| ctx.now < wire.1 && self.machine.state() == State::Backpressure);
        let at = self.next_detour(ctx).min(self.machine.expires()).min(self.store.expires()).min(self.revive_at);
        let at = at.min(self.promises.lapse_at()).min(self.on_wire.map_or(Time::MAX, |wire| wire.1));
        ctx.wake_at(at);
        self.publish(&mut ctx.hop());
        self.published = true;
        let state = self.machine.state();
        if self.noted != state {
            self.noted = state;
            ctx.note(STATES[state as usize].name, self.occupancy() as f64, None);
        }
        self.note_idle(ctx.now);
    }

    /// The same after a packet that went straight through: Push stays, and nothing waits that would
    /// have to be looked at again.
    #[inline]
    pub(super) fn publish_in_push(&mut self, hop: &mut HopCtx<'_>) {
        (self.probe_at, self.decide_at) = (Time::MAX, Time::MAX);
        hop.wake_at(self.revive_at.min(self.promises.lapse_at()));
        self.publish(hop);
        self.published = true;
        self.note_idle(hop.now);
    }

    /// Whether there is nothing to send, to read, or to say.
    #[inline]
    pub(super) fn has_nothing_to_do(&self, ctx: &PortCtx<'_>) -> bool {
        // An empty cache leaves Push only by what comes.
        self.published
            && self.machine.state() == State::Push
            && self.waiting_packets() == 0
            && self.contenders.is_empty()
            && !ctx.shared::<Siblings>().has_message(ctx.me)
    }

    #[inline]
    fn publish(&mut self, hop: &mut HopCtx<'_>) {
        let load = PublishedLoad {
            push: self.machine.state() == State::Push,
            contenders: self.contenders.len() as u32,
            queue: u32::try_from(self.buffer.bytes).unwrap_or(u32::MAX),
        };
        if self.last_published != load {
            self.last_published = load;
            let me = hop.me;
            hop.state::<Siblings>().publish(me, load);
        }
    }
}
