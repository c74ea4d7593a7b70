//! One node's side of its links: neighbours, handshakes, sessions.
//!
//! Unlisted peers get no answer, and leave no state. A hello first costs only a hash: it must name our key. Under
//! load it must also prove its source address (a cookie); under heavy load it must come from a neighbour's address.
//! A replayed hello opens a session that cannot be used; there are only a few of these per neighbour. All state is
//! bounded by the list of neighbours.
//!
//! A neighbour's *epoch* is drawn when its process starts. A new epoch means that it has lost its flows
//! ([`Event::Up`]). No wall clock is used.

use std::collections::BTreeSet;

use hmac::{Hmac, KeyInit, Mac};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use snow::{Builder, HandshakeState};
use thiserror::Error;

use super::datagram::{self, Cookie, Datagram};
use super::due::Due;
use super::key::{KeyError, PublicKey, SecretKey};
use super::link_id::LinkId;
use super::session::{Opened, Session};

const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"midpath link 2";

/// A session is replaced when it is this old (WireGuard, §6.1).
const REKEY_AFTER: Time = Time::from_secs(120);
/// Whoever did not begin it waits this much longer, so that one side begins. Ours.
const REKEY_PATIENCE: Time = Time::from_secs(15);
/// An older session is not used (WireGuard, §6.1).
const REJECT_AFTER: Time = Time::from_secs(180);
/// Something is sent at least this often, if only to say that we are here. Ours.
const KEEPALIVE: Time = Time::from_secs(5);
/// A neighbour that was not heard of for so long is down: three keepalives. Ours.
const DEAD_AFTER: Time = Time::from_secs(15);
/// A hello is repeated after this, and then ever later, up to this. Ours.
const FIRST_RETRY: Time = Time::from_secs(1);
const LAST_RETRY: Time = Time::from_secs(30);
/// Sessions per neighbour that nobody has used yet. Ours.
const PENDING: usize = 4;
/// They wait so long to be used. Ours.
const PENDING_FOR: Time = Time::from_secs(10);
/// Hellos a second above which a cookie is asked for: a handshake takes about 0.1 ms. Ours.
const CALM: u32 = 100;
/// Hellos a second above which only those are looked at that come from where a neighbour is, and
/// cookies a second that are given out at most: a hash takes about 1 µs, a datagram 5. Ours.
const BUSY: u32 = 1000;
/// A cookie is good for one to two of these (WireGuard, §5.4.7).
const COOKIE_FOR: Time = Time::from_secs(120);

/// A neighbour, by number: that of its place in the configuration, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub u32);

/// A neighbour as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSpec {
    /// Its number.
    pub id: PeerId,
    /// The keys that it may have: more than one while it changes them.
    pub keys: Vec<PublicKey>,
    /// Where it is; `None` waits until it comes.
    pub link: Option<LinkId>,
    /// It comes by a [stream](crate::stream), and by nothing else.
    pub stream: bool,
}

/// What a driver should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A neighbour can be sent to.
    Up {
        /// Which.
        peer: PeerId,
        /// It has started again since it was up last: it knows nothing of what was before.
        restarted: bool,
    },
    /// A neighbour was not heard of for 15 s, or was removed.
    Down(PeerId),
    /// A neighbour, or somebody in its place, speaks only these versions.
    Versions(PeerId, Vec<u8>),
}

/// What a call leaves to be done.
#[derive(Debug, Default)]
pub struct Output {
    /// Datagrams to send.
    pub datagrams: Vec<(LinkId, Vec<u8>)>,
    /// What has happened.
    pub events: Vec<Event>,
}

/// Datagrams that came to nothing, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// No datagram of ours.
    pub malformed: u64,
    /// Hellos that don't name our key, or whose sender is not listed.
    pub strangers: u64,
    /// Hellos that came again.
    pub repeated_hellos: u64,
    /// Hellos that were asked for a cookie.
    pub retries: u64,
    /// Hellos that nobody looked at, for too many came.
    pub shed: u64,
    /// Data of no session.
    pub unknown: u64,
    /// Data that are not the neighbour's.
    pub forged: u64,
    /// Data that came again.
    pub replayed: u64,
    /// Genuine hellos by datagrams from who should come by a stream, or the other way round.
    pub other_way: u64,
}

