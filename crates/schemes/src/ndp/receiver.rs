//! The receiver (csg-htsim 841d9e7, `NdpSink`): it acknowledges each packet, answers each header without its payload, and
//! pulls one for each.

use midpath_core::packet::{FlowKey, NodeId, Packet};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, Half};
use midpath_core::units::Rate;

use crate::uec::arrived::Arrived;
use crate::uec::credits::{Demand, Pacer, Rules};
use crate::uec::header::{Message, PacketFlags, SIZE, UecHeader};
use crate::uec::nic::Nic;

/// The passive end.
pub struct Receiver {
    to: NodeId,
    arrived: Arrived,
    demand: Demand,
    /// The number of the last packet (`_last_packet_seqno`).
    last: Option<u32>,
    delivery: Delivery,
}

impl Receiver {
    pub fn new(to: NodeId) -> Receiver {
        Receiver {
            to,
            arrived: Arrived::default(),
            demand: Demand::default(),
            last: None,
            delivery: Delivery::default(),
        }
    }

    fn key(&self, ctx: &EndpointCtx<'_>) -> FlowKey {
        (ctx.flow, self.to)
    }

    fn send(&self, header: UecHeader, ctx: &mut EndpointCtx<'_>) {
        let rate = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        ctx.shared.get::<Nic>().sends(SIZE, rate, ctx.now);
        ctx.send(header.packet(ctx.flow, ctx.node, self.to, 0));
    }

    /// `send_ack`, `send_nack`: at once; the pull as well if none waits and one is due (`NdpPullPacer::sendPacket`).
    fn answer(&mut self, message: Message, of: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let flow = self.key(ctx);
        let pulls = Pacer::ask_for_one(Rules::Ndp, flow, &mut self.demand, ctx);
        let flags = PacketFlags::default()
            .with(PacketFlags::PULL, pulls)
            .with(PacketFlags::AGAIN, of.flags.has(PacketFlags::AGAIN));
        let (entropy, psn) = (of.entropy, of.psn);
        // `dont_pull`.
        let (cumulative, base) = (self.arrived.expected(), if pulls { self.demand.granted() } else { 0 });
        self.send(UecHeader { entropy, message, flags, psn, cumulative, base, ..UecHeader::default() }, ctx);
    }

    /// `receivePacket`.
    fn on_data(&mut self, header: &UecHeader, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if header.flags.has(PacketFlags::LAST) {
            self.last = Some(header.psn);
        }
        if !self.arrived.has(header.psn) && self.arrived.add(header.psn) && packet.payload > 0 {
            self.delivery.on_bytes(packet.payload.into(), ctx.now);
            ctx.arrived(header.bitmap);
        }
        self.answer(Message::Ack, header, ctx);
        if self.last.is_some_and(|last| last < self.arrived.expected()) {
            self.delivery.on_complete(ctx.now);
            ctx.completed(Half::Receiving);
            // `release_pulls`.
            Pacer::leave(self.key(ctx), ctx);
            ctx.finish();
        }
    }

    /// A sender asks what it has been pulled.
    fn on_question(&self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let (entropy, message, flags) = (header.entropy, Message::Ack, PacketFlags::RTS);
        let (psn, cumulative, base) = (header.psn, self.arrived.expected(), self.demand.granted());
        self.send(UecHeader { entropy, message, flags, psn, cumulative, base, ..UecHeader::default() }, ctx);
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<UecHeader>() else { return };
        match header.message {
            Message::Data if packet.trim.is_cut() => self.answer(Message::Nack, &header, ctx),
            Message::Rts if header.flags.has(PacketFlags::ACK_REQUEST) => self.on_question(&header, ctx),
            Message::Data | Message::Rts => self.on_data(&header, packet, ctx),
            Message::Ack | Message::Nack | Message::Pull | Message::Closed => {}
        }
    }
    /// A pull is due, and this flow is the next to have one.
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        let flow = self.key(ctx);
        if let Some((base, entropy)) = Pacer::turn(Rules::Ndp, flow, &mut self.demand, ctx) {
            self.send(UecHeader { message: Message::Pull, base, entropy, ..UecHeader::default() }, ctx);
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
