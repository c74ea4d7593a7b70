//! The forwarder: packet processing.

mod answers;
mod interests;
mod paced;
mod rated;
mod recovery;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use midpath_core::rng::{Purpose, Stream, below, mix, stream};
use midpath_core::units::{Bytes, Time};
use midpath_ndn::link::reason::NO_ROUTE;
use midpath_ndn::name::GENERIC;
use midpath_ndn::tlv::Error;
use midpath_ndn::{Frame, Header, InterestView, NameView, View};
use midpath_schemes::rated::{MirccParams, Shortcut};

use crate::control::{Action, Management, Policy};
use crate::edge::Edge;
use crate::edge::asks::Asks;
use crate::faces::{FaceId, FaceSpec, Faces};
use crate::fib::{Fib, Prefixes};
use crate::names::{Keyed, Names};
use crate::nonces::DeadNonces;
use crate::outbox::Outbox;
use crate::pit::{EntryId, Pit};
use crate::rib::Rib;
use crate::shaped_face::ShapedFace;
use crate::store::Store;
use crate::strategy::Strategy;

/// The type of Data.
const DATA: u32 = 0x06;

/// Bounds and rules. The defaults are ours unless they say otherwise.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Faces.
    pub faces: usize,
    /// Who waits in the PIT, each counted for each Interest.
    pub pending: usize,
    /// Their bytes.
    pub pending_bytes: usize,
    /// Bytes of the content store.
    pub store_bytes: usize,
    /// Routes, and strategies' prefixes.
    pub routes: usize,
    /// Nonces of Interests that are gone.
    pub dead_nonces: usize,
    /// The longest that an Interest is pending.
    pub longest_lifetime: Time,
    /// Who may change what.
    pub policy: Policy,
    /// Names that this network goes by: a forwarding hint that leads here has done its work.
    pub regions: Vec<Vec<u8>>,
    /// Whether silent next hops go behind others, and where one refuses another is asked.
    pub recovers: bool,
    /// Whether Interests of applications here wait for room on their way, and are sent again.
    pub pace: bool,
    /// MIRCC's parameters, for faces whose other end speaks it.
    pub mircc: MirccParams,
    /// The key of hashes, which peers must not know.
    pub key: [u8; 16],
    /// For nonces.
    pub seed: u64,
    /// Milliseconds since 1970 when time is zero: management says when it began, and versions.
    pub epoch_ms: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            faces: 4096,
            pending: 100_000,
            pending_bytes: 64 << 20,
            store_bytes: 64 << 20,
            routes: 65_536,
            dead_nonces: 500_000,
            longest_lifetime: Time::from_secs(60),
            policy: Policy::default(),
            regions: Vec::new(),
            recovers: true,
            pace: true,
            mircc: mircc(),
            key: [0; 16],
            seed: 0,
            epoch_ms: 0,
        }
    }
}

/// MIRCC's parameters as the simulator has them, but for what packets of 8,800 bytes need.
fn mircc() -> MirccParams {
    let mut params = MirccParams::default();
    // Two Data, as there: 18,880 bytes with what stands around their pieces.
    params.shaper.burst = Bytes(2 * 9440);
    // A Data in T is up to a tenth of a link then: what is kept for the primary class would cost 6 % of figure 6's l_a.
    params.rates.secondary_packets = 0.0;
    params
}

/// What ended otherwise than forwarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Interests that were answered.
    pub satisfied: u64,
    /// Interests that were not, in their lifetime.
    pub unsatisfied: u64,
    /// Interests that somebody waited for already, and that were not sent again.
    pub aggregated: u64,
    /// Interests that were sent again, or another way, for they were not answered in time.
    pub retried: u64,
    /// Interests that came round.
    pub looped: u64,
    /// Interests that found no room in the PIT.
    pub pit_full: u64,
    /// Interests that nothing leads on for.
    pub no_route: u64,
    /// Interests without hops left.
    pub no_hops: u64,
    /// Packets of /localhost from or for another machine, and of /localhop that came too far.
    pub out_of_scope: u64,
    /// Data that nobody waits for, or from a face that was not asked.
    pub unsolicited: u64,
    /// Nacks of nothing that is pending there.
    pub stray_nacks: u64,
    /// Frames that are no packets.
    pub malformed: u64,
    /// Packets for faces that are gone.
    pub gone: u64,
    /// Interests for which a link that MIRCC runs on had no room.
    pub congested: u64,
    /// Nacks that were not sent, for there are too many that say that nothing leads there.
    pub unrefused: u64,
}

