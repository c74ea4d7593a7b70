//! The passive end: one buffer for the data of all subflows.

mod stream;

use std::sync::Arc;

use midpath_core::packet::{Flags, Header, Kind, Packet, PortId, body_of};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, Half, Wishes};
use midpath_core::units::Time;

pub use stream::{Stream, Taken};

use super::MAX_SUBFLOWS;
use super::address::{self, Pair};
use super::announce::{AddAddr, Announcements, number};
use super::coupling::Subflows;
use super::header::{Dss, Mapping, Place, sack_blocks};
use super::hello::{Hello, refuse};
use super::keys::{Key, Keys, nonce};
use super::params::MptcpParams;
use crate::transport;
use crate::transport::segment::opens;

/// How long the end stays when no subflow will bring anything more: Linux's `tcp_fin_timeout`.
const LINGER: Time = Time::from_secs(60);

/// Segments that may come before the keys do, for the first data are late: ours, six initial
/// windows.
const MAX_EARLY: usize = 64;

struct Subflow {
    /// Its addresses as this end's packets have them.
    pair: Pair,
    tcp: transport::receiver::Receiver,
    wishes: Wishes,
    /// What its SYN-ACK says.
    hello: Hello,
    /// Of a join: both ends' nonces, this one's first.
    nonces: (u32, u32),
    /// The peer has proved that it has the keys.
    proved: bool,
    /// When something else than a SYN came last.
    heard_at: Time,
}

/// Whether a subflow is opened by MP_CAPABLE, and the peer has yet to prove itself.
fn is_unproved_first(subflow: &Subflow) -> bool {
    !subflow.proved && matches!(subflow.hello, Hello::Listener(_))
}

/// What becomes of a packet of a subflow whose peer has yet to prove itself.
enum Proof {
    /// It is taken.
    Good,
    /// It says nothing of the kind, and nothing else counts.
    Missing,
    /// It is wrong: the subflow is refused.
    Bad,
}

/// The passive end of a connection.
pub struct Receiver {
    scheme: Arc<Subflows>,
    subflows: Vec<Subflow>,
    /// The shared buffer in bytes (RFC 8684, §3.3.4).
    buffer: u64,
    /// How many SACK blocks fit.
    sack: u8,
    /// This end's key, drawn when the connection opens.
    own: Option<Key>,
    /// Both ends' keys, once the peer has told its own; and this end's address then.
    keys: Option<Keys>,
    first: PortId,
    /// What came before that: the option, the subflow's number counted from its SYN, and the
    /// payload.
    early: Vec<(Dss, u32, u16)>,
    /// This end's addresses that the peer may not know.
    news: Announcements,
    /// How long until an address is told again, and how often at most: as SYNs are.
    repeats: (Time, u32),
    stream: Stream,
    linger_at: Time,
    /// That all has come was said.
    told: bool,
    delivery: Delivery,
}

impl Receiver {
    pub(super) fn new(params: &MptcpParams, scheme: Arc<Subflows>) -> Receiver {
        Receiver {
            scheme,
            subflows: Vec::with_capacity(1),
            buffer: params.tcp.receive_window.0,
            sack: sack_blocks(params.tcp.timestamps),
            own: None,
            keys: None,
            first: PortId(0),
            early: Vec::new(),
            news: Announcements::default(),
            repeats: (params.tcp.initial_rto, params.tcp.syn_retries + 1),
            stream: Stream::default(),
            linger_at: Time::MAX,
            told: false,
            delivery: Delivery::default(),
        }
    }

    /// The data stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// How many subflows it keeps, the dead among them.
    pub fn places(&self) -> usize {
        self.subflows.len()
    }

