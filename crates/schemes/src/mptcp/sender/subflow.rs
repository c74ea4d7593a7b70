//! One subflow: a TCP between two addresses.

use midpath_core::packet::{Flags, Header, Packet, body_of};
use midpath_core::ranges::RangeSet;
use midpath_core::roles::{Endpoint, EndpointCtx, Wishes};
use midpath_core::units::Time;

use crate::mptcp::MAX_SUBFLOWS;
use crate::mptcp::address::Pair;
use crate::mptcp::announce::AddAddr;
use crate::mptcp::coupling::Coupled;
use crate::mptcp::header::{Dss, Mapping};
use crate::mptcp::hello::Hello;
use crate::mptcp::keys::{Key, Keys};
use crate::transport::TcpParams;
use crate::transport::sender::{Phase, Sender, State};

/// A subflow's gauges: its window, and the bytes of data that it has been given.
pub const GAUGES: [(&str, &str); MAX_SUBFLOWS] = [
    ("subflow1_cwnd_bytes", "subflow1_bytes"),
    ("subflow2_cwnd_bytes", "subflow2_bytes"),
    ("subflow3_cwnd_bytes", "subflow3_bytes"),
    ("subflow4_cwnd_bytes", "subflow4_bytes"),
    ("subflow5_cwnd_bytes", "subflow5_bytes"),
    ("subflow6_cwnd_bytes", "subflow6_bytes"),
    ("subflow7_cwnd_bytes", "subflow7_bytes"),
    ("subflow8_cwnd_bytes", "subflow8_bytes"),
];

/// One subflow.
pub struct Subflow {
    /// Its addresses.
    pub pair: Pair,
    /// Its TCP.
    pub tcp: Sender<Coupled>,
    pub(super) wishes: Wishes,
    says: Says,
    /// It was to be the first, and another one is: its addresses are free again.
    pub(super) abandoned: bool,
    /// Of an MP_JOIN whose third packet has gone: when that is repeated, unless the fourth has come
    /// (RFC 8684, §3.2: until then it is PRE_ESTABLISHED and carries no data). `Time::MAX` when it
    /// may carry data.
    pub(super) confirm_at: Time,
    /// How often the third packet has been sent again.
    confirms: u32,
    /// Data that it has had and that others are to carry, for it has timed out or is dead.
    pub(super) lost: RangeSet,
    /// Whether `lost` has been filled since it was last heard of.
    pub(super) given_up: bool,
    /// When its window may be halved again.
    pub(super) spared_until: Time,
    /// Bytes of data that it has been given.
    pub given: u64,
}

/// What a subflow's packets say besides where their data belong.
#[derive(Debug, Clone, Copy)]
struct Says {
    /// On the SYN.
    hello: Hello,
    /// From the SYN-ACK until the peer is heard of: that this end has the keys (RFC 8684, §3.1,
    /// §3.2).
    claim: Option<Hello>,
    /// The echo of an address, on the packet that is about to leave.
    echo: Option<AddAddr>,
    /// Both ends' keys, once they are known.
    keys: Option<Keys>,
}

impl Subflow {
    /// A subflow whose SYN says this; `keys` are the connection's, once it has some.
    pub(super) fn new(pair: Pair, tcp: Sender<Coupled>, hello: Hello, keys: Option<Keys>) -> Subflow {
        Subflow {
            pair,
            tcp,
            wishes: Wishes { timer: Time::MAX, finished: false },
            says: Says { hello, claim: None, echo: None, keys },
            abandoned: false,
            confirm_at: Time::MAX,
            confirms: 0,
            lost: RangeSet::new(),
            given_up: false,
            spared_until: Time::ZERO,
            given: 0,
        }
    }