impl Counters {
    /// All of them, with their names.
    pub fn all(&self) -> [(&'static str, u64); 15] {
        [
            ("satisfied", self.satisfied),
            ("unsatisfied", self.unsatisfied),
            ("aggregated", self.aggregated),
            ("retried", self.retried),
            ("looped", self.looped),
            ("pit_full", self.pit_full),
            ("no_route", self.no_route),
            ("no_hops", self.no_hops),
            ("out_of_scope", self.out_of_scope),
            ("unsolicited", self.unsolicited),
            ("stray_nacks", self.stray_nacks),
            ("malformed", self.malformed),
            ("gone", self.gone),
            ("congested", self.congested),
            ("unrefused", self.unrefused),
        ]
    }
}

/// The forwarder.
#[derive(Debug)]
pub struct Forwarder {
    pub(crate) settings: Settings,
    pub(crate) names: Names,
    pub(crate) pit: Pit,
    pub(crate) store: Store,
    pub(crate) rib: Rib,
    pub(crate) fib: Fib,
    pub(crate) strategies: Prefixes<Strategy>,
    pub(crate) faces: Faces,
    pub(crate) management: Management,
    dead: DeadNonces,
    edge: Edge,
    asks: Asks,
    /// Faces whose links' rates are known, in their order.
    lines: BTreeMap<FaceId, ShapedFace>,
    shortcut: Shortcut,
    /// A number of its own, for pathIds.
    node: u32,
    /// The time of the last call.
    last_time: Time,
    counters: Counters,
    random: Stream,
    out: Outbox,
    /// Interests for management, and the faces that they came from.
    asked: VecDeque<(FaceId, Arc<[u8]>)>,
    found: Vec<EntryId>,
}

impl Forwarder {
    /// One without faces but that of management.
    pub fn new(settings: Settings) -> Forwarder {
        let key = Keyed(settings.key);
        let mut strategies = Prefixes::new(key);
        strategies.set(&[], Strategy::default());
        let mut forwarder = Forwarder {
            names: Names::new(key),
            pit: Pit::new(settings.pending, settings.pending_bytes),
            store: Store::new(settings.store_bytes),
            rib: Rib::new(settings.routes),
            fib: Prefixes::new(key),
            strategies,
            faces: Faces::new(settings.faces),
            management: Management::new(),
            dead: DeadNonces::new(key, settings.dead_nonces),
            edge: Edge::default(),
            asks: Asks::default(),
            lines: BTreeMap::new(),
            shortcut: Shortcut::new(settings.mircc.known_paths()),
            node: (mix(settings.seed) >> 32) as u32,
            last_time: Time::ZERO,
            counters: Counters::default(),
            random: stream(settings.seed, Purpose::Forwarders, 0),
            out: Outbox::default(),
            asked: VecDeque::new(),
            found: Vec::new(),
            settings,
        };
        forwarder.route_management();
        forwarder
    }

    /// Adds a face; `None` if there are too many.
    pub fn add_face(&mut self, spec: FaceSpec) -> Option<FaceId> {
        self.faces.add(spec)
    }

    /// Called when a face is gone: its routes go with it.
    pub fn remove_face(&mut self, face: FaceId) {
        if self.faces.remove(face).is_some() {
            self.rib.forget(face, &mut self.fib);
            self.lines.remove(&face);
        }
    }

    /// Called with each frame that came in by a face. What is wrong with it is counted, and said for
    /// faces that are closed for it.
    pub fn receive(&mut self, now: Time, face: FaceId, frame: &[u8]) -> Result<(), Error> {
        let Some(state) = self.faces.get_mut(face) else { return Ok(()) };
        state.received.bytes += frame.len() as u64;
        self.last_time = self.last_time.max(now);
        let read = self.read(now, face, frame);
        if read.is_err() {
            self.counters.malformed += 1;
            if let Some(state) = self.faces.get_mut(face) {
                state.malformed += 1;
            }
        }
        self.answer_commands(now);
        self.run_lines(now);
        read
    }

    fn read(&mut self, now: Time, face: FaceId, frame: &[u8]) -> Result<(), Error> {
        let frame = Frame::of(frame)?;
        let Some(state) = self.faces.get_mut(face) else { return Ok(()) };
        let header = if state.is_local() { frame.header } else { frame.header.without_local_fields() };
        match (header.piece, frame.packet) {
            (None, Some(packet)) => self.packet(now, face, &header, packet),
            (_, None) => {
                self.on_idle(now, face, &header);
                Ok(())
            }
            (Some(_), Some(_)) => {
                let whole = state.pieces.get_or_insert_default().on_piece(Duration::from_nanos(now.as_ns()), &frame)?;
                let Some((header, packet)) = whole else { return Ok(()) };
                let header = if state.is_local() { header } else { header.without_local_fields() };
                self.packet(now, face, &header, &packet)
            }
        }
    }

    fn packet(&mut self, now: Time, face: FaceId, header: &Header, packet: &[u8]) -> Result<(), Error> {
        let view = View::of(packet)?;
        let Some(state) = self.faces.get_mut(face) else { return Ok(()) };
        match (view, header.nack) {
            (View::Interest(interest), Some(reason)) => {
                state.received.nacks += 1;
                self.on_nack(now, face, &interest, reason, header);
            }
            (View::Interest(interest), None) => {
                state.received.interests += 1;
                self.note_opposite(now, face, &interest, header);
                self.on_interest(now, face, &interest, header);
            }
            (View::Data(data), None) => {
                state.received.data += 1;
                self.on_data(now, face, &data, header);
            }
            (View::Data(_), Some(_)) => return Err(Error::Element(DATA)),
        }
        Ok(())
    }

