//! The sender (csg-htsim 841d9e7, `NdpSrc`).

use midpath_core::packet::{Ecn, FlowKey, NodeId, Packet, Trim};
use midpath_core::rng::below;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};
use midpath_core::units::{Rate, Time};

use super::params::NdpParams;
use super::paths::Paths;
use super::window::Window;
use crate::uec::header::{Message, PacketFlags, SIZE, UecHeader};
use crate::uec::nic::{Nic, Turn};

/// The active end.
pub struct Sender {
    to: NodeId,
    params: NdpParams,
    rto: Time,
    rate: Rate,
    stop_at: Time,
    window: Window,
    /// Chosen when the flow starts.
    paths: Option<Paths>,
    /// When something was heard, or asked for.
    heard: Time,
    /// Whether it waits for its turn at the host's line.
    in_line: bool,
    report: FlowReport,
}

impl Sender {
    pub fn new(flow: &FlowSpec, params: &NdpParams) -> Sender {
        let mtu = flow.mtu.clamp(SIZE + 1, u16::MAX.into());
        Sender {
            to: flow.dst,
            params: *params,
            rto: params.timeout(Time::ZERO),
            rate: Rate::ZERO,
            stop_at: flow.stop.unwrap_or(Time::MAX),
            window: Window::new(flow.size.map_or(u64::MAX, |size| size.0), mtu - SIZE, params.initial_window),
            paths: None,
            heard: Time::ZERO,
            in_line: false,
            report: FlowReport::default(),
        }
    }

    fn key(&self, ctx: &EndpointCtx<'_>) -> FlowKey {
        (ctx.flow, self.to)
    }

    fn all_is_sent(&self) -> bool {
        self.window.progress == self.window.end
    }

