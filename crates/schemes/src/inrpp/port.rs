//! The interface (§II-A): buffer, custody cache and state machine, as its node calls it. The files of
//! `port/` have its parts.

mod ack;
mod config;
mod detours;
mod gates;
pub(super) mod idle;
mod limits;
mod memory;
mod outage;
mod report;
mod steering;
mod trust;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::{Flags, Kind, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Limit;
use midpath_core::roles::{Backlog, CutThrough, Drop, HopCtx, Inbound, Port, PortCtx, PortSpec};
use midpath_core::units::Time;

use super::auth::{Far, LinkMac};
use super::back::Ways;
use super::border::Border;
use super::cache::Cache;
use super::detour::{Adjacency, DetourPath};
use super::header::{Nonce, hop_fields, is_ack, is_carried, is_inrpp};
use super::intervals::Intervals;
use super::load::PublishedLoad;
use super::machine::Machine;
use super::nonces::Store;
use super::overdue::Overdue;
use super::overlay::PeerKind;
use super::params::Notify;
use super::promises::Promises;
use super::siblings::{Contender, Siblings};
use super::starts::Starts;
use super::state::State;
use super::unheard::Watch;
pub use config::Config;
use idle::Idle;
use limits::{Given, Limits};
use memory::Fifo;
use report::Counts;

/// One interface, both directions.
pub struct InrppPort {
    config: Arc<Config>,
    me: (NodeId, PortId),
    peer: NodeId,
    host: bool,
    peer_kind: PeerKind,
    /// Where plain TCP comes into the domain and leaves it.
    border: Option<Box<Border>>,
    ways: Ways,
    /// The link is down, and what comes goes around it.
    down: bool,
    given: Given,
    limits: Limits,
    /// Control packets go first: they are few and small.
    urgent: Fifo,
    buffer: Fifo,
    cache: Cache,
    machine: Machine,
    /// In B: the bytes of the packet on the wire, and until when it is there.
    on_wire: Option<(u64, Time)>,
    nonce: Nonce,
    store: Store,
    link_mac: LinkMac,
    far: Far,
    watch: Watch,
    starts: Starts,
    promises: Promises,
    overdue: Overdue,
    /// Bytes let in beside those that leave, by round trip.
    more: Intervals<2>,
    /// Bytes taken out of loops, by quarter of a round trip.
    cuts: Intervals<5>,
    /// How long a flow may send here before an ACK of it must have come back.
    patience: Time,
    /// What it last published to the other ports.
    last_published: PublishedLoad,
    /// Who has probed for this port lately, and when.
    contenders: BTreeMap<Contender, Time>,
    paths: Vec<DetourPath>,
    /// With 2-hop detours: for routers two links away, the first port that leads there, not back to
    /// this port's peer.
    second: BTreeMap<NodeId, PortId>,
    probe_at: Time,
    decide_at: Time,
    revive_at: Time,
    /// On a host: when the last ACK has asked its sender to slow down, if it has. For gauges.
    slowed: Option<Time>,
    counts: Counts,
    /// Nothing has changed since the port last said when it wants to be woken, and what it is like.
    published: bool,
    idle: Idle,
    /// It has no border, and its neighbour takes notes alone for signed.
    signs_notes_alone: bool,
    /// The state that was noted last, for who traces the run.
    noted: State,
}

impl InrppPort {
    /// A port with its detours.
    pub fn new(config: Arc<Config>, spec: &PortSpec, queue: Limit, adjacency: Adjacency) -> InrppPort {
        let given = Given {
            queue,
            rtt: spec.rtt,
            inflow: adjacency.inflow,
            rate: spec.link.rate,
            mtu: spec.link.mtu,
            others: 0,
        };
        let limits = Limits::new(&config, given);
        let peer_kind = adjacency.peer_kind;
        let carries = config.carry && !spec.host && !matches!(peer_kind, PeerKind::Neighbour);
        let signs_notes_alone = !carries && !matches!(peer_kind, PeerKind::Plain(_));
        InrppPort {
            me: (spec.node, spec.port),
            peer: spec.peer,
            host: spec.host,
            peer_kind,
            border: carries.then(|| Box::new(Border::new(config.notify.header()))),
            ways: adjacency.ways,
            down: false,
            given,
            limits,
            urgent: Fifo::default(),
            buffer: Fifo::default(),
            cache: Cache::new(spec.link.mtu),
            machine: Machine::default(),
            on_wire: None,
            nonce: Nonce(config.keys.alias(spec.node, spec.port.0, 0)),
            store: Store::new(config.nonces, config.expiry),
            link_mac: LinkMac::default(),
            far: Far::default(),
            watch: Watch::default(),
            starts: Starts::new(spec.rtt),
            promises: Promises::new(spec.rtt),
            overdue: Overdue::new(spec.rtt, config.expiry),
            more: Intervals::new(spec.rtt),
            cuts: Intervals::new(Time(spec.rtt.0 / 4)),
            // As long as a slow-down holds, or four round trips without queues. Ours.
            patience: config.expiry.max(Time(spec.rtt.0.saturating_mul(4))),
            last_published: PublishedLoad::default(),
            contenders: BTreeMap::new(),
            paths: adjacency.interfaces.into_iter().map(DetourPath::new).collect(),
            second: adjacency.second,
            probe_at: Time::MAX,
            decide_at: Time::MAX,
            revive_at: Time::MAX,
            slowed: None,
            counts: Counts::default(),
            published: false,
            idle: Idle::default(),
            signs_notes_alone,
            noted: State::Push,
            config,
        }
    }

