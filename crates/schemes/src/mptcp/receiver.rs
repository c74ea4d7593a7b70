//! The passive end: one buffer for the data of all subflows.

mod stream;

use std::sync::Arc;

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, Wishes};
use midpath_core::units::Time;

pub use stream::{Stream, Taken};

use super::MAX_SUBFLOWS;
use super::address::{self, Pair};
use super::header::{Dss, Hello, sack_blocks};
use super::params::MptcpParams;
use super::scheme::Subflows;
use crate::tcp;
use crate::tcp::segment::{opens, reset};

/// How long the end stays when no subflow will bring anything more: Linux's `tcp_fin_timeout`.
const LINGER: Time = Time::from_secs(60);

struct Subflow {
    /// Its addresses as this end's packets have them.
    pair: Pair,
    tcp: tcp::receiver::Receiver,
    wishes: Wishes,
    hello: Hello,
}

/// The passive end of a connection.
pub struct Receiver {
    scheme: Arc<Subflows>,
    subflows: Vec<Subflow>,
    /// The shared buffer in bytes (RFC 8684, §3.3.4).
    buffer: u64,
    /// How many SACK blocks fit.
    sack: u8,
    stream: Stream,
    delivered_at: Time,
    linger_at: Time,
    stats: FlowReport,
}

impl Receiver {
    pub(super) fn new(params: &MptcpParams, scheme: Arc<Subflows>) -> Receiver {
        Receiver {
            scheme,
            subflows: Vec::with_capacity(1),
            buffer: params.tcp.receive_window.0,
            sack: sack_blocks(params.tcp.timestamps),
            stream: Stream::default(),
            delivered_at: Time::ZERO,
            linger_at: Time::MAX,
            stats: FlowReport::default(),
        }
    }

