//! Paris Metro Pricing (§4.2): a priority queue whose price is a multiple of the standard one.
//!
//! "The end-host will only use the priority queue when it is worth it and necessary making the priority queue see much less
//! traffic than the standard one." What it is worth is a queue of its own that is served first, so the port holds two FIFOs: a
//! virtual queue would have the price and nothing to sell.
//!
//! Priority traffic pays m·p. With I_n and I_p the budgets of both, rates I_n/p and I_p/(m·p) fill the link when
//! p = (I_n + I_p/m) / C: equation (2), where a priority packet counts a m-th of what it pays. The paper doesn't say so; with all
//! of I_p in the numerator the link would stand idle in part.

use std::collections::VecDeque;

use midpath_core::packet::{Packet, Pkt};
use midpath_core::queue::{Bound, Limit, QueueSpec};
use midpath_core::roles::{Admission, AdmitCtx, Backlog, Drop, Inbound, Port, PortCtx, PortSpec, Verdict};

use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::port::{Charge, Moment, Pricing};
use crate::fcp::price::Rule;

use super::lane::{Basis, Lane};

/// The pricing.
pub struct Metro {
    rule: Rule,
    factor: f64,
    lane: Lane,
}

impl Metro {
    /// `factor` is the priority price in multiples of the standard one.
    pub fn new(basis: Basis, factor: f64) -> Metro {
        Metro { rule: basis.rule, factor, lane: Lane::new(&basis) }
    }

    fn update(&mut self, at: &Moment) {
        let (sums, income) = self.lane.settle(at.now, &self.rule);
        let load = self.lane.rest(&sums, at, &self.rule);
        let price = self.rule.price(income, load, self.lane.meter.d(&self.rule));
        self.lane.link.set(at.now, price);
    }

    /// What a packet of `class` pays when the standard price is `price`. The minimum counts as zero, and so do its multiples (§5).
    fn of(&self, class: Class, price: f64) -> f64 {
        if class == Class::Priority && price > self.rule.minimum { self.factor * price } else { price }
    }
}

impl Pricing for Metro {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, at: &Moment) -> Charge {
        let standard = self.lane.link.told(header, at.now);
        let told = self.of(header.class, standard);
        let share = header.pays(told) / told;
        let paid = share * standard * f64::from(size);
        self.lane.pay(header, size, paid, at.now);
        self.update(at);
        Charge { quote: self.of(header.class, self.lane.link.now()), told }
    }

    fn pass(&mut self, size: u32, at: &Moment) {
        self.lane.meter.pass(at.now, size);
    }

    fn reset(&mut self) {
        self.lane.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let price = self.lane.link.now();
        out.extend([("price", price), ("priority_price", self.of(Class::Priority, price))]);
    }
}

/// A port with two FIFOs, the priority one served first. Each holds what the scenario's queue limit says.
pub struct MetroPort {
    /// Prices both queues by what waits in them together.
    rule: Box<dyn Admission>,
    bound: Bound,
    priority: Fifo,
    standard: Fifo,
}

impl MetroPort {
    /// `rule` builds the admission rule of a port like `spec`.
    pub fn new(spec: &PortSpec, rule: impl FnOnce(&PortSpec) -> Box<dyn Admission>) -> MetroPort {
        let bound = spec.queue.limit().bound(spec.link.rate);
        // The rule sees both queues; whether there is room is said here, queue by queue.
        let all = PortSpec { queue: QueueSpec::DropTail { limit: Limit::Packets(u64::MAX) }, ..*spec };
        MetroPort { rule: rule(&all), bound, priority: Fifo::default(), standard: Fifo::default() }
    }

    /// Who paid for priority gets it; acknowledgements and other schemes' packets pay for nothing.
    fn queue(&mut self, packet: &Packet) -> &mut Fifo {
        let paid = packet.header::<FcpHeader>().is_some_and(|h| h.class == Class::Priority && !h.echo);
        if paid { &mut self.priority } else { &mut self.standard }
    }
}

impl Port for MetroPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let (now, rate, backlog) = (ctx.now, ctx.link().rate, self.backlog());
        let idle_since = ctx.transmitter.idle_since().filter(|_| backlog.packets == 0);
        let busy = ctx.transmitter.is_busy() || backlog.packets > 0;
        let mut admit = AdmitCtx { now, busy, idle_since, backlog, rate, rng: ctx.rng };
        match self.rule.admit(&mut ctx.pool[&pkt], &mut admit) {
            Verdict::Drop(why) => return ctx.drop(pkt, why),
            Verdict::Mark => ctx.mark(&pkt),
            Verdict::Accept => {}
        }
        let (bound, size) = (self.bound, ctx.pool[&pkt].size);
        let queue = self.queue(&ctx.pool[&pkt]);
        if !bound.admits(queue.backlog(), size) {
            return ctx.drop(pkt, Drop::Queue);
        }
        ctx.pool[&pkt].queued = now;
        queue.push(pkt, size);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.priority.pop(ctx).or_else(|| self.standard.pop(ctx))
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
        let (a, b) = (self.priority.backlog(), self.standard.backlog());
        Backlog { packets: a.packets + b.packets, bytes: a.bytes + b.bytes }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        for queue in [&mut self.priority, &mut self.standard] {
            queue.packets.drain(..).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
            queue.bytes = 0;
        }
        self.rule.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.rule.gauges(out);
    }
}

/// Packets in order, and their bytes.
#[derive(Debug, Default)]
struct Fifo {
    packets: VecDeque<Pkt>,
    bytes: u64,
}

impl Fifo {
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn push(&mut self, pkt: Pkt, size: u32) {
        self.packets.push_back(pkt);
        self.bytes += u64::from(size);
    }

    fn pop(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.packets.pop_front()?;
        self.bytes -= u64::from(ctx.pool[&pkt].size);
        Some(pkt)
    }
}
