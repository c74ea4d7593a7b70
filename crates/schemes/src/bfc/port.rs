//! A port: a queue for each flow as far as there are queues, of which the neighbour ahead pauses some, and which pauses
//! those that its packets came from.

use midpath_core::packet::{IP_HEADER, Packet, Pkt, PortId, shim_size};
use midpath_core::queue::{Bound, Fifo, Round, Scheduler};
use midpath_core::roles::{Backlog, Drop, Inbound, Port, PortCtx, Transmitter};
use midpath_core::units::{Bytes, Time};

use super::header::{BfcHeader, PauseBitmap};
use super::params::BfcParams;
use super::pauses::{Pauses, Upstream};
use super::table::{FlowTable, flow_of};

/// A pause ends when nothing of it was heard for so many times `refresh`. Ours.
const SILENT: u64 = 3;

/// A port with BFC.
pub(crate) struct BfcPort {
    params: BfcParams,
    bound: Bound,
    /// Whether the neighbour runs BFC and can pause what leaves here.
    obeys: bool,
    /// ACKs and whatever has no payload go first.
    first: Fifo,
    queues: Box<[Fifo]>,
    /// Of each queue: the queues upstream that it has paused, and the round trip of a hop that its packets came over.
    upstream: Box<[(Vec<Upstream>, Time)]>,
    /// Whose turn it is: queues that have something and are not paused.
    round: Round<usize>,
    table: FlowTable,
    waiting: Backlog,
    /// What the neighbour has paused, and when it last said so.
    paused: u128,
    heard: Time,
    /// What the neighbour is to be told next, and when to say it again.
    frame: Option<Pkt>,
    again: Time,
    /// Frames that pause a queue.
    pauses: u64,
    down: bool,
}

impl BfcPort {
    /// A port that holds at most `bound` of what came in.
    pub fn new(params: &BfcParams, bound: Bound, obeys: bool) -> BfcPort {
        let queues = params.queues as usize;
        BfcPort {
            params: *params,
            bound,
            obeys,
            first: Fifo::unbounded(),
            queues: (0..queues).map(|_| Fifo::unbounded()).collect(),
            upstream: vec![Default::default(); queues].into(),
            round: Round::default(),
            table: FlowTable::new(queues),
            waiting: Backlog::default(),
            paused: 0,
            heard: Time::ZERO,
            frame: None,
            again: Time::MAX,
            pauses: 0,
            down: false,
        }
    }

    /// The queue of a flow that has one.
    #[cfg(test)]
    pub fn queue_of(&self, flow: super::table::Flow) -> Option<u8> {
        self.table.queue_of(flow)
    }

    fn is_paused(&self, queue: usize) -> bool {
        self.paused & 1 << queue != 0
    }

    /// Queues that have something and may send, this one among them.
    fn active(&self, queue: usize) -> u64 {
        let joins = self.is_paused(queue) || self.queues[queue].backlog().packets == 0;
        self.round.len() as u64 + u64::from(joins)
    }

    /// Whether a queue holds more than Th = HRTT · μ / N_active: what it sends until what a resume lets go is here.
    fn holds_too_much(&self, queue: usize, ctx: &PortCtx<'_>) -> bool {
        let share = ctx.link().rate.bytes_in(self.upstream[queue].1).0 / self.active(queue);
        self.queues[queue].backlog().bytes > share
    }

    /// Has the neighbour at a port told what to pause now.
    fn tell(port: PortId, ctx: &mut PortCtx<'_>) {
        let (frame, peer) = (ctx.shared::<Pauses>().frame(port), ctx.links[usize::from(port.0)].peer);
        let packet = frame.packet(ctx.node, peer);
        ctx.emit(port, packet);
    }

    /// A packet has come over a hop, from a queue of the neighbour there.
    fn came_from(&mut self, queue: usize, from: Upstream, ctx: &mut PortCtx<'_>) {
        self.upstream[queue].1 = hop_rtt(from.0, ctx);
        if self.upstream[queue].0.contains(&from) || !self.holds_too_much(queue, ctx) {
            return;
        }
        if let Some(pause) = ctx.state::<Pauses>().raise(from) {
            self.upstream[queue].0.push(from);
            if pause {
                BfcPort::tell(from.0, ctx);
            }
        }
    }