    /// Whether its TCP is there.
    pub fn is_alive(&self) -> bool {
        !self.wishes.finished
    }
    /// Whether its handshake is under way.
    pub fn is_opening(&self) -> bool {
        self.is_alive() && self.tcp.state() == State::SynSent
    }
    /// Whether its handshake is complete, at least for TCP.
    pub fn is_open(&self) -> bool {
        self.is_alive() && self.tcp.state() == State::Open
    }
    /// Whether it is given data.
    pub(super) fn is_ready(&self) -> bool {
        self.is_open() && self.confirm_at == Time::MAX && !self.is_silent()
    }
    /// Whether it joins a connection that is there.
    pub(super) fn joins(&self) -> bool {
        self.says.hello != Hello::Capable
    }
    /// Both ends' keys, once its SYN-ACK has come.
    pub fn keys(&self) -> Option<&Keys> {
        self.says.keys.as_ref()
    }

    /// The SYN-ACK has come: whether it says what it must. From now on packets prove that this end
    /// has the keys.
    pub(super) fn greeted(&mut self, own: Key, answer: &Packet) -> bool {
        let claim = match (self.says.hello, answer.header::<Hello>()) {
            (Hello::Capable, Some(Hello::Listener(peer))) => {
                self.says.keys = Some(Keys { own, peer: Key::new(peer) });
                Some(Hello::Keys { own: own.bits, peer, data: None })
            }
            (Hello::Join { nonce: mine, .. }, Some(Hello::Joined { proof, nonce, .. })) => {
                let keys = self.says.keys.filter(|keys| keys.proves(&proof, mine, nonce));
                keys.map(|keys| Hello::Proof(keys.proof(mine, nonce)))
            }
            _ => None,
        };
        self.says.claim = claim;
        claim.is_some()
    }

    /// The peer has shown that it knows the subflow's keys; whether that is news.
    pub(super) fn confirmed(&mut self) -> bool {
        self.confirm_at = Time::MAX;
        self.says.claim.take().is_some()
    }

    /// Tells the peer that its address has come: RFC 8684, §3.4.1.
    pub(super) fn echo(&mut self, address: AddAddr, ctx: &mut EndpointCtx<'_>, end: u64) {
        self.says.echo = Some(address.echo());
        self.call(ctx, end, |tcp, ctx| tcp.acknowledge_again(ctx));
        self.says.echo = None;
    }

    /// Leaves the connection to another subflow that has come first.
    pub(super) fn abandon(&mut self, ctx: &mut EndpointCtx<'_>, end: u64) {
        self.abandoned = true;
        if self.is_open() {
            self.call(ctx, end, |tcp, ctx| tcp.abort(ctx));
        }
        self.bury();
    }
    /// When it wants to be called.
    pub(super) fn timer(&self) -> Time {
        self.wishes.timer.min(self.confirm_at)
    }
    /// Whether it has timed out and not been heard of since.
    pub fn is_silent(&self) -> bool {
        self.tcp.silence() > 0
    }

    /// The window, without what recovery makes of it for the moment.
    pub(super) fn settled_window(&self) -> u64 {
        let window = self.tcp.window();
        if self.tcp.phase() == Phase::Recovery { window.ssthresh } else { window.cwnd }
    }

    pub(super) fn forget_below(&mut self, una: u64) {
        if !self.lost.is_empty() {
            self.lost.remove_below(una);
        }
    }

    pub(super) fn give(&mut self, bytes: u64, at: u64) {
        self.tcp.give(bytes, at);
        self.given += bytes;
    }

