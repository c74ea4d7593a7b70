use std::collections::VecDeque;

use crate::packet::{Ecn, PacketId};
use crate::roles::{Admission, AdmitCtx, Backlog, Drop, Inbound, Port, PortCtx, Verdict};
use crate::units::{Time, TxClock};

/// A FIFO under an [`Admission`] rule, asked packet by packet: the same decisions as the timetable makes, for links whose rate or state changes during the run.
pub struct HeldFifo {
    rule: Box<dyn Admission>,
    queue: VecDeque<PacketId>,
    bytes: u64,
    /// When what has been accepted will be on the wire, as far as is known.
    free_at: Time,
}

impl HeldFifo {
    /// A FIFO under `rule`.
    pub fn new(rule: Box<dyn Admission>) -> HeldFifo {
        HeldFifo { rule, queue: VecDeque::new(), bytes: 0, free_at: Time::ZERO }
    }
}

impl Port for HeldFifo {
    fn outbound(&mut self, id: PacketId, ctx: &mut PortCtx<'_>) {
        let rate = ctx.link().rate;
        let mut admit = AdmitCtx {
            now: ctx.now,
            start: ctx.now.max(self.free_at),
            idle_since: (self.free_at <= ctx.now && self.queue.is_empty()).then_some(self.free_at),
            backlog: Backlog { packets: self.queue.len() as u64, bytes: self.bytes },
            rate,
            rng: ctx.rng,
        };
        match self.rule.admit(&mut ctx.pool[id], &mut admit) {
            Verdict::Drop(why) => return ctx.drop(id, why),
            Verdict::Mark => ctx.mark(id),
            Verdict::Accept => {}
        }
        let packet = &mut ctx.pool[id];
        packet.queued = ctx.now;
        self.bytes += u64::from(packet.size);
        self.free_at = ctx.now.max(self.free_at) + TxClock::new(rate).time(packet.size);
        self.queue.push_back(id);
        debug_assert!(packet.ecn != Ecn::Ce || self.bytes > 0);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<PacketId> {
        let id = self.queue.pop_front()?;
        self.bytes -= u64::from(ctx.pool[id].size);
        Some(id)
    }

    fn inbound(&mut self, id: PacketId, ctx: &mut PortCtx<'_>) -> Inbound {
        if !self.rule.watches_inbound() {
            return Inbound::Forward;
        }
        self.rule.inbound(&mut ctx.pool[id], ctx.now).map_or_else(Inbound::Drop, |()| Inbound::Forward)
    }

    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        let clock = TxClock::new(ctx.link().rate);
        self.free_at = self.queue.iter().fold(ctx.now, |t, id| t + clock.time(ctx.pool[*id].size));
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.bytes }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.queue.drain(..).for_each(|id| ctx.drop(id, Drop::Fault));
        self.bytes = 0;
        self.free_at = ctx.now;
        self.rule.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.rule.gauges(out);
    }
}