    /// The state of the interface.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// The next packet out of custody.
    fn fetch(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.cache.pop(ctx.pool)?;
        let size = ctx.pool[&pkt].size;
        ctx.note("fetched", f64::from(size), Some(&pkt));
        Some(pkt)
    }

    /// Whether nothing waits, nor is there anything to look at or to count of this packet but that it
    /// leaves.
    #[inline]
    fn is_empty_for(&self, packet: &Packet) -> bool {
        self.machine.state() == State::Push
            && self.waiting_packets() == 0
            && self.store.is_empty()
            && !self.cache.closed()
            && is_inrpp(packet)
            && packet.kind != Kind::Control
            && !packet.flags.has(Flags::SYN)
            && u64::from(packet.size) <= self.limits.buffer
    }

    /// The same, and all that could be said or asked for is published: it changes the port's load alone, if no message
    /// waits.
    #[inline]
    fn is_idle_for(&self, packet: &Packet) -> bool {
        let plain = packet.kind != Kind::Control && !packet.flags.has(Flags::SYN) && is_inrpp(packet);
        self.idle.on && plain && u64::from(packet.size) <= self.limits.buffer
    }

    /// A packet leaves: it is counted, and what it says to the neighbour is signed. Whether a message waits.
    #[inline]
    fn finish_departure(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let (me, now) = (hop.me, hop.now);
        let sizes = self.sign(&mut hop.pool[pkt], now);
        hop.state::<Siblings>().sent(me, sizes, now, &self.config.gains)
    }

    /// Whether a packet leaves at once through a port that is not idle: in Push, and nothing waits.
    #[inline(never)]
    fn cut_through_in_push(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let packet = &hop.pool[pkt];
        if !self.is_empty_for(packet) {
            return false;
        }
        if !self.promises.is_empty() {
            self.promises.keep((packet.flow, packet.src), packet);
        }
        if self.finish_departure(pkt, hop) || !self.contenders.is_empty() {
            self.read_waiting(hop);
        }
        self.publish_in_push(hop);
        true
    }

    /// Whether a packet leaves a port in Push as it is, on no detour.
    #[inline]
    fn signs_nothing(&self, packet: &Packet) -> bool {
        let fields = hop_fields(packet);
        let asks = if fields.ack { fields.says } else { self.config.notify == Notify::Data };
        !asks && fields.via.is_none() && self.signs_notes_alone
    }

    /// Signs what leaves; says how long it was before that, and how much of that is for others.
    #[inline]
    fn sign(&mut self, packet: &mut Packet, now: Time) -> (u32, u32) {
        if let Some(border) = &mut self.border
            && is_carried(packet)
            && self.peer_kind.ends(packet)
        {
            border.leave(packet);
        }
        // A tag that says less than this link's end: the packet is on a detour.
        let fields = hop_fields(packet);
        let detoured = if fields.via.is_none_or(|n| n == self.me.0) { 0 } else { packet.size };
        let sizes = (packet.size, detoured);
        if packet.kind == Kind::Control {
            self.sign_control(packet, now);
            return sizes;
        }
        if self.machine.state() == State::Backpressure && packet.payload > 0 && is_inrpp(packet) {
            self.watch.sent((packet.flow, packet.src), now, self.patience);
        }
        if fields.ack {
            if fields.says || matches!(self.peer_kind, PeerKind::Plain(_)) {
                self.sign_notification(packet, now);
            }
        } else if self.config.notify == Notify::Data && is_inrpp(packet) && packet.payload > 0 {
            self.tag_data(packet, now);
        }
        sizes
    }
}

impl Port for InrppPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        (self.published, self.idle) = (false, Idle::default());
        let packet = &ctx.pool[&pkt];
        if packet.kind == Kind::Control {
            return self.urgent_in(pkt, ctx);
        }
        let (key, inrpp) = ((packet.flow, packet.src), is_inrpp(packet));
        self.gate_by_nonce(key, packet, ctx.now);
        if packet.flags.has(Flags::SYN) {
            self.starts.count(ctx.now);
        }
        if !self.promises.is_empty() {
            self.promises.keep(key, packet);
        }
        if !inrpp || self.given.others > 0 {
            self.note_others(key, inrpp, ctx.now);
        }
        if self.config.enforcement && inrpp && self.is_overdue(key, &ctx.pool[&pkt], ctx.now) {
            return ctx.drop(pkt, Drop::Policy);
        }
        let (before, packet) = (self.machine.state(), &ctx.pool[&pkt]);
        if self.cuts_through(key, packet) && (inrpp && self.limits.memory.is_none() || self.has_room(packet)) {
            let size = packet.size;
            self.buffer_in(pkt, size, inrpp);
        } else if self.has_room(packet) {
            let size = packet.size;
            ctx.note("stored", f64::from(size), Some(&pkt));
            self.cache.push(key, pkt, ctx.pool);
        } else {
            self.counts.refused += u64::from(inrpp);
            return ctx.drop(pkt, Drop::Queue);
        }
        debug_assert!(self.limits.memory.is_none_or(|all| self.occupied() <= all), "what was taken in has room");
        self.update_state(ctx.now);
        if before != self.machine.state() || self.wants_detours() {
            self.update_and_publish(ctx);
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if self.has_nothing_to_do(ctx) {
            return None;
        }
        self.read_messages(ctx);
        let pkt = match self.urgent_out(ctx) {
            Some(pkt) => Some(pkt),
            None => self.buffer_out(ctx).or_else(|| self.fetch(ctx)),
        };
        if let Some(pkt) = &pkt {
            self.finish_departure(pkt, &mut ctx.hop());
        }
        self.note_wire(&pkt, ctx);
        self.update_and_publish(ctx);
        pkt
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.idle = Idle::default();
        if ctx.pool[&pkt].kind == Kind::Control {
            return self.on_control(pkt, ctx);
        }
        if let Some(border) = &mut self.border
            && !is_inrpp(&ctx.pool[&pkt])
        {
            let mtu = ctx.links.iter().map(|link| link.mtu).min().unwrap_or_default();
            border.enter(&mut ctx.pool[&pkt], mtu);
        }
        if is_ack(&ctx.pool[&pkt]) {
            if self.is_detoured(&pkt, ctx) {
                return self.on_detoured_ack(pkt, ctx);
            }
            self.strip_unsigned(&pkt, ctx);
            self.on_ack(&pkt, ctx, false);
        }
        Inbound::Forward(pkt)
    }

