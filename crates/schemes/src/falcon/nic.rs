//! A host's port whose network card has a receive buffer, which the host empties at a rate (§10.2).

use std::collections::VecDeque;

use midpath_core::packet::Pkt;
use midpath_core::queue::{Bound, Fifo, Scheduler};
use midpath_core::roles::{Backlog, Drop, Inbound, Port, PortCtx};
use midpath_core::units::{Bytes, Rate, Time};

use super::header::{FalconHeader, LEVELS};

/// The port.
#[derive(Debug)]
pub(crate) struct NicPort {
    out: Fifo,
    bound: Bound,
    rate: Rate,
    buffer: u64,
    /// What came in, with T2, the first on its way to the host.
    received: VecDeque<(Pkt, Time)>,
    held: Backlog,
}

impl NicPort {
    /// A port that sends from a queue of `bound`, and whose buffer of so many bytes is emptied at `rate`.
    pub fn new(bound: Bound, rate: Rate, buffer: u64) -> NicPort {
        let (received, held) = (VecDeque::new(), Backlog::default());
        NicPort { out: Fifo::new(bound), bound, rate, buffer, received, held }
    }

    /// §10.2: the quantised level, with α = 1. Levels are equal parts of the buffer; ours.
    fn level(&self) -> u8 {
        (self.held.bytes * u64::from(LEVELS) / self.buffer).min(u64::from(LEVELS) - 1) as u8
    }

    /// The first packet is with the host then.
    fn serve(&self, ctx: &mut PortCtx<'_>) {
        let first = self.received.front().map(|(pkt, _)| u64::from(ctx.pool[pkt].size));
        let at = first.map_or(Time::MAX, |size| ctx.now.saturating_add(self.rate.time_for(Bytes(size))));
        ctx.wake_at(at);
    }
}

impl Port for NicPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        match self.bound.admits(self.out.backlog(), ctx.pool[&pkt].size) {
            true => self.out.push(pkt, ctx.pool),
            false => ctx.drop(pkt, Drop::Queue),
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.out.pop(ctx.pool)
    }

    /// ACKs are the card's own.
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        let (payload, size) = (ctx.pool[&pkt].payload, u64::from(ctx.pool[&pkt].size));
        if payload == 0 {
            return Inbound::Forward(pkt);
        }
        if self.held.bytes + size > self.buffer {
            return Inbound::Drop(pkt, Drop::Queue);
        }
        self.held = self.held + Backlog { packets: 1, bytes: size };
        self.received.push_back((pkt, ctx.now));
        if self.received.len() == 1 {
            self.serve(ctx);
        }
        Inbound::Keep
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        let Some((pkt, came)) = self.received.pop_front() else { return };
        let size = u64::from(ctx.pool[&pkt].size);
        self.held = Backlog { packets: self.held.packets - 1, bytes: self.held.bytes - size };
        let (level, waited) = (self.level(), ctx.now.saturating_sub(came).as_ns());
        let packet = &mut ctx.pool[&pkt];
        if let Some(header) = packet.header::<FalconHeader>() {
            packet.set_header(&FalconHeader { level, waited: u32::try_from(waited).unwrap_or(u32::MAX), ..header });
        }
        ctx.hand_back(pkt);
        self.serve(ctx);
    }

    fn backlog(&self) -> Backlog {
        self.out.backlog() + self.held
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.out.clear(&mut |pkt| ctx.drop(pkt, Drop::Fault));
        self.received.drain(..).for_each(|(pkt, _)| ctx.drop(pkt, Drop::Fault));
        self.held = Backlog::default();
        ctx.wake_at(Time::MAX);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("nic_bytes", self.held.bytes as f64));
    }
}