/// A neighbour that cannot be sent to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no session with this neighbour")]
pub struct NotUp;

/// A handshake of ours that waits for its answer.
struct Begun {
    index: u32,
    state: HandshakeState,
    /// The hello without its mac and cookie.
    signed: Vec<u8>,
    key: PublicKey,
    retry_at: Time,
    cookie_used: bool,
}

struct Peer {
    spec: PeerSpec,
    link: Option<LinkId>,
    begun: Option<Begun>,
    tries: u32,
    /// Sessions that we have answered and nobody has used.
    pending: Vec<Session>,
    current: Option<Session>,
    previous: Option<Session>,
    /// The epoch that it had last, and its last hello in that.
    known: Option<(u64, u32)>,
    up: bool,
    last_heard_of: Time,
    /// Where from.
    heard_at: Option<LinkId>,
    last_sent: Time,
    cookie: Option<(Cookie, Time)>,
    /// Its session was made with a key that we had before: it is to be replaced.
    renew: bool,
}

/// One node's side of its links.
pub struct Endpoint {
    secret: SecretKey,
    /// What hellos to us are hashed with.
    name: [u8; 32],
    peers: Vec<Peer>,
    by_key: FxHashMap<PublicKey, usize>,
    by_index: FxHashMap<u32, usize>,
    by_id: FxHashMap<PeerId, usize>,
    by_link: BTreeSet<(LinkId, usize)>,
    due: Due,
    epoch: u64,
    hellos: u32,
    cookies: Cookies,
    greeted: InSecond,
    retried: InSecond,
    counters: Counters,
}

/// A count of this second.
#[derive(Default)]
struct InSecond {
    since: Time,
    count: u32,
}

impl InSecond {
    /// Counts one more. Says how many there were in this second.
    fn next(&mut self, now: Time) -> u32 {
        if now.saturating_sub(self.since) >= Time::from_secs(1) {
            *self = InSecond { since: now, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count
    }
}

/// The secrets that cookies are made of: this period's and the last one's.
struct Cookies {
    secrets: [[u8; 32]; 2],
    since: Time,
}

impl Cookies {
    fn new() -> Result<Cookies, KeyError> {
        Ok(Cookies { secrets: [random()?, random()?], since: Time::ZERO })
    }

    fn turn(&mut self, now: Time) {
        if now.saturating_sub(self.since) >= COOKIE_FOR
            && let Ok(fresh) = random()
        {
            self.secrets = [fresh, self.secrets[0]];
            self.since = now;
        }
    }

    fn of(&self, which: usize, from: LinkId) -> Cookie {
        mac(&self.secrets[which], from.to_string().as_bytes())
    }
}

fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| KeyError::Random(e.to_string()))?;
    Ok(bytes)
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Cookie {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    hash.update(bytes);
    let full = hash.finalize().into_bytes();
    full[..datagram::COOKIE].try_into().expect("sixteen of thirty-two")
}

/// Equal, in a time that does not say where they differ.
fn same(a: &Cookie, b: &Cookie) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn name_of(key: &PublicKey) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"midpath link mac");
    hash.update(key.0);
    hash.finalize().into()
}

fn builder(secret: &SecretKey) -> Builder<'_> {
    let pattern = PATTERN.parse().expect("a pattern that snow knows");
    let builder = Builder::new(pattern).local_private_key(secret.bytes()).and_then(|b| b.prologue(PROLOGUE));
    builder.expect("each is set once")
}

impl Peer {
    fn new(spec: PeerSpec, now: Time) -> Peer {
        Peer {
            link: spec.link,
            spec,
            begun: None,
            tries: 0,
            pending: Vec::new(),
            current: None,
            previous: None,
            known: None,
            up: false,
            last_heard_of: now,
            heard_at: None,
            last_sent: now,
            cookie: None,
            renew: false,
        }
    }

    /// Takes another configuration; sessions and handshakes with keys that are struck off are over.
    fn take(&mut self, spec: PeerSpec) {
        let listed = |key: &PublicKey| spec.keys.contains(key);
        self.pending.retain(|s| listed(&s.key));
        self.current.take_if(|s| !listed(&s.key));
        self.previous.take_if(|s| !listed(&s.key));
        self.begun.take_if(|b| !listed(&b.key));
        if self.spec.keys != spec.keys {
            self.tries = 0;
        }
        if self.spec.link != spec.link || self.spec.stream != spec.stream {
            self.link = spec.link;
        }
        self.spec = spec;
    }

