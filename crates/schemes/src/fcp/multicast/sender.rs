//! The sender of a multicast flow: a stream of datagrams, paced at budget over the price of the
//! tree.

use std::sync::Arc;

use midpath_core::packet::{FlowKey, IP_HEADER, Kind, Packet, UDP_HEADER};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use super::OVERHEAD;
use crate::fcp::endpoint::{Announced, next_round};
use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::host::{Account, Host};
use crate::fcp::in_flight::InFlight;
use crate::fcp::resolved::Resolved;

/// A packet in this time is the least: as long as TCP's least timeout, and well within the patience
/// of forwarders.
const SILENCE: Time = Time::from_secs(1);

/// The active end.
pub struct Sender {
    params: Arc<Resolved>,
    flow: FlowSpec,
    /// Payload not yet sent; `u64::MAX` while nobody knows the end.
    left: u64,
    nonce: u32,
    in_flight: InFlight,
    /// w, $/s; the price of the tree, $/byte (0 before the first echo); the round trip to the
    /// slowest receiver, s.
    spending: f64,
    price: f64,
    rtt: f64,
    /// That of the last echo, s: how long ago the price was told that is being paid.
    price_rtt: f64,
    heard_at: Time,
    announced: Announced,
    /// Bytes per second.
    rate: f64,
    cap: f64,
    target: f64,
    last: Time,
    closed: bool,
    report: FlowReport,
}

impl Sender {
    /// The sender of `flow`.
    pub fn new(params: Arc<Resolved>, flow: &FlowSpec) -> Sender {
        Sender {
            flow: *flow,
            left: flow.size.map_or(u64::MAX, |s| s.0),
            nonce: 0,
            in_flight: InFlight::default(),
            spending: 0.0,
            price: 0.0,
            rtt: 0.0,
            price_rtt: 0.0,
            heard_at: Time::ZERO,
            announced: Announced::new(params.additions().unannounced()),
            rate: 0.0,
            cap: f64::INFINITY,
            target: 0.0,
            last: Time::ZERO,
            closed: false,
            report: FlowReport::default(),
            params,
        }
    }

    fn key(&self) -> FlowKey {
        (self.flow.id, self.flow.dst)
    }

    fn mss(&self) -> u32 {
        self.flow.mtu.saturating_sub(OVERHEAD).clamp(1, 65_000)
    }

    fn stop_at(&self) -> Time {
        self.flow.stop.unwrap_or(Time::MAX)
    }

    /// x: what the flow should spend in the next round, $/s: as for other flows, what its host
    /// gives it, or what it needs.
    fn wanted(&mut self, ctx: &mut EndpointCtx<'_>) -> f64 {
        let group = self.params.group(self.flow.group);
        let assigned = ctx.shared.get::<Host>().account(self.key()).map_or(0.0, |a| a.target);
        self.target = assigned * group.ramp.map_or(1.0, |r| r.share(ctx.now));
        let until_stop = self.target * next_round(self.stop_at(), ctx.now, self.rtt);
        if self.left == u64::MAX {
            return until_stop;
        }
        let wire = self.left as f64 * (1.0 + f64::from(OVERHEAD) / f64::from(self.mss()));
        until_stop.min(self.price * (wire - self.rate * self.rtt).max(0.0) / self.rtt)
    }

    /// The preload of the next packet, of `size` bytes.
    fn preload(&mut self, size: u32, ctx: &mut EndpointCtx<'_>) -> f64 {
        let limit = self.params.group(self.flow.group).preload_limit();
        let wanted = self.wanted(ctx);
        let pays = equations::pays(self.price, size.into(), self.rtt);
        let preload = self.announced.next(wanted, self.spending, pays).min(limit);
        self.announced.push(self.nonce, preload * pays);
        preload
    }

    /// The first packet has no payload; like a SYN, it announces the packets of the first round
    /// trip (§4.1, "start-up behaviour").
    fn start_up(&self) -> f64 {
        equations::STARTUP_PACKETS * f64::from(self.mss() + OVERHEAD) / f64::from(OVERHEAD)
    }

