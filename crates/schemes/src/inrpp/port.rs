//! The interface (§II-A): buffer, custody cache and state machine. `port/ack.rs` has what ACKs do
//! to it, `port/steering.rs` how many packets they release, `port/trust.rs` whose word counts,
//! `port/detours.rs` the probes and detours.

mod ack;
mod detours;
mod outage;
mod steering;
mod trust;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use midpath_core::packet::{Flags, Kind, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Limit;
use midpath_core::roles::{Backlog, Drop, Inbound, Port, PortCtx, PortSpec, Shortcuts};
use midpath_core::units::{Bytes, Rate, Time};

use super::auth::{Far, Keys, Line};
use super::back::Ways;
use super::border::Border;
use super::cache::Cache;
use super::detour::{Adjacency, DetourPath};
use super::header::{Direction, InrppHeader, Nonce, glance, is_ack, is_carried, is_inrpp};
use super::intervals::Intervals;
use super::load::{Gains, Load, Notice};
use super::nonces::Store;
use super::overlay::PeerKind;
use super::params::{Margin, Notify, Params};
use super::promises::Promises;
use super::siblings::{Contender, Siblings};
use super::starts::Starts;
use super::state::{Lasting, Machine, Notification, State, Thresholds};
use super::unheard::Watch;

/// Control packets that wait at most. Ours: a hundred neighbours' probes and answers in one
/// interval.
const MAX_URGENT: usize = 256;

/// Packets that a flow may send which is closed by a nonce on its data before an ACK of it was
/// heard. Most of such a flow is on its way below and will be acknowledged; if nothing is, two
/// packets begin a loop (two for receivers that delay ACKs). Ours.
const UNHEARD: u32 = 2;

/// What all ports of a network have in common.
#[derive(Debug, Clone)]
pub struct Config {
    cache: Option<Limit>,
    high: Option<Limit>,
    margin: Margin,
    low: f64,
    standing: f64,
    buffer: Option<Limit>,
    tcp_cache: Option<Limit>,
    carry: bool,
    rewrites: bool,
    backpressure: bool,
    steer: bool,
    promises: bool,
    count_buffer: bool,
    count_cuts: bool,
    sparse: bool,
    around_outages: bool,
    notify: Notify,
    gains: Gains,
    decision: Time,
    nonces: usize,
    expiry: Time,
    lasting: Lasting,
    keys: Keys,
}

impl Config {
    /// From parameters that have been checked.
    pub fn new(p: &Params) -> Config {
        // The usual weight of a moving average that reaches back n intervals: 2/(n+1).
        let weight = 2.0 / (f64::from(p.average) + 1.0);
        Config {
            cache: p.cache,
            high: p.high,
            margin: p.margin,
            low: p.low,
            standing: p.standing,
            buffer: p.buffer,
            tcp_cache: p.tcp_cache,
            carry: p.carry_tcp,
            rewrites: p.rewrite_windows,
            backpressure: p.backpressure,
            steer: p.steer,
            promises: p.steer && p.promises,
            count_buffer: p.count_buffer,
            sparse: p.steer && p.promises && p.sparse,
            count_cuts: p.steer && p.promises && p.count_cuts,
            around_outages: p.around_outages,
            notify: p.notify,
            gains: Gains { alpha: p.alpha, interval: p.probe_interval, weight, shuffle: p.shuffle },
            decision: p.decision_interval,
            nonces: p.nonces,
            expiry: p.expiry,
            lasting: Lasting { state: p.linger, cancel: p.expiry },
            keys: Keys::new(p.auth, &p.secret),
        }
    }
}

/// A limit in bytes on a link; packets count as full ones.
fn bytes(limit: Limit, rate: Rate, mtu: u32) -> Bytes {
    let bound = limit.bound(rate);
    Bytes(bound.bytes.min(bound.packets.saturating_mul(u64::from(mtu))))
}

/// The partition for all that isn't INRPP beside a cache of its own (§V-A), and what a buffer is at
/// most (§IV-A).
const FIFTY: Limit = Limit::Time(Time::from_ms(50));

/// Of the memory of a port without a cache of its own so many parts, of [`PARTS`], are buffer. Ours:
/// what waits there is heard of late, and in the order in which it came.
const BUFFER: u64 = 1;

/// One to three quarters of such memory, by the numbers of flows, are the partition for others than
/// INRPP where there are any; the rest is cache. Ours.
const PARTS: u64 = 16;
const QUARTER: u64 = PARTS / 4;

/// Packets that S_high has room for at least, so that a few flows have their loops. Ours.
const FEW: u64 = 20;

/// What a port of this rate may hold.
#[derive(Debug, Clone, Copy)]
struct Limits {
    cache: Thresholds,
    buffer: u64,
    other: u64,
    /// All that the port may hold, where buffer, cache and partition share a queue's memory.
    memory: Option<u64>,
    /// RTT × C, which §II-B leaves free above S_high.
    needed: u64,
    /// S_high is by our rule, and the rule has not found the room that it asks for: requests to
    /// slow down come too late.
    tight: bool,
    /// S_high was given above the cache's size.
    cut: bool,
}

/// What [`Limits`] are worked out from beside the parameters.
#[derive(Debug, Clone, Copy)]
struct Given {
    queue: Limit,
    rtt: Time,
    inflow: Rate,
    rate: Rate,
    mtu: u32,
    /// How many quarters of the memory are for others than INRPP, which send here, too.
    others: u64,
}

impl Limits {
    /// Without a cache of the scheme's own, the memory in all is that of the queue which the scenario
    /// asks for; beside one the buffer is.
    fn new(config: &Config, given: Given) -> Limits {
        let Given { queue, rtt, inflow, rate, mtu, others } = given;
        let of = |limit| bytes(limit, rate, mtu);
        let whole = of(queue).0.max(u64::from(mtu));
        let memory = config.cache.is_none().then_some(whole);
        let part = |limit: Option<Limit>, parts: u64, beside: Bytes| match (limit, memory) {
            (Some(limit), _) => of(limit),
            (None, Some(whole)) => Bytes(whole * parts / PARTS),
            (None, None) => beside,
        };
        // A buffer without room for a packet would never send one straight through.
        let most = if memory.is_some() && config.buffer.is_none() { of(FIFTY).0 } else { u64::MAX };
        let buffer = Bytes(part(config.buffer, BUFFER, Bytes(whole)).0.min(most).max(u64::from(mtu)));
        let other = part(config.tcp_cache, others.max(1) * QUARTER, of(FIFTY)).0.max(u64::from(mtu));
        let kept = if others > 0 { other } else { 0 };
        let size = config.cache.map_or(Bytes(whole.saturating_sub(kept)), of);
        let (cache, asked) = match (config.high, config.margin) {
            (Some(high), _) => (Thresholds::given(size, of(high), config.low), 0),
            (None, Margin::Inflow) => {
                let wait = rate.time_for(buffer);
                let asked = Thresholds::asked(rtt, wait, rate, inflow);
                let busy = 2 * rate.bytes_in(rtt).0 + FEW * u64::from(mtu);
                let cache = Thresholds::by_inflow(size, rtt, wait, rate, inflow, config.low);
                (cache.at_most(config.standing, busy), asked)
            }
            (None, Margin::Link) => (Thresholds::by_link(size, rtt, rate, config.low), 0),
        };
        Limits {
            cache,
            tight: asked > cache.margin(),
            buffer: buffer.0,
            other,
            memory,
            needed: rate.bytes_in(rtt).0,
            cut: config.high.is_some_and(|high| of(high) > size),
        }
    }
}

/// A first-in first-out queue that knows its bytes.
#[derive(Debug, Default)]
struct Fifo {
    queue: VecDeque<Pkt>,
    bytes: u64,
    /// Bytes that aren't INRPP's.
    other: u64,
}

/// What happened at a port, for gauges.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// INRPP packets that came to a full cache.
    refused: u64,
    /// Packets sent around the link.
    detoured: u64,
    /// Times that B was entered.
    pressed: u64,
    /// Flows that had not been heard of when B was left.
    unheard: u64,
}

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
    line: Line,
    far: Far,
    watch: Watch,
    starts: Starts,
    promises: Promises,
    /// Bytes let in beside those that leave, by round trip.
    more: Intervals<2>,
    /// Bytes taken out of loops, by quarter of a round trip.
    cuts: Intervals<5>,
    /// How long a flow may send here before an ACK of it must have come back.
    patience: Time,
    load: Load,
    detoured: Load,
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
    settled: bool,
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
        InrppPort {
            me: (spec.node, spec.port),
            peer: spec.peer,
            host: spec.host,
            peer_kind,
            border: carries.then(|| Box::new(Border::new(config.rewrites, config.notify.header()))),
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
            line: Line::default(),
            far: Far::default(),
            watch: Watch::default(),
            starts: Starts::new(spec.rtt),
            promises: Promises::new(spec.rtt),
            more: Intervals::new(spec.rtt),
            cuts: Intervals::new(Time(spec.rtt.0 / 4)),
            // As long as a slow-down holds, or four round trips without queues. Ours.
            patience: config.expiry.max(Time(spec.rtt.0.saturating_mul(4))),
            load: Load::default(),
            detoured: Load::default(),
            contenders: BTreeMap::new(),
            paths: adjacency.interfaces.into_iter().map(DetourPath::new).collect(),
            second: adjacency.second,
            probe_at: Time::MAX,
            decide_at: Time::MAX,
            revive_at: Time::MAX,
            slowed: None,
            counts: Counts::default(),
            settled: false,
            config,
        }
    }

    /// The state of the interface.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Looks at the occupancy (algorithm 1, lines 2–13).
    #[inline]
    fn look(&mut self, now: Time) {
        let before = self.machine.state();
        // A link that sends is not short of packets, where its memory has room for no more than one.
        let wire = self.on_wire.filter(|wire| now < wire.1).map_or(0, |wire| wire.0);
        let after = self.machine.look(self.occupancy() + wire, &self.limits.cache, now, self.config.lasting);
        self.counts.pressed += u64::from(after == State::Backpressure && before != after);
        if before == State::Backpressure && before != after {
            self.counts.unheard += self.watch.unheard() as u64;
            self.watch.clear();
        }
    }

    /// What ends every call: the state, what siblings know, the timer.
    fn settle(&mut self, ctx: &mut PortCtx<'_>) {
        self.look(ctx.now);
        self.on_wire = self.on_wire.filter(|wire| ctx.now < wire.1 && self.machine.state() == State::Backpressure);
        let at = self.next_detour(ctx).min(self.machine.expires()).min(self.store.expires()).min(self.revive_at);
        let at = at.min(self.promises.lapse_at()).min(self.on_wire.map_or(Time::MAX, |wire| wire.1));
        ctx.wake_at(at);
        self.publish(ctx);
        self.settled = true;
    }

    /// The same after a packet that went straight through: Push stays, and nothing waits that would
    /// have to be looked at again.
    #[inline]
    fn settle_in_push(&mut self, ctx: &mut PortCtx<'_>) {
        (self.probe_at, self.decide_at) = (Time::MAX, Time::MAX);
        ctx.wake_at(self.revive_at.min(self.promises.lapse_at()));
        self.publish(ctx);
        self.settled = true;
    }

    /// Whether there is nothing to send, to read, or to say.
    #[inline]
    fn rests(&self, ctx: &PortCtx<'_>) -> bool {
        // An empty cache leaves Push only by what comes.
        self.settled
            && self.machine.state() == State::Push
            && self.holds() == 0
            && self.contenders.is_empty()
            && !ctx.shared::<Siblings>().has_letter(ctx.me)
    }

    /// Whether a packet passes through an empty buffer, with nothing to look at or to count but
    /// that it leaves.
    #[inline]
    fn is_straight_for(&self, packet: &Packet) -> bool {
        self.machine.state() == State::Push
            && self.holds() == 0
            && self.store.is_empty()
            && !self.cache.closed()
            && is_inrpp(packet)
            && packet.kind != Kind::Control
            && !packet.flags.has(Flags::SYN)
            && u64::from(packet.size) <= self.limits.buffer
    }

    /// Packets that wait.
    #[inline]
    fn holds(&self) -> u64 {
        (self.urgent.queue.len() + self.buffer.queue.len()) as u64 + self.cache.stored().packets
    }

    #[inline]
    fn publish(&self, ctx: &mut PortCtx<'_>) {
        let notice = Notice {
            push: self.machine.state() == State::Push,
            contenders: self.contenders.len() as u32,
            queue: u32::try_from(self.buffer.bytes).unwrap_or(u32::MAX),
            load: self.load,
            // Both roll together: they have the same interval.
            detoured: self.detoured,
        };
        let me = ctx.me;
        ctx.state::<Siblings>().publish(me, notice);
    }

    /// A packet of a closed-loop flow that has not been heard of here yet carries a stored nonce:
    /// "downstream nodes cache packets with the nonce".
    fn gate_by_nonce(&mut self, key: super::cache::Key, packet: &Packet, now: Time) {
        if self.host || self.store.is_empty() || packet.payload == 0 || self.cache.is_gated(key) {
            return;
        }
        // ACKs of what is on a detour don't come back this way: nothing would open the gate.
        let gates = |o: &InrppHeader| o.direction == Direction::Data && o.via.is_none();
        let Some(option) = packet.header::<InrppHeader>().filter(gates) else { return };
        if let Some(nonce) = option.nonces.iter().find(|n| self.store.contains(*n)) {
            self.cache.gate(key, nonce, now);
            self.cache.grant(key, 1, UNHEARD);
            self.revive_at = self.revive_at.min(now.saturating_add(self.config.expiry));
        }
    }

    /// Whether a packet goes straight to the buffer: nothing that may be sent waits in the cache
    /// (Fig. 7, arrow 4).
    fn cuts_through(&self, key: super::cache::Key, packet: &Packet) -> bool {
        let room = self.buffer.bytes + u64::from(packet.size) <= self.limits.buffer;
        // Packets without payload belong to no loop: the sender's own ACKs must not wait for it.
        let free = packet.payload == 0 || !self.cache.is_gated(key);
        room && free && !self.cache.ready() && !self.down
    }

    /// Whether the partition that the packet belongs to has room (§V-A).
    fn has_room(&self, packet: &Packet) -> bool {
        let (size, stored) = (u64::from(packet.size), self.cache.stored());
        let other = self.buffer.other + stored.other;
        let fits = self.limits.memory.is_none_or(|all| self.buffer.bytes + stored.custody + stored.other + size <= all);
        if is_inrpp(packet) {
            return fits && self.in_custody() + size <= self.limits.cache.size;
        }
        fits && other + size <= self.limits.other
    }

    /// S. The buffer counts where it fills the memory beyond S_high, and until it has drained below
    /// S_low then; what passes through it otherwise is not stored.
    fn occupancy(&self) -> u64 {
        let custody = self.cache.stored().custody;
        if !self.config.count_buffer {
            return custody;
        }
        let held = self.in_custody();
        let counts = held > self.limits.cache.high || self.machine.state() == State::Backpressure;
        if counts { held } else { custody }
    }

    /// What INRPP holds of the memory for it: the cache's, and where both share one the buffer's.
    fn in_custody(&self) -> u64 {
        let buffer = if self.limits.memory.is_some() { self.buffer.bytes - self.buffer.other } else { 0 };
        self.cache.stored().custody + buffer
    }

    /// Called when a packet starts onto the wire, or none does.
    fn note_wire(&mut self, pkt: &Option<Pkt>, ctx: &PortCtx<'_>) {
        // With more than S_low it stays in B whatever is on the wire.
        let short = self.in_custody() < self.limits.cache.low.max(1);
        let counts = self.config.count_buffer && self.limits.memory.is_some();
        if self.machine.state() != State::Backpressure || !counts || !short {
            self.on_wire = None;
            return;
        }
        self.on_wire = pkt.as_ref().map(|pkt| {
            let size = u64::from(ctx.pool[pkt].size);
            (size, ctx.now.saturating_add(ctx.link().rate.time_for(Bytes(size))))
        });
    }

    fn buffer_in(&mut self, pkt: Pkt, size: u32, inrpp: bool) {
        self.buffer.bytes += u64::from(size);
        self.buffer.other += if inrpp { 0 } else { u64::from(size) };
        self.buffer.queue.push_back(pkt);
    }

    fn buffer_out(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.buffer.queue.pop_front()?;
        let packet = &ctx.pool[&pkt];
        self.buffer.bytes -= u64::from(packet.size);
        self.buffer.other -= if is_inrpp(packet) { 0 } else { u64::from(packet.size) };
        Some(pkt)
    }

    fn urgent_in(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if self.urgent.queue.len() >= MAX_URGENT {
            return ctx.drop(pkt, Drop::Queue);
        }
        self.urgent.bytes += u64::from(ctx.pool[&pkt].size);
        self.urgent.queue.push_back(pkt);
    }

    fn urgent_out(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.urgent.queue.pop_front()?;
        self.urgent.bytes -= u64::from(ctx.pool[&pkt].size);
        Some(pkt)
    }

    /// A packet leaves: it is counted, and what it says to the neighbour is signed.
    fn seal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &mut ctx.pool[pkt];
        if let Some(border) = &mut self.border
            && is_carried(packet)
            && self.peer_kind.ends(packet)
        {
            border.leave(packet);
        }
        self.load.sent(packet.size, ctx.now, &self.config.gains);
        // A tag that says less than this link's end: the packet is on a detour.
        let seen = glance(packet);
        let size = if seen.via.is_none_or(|n| n == self.me.0) { 0 } else { packet.size };
        self.detoured.sent(size, ctx.now, &self.config.gains);
        if packet.kind == Kind::Control {
            return self.sign_control(pkt, ctx);
        }
        if self.machine.state() == State::Backpressure && packet.payload > 0 && is_inrpp(packet) {
            self.watch.sent((packet.flow, packet.src), ctx.now, self.patience);
        }
        if seen.ack {
            if seen.says || matches!(self.peer_kind, PeerKind::Plain(_)) {
                self.sign_notification(pkt, ctx);
            }
        } else if self.config.notify == Notify::Data && is_inrpp(packet) && packet.payload > 0 {
            self.tag_data(pkt, ctx);
        }
    }

    fn limits_again(&mut self, given: Given) {
        self.given = given;
        self.limits = Limits::new(&self.config, given);
    }

    /// A packet comes where others than INRPP send, too, or did. Of shared memory they have a
    /// partition for as long as they are there, as large as their part of all flows.
    fn note_others(&mut self, key: super::cache::Key, inrpp: bool, now: Time) {
        self.cache.see(key, inrpp, now);
        let others = self.cache.share_of_others(now).map_or(0, |share| ((share * 4.0) as u64).clamp(1, 3));
        if self.given.others != others {
            self.limits_again(Given { others, ..self.given });
        }
    }
}

