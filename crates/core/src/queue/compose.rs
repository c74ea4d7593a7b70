use super::aqm::{Aqm, Standing, Unsignalled, Verdict, View};
use super::scheduler::{Fifo, Scheduler};
use super::signal::{Done, Loss, Signal};
use crate::packet::{Packet, Pkt};
use crate::roles::{Backlog, Discipline, Drop, Inbound, Port, PortCtx, Timetable};
use crate::units::Time;

/// A port of three parts: an AQM chooses packets, a scheduler orders them, a signal tells the
/// chosen ones' senders.
///
/// One AQM sees the whole port; [`PerFlow`](super::PerFlow) makes it one per flow. A packet that
/// arrives is first shown to the AQM, then refused if there is no room, then signalled: what finds
/// no room is lost, and that tells its sender enough. In a lossless class ([`PortCtx::lossless`]) the
/// AQM's drops are signals, and what cannot be signalled goes on.
///
/// It is a timetable if the scheduler is a FIFO and neither AQM nor signal looks at packets that
/// leave. Its decisions are the same either way.
///
/// Laid out by use: what each packet touches is the scheduler, and the beginning of the AQM.
#[repr(C)]
pub struct Queue<A, S, G> {
    scheduler: S,
    aqm: A,
    signal: G,
}

impl<A: Aqm> Queue<A, Fifo, Loss> {
    /// A FIFO whose AQM says itself for what there is room.
    pub const fn of(aqm: A) -> Queue<A, Fifo, Loss> {
        Queue::new(aqm, Fifo::unbounded(), Loss)
    }
}

impl<A, S, G> Queue<A, S, G> {
    /// A port of these parts.
    pub const fn new(aqm: A, scheduler: S, signal: G) -> Queue<A, S, G> {
        Queue { aqm, scheduler, signal }
    }
}

impl<A: Aqm, S: Scheduler, G: Signal> Queue<A, S, G> {
    /// What waits: here, or on the node's timetable.
    fn waiting(&self, ctx: &PortCtx<'_>) -> Backlog {
        self.scheduler.backlog() + ctx.booked
    }

    /// Asks the AQM about a packet, on its arrival or as it leaves, while so much waits. A function for each of the
    /// two: what the AQM does not look at is not made.
    #[inline(always)]
    fn ask<const LEAVES: bool>(&mut self, pkt: &Pkt, backlog: Backlog, ctx: &mut PortCtx<'_>) -> Verdict {
        let link = ctx.links[usize::from(ctx.me.0)];
        let packet = &mut ctx.pool[pkt];
        let mut view = View {
            now: ctx.now,
            backlog,
            lane: self.scheduler.lane(packet, backlog),
            rate: link.rate,
            mtu: link.mtu,
            idle_since: ctx.transmitter.idle_since().filter(|_| backlog.packets == 0),
            sojourn: if LEAVES { ctx.now.saturating_sub(packet.queued) } else { Time::ZERO },
            rng: ctx.rng,
        };
        match if LEAVES { self.aqm.dequeue(packet, &mut view) } else { self.aqm.enqueue(packet, &mut view) } {
            Verdict::Drop(Drop::Aqm) if ctx.lossless => Verdict::Signal,
            verdict => verdict,
        }
    }

    /// Asks the node for the AQM's timer.
    #[inline]
    fn arm(&mut self, ctx: &mut PortCtx<'_>) {
        if self.aqm.has_timer()
            && let Some(at) = self.aqm.timer()
        {
            ctx.wake_in_background(at);
        }
    }

    /// What becomes of a packet that arrives: what the AQM says, if there is room.
    #[inline(always)]
    fn with_room(&mut self, verdict: Verdict, packet: &Packet, waiting: Backlog) -> Verdict {
        if matches!(verdict, Verdict::Drop(_)) || self.scheduler.admits(packet, waiting) {
            return verdict;
        }
        self.aqm.refused(packet);
        Verdict::Drop(Drop::Queue)
    }