    /// Those that a queue has paused go on.
    fn resume(&mut self, queue: usize, ctx: &mut PortCtx<'_>) {
        let mut ports = Vec::new();
        for from in std::mem::take(&mut self.upstream[queue].0) {
            if ctx.state::<Pauses>().lower(from) && !ports.contains(&from.0) {
                ports.push(from.0);
            }
        }
        ports.into_iter().for_each(|port| BfcPort::tell(port, ctx));
    }

    /// A frame for the neighbour: it goes before all else, and in place of an older one.
    fn take_frame(&mut self, pkt: Pkt, says: PauseBitmap, ctx: &mut PortCtx<'_>) {
        if let Some(older) = self.frame.replace(pkt) {
            ctx.consume(older);
        }
        self.pauses += u64::from(says.0 != 0);
        self.again = if says.0 == 0 { Time::MAX } else { ctx.now.saturating_add(self.params.refresh) };
        self.set_timer(ctx);
    }

    /// When silence ends what the neighbour has paused.
    fn over(&self) -> Time {
        let silence = Time(self.params.refresh.0.saturating_mul(SILENT));
        if self.paused == 0 { Time::MAX } else { self.heard.saturating_add(silence) }
    }

    fn set_timer(&self, ctx: &mut PortCtx<'_>) {
        ctx.wake_at(self.again.min(self.over()));
    }

    /// Takes what the neighbour says of all queues.
    fn obey(&mut self, says: u128, ctx: &mut PortCtx<'_>) {
        let changed = self.paused ^ says;
        (self.paused, self.heard) = (says, ctx.now);
        for queue in (0..self.queues.len()).filter(|queue| changed & 1 << queue != 0) {
            if self.queues[queue].backlog().packets > 0 {
                match self.is_paused(queue) {
                    true => self.round.leave(queue),
                    false => self.round.join(queue, u64::from(ctx.link().mtu)),
                }
            }
            ctx.note(if self.is_paused(queue) { "paused" } else { "resumed" }, queue as f64, None);
        }
        self.set_timer(ctx);
    }

    fn push(&mut self, queue: usize, pkt: Pkt, ctx: &PortCtx<'_>) {
        if self.queues[queue].backlog().packets == 0 && !self.is_paused(queue) {
            self.round.join(queue, u64::from(ctx.link().mtu));
        }
        self.queues[queue].push(pkt, ctx.pool);
    }

    fn take_first(&mut self, pkt: Pkt, header: Option<BfcHeader>, ctx: &mut PortCtx<'_>) {
        if let Some(header) = header {
            ctx.pool[&pkt].set_header(&BfcHeader { queue: None, ..header });
        }
        self.first.push(pkt, ctx.pool);
    }

    fn pop(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if let Some(pkt) = self.first.pop(ctx.pool) {
            return Some(pkt);
        }
        let (queues, quantum) = (&self.queues, u64::from(ctx.link().mtu));
        let queue = self.round.next(|queue| queues[queue].first_size(ctx.pool), |_| quantum)?;
        let pkt = self.queues[queue].pop(ctx.pool)?;
        if self.queues[queue].backlog().packets == 0 {
            self.round.leave(queue);
        }
        let packet = &mut ctx.pool[&pkt];
        self.table.leave(flow_of(packet), ctx.now);
        if let Some(header) = packet.header::<BfcHeader>() {
            packet.set_header(&BfcHeader { queue: self.obeys.then_some(queue as u8), ..header });
        }
        if !self.upstream[queue].0.is_empty() && !self.holds_too_much(queue, ctx) {
            self.resume(queue, ctx);
        }
        Some(pkt)
    }

    /// Whether a packet goes before all queues.
    fn goes_first(&self, packet: &Packet, header: Option<BfcHeader>) -> bool {
        packet.payload == 0 || (self.params.first_packet_first && header.is_some_and(|header| header.first))
    }
}