impl Port for InrppPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.settled = false;
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
        let before = self.machine.state();
        if self.cuts_through(key, packet) && (inrpp && self.limits.memory.is_none() || self.has_room(packet)) {
            let size = packet.size;
            self.buffer_in(pkt, size, inrpp);
        } else if self.has_room(packet) {
            self.cache.push(key, pkt, ctx.pool);
        } else {
            self.counts.refused += u64::from(inrpp);
            return ctx.drop(pkt, Drop::Queue);
        }
        self.look(ctx.now);
        if before != self.machine.state() || self.wants_detours() {
            self.settle(ctx);
        }
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        if self.rests(ctx) {
            return None;
        }
        self.read_letters(ctx);
        let pkt = match self.urgent_out(ctx) {
            Some(pkt) => Some(pkt),
            None => self.buffer_out(ctx).or_else(|| self.cache.pop(ctx.pool)),
        };
        if let Some(pkt) = &pkt {
            self.seal(pkt, ctx);
        }
        self.note_wire(&pkt, ctx);
        self.settle(ctx);
        pkt
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
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
        self.on_ack(&pkt, ctx, true);
        Inbound::Forward(pkt)
    }

    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        self.read_letters(ctx);
        self.promises.lapse(ctx.now);
        while let Some(nonce) = self.store.expire(ctx.now) {
            self.cache.open(nonce);
        }
        if ctx.now >= self.revive_at {
            self.revive(ctx.now);
        }
        self.run_detours(ctx);
        self.settle(ctx);
    }

    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        let link = ctx.link();
        self.limits_again(Given { rate: link.rate, mtu: link.mtu, ..self.given });
        self.note_link(ctx);
        self.settle(ctx);
    }

    fn backlog(&self) -> Backlog {
        let stored = self.cache.stored();
        Backlog { packets: self.holds(), bytes: self.urgent.bytes + self.buffer.bytes + stored.custody + stored.other }
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
        self.more.clear();
        self.cuts.clear();
        self.border.iter_mut().for_each(|b| b.clear());
        self.line.reset();
        (self.load, self.detoured) = (Load::default(), Load::default());
        self.contenders.clear();
        self.paths.iter_mut().for_each(|p| *p = DetourPath::new(p.through));
        (self.probe_at, self.decide_at, self.revive_at) = (Time::MAX, Time::MAX, Time::MAX);
        self.settle(ctx);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let stored = self.cache.stored();
        let c = &self.counts;
        out.push(("state", f64::from(self.machine.state() as u8)));
        out.push(("cache_bytes", stored.custody as f64));
        out.push(("cache_high_bytes", self.limits.cache.high as f64));
        out.push(("cache_low_bytes", self.limits.cache.low as f64));
        out.push(("closed_loop", f64::from(u8::from(self.cache.closed() || self.slowed.is_some()))));
        if !self.host {
            out.push(("room_bytes", self.room() as f64));
            out.push(("promised_bytes", self.promises.open() as f64));
        }
        out.push(("detour_rate", self.paths.iter().map(|p| p.rate * 8.0).sum()));
        out.push(("detoured", c.detoured as f64));
        out.push(("backpressures", c.pressed as f64));
        out.push(("cache_refused", c.refused as f64));
        out.push(("nonces", self.store.len() as f64));
        out.push(("forged", self.line.forged as f64));
        out.push(("replayed", self.line.replayed as f64));
        out.push(("unheard", self.watch.unheard() as f64));
        if let Some(border) = &self.border {
            out.push(("carried", border.flows() as f64));
            out.push(("windows_lowered", border.lowered as f64));
        }
    }

    fn warnings(&self, out: &mut Vec<String>) {
        let (t, c) = (&self.limits.cache, &self.counts);
        let mut warn = |holds: bool, what: &str| out.extend(holds.then(|| what.to_owned()));
        warn(self.limits.cut, "`high` is above `cache` on this link: S_high is the cache's size");
        // A host slows its own flows down at once.
        // With a queue's memory it drops as a queue does, and promises no more than it has.
        let own = self.limits.memory.is_none();
        let short = own && !self.host && self.config.backpressure && t.margin() < self.limits.needed;
        warn(
            short && t.size < self.limits.needed,
            "the cache is smaller than RTT × C: no S_high leaves senders time to slow down (§II-B)",
        );
        warn(
            short && t.size >= self.limits.needed && c.pressed > 0,
            "less than RTT × C is free above S_high until senders slow down (§II-B): raise `cache` or lower `high`",
        );
        warn(own && c.refused > 0, "packets found the cache full and were dropped");
        warn(
            c.refused > 0 && c.unheard + self.watch.unheard() as u64 > 0,
            "flows were pressed of which no ACK came back here: on paths that are not symmetric use `notify = \"data\"`",
        );
    }
}

