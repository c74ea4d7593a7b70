//! Datagrams at a constant bit rate: unresponsive traffic.
//!
//! The rate is that of the flow (`FlowSpec::rate`), else the parameter's. It counts IP bytes,
//! headers included, so that a flow at a link's rate fills the link exactly; the last packet may be
//! shorter. A flow that loses a packet never completes. RFC 768.

mod describe;

use std::sync::Arc;

use midpath_core::packet::{Interfaces, Kind, NodeId, Packet, flow_key};
use midpath_core::roles::{Accept, Delivery, Endpoint, EndpointCtx, FlowReport, FlowSpec, Half, Parts, Transport};
use midpath_core::units::{Bytes, Rate, Time, TxClock};
use serde::{Deserialize, Serialize};

use crate::params::require;
pub(crate) use describe::schemes;

#[cfg(test)]
mod tests;

/// The gauge of the receiver.
const DELAY: &str = "delay_s";

/// IPv4 (20) and UDP (8).
const OVERHEAD: u32 = 28;

/// The parameters of `udp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UdpParams {
    /// Default rate of flows. Our choice: a round number, so that a forgotten rate is obvious.
    pub rate: Rate,
    /// Size of a full packet, IP header included; the path's MTU if that is smaller. 1500 B is
    /// Ethernet's.
    pub packet: Bytes,
}

impl Default for UdpParams {
    fn default() -> UdpParams {
        UdpParams { rate: Rate::from_mbps(1), packet: Bytes(1500) }
    }
}

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: UdpParams) -> crate::Built {
    require(params.rate.0 > 0, "rate", "above zero")?;
    let size = u64::from(OVERHEAD) + 1..=65_535;
    require(size.contains(&params.packet.0), "packet", "from 29 B to 65535 B, headers included")?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(Udp(params))), network: None }))
}

/// Constant-bit-rate datagrams.
struct Udp(UdpParams);

impl Transport for Udp {
    fn headers(&self) -> u32 {
        OVERHEAD
    }
    fn ceiling(&self, _rtt: Time) -> Option<Rate> {
        Some(self.0.rate)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Sender::new(flow, &self.0))
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        if first.kind != Kind::Datagram {
            return Accept::Ignore;
        }
        let size = expected.and_then(|flow| flow.size).map(|s| s.0);
        Accept::Take(Box::new(Receiver { size, delivery: Delivery::default(), delay: None }))
    }
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        true
    }
}

/// Sends a full packet whenever the last one would have left a link of the flow's rate. What an application writes
/// leaves at once, unless the flow has a rate of its own.
#[derive(Debug)]
struct Sender {
    to: NodeId,
    /// Of all its packets.
    key: u32,
    rate: Rate,
    clock: TxClock,
    /// Whether the flow has a rate of its own.
    own_rate: bool,
    mss: u32,
    /// Payload sent so far, and in the end.
    progress: u64,
    end: u64,
    /// It waits for the application.
    dry: bool,
    next_at: Time,
    stop_at: Time,
    sent: u64,
}

impl Sender {
    fn new(flow: &FlowSpec, params: &UdpParams) -> Sender {
        let own_rate = flow.rate.filter(|r| r.0 > 0);
        let rate = own_rate.unwrap_or(params.rate);
        let size = u32::try_from(params.packet.0).unwrap_or(u32::MAX).min(flow.mtu);
        Sender {
            to: flow.dst,
            key: flow_key(flow.id, flow.src, flow.dst, Interfaces::ANY),
            rate,
            clock: TxClock::new(rate),
            own_rate: own_rate.is_some(),
            mss: size.saturating_sub(OVERHEAD).clamp(1, 65_507),
            progress: 0,
            end: flow.size.map_or(u64::MAX, |s| s.0),
            dry: false,
            next_at: Time::ZERO,
            stop_at: flow.stop.unwrap_or(Time::MAX),
            sent: 0,
        }
    }

    /// Sends what its time has come for.
    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        let supply = ctx.supply();
        let given = supply.map_or(self.end, |supply| supply.given.min(self.end));
        if supply.is_some_and(|supply| supply.closed) {
            self.end = given;
        }
        let paced = supply.is_none() || self.own_rate;
        loop {
            if self.progress >= self.end || ctx.now >= self.stop_at {
                return ctx.finish();
            }
            if self.progress >= given {
                self.dry = true;
                return ctx.set_timer(self.stop_at);
            }
            if std::mem::take(&mut self.dry) {
                self.next_at = self.next_at.max(ctx.now);
            }
            if paced && ctx.now < self.next_at {
                return ctx.set_timer(self.next_at.min(self.stop_at));
            }
            let payload = u64::from(self.mss).min(given - self.progress) as u32;
            self.emit(payload, ctx);
        }
    }

    fn emit(&mut self, payload: u32, ctx: &mut EndpointCtx<'_>) {
        debug_assert!(payload > 0 && self.progress < self.end, "{self:?}");
        debug_assert_eq!(self.key, flow_key(ctx.flow, ctx.node, self.to, Interfaces::ANY), "of another flow");
        let mut p = Packet::between(ctx.flow, ctx.node, self.to, Interfaces::ANY, self.key, payload + OVERHEAD);
        p.kind = Kind::Datagram;
        p.payload = payload as u16;
        p.stamp(self.sent as u32, ctx.now);
        // From the plan, not from the clock: no drift.
        self.next_at = self.next_at.saturating_add(self.clock.time(p.size));
        ctx.send(p);
        self.progress += u64::from(payload);
        self.sent += 1;
    }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.next_at = ctx.now;
        self.go_on(ctx);
    }
    fn on_packet(&mut self, _packet: &Packet, _ctx: &mut EndpointCtx<'_>) {}
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.go_on(ctx);
    }
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.go_on(ctx);
    }
    fn report(&self) -> FlowReport {
        FlowReport { sent: self.sent, rate: self.rate.0, ..FlowReport::default() }
    }
}

/// Counts what arrives; a flow with a loss never completes.
#[derive(Debug)]
struct Receiver {
    size: Option<u64>,
    delivery: Delivery,
    /// One-way delay of the last datagram.
    delay: Option<Time>,
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Datagram {
            return;
        }
        self.delivery.on_bytes(packet.payload.into(), ctx.now);
        self.delay = packet.stamped().map(|sent| ctx.now.saturating_sub(sent));
        if self.size.is_some_and(|size| self.delivery.bytes() >= size) {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            ctx.finish();
        }
    }
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        self.delivery.report(FlowReport::default())
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend(self.delay.map(|delay| (DELAY, delay.as_secs_f64())));
    }
}
