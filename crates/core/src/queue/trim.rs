//! Packet trimming, as the composite queue of HTSIM has it (`CompositeQueue` of spcl/HTSIM 8a33f33; NDP, Handley et al.,
//! SIGCOMM 2017, §3.1): a full queue cuts the payload off a packet that allows it ([`Trim::allows`]). What is left tells
//! the receiver what is missing.
//!
//! Packets without payload, ACKs among them, have a queue of their own, which is served first, or wait among the others.

use super::scheduler::Lane;
use crate::limit::{Backlog, Bound};
use crate::packet::{Kind, Packet, PacketId, Pkt, Trim};
use crate::queue_spec::TrimParams;
use crate::rng::{Stream, below, unit};
use crate::roles::{CutThrough, Drop, HopCtx, Port, PortCtx};
use crate::units::Rate;

/// The port.
#[derive(Debug)]
pub struct Trimming {
    /// Room for packets with payload, and for those without.
    bounds: [Bound; 2],
    mark: [Bound; 2],
    /// `_ratio_high`; `None` where all wait in one queue.
    headers_per_packet: Option<u32>,
    /// `_crt`: turns since a packet with payload had one while headers waited.
    turn: u32,
    /// With priority packets with payload and headers, else all and nothing.
    lanes: [Lane; 2],
    /// What waits of packets with payload and without.
    waits: [Backlog; 2],
    /// The packet that was begun last, if it may be marked when it has been sent.
    last: Option<PacketId>,
}

const DATA: usize = 0;
const HEADERS: usize = 1;

/// Which of the two a packet is.
fn class(packet: &Packet) -> usize {
    if packet.payload > 0 { DATA } else { HEADERS }
}

fn bytes(packet: &Packet) -> Backlog {
    Backlog { packets: 1, bytes: packet.size.into() }
}

impl Trimming {
    /// Holds at most `bound` of packets with payload.
    pub fn new(params: TrimParams, bound: Bound, rate: Rate) -> Trimming {
        Trimming {
            bounds: [bound, params.headers.bound(rate)],
            mark: [params.min.bound(rate), params.max.bound(rate)],
            headers_per_packet: params.headers_per_packet,
            turn: 0,
            lanes: Default::default(),
            waits: Default::default(),
            last: None,
        }
    }

    fn push(&mut self, pkt: Pkt, ctx: &PortCtx<'_>) {
        let class = class(&ctx.pool[&pkt]);
        self.waits[class] = self.waits[class] + bytes(&ctx.pool[&pkt]);
        self.lanes[if self.headers_per_packet.is_some() { class } else { DATA }].push(pkt, ctx.pool);
    }

    fn left(&mut self, packet: &Packet) {
        let waits = &mut self.waits[class(packet)];
        (waits.packets, waits.bytes) = (waits.packets - 1, waits.bytes - u64::from(packet.size));
        debug_assert!(waits.is_sound(), "{waits:?}");
    }

    /// A packet without payload has come, or has become one.
    fn take_header(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        match self.bounds[HEADERS].admits(self.waits[HEADERS], ctx.pool[&pkt].size) {
            true => self.push(pkt, ctx),
            // `_return_to_sender`: once.
            false if ctx.pool[&pkt].trim == Trim::CutMayReturn => ctx.return_to_sender(pkt),
            false => ctx.drop(pkt, Drop::Queue),
        }
    }

    /// There is no room for a packet's payload.
    fn refuse(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if !ctx.pool[&pkt].trim.allows() {
            return ctx.drop(pkt, Drop::Queue);
        }
        let at_last_hop = ctx.link().peer == ctx.pool[&pkt].dst;
        ctx.trim(&pkt, at_last_hop);
        self.take_header(pkt, ctx);
    }