    fn send(&mut self, ctx: &mut EndpointCtx<'_>) {
        let opens = self.rtt <= 0.0;
        let payload = if opens { 0 } else { u64::from(self.mss()).min(self.left) as u32 };
        self.nonce = self.nonce.wrapping_add(1);
        self.in_flight.sent(self.nonce, ctx.now);
        let preload = if opens { self.start_up() } else { self.preload(payload + OVERHEAD, ctx) };
        let group = self.params.group(self.flow.group);
        let mut packet = Packet::new(self.flow.id, ctx.node, self.flow.dst, IP_HEADER + UDP_HEADER + payload);
        (packet.kind, packet.payload) = (Kind::Datagram, payload as u16);
        packet.set_header(&FcpHeader {
            rtt: self.price_rtt as f32,
            preload: preload as f32,
            balance: self.price as f32,
            exchange: 1.0,
            nonce: self.nonce,
            tenant: group.tenant,
            class: group.class,
            tree: self.flow.group + 1,
            ..FcpHeader::default()
        });
        ctx.send(packet);
        self.left = if self.left == u64::MAX { u64::MAX } else { self.left - u64::from(payload) };
        self.report.sent += u64::from(payload > 0);
        self.last = ctx.now;
    }

    /// When the next packet goes: a packet's size at the rate after the last.
    fn next_at(&self) -> Time {
        let gap = f64::from(self.mss() + OVERHEAD) / self.rate.max(1e-9);
        self.last.saturating_add(Time::from_secs_f64(gap.min(SILENCE.as_secs_f64())))
    }

    /// The rate, where w is what the host may spend on this flow now.
    fn pace(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.price > 0.0 {
            let allowed = ctx.shared.get::<Host>().allowance(self.key(), self.params.budget(self.flow.src));
            self.rate = equations::rate(allowed, self.price).min(self.cap);
        }
        if ctx.now.saturating_sub(self.heard_at) > SILENCE.saturating_add(Time::from_secs_f64(4.0 * self.rtt)) {
            // Nobody answers: links have forgotten the budget (a packet a second keeps the
            // forwarders awake).
            (self.rate, self.spending) = (0.0, 0.0);
            self.announced.clear();
        }
    }

    fn close(&mut self, ctx: &mut EndpointCtx<'_>) {
        if !std::mem::replace(&mut self.closed, true) {
            ctx.shared.get::<Host>().close(self.key(), self.flow.src, &self.params, ctx.now);
        }
        ctx.finish();
    }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.cap = ctx.links.iter().map(|l| l.rate.as_f64() / 8.0).fold(0.0, f64::max);
        let account = Account {
            group: self.flow.group,
            weight: self.flow.weight,
            target: 0.0,
            spending: 0.0,
            price: 0.0,
            rtt: 0.0,
            cap: self.cap,
            idle: false,
        };
        ctx.shared.get::<Host>().open(self.key(), account, self.flow.src, &self.params, ctx.now);
        self.heard_at = ctx.now;
        self.on_timer(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<FcpHeader>().filter(|h| h.echo && h.tree != 0) else { return };
        let Some(sample) = self.in_flight.answered(header.nonce, ctx.now).filter(|s| !s.is_zero()) else { return };
        self.report.rtt(sample);
        (self.price_rtt, self.heard_at) = (sample.as_secs_f64(), ctx.now);
        self.price = f64::from(header.price).max(self.params.given.minimum_price);
        if self.rtt == 0.0 {
            self.rtt = self.price_rtt;
            // §4.1: "we initialize the budget as price·size·preload/rtt".
            let paid = equations::paid(self.price, OVERHEAD.into());
            self.spending = equations::preloaded(paid, self.start_up(), self.rtt);
        }
        // RFC 6298's gain.
        self.rtt += (self.price_rtt - self.rtt) / 8.0;
        // For all that this echo answers: echoes of a tree stand for several packets.
        self.spending = equations::budget(self.spending, self.announced.answered_until(header.nonce));
        let (price, rtt, spending) = (self.price, self.rtt, self.spending);
        let update = |a: &mut Account| (a.price, a.rtt, a.spending) = (price, rtt, spending);
        ctx.shared.get::<Host>().on_feedback(self.key(), update, self.flow.src, &self.params, ctx.now);
        self.pace(ctx);
        ctx.set_timer(self.next_at().min(self.stop_at()));
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop_at() || self.left == 0 {
            return self.close(ctx);
        }
        self.pace(ctx);
        // A poke, or a rate that has fallen since.
        if self.nonce == 0 || ctx.now >= self.next_at() {
            self.send(ctx);
        }
        ctx.set_timer(self.next_at().min(self.stop_at()));
    }

    fn report(&self) -> FlowReport {
        let srtt = Time::from_secs_f64(self.rtt);
        FlowReport { srtt, rate: (self.rate * 8.0) as u64, ..self.report }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([("budget", self.spending), ("target", self.target), ("price", self.price)]);
    }
}