/// HRTT: a round trip over the link of a port, with a full packet each way.
fn hop_rtt(port: PortId, ctx: &PortCtx<'_>) -> Time {
    let link = &ctx.links[usize::from(port.0)];
    let packet = link.rate.time_for(Bytes(link.mtu.into()));
    Time(2 * (link.delay.0 + packet.0))
}

impl Port for BfcPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &ctx.pool[&pkt];
        if let Some(says) = PauseBitmap::in_packet(packet) {
            return self.take_frame(pkt, says, ctx);
        }
        let (header, flow, size, now) = (packet.header::<BfcHeader>(), flow_of(packet), packet.size, ctx.now);
        let ingress = ctx.state::<Pauses>().take_ingress(pkt.id(), now);
        // A host's own packets wait in its memory, as much as windows are.
        if ingress.is_some() && !self.bound.admits(self.waiting, size) {
            return ctx.drop(pkt, Drop::Queue);
        }
        self.waiting = self.waiting + Backlog { packets: 1, bytes: size.into() };
        if self.goes_first(&ctx.pool[&pkt], header) {
            return self.take_first(pkt, header, ctx);
        }
        let sticky = self.params.sticky.unwrap_or_else(|| hop_rtt(ctx.me, ctx));
        let queue = self.table.assign(flow, self.paused, ctx.now, sticky, ctx.rng);
        if let Some(from) = ingress.zip(header.and_then(|header| header.queue)) {
            self.came_from(queue, from, ctx);
        }
        self.push(queue, pkt, ctx);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if let Some(frame) = self.frame.take() {
            return Some(frame);
        }
        let pkt = self.pop(ctx)?;
        let size = u64::from(ctx.pool[&pkt].size);
        (self.waiting.packets, self.waiting.bytes) = (self.waiting.packets - 1, self.waiting.bytes - size);
        debug_assert!(self.waiting.is_sound(), "{:?}", self.waiting);
        Some(pkt)
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if let Some(says) = PauseBitmap::in_packet(&ctx.pool[&pkt]) {
            self.obey(says.0, ctx);
            return Inbound::Consume(pkt);
        }
        // What ends here is not routed on, and a packet of the node's own may have its number a moment later.
        if ctx.pool[&pkt].dst != ctx.node {
            let (me, now) = (ctx.me, ctx.now);
            ctx.state::<Pauses>().came_in(pkt.id(), me, now);
        }
        Inbound::Forward(pkt)
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        if self.over() <= ctx.now {
            self.obey(0, ctx);
        }
        if self.again <= ctx.now {
            self.again = Time::MAX;
            if ctx.shared::<Pauses>().frame(ctx.me).0 != 0 {
                BfcPort::tell(ctx.me, ctx);
            }
        }
        self.set_timer(ctx);
    }

    /// A link that comes back begins without pauses, at both of its ends.
    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        let down = matches!(ctx.transmitter, Transmitter::Busy { until: None });
        if down || self.down {
            self.obey(0, ctx);
        }
        if self.down && !down && ctx.shared::<Pauses>().frame(ctx.me).0 != 0 {
            BfcPort::tell(ctx.me, ctx);
        }
        self.down = down;
    }

    fn backlog(&self) -> Backlog {
        let frame = u64::from(self.frame.is_some());
        self.waiting + Backlog { packets: frame, bytes: frame * u64::from(FRAME) }
    }

    /// What was said to it is forgotten, and so is all that it held.
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        let mut gone = Vec::new();
        self.first.clear(&mut |pkt| gone.push(pkt));
        self.queues.iter_mut().for_each(|queue| queue.clear(&mut |pkt| gone.push(pkt)));
        self.round.clear();
        self.table.clear();
        self.waiting = Backlog::default();
        gone.into_iter().for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        (0..self.queues.len()).for_each(|queue| self.resume(queue, ctx));
        self.obey(0, ctx);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("paused_queues", f64::from(self.paused.count_ones())),
            ("active_queues", self.round.len() as f64),
            ("queued_flows", self.table.len() as f64),
            ("pauses", self.pauses as f64),
        ]);
    }
}

/// Bytes of a frame on the link.
pub(crate) const FRAME: u32 = IP_HEADER + shim_size(16);