    /// When something is due.
    pub fn next_wake(&self) -> Time {
        self.pit.next_wake().min(self.rib.next_end()).min(self.edge.next_wake()).min(self.next_rated())
    }

    /// Called when [`Forwarder::next_wake`] has come, or later.
    pub fn on_time(&mut self, now: Time) {
        self.last_time = self.last_time.max(now);
        while let Some(id) = self.pit.over(now) {
            self.counters.unsatisfied += 1;
            self.note_silence(now, id);
            self.end(now, id);
        }
        self.edge.on_time(now);
        self.send_paced(now);
        self.rib.on_time(now, &mut self.fib);
        self.run_lines(now);
    }

    /// What is to be sent, in order; [`Forwarder::sent`] says that it was taken.
    pub fn sends(&self) -> impl Iterator<Item = (FaceId, &[u8])> {
        self.out.frames()
    }

    /// Called when all has been taken out.
    pub fn sent(&mut self) {
        self.out.clear();
    }

    /// What the driver is to do besides.
    pub fn actions(&mut self) -> Vec<Action> {
        self.management.actions()
    }

    /// Takes an entry out, and remembers the nonces that were sent.
    fn end(&mut self, now: Time, id: EntryId) {
        self.edge.on_end(now, id);
        self.asks.on_end(id);
        let Some(name) = self.pit.get(id).map(|entry| self.names.name(entry.name).clone()) else { return };
        if let Some(entry) = self.pit.remove(id, &mut self.names) {
            entry.outs.iter().for_each(|out| self.dead.add(now, &name, out.nonce));
        }
    }

    /// Sends a packet of our own, Data, or a Nack; whether the face is there. On a line it waits.
    fn send(&mut self, face: FaceId, header: &Header, packet: &[u8]) -> bool {
        if self.faces.get(face).is_none() {
            self.counters.gone += 1;
            return false;
        }
        let waits = self.queue(self.last_time, face, header, packet);
        let bytes = waits.unwrap_or_else(|| self.out.put(face, header, packet));
        if let Some(state) = self.faces.get_mut(face) {
            state.sent.bytes += bytes as u64;
        }
        true
    }

    /// Sends an Interest on.
    fn forward(&mut self, face: FaceId, header: &Header, interest: &InterestView<'_>, nonce: u32) {
        let Some(state) = self.faces.get_mut(face) else {
            self.counters.gone += 1;
            return;
        };
        state.sent.bytes += self.out.forward(face, header, interest, nonce) as u64;
        state.sent.interests += 1;
    }

    /// Sends a Nack to a face, with the Interest that it sent.
    fn refuse(&mut self, face: FaceId, around: Header, interest: &[u8], reason: u64) {
        let known = self.faces.get_mut(face);
        if reason == NO_ROUTE && known.is_some_and(|state| !state.is_local() && !state.refusals.take(self.last_time)) {
            self.counters.unrefused += 1;
            return;
        }
        let header = Header { nack: Some(reason), ..around };
        if self.send(face, &header, interest)
            && let Some(state) = self.faces.get_mut(face)
        {
            state.sent.nacks += 1;
        }
    }

    /// Whether a name begins with this component: /localhost stays on this machine, /localhop goes
    /// one hop.
    fn begins(name: NameView<'_>, with: &[u8]) -> bool {
        name.components().next().is_some_and(|first| first.value == with && first.kind == u32::from(GENERIC))
    }

    /// A nonce for an Interest that has none: on a network it has.
    fn nonce(&mut self) -> u32 {
        below(&mut self.random, 1 << 32) as u32
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The faces.
    pub fn faces(&self) -> &Faces {
        &self.faces
    }

    /// What each table holds, and what it may.
    pub fn tables(&self) -> [(&'static str, usize, usize); 8] {
        let s = &self.settings;
        [
            ("faces", self.faces.len(), s.faces),
            ("pending_interests", self.pit.records(), s.pending),
            ("pending_bytes", self.pit.bytes(), s.pending_bytes),
            ("store_bytes", self.store.bytes(), s.store_bytes),
            ("routes", self.rib.len(), s.routes),
            ("strategies", self.strategies.len(), s.routes),
            ("dead_nonces", self.dead.len(), s.dead_nonces),
            // Names are held by entries of the PIT and the store, and bounded by these.
            ("name_bytes", self.names.bytes(), s.pending_bytes + s.store_bytes),
        ]
    }

    /// Data in the store, how often it answered, how often not, and what made room.
    pub fn stored(&self) -> [(&'static str, u64); 4] {
        let s = &self.store;
        [("packets", s.len() as u64), ("hits", s.hits), ("misses", s.misses), ("evicted", s.evicted)]
    }

    /// Entries of the FIB.
    pub fn fib_len(&self) -> usize {
        self.fib.len()
    }

    /// The next Interest for management, and the face that it came from.
    pub(crate) fn asked(&mut self) -> Option<(FaceId, Arc<[u8]>)> {
        self.asked.pop_front()
    }
}