    /// Calls its TCP. What that sends leaves through its port with the option that belongs there;
    /// `end` is the stream's.
    pub(super) fn call(
        &mut self,
        ctx: &mut EndpointCtx<'_>,
        end: u64,
        f: impl FnOnce(&mut Sender<Coupled>, &mut EndpointCtx<'_>),
    ) {
        let (mark, Subflow { pair, tcp, wishes, says, .. }) = (ctx.mark(), self);
        ctx.inside(
            wishes,
            |ctx| {
                f(tcp, ctx);
                &*tcp
            },
            |tcp, packet| {
                says.put_on(packet, tcp, end);
                Some(pair.source())
            },
        );
        ctx.number_since(mark, |packet| mapping(packet, tcp, end).map(|(mapping, _)| mapping.data));
    }

    /// Its time has come: the TCP's timer, or the fourth packet of its handshake is missing.
    pub(super) fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>, end: u64, tcp: &TcpParams) {
        if ctx.now >= self.wishes.timer {
            self.wishes.timer = Time::MAX;
            self.call(ctx, end, |tcp, ctx| tcp.on_timer(ctx));
        }
        if ctx.now < self.confirm_at {
            return;
        }
        self.confirms += 1;
        self.confirm_at = Time::MAX;
        if self.is_open() && self.confirms > tcp.syn_retries {
            self.call(ctx, end, |tcp, ctx| tcp.abort(ctx));
        } else if self.is_open() {
            self.confirm_at = ctx.now.saturating_add(Time(tcp.initial_rto.0 << self.confirms.min(6)).min(tcp.max_rto));
            self.call(ctx, end, |tcp, ctx| tcp.acknowledge_again(ctx));
        }
    }

    /// Ends it without a word: its handshake has come to nothing, or nobody is there to listen.
    pub(super) fn bury(&mut self) {
        self.wishes = Wishes { timer: Time::MAX, finished: true };
        self.confirm_at = Time::MAX;
    }

    pub(super) fn gauges(&self, names: (&'static str, &'static str), out: &mut Vec<(&'static str, f64)>) {
        let cwnd = if self.is_open() { self.tcp.window().cwnd } else { 0 };
        out.push((names.0, cwnd as f64));
        out.push((names.1, self.given as f64));
    }
}

impl Says {
    /// Puts what there is to say on a packet of the subflow; `end` is the stream's.
    fn put_on(&self, packet: &mut Packet, tcp: &Sender<Coupled>, end: u64) {
        if packet.flags.has(Flags::SYN) {
            packet.set_header(&self.hello);
        }
        let Some(keys) = self.keys.filter(|_| !packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::RST)) else {
            return;
        };
        let (mapping, fin) = mapping(packet, tcp, end).unzip();
        match self.claim {
            // RFC 8684, §3.1: the first data come with the keys in place of a mapping.
            Some(Hello::Keys { own, peer, .. }) if mapping.is_some_and(|m| m.subflow == 1) => {
                packet.set_header(&Hello::Keys { own, peer, data: Some(packet.payload) })
            }
            Some(claim) if mapping.is_none() => packet.set_header(&claim),
            _ => {
                let mapping = mapping.map(|m| Mapping { data: keys.own.first.wrapping_add(m.data), ..m });
                // There is no data the other way: its first number is the one expected.
                packet.set_header(&Dss { ack: keys.peer.first, mapping, fin: fin.unwrap_or(false) })
            }
        };
        if let Some(echo) = self.echo {
            packet.push_raw(AddAddr::TAG, &body_of(&echo));
        }
    }
}

/// Where the packet's payload lies in the stream, from 0, and whether the stream ends with it. RFC
/// 8684, §3.3.3: the DATA_FIN is on the last of the data, and (ours) on each subflow's FIN, so that
/// it is as reliable as that.
fn mapping(packet: &Packet, tcp: &Sender<Coupled>, end: u64) -> Option<(Mapping, bool)> {
    let payload = packet.payload;
    if payload == 0 {
        let fin = packet.flags.has(Flags::FIN) && end != u64::MAX;
        return fin.then_some((Mapping { data: end, subflow: 0, len: 1 }, true));
    }
    let from = tcp.offset(packet)?;
    let piece = tcp.piece(from)?;
    let data = piece.label + (from - piece.from);
    let last = data + u64::from(payload) == end;
    let len = payload.saturating_add(u16::from(last));
    Some((Mapping { data, subflow: tcp.relative(packet), len }, last))
}