    /// The data stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Calls the TCP of a subflow. What it sends leaves through the subflow's port and tells what all have brought.
    fn call(
        &mut self,
        i: usize,
        ctx: &mut EndpointCtx<'_>,
        f: impl FnOnce(&mut tcp::receiver::Receiver, &mut EndpointCtx<'_>),
    ) {
        let Subflow { pair, tcp, wishes, hello } = &mut self.subflows[i];
        let dss = Dss { ack: self.stream.ack(), mapping: None, fin: false };
        let sack = self.sack;
        ctx.inside(
            wishes,
            |ctx| f(tcp, ctx),
            |(), packet| {
                if packet.flags.has(Flags::SYN) {
                    hello.put_on(packet, true);
                } else {
                    keep_sack(packet, sack);
                    packet.set_header(&dss);
                }
                Some(pair.source())
            },
        );
    }

    /// The subflow that a packet belongs to; a SYN opens one if there may be more.
    fn subflow_of(&mut self, packet: &Packet, ctx: &EndpointCtx<'_>) -> Option<usize> {
        let pair = Pair::of(packet)?.reversed();
        if let Some(i) = self.subflows.iter().position(|s| s.pair == pair) {
            return (!self.subflows[i].wishes.finished).then_some(i);
        }
        let mine = address::count(ctx.links.len());
        if !opens(packet) || self.subflows.len() >= MAX_SUBFLOWS || pair.source().0 >= u16::from(mine) {
            return None;
        }
        let hello = match packet.header::<Hello>()? {
            Hello::Capable(_) => Hello::Capable(mine),
            Hello::Join => Hello::Join,
        };
        // RFC 8684, §3.3.4: the window that it tells is the buffer's, from the data ACK on.
        let tcp = self.scheme.receiver(packet).sharing_window();
        self.subflows.push(Subflow { pair, tcp, wishes: Wishes { timer: Time::MAX, finished: false }, hello });
        Some(self.subflows.len() - 1)
    }

    /// Takes the data of a packet; what it did, or `None` when the packet is to be ignored.
    fn take(&mut self, i: usize, packet: &Packet, now: Time) -> Option<Taken> {
        // A SYN says something else in the option's place; a reset says nothing.
        let number = packet.seq.wrapping_sub(self.subflows[i].tcp.peer_isn());
        let place = packet.header::<Dss>().and_then(|dss| dss.place(packet, number));
        let Some(place) = place else {
            // RFC 8684, §3.3.1: data without a mapping that covers them are not taken.
            return (packet.payload == 0).then(Taken::default);
        };
        if !self.subflows[i].tcp.would_take(packet) {
            return Some(Taken::default());
        }
        let taken = self.stream.take(&place, self.buffer)?;
        if taken.delivered {
            (self.stats.delivered, self.delivered_at) = (self.stream.delivered(), now);
        }
        if self.stream.complete() && self.stats.completed.is_none() {
            // A DATA_FIN that comes alone brings nothing: the last byte came before, unless there was none.
            self.stats.completed = Some(if self.stats.delivered == 0 { now } else { self.delivered_at });
            self.linger_at = now.saturating_add(LINGER);
        }
        Some(taken)
    }

    /// Whether the packet is the third of an MP_JOIN's handshake: the fourth is an ACK of it, and data may come then (RFC 8684, §3.2).
    fn confirms(&self, i: usize, packet: &Packet) -> bool {
        let Subflow { tcp, hello, .. } = &self.subflows[i];
        let plain = packet.flags == Flags::ACK && packet.payload == 0;
        let fresh = tcp.state() == tcp::receiver::State::Established && tcp.report().delivered == 0 && tcp.held() == 0;
        *hello == Hello::Join && plain && fresh
    }

    /// Finishes when all is done, or asks to be woken when the first subflow needs it.
    fn settle(&mut self, ctx: &mut EndpointCtx<'_>) {
        let first = self.subflows.iter().filter(|s| !s.wishes.finished).map(|s| s.wishes.timer).min();
        match (first, self.stream.complete()) {
            (None, true) => return ctx.finish(),
            // No subflow is left, but another may yet come.
            (None, false) if self.linger_at == Time::MAX => self.linger_at = ctx.now.saturating_add(LINGER),
            (Some(_), false) => self.linger_at = Time::MAX,
            _ => {}
        }
        if ctx.now >= self.linger_at {
            return ctx.finish();
        }
        ctx.set_timer(first.unwrap_or(Time::MAX).min(self.linger_at));
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return self.settle(ctx);
        }
        let Some(i) = self.subflow_of(packet, ctx) else {
            refuse(packet, ctx);
            return self.settle(ctx);
        };
        if let Some(taken) = self.take(i, packet, ctx.now) {
            self.call(i, ctx, |tcp, ctx| tcp.on_packet(packet, ctx));
            let Subflow { tcp, wishes, .. } = &self.subflows[i];
            // The sender of what another subflow has held up until now must not wait for a delayed ACK.
            let urgent = taken.urgent && tcp.delays_ack();
            if !wishes.finished && (urgent || self.confirms(i, packet)) {
                self.call(i, ctx, |tcp, ctx| tcp.acknowledge_now(ctx));
            }
        }
        self.settle(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        for i in 0..self.subflows.len() {
            let wishes = &mut self.subflows[i].wishes;
            if !wishes.finished && wishes.timer <= ctx.now {
                wishes.timer = Time::MAX;
                self.call(i, ctx, |tcp, ctx| tcp.on_timer(ctx));
            }
        }
        self.settle(ctx);
    }

    fn report(&self) -> FlowReport {
        self.stats
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("held_bytes", self.stream.held() as f64));
    }
}

/// Answers a segment of a subflow that isn't there, so that its sender stops: RFC 9293, §3.10.7.1.
pub(super) fn refuse(packet: &Packet, ctx: &mut EndpointCtx<'_>) {
    let Some(reset) = reset(packet) else { return };
    match reset.interfaces.source().filter(|port| usize::from(port.0) < ctx.links.len()) {
        Some(port) => ctx.send_via(port, reset),
        None => ctx.send(reset),
    }
}

/// Leaves as many SACK blocks on a packet as fit beside the data ACK, the newest.
fn keep_sack(packet: &mut Packet, most: u8) {
    if packet.sack_len > most {
        packet.size -= 8 * u32::from(packet.sack_len - most);
        packet.sack_len = most;
    }
}
