//! A port: ACKs and notices before data, and a notice to the sender if the queue is too long.

use midpath_core::packet::{HOP_LIMIT, IP_HEADER, Kind, Packet, Pkt, UDP_HEADER};
use midpath_core::queue::{Bound, Classes, Room, Scheduler, Share};
use midpath_core::roles::{Backlog, CutThrough, Drop, HopCtx, LinkInfo, Port, PortCtx};

use super::header::{BoltFlags, BoltHeader, Notice};
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
    let returns = || packet.header::<BoltHeader>().is_some_and(|header| header.marks.has(BoltFlags::RETURNS));
    usize::from(!(packet.payload == 0 && (packet.carries::<Notice>() || returns())))
}

impl BoltPort {
    /// A port that holds at most `bound`.
    pub fn new(params: &BoltParams, bound: Bound) -> BoltPort {
        let lanes = Classes::new(2, Room::Shared(bound), Share::Strict, lane as fn(&Packet) -> usize);
        let (threshold, switch) = (params.threshold.map(|b| b.0), Switch::default());
        BoltPort { threshold, sm: params.sm, pru: params.pru, bound, switch, lanes, notices: 0 }
    }

    /// So many bytes wait where the link is congested.
    fn threshold(&self, mtu: u32) -> u64 {
        self.threshold.unwrap_or(THRESHOLD * u64::from(mtu))
    }

    /// A packet arrives: what is said of it changes. The notice that its sender is to get, if any.
    fn on_arrival(&mut self, pkt: &Pkt, waiting: u64, hop: &mut HopCtx<'_>) -> Option<Packet> {
        let LinkInfo { rate, mtu, .. } = *hop.link;
        let link = Link { rate, mtu, threshold: self.threshold(mtu), sm: self.sm, pru: self.pru };
        let packet = &mut hop.pool[pkt];
        self.switch.count(packet.size, hop.now, &link);
        if packet.payload == 0 {
            return None;
        }
        let header = packet.header::<BoltHeader>()?;
        let (marks, tells) = self.switch.decide(header.marks, waiting, packet.hops == HOP_LIMIT, &link);
        if marks != header.marks {
            packet.set_header(&BoltHeader { marks, ..header });
        }
        if !tells {
            return None;
        }
        let queue = u32::try_from(waiting).unwrap_or(u32::MAX);
        let notice = notice(packet, &Notice { queue, rate: (link.rate.0 as f32).max(1.0), sent: header.sent });
        self.notices += 1;
        hop.note("sender told", waiting as f64, Some(pkt));
        Some(notice)
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
        if let Some(notice) = self.on_arrival(&pkt, waiting.bytes, &mut ctx.hop()) {
            ctx.route(notice);
        }
        if self.bound.admits(waiting, ctx.pool[&pkt].size) {
            self.lanes.push(pkt, ctx.pool);
            debug_assert!(self.bound.holds(self.lanes.backlog()), "what was admitted has room");
        } else {
            ctx.drop(pkt, Drop::Queue);
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.lanes.pop(ctx.pool)
    }

    fn watches_inbound(&self) -> bool {
        false
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

impl CutThrough for BoltPort {
    fn cut_through(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let (waiting, mtu) = (self.lanes.backlog(), hop.link.mtu);
        // An empty queue is congested where the threshold is 0: then senders are told.
        let passes = waiting.packets == 0 && self.threshold(mtu) > 0 && self.bound.admits(waiting, hop.pool[pkt].size);
        if passes {
            let notice = self.on_arrival(pkt, 0, hop);
            debug_assert!(notice.is_none(), "nothing waits");
        }
        passes
    }

    /// It watches nothing that comes in.
    fn pass_inbound(&mut self, _pkt: &Pkt, _hop: &mut HopCtx<'_>) -> bool {
        false
    }
}