    /// Signals a chosen packet; says why, if it is to be dropped. In a lossless class it goes on.
    fn tell(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        let passes = match self.signal.signal(pkt, ctx) {
            Done::Told => {
                self.aqm.signalled(&ctx.pool[pkt]);
                true
            }
            Done::Drop => false,
            Done::Unable => self.aqm.unable(&ctx.pool[pkt]) == Unsignalled::Pass,
        };
        if passes || ctx.lossless { Ok(()) } else { Err(Drop::Aqm) }
    }

    /// Does as the AQM says: whether the packet goes on.
    #[inline]
    fn follow(&mut self, verdict: Verdict, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        match verdict {
            Verdict::Pass => Ok(()),
            Verdict::Signal => self.tell(pkt, ctx),
            Verdict::Drop(why) => Err(why),
        }
    }
}

impl<A: Aqm + 'static, S: Scheduler + 'static, G: Signal + 'static> Queue<A, S, G> {
    /// The port, of the kind that its parts allow.
    pub fn discipline(self) -> Discipline {
        let watched = self.aqm.watches_leaving() || self.aqm.has_timer() || self.signal.watches_leaving();
        if watched || !self.scheduler.is_fifo() {
            return Discipline::of(self);
        }
        let unasked = self.aqm.indifferent_within().min(self.scheduler.room_within());
        Discipline::Timetable { rule: Box::new(self), unasked }
    }
}

impl<A: Aqm, S: Scheduler, G: Signal> Port for Queue<A, S, G> {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let waiting = self.waiting(ctx);
        let verdict = if self.aqm.watches_arriving() { self.ask::<false>(&pkt, waiting, ctx) } else { Verdict::Pass };
        self.arm(ctx);
        let verdict = self.with_room(verdict, &ctx.pool[&pkt], waiting);
        if let Err(why) = self.follow(verdict, &pkt, ctx) {
            return ctx.drop(pkt, why);
        }
        if !ctx.transmitter.is_busy() {
            self.scheduler.found_empty();
        }
        self.scheduler.push(pkt, ctx.pool);
        while let Some(pkt) = self.scheduler.shed(ctx.pool) {
            let packet = &ctx.pool[&pkt];
            self.aqm.shed(packet, self.scheduler.lane(packet, self.scheduler.backlog()));
            ctx.drop(pkt, Drop::Queue);
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        loop {
            let Some(pkt) = self.scheduler.pop(ctx.pool) else {
                self.aqm.empty();
                return None;
            };
            if self.signal.watches_leaving() {
                self.signal.leaving(&pkt, self.scheduler.backlog(), ctx);
            }
            if !self.aqm.watches_leaving() {
                return Some(pkt);
            }
            let waiting = self.waiting(ctx);
            let verdict = self.ask::<true>(&pkt, waiting, ctx);
            match self.follow(verdict, &pkt, ctx) {
                Ok(()) => return Some(pkt),
                Err(why) => {
                    self.scheduler.refund(&ctx.pool[&pkt]);
                    ctx.drop(pkt, why);
                }
            }
        }
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if let Err(why) = self.aqm.inbound(&mut ctx.pool[&pkt], ctx.now) {
            return Inbound::Drop(pkt, why);
        }
        self.signal.inbound(&pkt, ctx);
        Inbound::Forward(pkt)
    }

    fn watches_inbound(&self) -> bool {
        self.aqm.watches_inbound() || self.signal.watches_inbound()
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        let link = ctx.link();
        self.aqm.on_timer(&Standing {
            now: ctx.now,
            backlog: self.scheduler.backlog(),
            rate: link.rate,
            mtu: link.mtu,
            scheduler: &self.scheduler,
            pool: ctx.pool,
        });
        self.arm(ctx);
    }

    fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.scheduler.clear(&mut |pkt| ctx.drop(pkt, Drop::Fault));
        self.aqm.reset();
        self.signal.reset(ctx);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.aqm.gauges(out);
        self.signal.gauges(out);
    }

    fn warnings(&self, out: &mut Vec<String>) {
        self.aqm.warnings(out);
        self.signal.warnings(out);
    }
}

impl<A: Aqm, S: Scheduler, G: Signal> Timetable for Queue<A, S, G> {
    fn admit(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let (verdict, waiting) = (self.aqm.enqueue(packet, view), view.backlog);
        self.with_room(verdict, packet, waiting)
    }

    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        self.tell(pkt, ctx)
    }
}