    fn sessions(&mut self) -> impl Iterator<Item = &mut Session> {
        self.pending.iter_mut().chain(&mut self.current).chain(&mut self.previous)
    }

    /// Whether it comes by what it should come by.
    fn may_come_from(&self, from: LinkId) -> bool {
        self.spec.stream == from.is_stream()
    }

    /// Something genuine has come from there. It is followed, but for a neighbour to which a stream of
    /// ours leads: each side then sends on its own.
    fn heard(&mut self, now: Time, from: LinkId) {
        (self.last_heard_of, self.heard_at) = (now, Some(from));
        if !(self.spec.stream && self.spec.link.is_some()) {
            self.link = Some(from);
        }
    }

    /// Whether a hello is due: there is no session, or it should be replaced.
    fn wants_session(&self, now: Time) -> bool {
        self.wants_session_at() <= now
    }

    fn wants_session_at(&self) -> Time {
        let Some(session) = self.current.as_ref().filter(|s| !self.renew && !s.is_worn()) else { return Time::ZERO };
        let patience = if session.ours { Time::ZERO } else { REKEY_PATIENCE };
        session.born.saturating_add(REKEY_AFTER).saturating_add(patience)
    }

    /// When something is to be done for it.
    fn next_wake(&self) -> Time {
        let retry = self.begun.as_ref().map_or(Time::ZERO, |b| b.retry_at);
        let can_be_greeted = self.link.is_some() && !self.spec.keys.is_empty();
        let hello = can_be_greeted.then(|| self.wants_session_at().max(retry));
        let alive = self.current.as_ref().map(|_| self.last_sent.saturating_add(KEEPALIVE));
        let dead = self.up.then(|| self.last_heard_of.saturating_add(DEAD_AFTER));
        let unused = self.pending.iter().map(|s| s.born.saturating_add(PENDING_FOR));
        let old = self.current.iter().chain(&self.previous).map(|s| s.born.saturating_add(REJECT_AFTER));
        let all = [hello, alive, dead].into_iter().flatten().chain(unused).chain(old);
        all.min().unwrap_or(Time::MAX)
    }

    fn retry_at(&self, now: Time) -> Time {
        let doublings = self.tries.min(8);
        now.saturating_add(Time(FIRST_RETRY.0 << doublings).min(LAST_RETRY))
    }
}

impl Endpoint {
    /// A node of this key, with these neighbours.
    pub fn new(secret: SecretKey, peers: Vec<PeerSpec>, now: Time) -> Result<Endpoint, KeyError> {
        let name = name_of(&secret.public());
        let mut endpoint = Endpoint {
            secret,
            name,
            peers: Vec::new(),
            by_key: FxHashMap::default(),
            by_index: FxHashMap::default(),
            by_id: FxHashMap::default(),
            by_link: BTreeSet::new(),
            due: Due::default(),
            epoch: u64::from_be_bytes(random()?),
            hellos: 0,
            cookies: Cookies::new()?,
            greeted: InSecond::default(),
            retried: InSecond::default(),
            counters: Counters::default(),
        };
        endpoint.set_peers(peers, now, &mut Output::default());
        Ok(endpoint)
    }

    /// What came to nothing so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes another list of neighbours. Who is not on it any more is down at once, and so is whoever
    /// has a session with a key that is struck off.
    pub fn set_peers(&mut self, specs: Vec<PeerSpec>, now: Time, out: &mut Output) {
        let mut old = std::mem::take(&mut self.peers);
        for spec in specs {
            let kept = old.iter().position(|p| p.spec.id == spec.id);
            let Some(mut peer) = kept.map(|at| old.swap_remove(at)) else {
                self.peers.push(Peer::new(spec, now));
                continue;
            };
            peer.take(spec);
            if peer.up && peer.current.is_none() {
                peer.up = false;
                out.events.push(Event::Down(peer.spec.id));
            }
            self.peers.push(peer);
        }
        out.events.extend(old.iter().filter(|p| p.up).map(|p| Event::Down(p.spec.id)));
        self.index_again();
    }

