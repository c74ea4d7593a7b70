use super::buffer::SharedBuffer;
use super::frame::PauseFrame;
use crate::packet::{Kind, Packet, PacketId, Pkt, PortId};
use crate::roles::{Backlog, Drop, Inbound, Port, PortCtx, Transmitter};

/// Says which class a packet is of.
pub type ClassOf = fn(&Packet) -> usize;

/// The queue of one class.
pub struct Lane {
    /// The queue.
    pub port: Box<dyn Port>,
    /// Whether it is lossless.
    pub lossless: bool,
    /// Bytes that it sends in its turn; `None` of all where the first that has something comes first.
    pub quantum: Option<u32>,
}

/// A port with a queue for each class, each of which the neighbour can pause.
///
/// Frames to the neighbour go before all else. One waits at most: a newer one says all that the older
/// one said.
pub struct PfcPort {
    lanes: Box<[Lane]>,
    /// Of each lane: whether the neighbour has paused it, and what it may still send in its turn.
    stopped: Box<[bool]>,
    credit: Box<[i64]>,
    turn: usize,
    class: ClassOf,
    buffer: SharedBuffer,
    frame: Option<Pkt>,
    /// The link is down.
    down: bool,
}

impl PfcPort {
    /// Of these queues, one at least.
    pub fn new(lanes: Vec<Lane>, class: ClassOf, buffer: SharedBuffer) -> PfcPort {
        assert!(!lanes.is_empty(), "a port has a queue");
        let (stopped, credit) = (vec![false; lanes.len()].into(), vec![0; lanes.len()].into());
        PfcPort { lanes: lanes.into(), stopped, credit, turn: 0, class, buffer, frame: None, down: false }
    }

    fn class_of(&self, packet: &Packet) -> usize {
        (self.class)(packet).min(self.lanes.len() - 1)
    }

    /// Has a neighbour told what to pause now.
    fn tell(&self, port: PortId, ctx: &mut PortCtx<'_>) {
        let frame = PauseFrame::of(self.buffer.get().paused(port));
        let packet = frame.packet(ctx.node, ctx.links[usize::from(port.0)].peer);
        ctx.emit(port, packet);
    }

    /// Called with what a queue wished for since there were `before` wishes: what it gave up is held no
    /// longer.
    fn settle(&self, before: usize, ctx: &mut PortCtx<'_>) {
        for i in before..ctx.actions.len() {
            if let Some(gone) = ctx.actions.get(i).and_then(|action| action.packet()).map(Pkt::id) {
                self.release(gone, ctx);
            }
        }
    }

    /// A packet is held no longer: has the neighbour told that may go on for it.
    fn release(&self, id: PacketId, ctx: &mut PortCtx<'_>) {
        let on = self.buffer.get().leave(id);
        if let Some(port) = on {
            self.tell(port, ctx);
        }
    }