    fn handed_over(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.idle = Idle::default();
        self.on_ack(&pkt, ctx, true);
        Inbound::Forward(pkt)
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        self.read_messages(ctx);
        self.promises.lapse(ctx.now);
        while let Some(nonce) = self.store.expire(ctx.now) {
            self.cache.open(nonce);
        }
        if ctx.now >= self.revive_at {
            self.revive(ctx.now);
        }
        self.run_detours(ctx);
        self.update_and_publish(ctx);
    }

    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        let link = ctx.link();
        self.limits_again(Given { rate: link.rate, mtu: link.mtu, ..self.given });
        self.note_link(ctx);
        self.update_and_publish(ctx);
    }

    fn backlog(&self) -> Backlog {
        let stored = self.cache.stored();
        Backlog {
            packets: self.waiting_packets(),
            bytes: self.urgent.bytes + self.buffer.bytes + stored.custody + stored.other,
        }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        let waiting = std::mem::take(&mut self.urgent).queue.into_iter().chain(std::mem::take(&mut self.buffer).queue);
        waiting.for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        self.cache.clear(|pkt| ctx.drop(pkt, Drop::Fault));
        self.machine = Machine::default();
        self.on_wire = None;
        // A new alias, so that what neighbours stored under the old one runs out.
        self.nonce = Nonce(self.config.keys.alias(self.me.0, self.me.1.0, ctx.now.0));
        self.store.clear();
        self.watch.clear();
        self.starts.clear();
        self.promises.clear();
        self.overdue.clear();
        self.more.clear();
        self.cuts.clear();
        self.border.iter_mut().for_each(|b| b.clear());
        self.link_mac.reset();
        let me = ctx.me;
        ctx.state::<Siblings>().forget_load(me);
        self.contenders.clear();
        self.paths.iter_mut().for_each(|p| *p = DetourPath::new(p.through));
        (self.probe_at, self.decide_at, self.revive_at) = (Time::MAX, Time::MAX, Time::MAX);
        self.update_and_publish(ctx);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.list_gauges(out);
    }

    fn warnings(&self, out: &mut Vec<String>) {
        self.list_warnings(out);
    }
}

impl CutThrough for InrppPort {
    fn cut_through(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let packet = &hop.pool[pkt];
        if self.is_idle_for(packet) {
            debug_assert!(self.is_empty_for(packet) && self.promises.is_empty(), "an idle port holds nothing");
            let (me, now) = (hop.me, hop.now);
            if self.signs_nothing(packet) {
                let size = packet.size;
                if hop.state::<Siblings>().sent_unless_told(me, size, now, &self.config.gains) {
                    return true;
                }
            } else if !hop.shared::<Siblings>().has_message(me) {
                self.finish_departure(pkt, hop);
                return true;
            }
        }
        self.cut_through_in_push(pkt, hop)
    }

    fn pass_inbound(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        let packet = &hop.pool[pkt];
        if self.border.is_some() || packet.kind == Kind::Control {
            return false;
        }
        !is_ack(packet) || self.idle.silent && self.ignores_ack(pkt, hop)
    }
}