    /// Takes another key. Sessions stay until they are replaced, which begins now.
    pub fn set_secret(&mut self, secret: SecretKey) {
        if secret == self.secret {
            return;
        }
        self.name = name_of(&secret.public());
        self.secret = secret;
        self.peers.iter_mut().for_each(|p| (p.begun, p.tries, p.renew) = (None, 0, p.current.is_some()));
        self.index_again();
    }

    fn index_again(&mut self) {
        self.by_key =
            self.peers.iter().enumerate().flat_map(|(i, p)| p.spec.keys.iter().map(move |k| (*k, i))).collect();
        self.by_id = self.peers.iter().enumerate().map(|(i, p)| (p.spec.id, i)).collect();
        self.by_link = self.peers.iter().enumerate().filter_map(|(i, p)| p.link.map(|at| (at, i))).collect();
        self.due = Due::new(self.peers.len(), Time::ZERO);
        self.by_index.clear();
        for (i, peer) in self.peers.iter_mut().enumerate() {
            let begun = peer.begun.as_ref().map(|b| b.index);
            let indices: Vec<u32> = peer.sessions().map(|s| s.local).chain(begun).collect();
            self.by_index.extend(indices.into_iter().map(|index| (index, i)));
        }
    }

    fn peer(&self, id: PeerId) -> Option<&Peer> {
        self.by_id.get(&id).map(|at| &self.peers[*at])
    }

    /// The neighbours behind a link.
    fn peers_at(&self, link: LinkId) -> impl Iterator<Item = &Peer> {
        self.places_at(link).map(|at| &self.peers[at])
    }

    fn places_at(&self, link: LinkId) -> impl Iterator<Item = usize> {
        self.by_link.range((link, 0)..=(link, usize::MAX)).map(|(_, at)| *at)
    }

    /// The first of the neighbours behind a link.
    pub fn peer_at(&self, link: LinkId) -> Option<PeerId> {
        self.peers_at(link).next().map(|peer| peer.spec.id)
    }

    /// A neighbour was there, and may be somewhere else now.
    fn moved(&mut self, at: usize, before: Option<LinkId>) {
        let after = self.peers[at].link;
        if before != after {
            if let Some(link) = before {
                self.by_link.remove(&(link, at));
            }
            self.by_link.extend(after.map(|link| (link, at)));
        }
    }

    /// Whether a neighbour can be sent to.
    pub fn is_up(&self, peer: PeerId) -> bool {
        self.peer(peer).is_some_and(|p| p.up)
    }

    /// Where a neighbour is.
    pub fn link(&self, peer: PeerId) -> Option<LinkId> {
        self.peer(peer)?.link
    }

    /// Whether a neighbour has been heard of from there.
    pub fn is_neighbour_at(&self, link: LinkId) -> bool {
        self.peers.iter().any(|p| p.up && [p.link, p.heard_at].contains(&Some(link)))
    }

    /// A stream has ended: the neighbour behind it is where it is configured to be.
    pub fn on_end(&mut self, stream: LinkId) {
        let there: Vec<usize> = self.places_at(stream).collect();
        there.into_iter().for_each(|at| self.send_home(at));
    }

    /// A neighbour is not where it was heard of last, but where it is configured to be, if that is known.
    fn send_home(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        let before = peer.link;
        peer.link = peer.spec.link.or(before);
        self.moved(at, before);
    }

    /// Seals bytes for a neighbour; `out` is the datagram, and where to send it is returned.
    /// Nothing inside is a sign of life, which no driver needs to send.
    pub fn seal(&mut self, now: Time, peer: PeerId, inside: &[u8], out: &mut Vec<u8>) -> Result<LinkId, NotUp> {
        let at = *self.by_id.get(&peer).ok_or(NotUp)?;
        let peer = &mut self.peers[at];
        let (Some(session), Some(link)) = (&mut peer.current, peer.link) else { return Err(NotUp) };
        if session.is_worn() || now.saturating_sub(session.born) >= REJECT_AFTER {
            return Err(NotUp);
        }
        session.seal(inside, out).map_err(|_| NotUp)?;
        peer.last_sent = now;
        if session.is_worn() {
            self.due.no_later(at, now);
        }
        Ok(link)
    }