    /// Calls a queue, and settles what it gave up.
    fn call<R>(
        &mut self,
        class: usize,
        ctx: &mut PortCtx<'_>,
        call: impl FnOnce(&mut dyn Port, &mut PortCtx<'_>) -> R,
    ) -> R {
        let before = ctx.actions.len();
        ctx.lossless = self.lanes[class].lossless;
        let answer = call(self.lanes[class].port.as_mut(), ctx);
        ctx.lossless = false;
        self.settle(before, ctx);
        answer
    }

    fn may_send(&self, class: usize) -> bool {
        !self.stopped[class] && self.lanes[class].port.backlog().packets > 0
    }

    /// The next packet of a class.
    fn next_of(&mut self, class: usize, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.call(class, ctx, |port, ctx| port.poll_transmit(ctx))?;
        self.release(pkt.id(), ctx);
        Some(pkt)
    }

    /// The next packet where classes come in their order.
    fn next_strict(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        (0..self.lanes.len()).find_map(|class| self.may_send(class).then(|| self.next_of(class, ctx)).flatten())
    }

    /// The next packet where classes share by weights (surplus round robin: Adiseshu, Parulkar and
    /// Varghese, 1996): a queue's port does not say how long its first packet is, as deficit round robin
    /// has to know. A queue that may not send keeps no credit.
    fn next_weighted(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        // Queues whose AQM has dropped all that waited.
        let mut barren = 0u32;
        let may_send = |port: &PfcPort, class, barren| port.may_send(class) && barren & 1u32 << class == 0;
        while (0..self.lanes.len()).any(|class| may_send(self, class, barren)) {
            let class = self.turn;
            if may_send(self, class, barren) && self.credit[class] > 0 {
                if let Some(pkt) = self.next_of(class, ctx) {
                    self.credit[class] -= i64::from(ctx.pool[&pkt].size);
                    return Some(pkt);
                }
                barren |= 1 << class;
            }
            if !may_send(self, class, barren) {
                self.credit[class] = self.credit[class].min(0);
            }
            self.turn = (class + 1) % self.lanes.len();
            self.credit[self.turn] += i64::from(self.lanes[self.turn].quantum.unwrap_or(1).max(1));
        }
        None
    }

    /// Takes a frame that came from the neighbour.
    fn obey(&mut self, frame: PauseFrame, ctx: &mut PortCtx<'_>) {
        for class in (0..self.lanes.len()).filter(|class| self.lanes[*class].lossless) {
            if let Some(stop) = frame.says(class)
                && stop != self.stopped[class]
            {
                self.stopped[class] = stop;
                self.buffer.get().stop(ctx.me, class, stop, ctx.now);
                ctx.note(if stop { "paused" } else { "resumed" }, class as f64, None);
            }
        }
    }

    /// Forgets what the neighbour has said.
    fn go_on(&mut self, ctx: &mut PortCtx<'_>) {
        for class in 0..self.lanes.len() {
            self.stopped[class] = false;
            self.buffer.get().stop(ctx.me, class, false, ctx.now);
        }
    }
}

impl Port for PfcPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &ctx.pool[&pkt];
        if packet.kind == Kind::Control && packet.carries::<PauseFrame>() {
            if let Some(older) = self.frame.replace(pkt) {
                ctx.consume(older);
            }
            return;
        }
        let (class, size) = (self.class_of(packet), packet.size);
        if self.lanes[class].lossless {
            let taken = self.buffer.get().take(pkt.id(), ctx.me, class, size, ctx.now);
            match taken {
                Err(_) => return ctx.drop(pkt, Drop::Queue),
                Ok(Some(pause)) => self.tell(pause, ctx),
                Ok(None) => {}
            }
        }
        self.call(class, ctx, |port, ctx| port.outbound(pkt, ctx));
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if let Some(frame) = self.frame.take() {
            return Some(frame);
        }
        if self.lanes[0].quantum.is_some() { self.next_weighted(ctx) } else { self.next_strict(ctx) }
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if let Some(frame) = PauseFrame::in_packet(&ctx.pool[&pkt]) {
            self.obey(frame, ctx);
            return Inbound::Consume(pkt);
        }
        self.buffer.get().came_in(pkt.id(), ctx.me, ctx.now);
        let mut pkt = pkt;
        for class in 0..self.lanes.len() {
            match self.call(class, ctx, |port, ctx| port.inbound(pkt, ctx)) {
                Inbound::Forward(on) => pkt = on,
                other => return other,
            }
        }
        Inbound::Forward(pkt)
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        (0..self.lanes.len()).for_each(|class| self.call(class, ctx, |port, ctx| port.on_timer(ctx)));
    }

    /// A link that comes back begins without pauses, at both of its ends.
    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        let down = matches!(ctx.transmitter, Transmitter::Busy { until: None });
        if down || self.down {
            self.go_on(ctx);
        }
        if self.down && !down && self.buffer.get().forget(ctx.me) {
            self.tell(ctx.me, ctx);
        }
        self.down = down;
        (0..self.lanes.len()).for_each(|class| self.call(class, ctx, |port, ctx| port.on_link(ctx)));
    }

    fn backlog(&self) -> Backlog {
        let frame = u64::from(self.frame.is_some());
        let own = Backlog { packets: frame, bytes: frame * u64::from(super::FRAME_SIZE) };
        own + self.lanes.iter().map(|lane| lane.port.backlog()).sum()
    }

    /// What was said to it is forgotten. The neighbour is told that it may go on.
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        (0..self.lanes.len()).for_each(|class| self.call(class, ctx, |port, ctx| port.reset(ctx)));
        self.go_on(ctx);
        let pausing = self.buffer.get().paused(ctx.me).any(|paused| paused);
        self.buffer.get().forget(ctx.me);
        if pausing || self.frame.is_some() {
            self.tell(ctx.me, ctx);
        }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.lanes[0].port.gauges(out);
        let stopped = self.stopped.iter().filter(|stopped| **stopped).count();
        out.push(("paused_classes", stopped as f64));
    }

    fn warnings(&self, out: &mut Vec<String>) {
        self.lanes.iter().for_each(|lane| lane.port.warnings(out));
    }
}