    /// `receivePacket`: every other time it is the newest packet with payload that makes room. Ours: only where that is
    /// enough.
    fn newest(&mut self, size: u32, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if self.headers_per_packet.is_none() || below(ctx.rng, 2) == 0 {
            return None;
        }
        let newest = self.lanes[DATA].pop_back(ctx.pool)?;
        self.left(&ctx.pool[&newest]);
        if self.bounds[DATA].admits(self.waits[DATA], size) {
            return Some(newest);
        }
        self.push(newest, ctx);
        None
    }

    /// `beginService`: which lane is next.
    fn next(&mut self) -> usize {
        let Some(ratio) = self.headers_per_packet else { return DATA };
        if self.lanes[DATA].is_empty() || self.lanes[HEADERS].is_empty() {
            return if self.lanes[HEADERS].is_empty() { DATA } else { HEADERS };
        }
        self.turn = (self.turn + 1) % (ratio + 1);
        if self.turn < ratio { HEADERS } else { DATA }
    }

    /// `decide_ECN`, of what a packet with payload leaves behind it when it has been sent (`completeService`).
    fn chooses(&self, rng: &mut Stream) -> bool {
        let waits = self.waits[DATA];
        let [min, max] = &self.mark;
        if !max.holds(waits) {
            return true;
        }
        if min.holds(waits) {
            return false;
        }
        let (q, min, max) = match min.bytes {
            u64::MAX => (waits.packets, min.packets, max.packets),
            _ => (waits.bytes, min.bytes, max.bytes),
        };
        unit(rng) * ((max - min) as f64) < (q - min) as f64
    }
}

impl Port for Trimming {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if !ctx.transmitter.is_busy() {
            // What was sent last has left nothing behind it.
            self.last = None;
        }
        let packet = &ctx.pool[&pkt];
        let size = packet.size;
        if class(packet) == HEADERS {
            return self.take_header(pkt, ctx);
        }
        if self.bounds[DATA].admits(self.waits[DATA], size) {
            return self.push(pkt, ctx);
        }
        match self.newest(size, ctx) {
            None => self.refuse(pkt, ctx),
            Some(newest) => {
                self.refuse(newest, ctx);
                self.push(pkt, ctx);
            }
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if let Some(last) = self.last.take()
            && ctx.can_mark_sent()
            && ctx.transmitter.idle_since() == Some(ctx.now)
            && self.chooses(ctx.rng)
        {
            ctx.mark_sent(last);
        }
        let lane = self.next();
        let pkt = self.lanes[lane].pop_front(ctx.pool)?;
        self.left(&ctx.pool[&pkt]);
        let packet = &ctx.pool[&pkt];
        if packet.payload > 0 && packet.ecn.capable() {
            if ctx.can_mark_sent() {
                self.last = Some(pkt.id());
            } else if self.chooses(ctx.rng) {
                // What has begun is out of reach: a packet is marked by what it leaves behind as it begins.
                ctx.mark(&pkt);
            }
        }
        Some(pkt)
    }

    fn marks_sent(&self) -> bool {
        true
    }

    fn watches_inbound(&self) -> bool {
        false
    }

    fn backlog(&self) -> Backlog {
        self.waits.into_iter().sum()
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.lanes.iter_mut().for_each(|lane| lane.clear(&mut |pkt| ctx.drop(pkt, Drop::Fault)));
        (self.waits, self.turn, self.last) = (Default::default(), 0, None);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("header_bytes", self.waits[HEADERS].bytes as f64));
    }
}

/// What finds nothing waiting leaves at once: what comes while it is sent may mark it.
impl CutThrough for Trimming {
    fn cut_through(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let packet = &hop.pool[pkt];
        let class = class(packet);
        if self.waits != [Backlog::default(); 2] || !self.bounds[class].admits(Backlog::default(), packet.size) {
            return false;
        }
        self.last = (class == DATA && packet.ecn.capable()).then(|| pkt.id());
        true
    }

    fn pass_inbound(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        hop.pool[pkt].kind != Kind::Control
    }
}