    /// Called with each datagram. `Some`: it was this neighbour's, and `inside` is what it said.
    pub fn handle(
        &mut self,
        now: Time,
        from: LinkId,
        bytes: &[u8],
        inside: &mut Vec<u8>,
        out: &mut Output,
    ) -> Option<PeerId> {
        match Datagram::read(bytes) {
            Some(Datagram::Data { receiver, counter, sealed }) => {
                return self.on_data(now, from, (receiver, counter), sealed, inside, out);
            }
            Some(Datagram::Hello { sender, message, mac, cookie, signed }) => {
                self.on_hello(now, from, (sender, message), (&mac, &cookie), signed, out);
            }
            Some(Datagram::Welcome { sender, receiver, message }) => {
                self.on_welcome(now, from, (sender, receiver), message, out);
            }
            Some(Datagram::Retry { receiver, cookie }) => self.on_retry(now, from, receiver, cookie, out),
            Some(Datagram::Other(_)) => out.datagrams.push((from, datagram::versions())),
            Some(Datagram::Versions(versions)) => {
                let asked = self.peers_at(from).find(|p| p.begun.is_some());
                let event = asked.map(|p| Event::Versions(p.spec.id, versions.to_vec()));
                out.events.extend(event.filter(|_| !versions.contains(&datagram::VERSION)));
            }
            None => self.counters.malformed += 1,
        }
        None
    }

    fn on_data(
        &mut self,
        now: Time,
        from: LinkId,
        (receiver, counter): (u32, u64),
        sealed: &[u8],
        inside: &mut Vec<u8>,
        out: &mut Output,
    ) -> Option<PeerId> {
        let Some(at) = self.by_index.get(&receiver).copied() else {
            self.counters.unknown += 1;
            return None;
        };
        let peer = &mut self.peers[at];
        let allowed = peer.may_come_from(from);
        let Some(session) = peer.sessions().find(|s| allowed && s.local == receiver) else {
            self.counters.unknown += 1;
            return None;
        };
        if now.saturating_sub(session.born) >= REJECT_AFTER {
            self.counters.unknown += 1;
            return None;
        }
        match session.open(counter, sealed, inside) {
            Opened::Genuine => {}
            Opened::Again => {
                self.counters.replayed += 1;
                return None;
            }
            Opened::Forged => {
                self.counters.forged += 1;
                return None;
            }
        }
        let before = peer.link;
        peer.heard(now, from);
        if let Some(place) = peer.pending.iter().position(|s| s.local == receiver) {
            let session = peer.pending.remove(place);
            let gone = promote(peer, session, out);
            self.free(gone);
            self.due.no_later(at, now);
        }
        self.moved(at, before);
        (!inside.is_empty()).then_some(self.peers[at].spec.id)
    }

    fn on_hello(
        &mut self,
        now: Time,
        from: LinkId,
        (sender, message): (u32, &[u8; datagram::MESSAGE_1]),
        (mac_of, cookie): (&Cookie, &Cookie),
        signed: &[u8],
        out: &mut Output,
    ) {
        let greeted = self.greeted.next(now);
        if greeted > BUSY && self.peers_at(from).next().is_none() {
            self.counters.shed += 1;
            return;
        }
        if !same(mac_of, &mac(&self.name, signed)) {
            self.counters.strangers += 1;
            return;
        }
        self.cookies.turn(now);
        if greeted > CALM && ![0, 1].iter().any(|which| same(cookie, &self.cookies.of(*which, from))) {
            if self.retried.next(now) > BUSY {
                self.counters.shed += 1;
                return;
            }
            self.counters.retries += 1;
            out.datagrams.push((from, datagram::retry(sender, &self.cookies.of(0, from))));
            return;
        }
        if self.answer(now, from, sender, message, out).is_none() {
            self.counters.strangers += 1;
        }
    }

