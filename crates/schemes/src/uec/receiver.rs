//! The receiver (HTSIM 8a33f33, `UecSink`): it takes data in any order, acknowledges, and answers what was trimmed.

use midpath_core::packet::{Ecn, FlowKey, NodeId, Packet, Trim};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, Half};
use midpath_core::units::Rate;

use super::arrived::Arrived;
use super::credits::{Demand, Pacer, Rules};
use super::header::{Message, PacketFlags, SIZE, UecHeader};
use super::nic::Nic;
use super::params::Profile;

/// An ACK is due after so many bytes (`_bytes_unacked_threshold`).
const UNACKNOWLEDGED: u32 = 16_384;

/// The passive end.
pub struct Receiver {
    to: NodeId,
    arrived: Arrived,
    /// `_accepted_bytes`: since the last ACK.
    accepted: u32,
    /// `_recvd_bytes`, modulo 2³².
    received: u32,
    ack_request: bool,
    /// The number of the message's last packet.
    last: Option<u32>,
    delivery: Delivery,
    rules: Rules,
    /// With credits: what the sender asks for and has.
    demand: Option<Demand>,
}

impl Receiver {
    pub fn new(to: NodeId, profile: &Profile) -> Receiver {
        Receiver {
            to,
            arrived: Arrived::default(),
            accepted: 0,
            received: 0,
            ack_request: false,
            last: None,
            delivery: Delivery::default(),
            rules: profile.rules,
            demand: profile.params.cc.has_credits().then(Demand::default),
        }
    }

    fn key(&self, ctx: &EndpointCtx<'_>) -> FlowKey {
        (ctx.flow, self.to)
    }

    fn answer(&self, header: UecHeader, ctx: &mut EndpointCtx<'_>) {
        let rate = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        ctx.shared.get::<Nic>().sends(SIZE, rate, ctx.now);
        ctx.send(header.packet(ctx.flow, ctx.node, self.to, 0));
    }

    /// `sack`: `exactly` from the packet on, else up to it (`sackBitmapBase`).
    fn acknowledge(&self, of: &UecHeader, exactly: bool, flags: PacketFlags, ctx: &mut EndpointCtx<'_>) {
        let base = if exactly { of.psn } else { of.psn.saturating_sub(63).max(self.arrived.expected() + 1) };
        let header = UecHeader {
            entropy: of.entropy,
            message: Message::Ack,
            flags: flags.with(PacketFlags::AGAIN, of.flags.has(PacketFlags::AGAIN)),
            psn: of.psn,
            cumulative: self.arrived.expected(),
            base,
            bitmap: self.arrived.bitmap(base),
            received: self.received,
            out_of_order: self.arrived.above().min(u16::MAX.into()) as u16,
        };
        self.answer(header, ctx);
    }

    /// `handlePullTarget`.
    fn ask(&mut self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let flow = self.key(ctx);
        if let Some(demand) = &mut self.demand
            && demand.ask(header.base)
        {
            Pacer::request(self.rules, flow, demand, ctx);
        }
    }

    /// What was cut or lost will be sent again, whatever was asked for: EQDS's senders of such come first.
    fn ask_again(&mut self, ctx: &mut EndpointCtx<'_>) {
        let (flow, rules) = (self.key(ctx), self.rules);
        let packet = ctx.links.first().map_or(0, |link| link.mtu);
        match (&mut self.demand, rules) {
            (Some(demand), Rules::Eqds(_)) => Pacer::request_again(rules, flow, demand, packet, ctx),
            (Some(demand), _) if !demand.is_active() => Pacer::request(rules, flow, demand, ctx),
            _ => {}
        }
    }

    /// `processRts` of EQDS: all that was sent may be lost, so that the sender wants credit of either kind.
    fn ask_anew(&mut self, ctx: &mut EndpointCtx<'_>) {
        let (flow, rules) = (self.key(ctx), self.rules);
        if let Some(demand) = self.demand.as_mut().filter(|demand| !demand.is_repeating() && !demand.is_active()) {
            Pacer::request(rules, flow, demand, ctx);
        }
        self.ask_again(ctx);
    }

    /// `processTrimmed`.
    fn on_trimmed(&mut self, header: &UecHeader, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if self.arrived.has(header.psn) {
            return self.acknowledge(header, false, PacketFlags::default(), ctx);
        }
        self.ask(header, ctx);
        let flags = PacketFlags::default()
            .with(PacketFlags::LAST_HOP, packet.trim == Trim::CutAtLastHop)
            .with(PacketFlags::CE, packet.ecn == Ecn::Ce);
        let (psn, entropy, received) = (header.psn, header.entropy, self.received);
        self.answer(UecHeader { entropy, message: Message::Nack, flags, psn, received, ..UecHeader::default() }, ctx);
        self.ask_again(ctx);
    }

    /// `processData`, and `processRts` of what carries none.
    fn on_data(&mut self, header: &UecHeader, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let marked = packet.ecn == Ecn::Ce;
        let rts = header.message == Message::Rts;
        let flags = PacketFlags::default().with(PacketFlags::CE, marked).with(PacketFlags::RTS, rts);
        let first = self.received == 0 && self.delivery.bytes() == 0;
        self.accepted += packet.size;
        self.ask(header, ctx);
        if rts && matches!(self.rules, Rules::Eqds(_)) {
            self.ask_anew(ctx);
        }
        if self.arrived.has(header.psn) || !self.arrived.add(header.psn) {
            self.accepted = 0;
            return self.acknowledge(header, marked, flags, ctx);
        }
        let request = header.flags.has(PacketFlags::ACK_REQUEST);
        if !rts {
            self.received = self.received.wrapping_add(packet.size);
            self.delivery.on_bytes(packet.payload.into(), ctx.now);
            ctx.arrived(header.bitmap);
            self.ack_request |= request;
        }
        if header.flags.has(PacketFlags::LAST) {
            self.last = Some(header.psn);
        }
        let mut due = marked || request || first || self.accepted >= UNACKNOWLEDGED;
        if self.arrived.above() == 0 && self.ack_request {
            (due, self.ack_request) = (true, false);
        }
        if due {
            self.accepted = 0;
            self.acknowledge(header, marked || request, flags, ctx);
        }
        if self.last.is_some_and(|last| last < self.arrived.expected()) {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            Pacer::leave(self.key(ctx), ctx);
            ctx.finish();
        }
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<UecHeader>() else { return };
        match header.message {
            Message::Data if packet.trim.is_cut() => self.on_trimmed(&header, packet, ctx),
            Message::Data | Message::Rts => self.on_data(&header, packet, ctx),
            Message::Ack | Message::Nack | Message::Pull | Message::Closed => {}
        }
    }
    /// The host's credit is due, and this flow is the next to have some.
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        let flow = self.key(ctx);
        let Some(demand) = &mut self.demand else { return };
        if let Some(granted) = Pacer::turn(self.rules, flow, demand, ctx) {
            let (message, (base, entropy)) = (Message::Pull, granted);
            self.answer(UecHeader { message, base, entropy, ..UecHeader::default() }, ctx);
        }
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        Pacer::leave(self.key(ctx), ctx);
        ctx.finish();
    }
    fn report(&self) -> FlowReport {
        self.delivery.report(FlowReport::default())
    }
}