impl Shortcuts for InrppPort {
    fn goes_straight(&self) -> bool {
        true
    }

    fn straight(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Result<Pkt, Pkt> {
        if !self.is_straight_for(&ctx.pool[&pkt]) {
            return Err(pkt);
        }
        self.read_letters(ctx);
        if !self.promises.is_empty() {
            let packet = &ctx.pool[&pkt];
            self.promises.keep((packet.flow, packet.src), packet);
        }
        self.seal(&pkt, ctx);
        self.settle_in_push(ctx);
        Ok(pkt)
    }

    fn overlooks(&self, packet: &Packet) -> bool {
        self.border.is_none() && packet.kind != Kind::Control && !is_ack(packet)
    }
}

impl InrppPort {
    /// What an ACK that comes in now is to be told; nothing where backpressure is off or goes by
    /// data.
    fn own_notification(&self, now: Time) -> Option<Notification> {
        let speaks = self.config.backpressure && self.config.notify == Notify::Acks;
        if speaks { self.machine.notification(now) } else { None }
    }

    fn revive(&mut self, now: Time) {
        self.cache.revive(self.config.expiry, now);
        self.slowed = self.slowed.filter(|at| at.saturating_add(self.config.expiry) > now);
        let again = self.cache.closed() || self.slowed.is_some();
        self.revive_at = if again { now.saturating_add(self.config.expiry) } else { Time::MAX };
    }
}
