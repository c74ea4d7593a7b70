use std::collections::VecDeque;

use crate::packet::Pkt;
use crate::roles::{Admission, AdmitCtx, Backlog, Drop, Inbound, Port, PortCtx, Verdict};

/// A FIFO under an [`Admission`] rule, asked packet by packet: the same decisions as the timetable makes, for links whose rate
/// or state changes during the run, and for drivers that know no timetables.
pub struct HeldFifo {
    rule: Box<dyn Admission>,
    queue: VecDeque<Pkt>,
    bytes: u64,
}

impl HeldFifo {
    /// A FIFO under `rule`.
    pub fn new(rule: Box<dyn Admission>) -> HeldFifo {
        HeldFifo { rule, queue: VecDeque::new(), bytes: 0 }
    }
}

impl Port for HeldFifo {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let mut admit = AdmitCtx {
            now: ctx.now,
            busy: ctx.transmitter.is_busy() || !self.queue.is_empty(),
            idle_since: ctx.transmitter.idle_since().filter(|_| self.queue.is_empty()),
            backlog: Backlog { packets: self.queue.len() as u64, bytes: self.bytes },
            rate: ctx.links[usize::from(ctx.me.0)].rate,
            rng: ctx.rng,
        };
        match self.rule.admit(&mut ctx.pool[&pkt], &mut admit) {
            Verdict::Drop(why) => return ctx.drop(pkt, why),
            Verdict::Mark => ctx.mark(&pkt),
            Verdict::Accept => {}
        }
        let packet = &mut ctx.pool[&pkt];
        packet.queued = ctx.now;
        self.bytes += u64::from(packet.size);
        self.queue.push_back(pkt);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.queue.pop_front()?;
        self.bytes -= u64::from(ctx.pool[&pkt].size);
        Some(pkt)
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if !self.rule.watches_inbound() {
            return Inbound::Forward(pkt);
        }
        match self.rule.inbound(&mut ctx.pool[&pkt], ctx.now) {
            Ok(()) => Inbound::Forward(pkt),
            Err(why) => Inbound::Drop(pkt, why),
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.bytes }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.queue.drain(..).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        self.bytes = 0;
        self.rule.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.rule.gauges(out);
    }
}