    /// Sends what pulls and the host's line allow.
    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop_at && !self.all_is_sent() {
            self.window.end = self.window.progress;
            self.send_end(ctx);
        }
        if self.all_is_sent() && self.window.outstanding.is_empty() {
            return self.finish(ctx);
        }
        let flow = self.key(ctx);
        let mut wake = if self.all_is_sent() { Time::MAX } else { self.stop_at };
        while self.window.may_send() > 0 {
            match ctx.shared.get::<Nic>().ask(flow, &mut self.in_line, ctx.now) {
                Turn::Now => {
                    self.send_next(ctx);
                    Nic::leave(flow, &mut self.in_line, ctx);
                }
                Turn::At(at) => {
                    wake = wake.min(at);
                    break;
                }
                Turn::Later => break,
            }
        }
        if self.window.may_send() == 0 {
            Nic::leave(flow, &mut self.in_line, ctx);
        }
        if let Some((sent, _)) = self.window.outstanding.oldest() {
            wake = wake.min(sent.saturating_add(self.rto));
        } else if self.window.is_stuck() {
            wake = wake.min(self.heard.saturating_add(self.rto));
        }
        ctx.set_timer(wake);
    }

    /// `send_packet`.
    fn send_next(&mut self, ctx: &mut EndpointCtx<'_>) {
        let entropy = self.next_path(ctx);
        let Some(next) = self.window.send(entropy, ctx.now) else { return };
        let last = self.all_is_sent() && next.at + u64::from(next.payload) == self.window.end;
        let flags = PacketFlags::default().with(PacketFlags::LAST, last).with(PacketFlags::AGAIN, next.again > 0);
        let message = if next.payload > 0 { Message::Data } else { Message::Rts };
        self.report.retransmitted += u64::from(next.again > 0 && next.payload > 0);
        self.emit(
            UecHeader { entropy, psn: next.psn, message, flags, ..UecHeader::default() },
            next.at,
            next.payload,
            ctx,
        );
    }

    /// Puts a packet on its way.
    fn emit(&mut self, mut header: UecHeader, at: u64, payload: u16, ctx: &mut EndpointCtx<'_>) {
        header.bitmap = at;
        ctx.shared.get::<Nic>().sends(SIZE + u32::from(payload), self.rate, ctx.now);
        let mut packet = header.packet(ctx.flow, ctx.node, self.to, payload);
        packet.ecn = Ecn::NotEct;
        packet.trim = match self.params {
            NdpParams { trimming: true, return_to_sender: true, .. } if payload > 0 => Trim::MayReturn,
            NdpParams { trimming: true, .. } if payload > 0 => Trim::May,
            _ => Trim::No,
        };
        self.report.sent += u64::from(payload > 0);
        ctx.send_bytes(&packet, at);
    }

    fn next_path(&mut self, ctx: &mut EndpointCtx<'_>) -> u16 {
        let count = self.params.paths;
        let mut draw = |n: u32| below(ctx.rng, n.into()) as u32;
        self.paths.get_or_insert_with(|| Paths::new(count, &mut draw)).next(&mut draw)
    }

    /// `rtx_timer_hook`. Ours: who waits for pulls alone asks what they are, in case that they were lost.
    fn time_out(&mut self, ctx: &mut EndpointCtx<'_>) {
        while let Some((sent, psn)) = self.window.outstanding.oldest()
            && sent.saturating_add(self.rto) <= ctx.now
        {
            self.report.timeouts += 1;
            self.window.on_timeout(psn);
        }
        if self.window.is_stuck() && self.heard.saturating_add(self.rto) <= ctx.now {
            self.heard = ctx.now;
            self.report.timeouts += 1;
            let entropy = self.next_path(ctx);
            let (psn, flags) = (self.window.outstanding.next(), PacketFlags::ACK_REQUEST);
            let header = UecHeader { entropy, psn, message: Message::Rts, flags, ..UecHeader::default() };
            self.emit(header, self.window.progress, 0, ctx);
        }
    }

    /// What was sent last was all: a flow without data, or one that is stopped. Ours: htsim has neither.
    fn send_end(&mut self, ctx: &mut EndpointCtx<'_>) {
        let (psn, entropy) = (self.window.outstanding.next(), self.next_path(ctx));
        self.window.outstanding.send(self.window.progress, 0, 0, entropy, ctx.now);
        let (message, flags) = (Message::Rts, PacketFlags::LAST);
        let header = UecHeader { entropy, psn, message, flags, ..UecHeader::default() };
        self.emit(header, self.window.progress, 0, ctx);
    }

    fn on_ack(&mut self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let again = u8::from(header.flags.has(PacketFlags::AGAIN));
        let record = self.window.outstanding.on_its_way(header.psn).filter(|record| record.again == again);
        if let Some(rtt) = record.map(|record| ctx.now.saturating_sub(record.sent)) {
            self.report.rtt(rtt);
            self.report.srtt = rtt;
        }
        let pull = header.flags.has(PacketFlags::PULL).then_some(header.base);
        self.window.on_ack(header.psn, header.cumulative, pull);
    }

    fn on_nack(&mut self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        if self.window.outstanding.on_its_way(header.psn).is_some() {
            // `processNack` chooses a path, and `send_packet` the next one.
            self.next_path(ctx);
        }
        self.window.on_nack(header.psn, header.base, header.flags.has(PacketFlags::PULL));
    }

    fn finish(&mut self, ctx: &mut EndpointCtx<'_>) {
        Nic::leave(self.key(ctx), &mut self.in_line, ctx);
        ctx.completed(Half::Sending);
        ctx.finish();
    }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.rate = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        self.heard = ctx.now;
        if self.window.end == 0 {
            self.send_end(ctx);
        }
        self.go_on(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<UecHeader>() else { return };
        self.heard = ctx.now;
        match header.message {
            Message::Ack if header.flags.has(PacketFlags::RTS) => self.window.pull(header.base),
            Message::Ack => self.on_ack(&header, ctx),
            Message::Nack => self.on_nack(&header, ctx),
            Message::Pull => self.window.pull(header.base),
            Message::Closed => return self.finish(ctx),
            Message::Data if packet.trim == Trim::Returned => self.window.on_returned(header.psn),
            Message::Data | Message::Rts => return,
        }
        self.go_on(ctx);
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.time_out(ctx);
        self.go_on(ctx);
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.finish(ctx);
    }
    fn report(&self) -> FlowReport {
        self.report
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("pulls", self.window.unused().into()));
        out.push(("again_bytes", self.window.outstanding.queued_bytes() as f64));
    }
}