    /// Opens a hello and answers it; `None` if its sender is not listed.
    fn answer(&mut self, now: Time, from: LinkId, sender: u32, message: &[u8], out: &mut Output) -> Option<()> {
        let mut state = builder(&self.secret).build_responder().ok()?;
        let mut said = [0; 12];
        if state.read_message(message, &mut said).ok()? != said.len() {
            return None;
        }
        let key = PublicKey(state.get_remote_static()?.try_into().ok()?);
        let at = *self.by_key.get(&key)?;
        let (epoch, number) = said.split_at(8);
        let epoch = u64::from_be_bytes(epoch.try_into().ok()?);
        let number = u32::from_be_bytes(number.try_into().ok()?);
        let local = self.fresh_index()?;
        let peer = &mut self.peers[at];
        if !peer.may_come_from(from) {
            self.counters.other_way += 1;
            return Some(());
        }
        let known = peer.known.is_some_and(|(known, last)| known == epoch && number <= last);
        if known || peer.pending.iter().any(|s| (s.epoch, s.number) == (epoch, number)) {
            self.counters.repeated_hellos += 1;
            return Some(());
        }
        let mut reply = [0; datagram::MESSAGE_2];
        let length = state.write_message(&self.epoch.to_be_bytes(), &mut reply).ok()?;
        debug_assert_eq!(length, reply.len());
        let transport = state.into_stateless_transport_mode().ok()?;
        if peer.pending.len() == PENDING {
            self.by_index.remove(&peer.pending.remove(0).local);
        }
        peer.pending.push(Session::new((local, sender), now, false, key, (epoch, number), transport));
        self.by_index.insert(local, at);
        self.due.no_later(at, now);
        out.datagrams.push((from, datagram::welcome(local, sender, &reply)));
        Some(())
    }

    fn on_welcome(
        &mut self,
        now: Time,
        from: LinkId,
        (sender, receiver): (u32, u32),
        message: &[u8],
        out: &mut Output,
    ) {
        let Some(at) = self.by_index.get(&receiver).copied() else {
            self.counters.unknown += 1;
            return;
        };
        let peer = &mut self.peers[at];
        let allowed = peer.may_come_from(from);
        let Some(mut begun) = peer.begun.take_if(|b| allowed && b.index == receiver) else {
            self.counters.unknown += 1;
            return;
        };
        let mut said = [0; 8];
        // What is forged must not end the handshake: its state is as before.
        if !matches!(begun.state.read_message(message, &mut said), Ok(8)) {
            self.counters.forged += 1;
            peer.begun = Some(begun);
            return;
        }
        let Ok(transport) = begun.state.into_stateless_transport_mode() else { return };
        let epoch = u64::from_be_bytes(said);
        let number = peer.known.filter(|known| known.0 == epoch).map_or(0, |known| known.1);
        let session = Session::new((receiver, sender), now, true, begun.key, (epoch, number), transport);
        let before = peer.link;
        peer.heard(now, from);
        peer.tries = 0;
        let (gone, id) = (promote(peer, session, out), peer.spec.id);
        self.free(gone);
        self.moved(at, before);
        self.due.no_later(at, now);
        self.say_something(now, id, out);
    }

    fn on_retry(&mut self, now: Time, from: LinkId, receiver: u32, cookie: Cookie, out: &mut Output) {
        let Some(peer) = self.by_index.get(&receiver).map(|i| &mut self.peers[*i]) else {
            self.counters.unknown += 1;
            return;
        };
        let Some(begun) = peer.begun.as_mut().filter(|b| b.index == receiver && !b.cookie_used) else {
            self.counters.unknown += 1;
            return;
        };
        begun.cookie_used = true;
        peer.cookie = Some((cookie, now));
        out.datagrams.push((from, hello(begun, &cookie)));
    }

    /// Called at [`Endpoint::next_wake`], or at any time: begins handshakes, says that we are here,
    /// finds who is gone.
    pub fn poll(&mut self, now: Time, out: &mut Output) {
        while let Some(at) = self.due.pop(now) {
            self.poll_peer(at, now, out);
            let next = self.peers[at].next_wake();
            // What could not be done now, for want of a good key or of randomness, is tried again in a second.
            self.due.no_later(at, if next > now { next } else { now.saturating_add(Time::from_secs(1)) });
        }
    }

    fn poll_peer(&mut self, at: usize, now: Time, out: &mut Output) {
        self.forget_old(at, now, out);
        let peer = &self.peers[at];
        let due = peer.begun.as_ref().is_none_or(|b| b.retry_at <= now);
        if peer.wants_session(now) && due && peer.link.is_some() {
            self.begin(at, now, out);
        }
        let peer = &self.peers[at];
        if peer.current.is_some() && now.saturating_sub(peer.last_sent) >= KEEPALIVE {
            self.say_something(now, self.peers[at].spec.id, out);
        }
    }

    /// When it is to be polled next, at the latest.
    pub fn next_wake(&self) -> Time {
        self.due.next_wake()
    }