    /// Calls the TCP of a subflow. What it sends leaves through the subflow's port and tells what
    /// all have brought.
    fn call(
        &mut self,
        i: usize,
        ctx: &mut EndpointCtx<'_>,
        f: impl FnOnce(&mut transport::receiver::Receiver, &mut EndpointCtx<'_>),
    ) {
        let Subflow { pair, tcp, wishes, hello, proved, .. } = &mut self.subflows[i];
        // Where the data begin is in the peer's key.
        let ack = self.keys.filter(|_| *proved).map(|keys| keys.peer.first.wrapping_add(self.stream.ack()));
        let (now, sack, news) = (ctx.now, self.sack, &mut self.news);
        ctx.inside(
            wishes,
            |ctx| f(tcp, ctx),
            |(), packet| {
                if packet.flags.has(Flags::SYN) {
                    packet.set_header(hello);
                } else if let Some(ack) = ack.filter(|_| !packet.flags.has(Flags::RST)) {
                    keep_sack(packet, sack);
                    packet.set_header(&Dss { ack, mapping: None, fin: false });
                    // Beside SACK blocks there is no room for it.
                    if packet.sack_len == 0
                        && let Some(address) = news.next(now)
                    {
                        packet.push_raw(AddAddr::TAG, &body_of(&address));
                    }
                }
                Some(pair.source())
            },
        );
    }

    /// The subflow that a packet belongs to; a SYN opens one if there may be more.
    fn subflow_of(&mut self, packet: &Packet, ctx: &EndpointCtx<'_>) -> Option<usize> {
        let pair = Pair::of(packet)?.reversed();
        let known = self.subflows.iter().position(|s| s.pair == pair);
        if opens(packet) {
            // What has proved nothing gives way: the initiator may have tried these addresses before it had the keys. So
            // does what has been silent for a first timeout (ours): its path was away, and the initiator has given it up.
            let silent = |s: &Subflow| ctx.now.saturating_sub(s.heard_at) >= self.repeats.0;
            let is_new = |s: &Subflow| s.tcp.peer_isn() != packet.seq && (!s.proved || silent(s));
            let gives_way = |s: &Subflow| s.wishes.finished || is_new(s);
            match known {
                None if self.subflows.len() < MAX_SUBFLOWS => {
                    let subflow = self.admit(pair, packet, ctx)?;
                    self.subflows.push(subflow);
                    return Some(self.subflows.len() - 1);
                }
                Some(i) if gives_way(&self.subflows[i]) => {
                    self.subflows[i] = self.admit(pair, packet, ctx)?;
                }
                _ => {}
            }
        }
        known.filter(|i| !self.subflows[*i].wishes.finished)
    }

    /// The subflow that a SYN opens: the first as long as there is none, then those that name the
    /// connection (RFC 8684, §3.2).
    fn admit(&self, pair: Pair, syn: &Packet, ctx: &EndpointCtx<'_>) -> Option<Subflow> {
        if pair.source().0 >= u16::from(address::count(ctx.links.len())) {
            return None;
        }
        let (own, mut nonces) = (self.own?, (0, 0));
        let hello = match syn.header::<Hello>()? {
            // Once the keys are there (ours): an initiator that gave its first subflow up, as routes changed, cannot know
            // whether they are.
            Hello::Capable if self.keys.is_none() || !self.subflows.iter().any(is_unproved_first) => {
                Hello::Listener(own.bits)
            }
            Hello::Join { token, nonce: theirs, .. } if token == own.token => {
                nonces = (nonce(ctx, pair.interfaces()), theirs);
                let proof = self.keys?.short_proof(nonces.0, nonces.1);
                Hello::Joined { address: number(pair.source(), self.first), proof, nonce: nonces.0 }
            }
            _ => return None,
        };
        // RFC 8684, §3.3.4: the window that it tells is the buffer's, from the data ACK on.
        let tcp = self.scheme.receiver(syn).sharing_window();
        let wishes = Wishes { timer: Time::MAX, finished: false };
        Some(Subflow { pair, tcp, wishes, hello, nonces, proved: false, heard_at: ctx.now })
    }

    /// Looks for the proof that the peer has the keys: in the first subflow's third packet or first
    /// data (RFC 8684, §3.1), in a join's third packet (§3.2).
    fn prove(&mut self, i: usize, packet: &Packet, ctx: &EndpointCtx<'_>) -> Proof {
        let Subflow { pair, tcp, hello, nonces, proved, .. } = &mut self.subflows[i];
        let control = packet.flags.has(Flags::SYN) || packet.flags.has(Flags::RST);
        if *proved || control || !tcp.has_answered(packet) {
            return Proof::Good; // or for TCP to answer: `take` takes nothing
        }
        let joins = matches!(hello, Hello::Joined { .. });
        match (packet.header::<Hello>(), self.own, self.keys) {
            (Some(Hello::Proof(proof)), _, Some(keys)) if joins => {
                *proved = keys.proves(&proof, nonces.0, nonces.1);
                if *proved { Proof::Good } else { Proof::Bad }
            }
            (Some(Hello::Keys { own: theirs, peer, .. }), Some(own), None) if !joins && peer == own.bits => {
                *proved = true;
                let keys = Keys { own, peer: Key::new(theirs) };
                let mine = address::count(ctx.links.len());
                self.news = Announcements::new(&keys, ctx.node, mine, pair.source(), self.repeats.0, self.repeats.1);
                (self.keys, self.first) = (Some(keys), pair.source());
                if self.take_early(keys, ctx.now) { Proof::Good } else { Proof::Bad }
            }
            (Some(Hello::Keys { own: theirs, peer, .. }), _, Some(keys)) if !joins => {
                *proved = (theirs, peer) == (keys.peer.bits, keys.own.bits);
                if *proved { Proof::Good } else { Proof::Bad }
            }
            (Some(Hello::Keys { .. }), ..) => Proof::Bad,
            // Where another one has become the first, its first segment has yet to come.
            (_, _, keys) if joins || keys.is_some() => Proof::Missing,
            _ => Proof::Good,
        }
    }

    /// Takes what had come before the keys. Whether all of it has a place: TCP has acknowledged it.
    fn take_early(&mut self, keys: Keys, now: Time) -> bool {
        std::mem::take(&mut self.early).iter().all(|(dss, number, payload)| {
            dss.place(keys.peer.first, *number, *payload).and_then(|place| self.put(&place, now)).is_some()
        })
    }

    /// Takes the data of a packet; what it did, or `None` when the packet is to be ignored.
    fn take(&mut self, i: usize, packet: &Packet, now: Time) -> Option<Taken> {
        let Subflow { tcp, proved, .. } = &self.subflows[i];
        // A SYN says something else in the option's place; a reset says nothing.
        let number = packet.seq.wrapping_sub(tcp.peer_isn());
        let Some(dss) = signal(packet, self.keys.as_ref()) else {
            // RFC 8684, §3.3.1: data without a mapping that covers them are not taken.
            return (packet.payload == 0).then(Taken::default);
        };
        if !tcp.would_take(packet) || !tcp.has_answered(packet) {
            return Some(Taken::default());
        }
        let Some(keys) = self.keys.filter(|_| *proved) else {
            let room = dss.mapping.is_some() && self.early.len() < MAX_EARLY;
            if room {
                self.early.push((dss, number, packet.payload));
            }
            return (room || packet.payload == 0).then(Taken::default);
        };
        match dss.place(keys.peer.first, number, packet.payload) {
            Some(place) => self.put(&place, now),
            None => (packet.payload == 0).then(Taken::default),
        }
    }

    /// Puts data where they belong.
    fn put(&mut self, place: &Place, now: Time) -> Option<Taken> {
        let taken = self.stream.take(place, self.buffer)?;
        self.delivery.on_bytes(taken.delivered, now);
        if self.stream.complete() && self.delivery.on_complete(now) {
            self.linger_at = now.saturating_add(LINGER);
        }
        Some(taken)
    }

    /// Whether the packet is the third of an MP_JOIN's handshake: the fourth is an ACK of it, and
    /// data may come then (RFC 8684, §3.2).
    fn confirms(&self, i: usize, packet: &Packet) -> bool {
        let Subflow { tcp, hello, proved, .. } = &self.subflows[i];
        let plain = packet.flags == Flags::ACK && packet.payload == 0;
        let fresh =
            tcp.state() == transport::receiver::State::Established && tcp.report().delivered == 0 && tcp.held() == 0;
        *proved && matches!(hello, Hello::Joined { .. }) && plain && fresh
    }

    /// Finishes when all is done, or asks to be woken when the first subflow needs it.
    fn finish_or_sleep(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.stream.complete() && !self.told {
            self.told = true;
            ctx.completed(Half::Receiving);
        }
        // Who has proved nothing and is gone leaves no trace.
        self.subflows.retain(|s| s.proved || !s.wishes.finished);
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
    fn is_half_open(&self) -> bool {
        self.subflows.iter().all(|s| s.tcp.is_half_open())
    }

    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.own = Some(Key::draw(ctx));
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind != Kind::Segment {
            return self.finish_or_sleep(ctx);
        }
        let Some(i) = self.subflow_of(packet, ctx) else {
            refuse(packet, ctx);
            return self.finish_or_sleep(ctx);
        };
        match self.prove(i, packet, ctx) {
            Proof::Good => {}
            Proof::Missing => return self.finish_or_sleep(ctx),
            Proof::Bad => {
                self.subflows.remove(i);
                refuse(packet, ctx);
                return self.finish_or_sleep(ctx);
            }
        }
        if !packet.flags.has(Flags::SYN) {
            self.subflows[i].heard_at = ctx.now;
        }
        if let Some(echo) = packet.header::<AddAddr>() {
            self.news.echoed(&echo);
        }
        if let Some(taken) = self.take(i, packet, ctx.now) {
            self.call(i, ctx, |tcp, ctx| tcp.on_packet(packet, ctx));
            let Subflow { tcp, wishes, .. } = &self.subflows[i];
            // The sender of what another subflow has held up until now must not wait for a delayed
            // ACK.
            let urgent = taken.urgent && tcp.delays_ack();
            if !wishes.finished && (urgent || self.confirms(i, packet)) {
                self.call(i, ctx, |tcp, ctx| tcp.acknowledge_now(ctx));
            }
        }
        self.finish_or_sleep(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        for i in 0..self.subflows.len() {
            let wishes = &mut self.subflows[i].wishes;
            if !wishes.finished && wishes.timer <= ctx.now {
                wishes.timer = Time::MAX;
                self.call(i, ctx, |tcp, ctx| tcp.on_timer(ctx));
            }
        }
        self.finish_or_sleep(ctx);
    }

    fn report(&self) -> FlowReport {
        let arrived = self.delivery.bytes() + self.stream.held();
        self.delivery.report(FlowReport { arrived, ..FlowReport::default() })
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("held_bytes", self.stream.held() as f64));
    }
}

/// What a packet says of the data: a DSS, or MP_CAPABLE with the first of them (RFC 8684, §3.1).
fn signal(packet: &Packet, keys: Option<&Keys>) -> Option<Dss> {
    if let Some(dss) = packet.header::<Dss>() {
        return Some(dss);
    }
    let keys = keys?;
    match packet.header::<Hello>()? {
        Hello::Keys { own, peer, data: Some(len) } if (own, peer) == (keys.peer.bits, keys.own.bits) => {
            let mapping = Mapping { data: keys.peer.first, subflow: 1, len };
            Some(Dss { ack: keys.own.first, mapping: Some(mapping), fin: false })
        }
        _ => None,
    }
}

/// Leaves as many SACK blocks on a packet as fit beside the data ACK, the newest.
fn keep_sack(packet: &mut Packet, most: u8) {
    if packet.sack_len > most {
        packet.size -= 8 * u32::from(packet.sack_len - most);
        packet.sack_len = most;
    }
}
