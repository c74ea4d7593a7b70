//! A port: ACKs and notices before data, and a notice to the sender if the queue is too long.

use midpath_core::packet::{HOP_LIMIT, IP_HEADER, Kind, Packet, Pkt, UDP_HEADER};
use midpath_core::queue::{Bound, Classes, Room, Scheduler, Share};
use midpath_core::roles::{Backlog, Drop, Port, PortCtx, Shortcuts};

use super::header::{BoltHeader, Marks, Notice};
use super::params::BoltParams;
use super::switch::{Link, Switch};

/// A congested port, where the scenario gives no threshold: so many of the link's largest packets wait. "2
/// packets" in all nine scenarios.
const THRESHOLD: u64 = 2;

/// A port with Bolt.
pub(crate) struct BoltPort {
    threshold: Option<u64>,
    sm: bool,
    pru: bool,
    bound: Bound,
    switch: Switch,
    lanes: Classes<fn(&Packet) -> usize>,
    notices: u64,
}

/// ACKs and notices go first, as in the artefact's queue.
fn lane(packet: &Packet) -> usize {
    let returns = || packet.header::<BoltHeader>().is_some_and(|header| header.marks.has(Marks::RETURNS));
    usize::from(!(packet.payload == 0 && (packet.carries::<Notice>() || returns())))
}

impl BoltPort {
    /// A port that holds at most `bound`.
    pub fn new(params: &BoltParams, bound: Bound) -> BoltPort {
        let lanes = Classes::new(2, Room::Shared(bound), Share::Strict, lane as fn(&Packet) -> usize);
        let (threshold, switch) = (params.threshold.map(|b| b.0), Switch::default());
        BoltPort { threshold, sm: params.sm, pru: params.pru, bound, switch, lanes, notices: 0 }
    }

    /// A packet arrives: what is said of it changes, and its sender is told.
    fn look(&mut self, pkt: &Pkt, waiting: u64, ctx: &mut PortCtx<'_>) {
        let link = ctx.link();
        let threshold = self.threshold.unwrap_or(THRESHOLD * u64::from(link.mtu));
        let link = Link { rate: link.rate, mtu: link.mtu, threshold, sm: self.sm, pru: self.pru };
        let packet = &mut ctx.pool[pkt];
        self.switch.count(packet.size, ctx.now, &link);
        if packet.payload == 0 {
            return;
        }
        let Some(header) = packet.header::<BoltHeader>() else { return };
        let (marks, tells) = self.switch.decide(header.marks, waiting, packet.hops == HOP_LIMIT, &link);
        if marks != header.marks {
            packet.set_header(&BoltHeader { marks, ..header });
        }
        if tells {
            let queue = u32::try_from(waiting).unwrap_or(u32::MAX);
            let notice = notice(packet, &Notice { queue, rate: (link.rate.0 as f32).max(1.0), sent: header.sent });
            self.notices += 1;
            ctx.note("sender told", waiting as f64, Some(pkt));
            ctx.route(notice);
        }
    }
}

/// A notice to the sender of a packet, as from its receiver.
fn notice(about: &Packet, says: &Notice) -> Packet {
    let mut packet = Packet::new(about.flow, about.dst, about.src, IP_HEADER + UDP_HEADER);
    packet.kind = Kind::Datagram;
    packet.set_interfaces(about.interfaces.reversed());
    packet.set_header(says);
    packet
}

impl Port for BoltPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let waiting = self.lanes.backlog();
        self.look(&pkt, waiting.bytes, ctx);
        if self.bound.admits(waiting, ctx.pool[&pkt].size) {
            self.lanes.push(pkt, ctx.pool);
        } else {
            ctx.drop(pkt, Drop::Queue);
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.lanes.pop(ctx.pool)
    }

    fn backlog(&self) -> Backlog {
        self.lanes.backlog()
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.lanes.clear(&mut |pkt| ctx.drop(pkt, Drop::Fault));
        self.switch = Switch::default();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("supply_bytes", self.switch.supply),
            ("promised_packets", f64::from(self.switch.promised)),
            ("notices", self.notices as f64),
        ]);
    }
}

impl Shortcuts for BoltPort {
    fn goes_straight(&self) -> bool {
        true
    }

    fn straight(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Result<Pkt, Pkt> {
        let waiting = self.lanes.backlog();
        if waiting.packets > 0 || !self.bound.admits(waiting, ctx.pool[&pkt].size) {
            return Err(pkt);
        }
        self.look(&pkt, 0, ctx);
        Ok(pkt)
    }

    fn watches_inbound(&self) -> bool {
        false
    }

    fn inbound_frees(&self) -> bool {
        false
    }
}