    fn forget_old(&mut self, at: usize, now: Time, out: &mut Output) {
        let peer = &mut self.peers[at];
        let old = |s: &Session, limit: Time| now.saturating_sub(s.born) >= limit;
        let mut gone: Vec<u32> = peer.pending.extract_if(.., |s| old(s, PENDING_FOR)).map(|s| s.local).collect();
        gone.extend(peer.previous.take_if(|s| old(s, REJECT_AFTER)).map(|s| s.local));
        gone.extend(peer.current.take_if(|s| old(s, REJECT_AFTER)).map(|s| s.local));
        let silent = now.saturating_sub(peer.last_heard_of) >= DEAD_AFTER;
        if peer.up && (silent || peer.current.is_none()) {
            peer.up = false;
            gone.extend(peer.current.take().map(|s| s.local));
            gone.extend(peer.previous.take().map(|s| s.local));
            out.events.push(Event::Down(peer.spec.id));
            self.send_home(at);
        }
        self.free(gone);
    }

    fn begin(&mut self, at: usize, now: Time, out: &mut Output) {
        let Some(index) = self.fresh_index() else { return };
        let peer = &mut self.peers[at];
        let Some(link) = peer.link else { return };
        let Some(key) = peer.spec.keys.get(peer.tries as usize % peer.spec.keys.len().max(1)).copied() else { return };
        self.hellos = self.hellos.wrapping_add(1);
        let mut said = [0; 12];
        said[..8].copy_from_slice(&self.epoch.to_be_bytes());
        said[8..].copy_from_slice(&self.hellos.to_be_bytes());
        let Ok(mut state) = builder(&self.secret).remote_public_key(&key.0).and_then(Builder::build_initiator) else {
            return;
        };
        let mut message = [0; datagram::MESSAGE_1];
        // A key that is no point of the curve: there is nobody to talk to.
        let Ok(length) = state.write_message(&said, &mut message) else { return };
        debug_assert_eq!(length, message.len());
        if let Some(old) = peer.begun.take() {
            self.by_index.remove(&old.index);
        }
        let (signed, retry_at) = (datagram::hello(index, &message), peer.retry_at(now));
        let begun = Begun { index, state, signed, key, retry_at, cookie_used: false };
        let cookie = peer.cookie.filter(|c| now.saturating_sub(c.1) < COOKIE_FOR).map_or([0; 16], |c| c.0);
        out.datagrams.push((link, hello(&begun, &cookie)));
        peer.tries = peer.tries.saturating_add(1);
        peer.begun = Some(begun);
        self.by_index.insert(index, at);
    }

    fn say_something(&mut self, now: Time, peer: PeerId, out: &mut Output) {
        let mut datagram = Vec::new();
        if let Ok(link) = self.seal(now, peer, &[], &mut datagram) {
            out.datagrams.push((link, datagram));
        }
    }

    /// These indices name no session any more.
    fn free(&mut self, indices: impl IntoIterator<Item = u32>) {
        for index in indices {
            self.by_index.remove(&index);
        }
    }

    /// An index that nobody uses. `None` without random numbers.
    fn fresh_index(&self) -> Option<u32> {
        loop {
            let index = u32::from_be_bytes(random().ok()?);
            if !self.by_index.contains_key(&index) {
                return Some(index);
            }
        }
    }
}

fn hello(begun: &Begun, cookie: &Cookie) -> Vec<u8> {
    let mut out = begun.signed.clone();
    out.extend(mac(&name_of(&begun.key), &begun.signed));
    out.extend(cookie);
    out
}

/// A session is used from now on. Which indices are free.
fn promote(peer: &mut Peer, session: Session, out: &mut Output) -> Option<u32> {
    let before = peer.known.map(|known| known.0);
    let restarted = before.is_some_and(|before| before != session.epoch);
    let newest = peer.known.filter(|known| known.0 == session.epoch).map_or(0, |known| known.1);
    peer.known = Some((session.epoch, newest.max(session.number)));
    if !peer.up || restarted {
        out.events.push(Event::Up { peer: peer.spec.id, restarted });
    }
    (peer.up, peer.renew) = (true, false);
    let gone = std::mem::replace(&mut peer.previous, peer.current.take());
    peer.current = Some(session);
    gone.map(|s| s.local)
}

#[cfg(test)]
mod tests;
