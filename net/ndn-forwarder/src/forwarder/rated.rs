//! Interests and Data of faces whose other end speaks MIRCC.
//!
//! What goes there waits in the face's [`ShapedFace`]. Data that come in get the line's rates, and tell of
//! their path; Interests are steered by what Data told, or go over one of the next hops by lot
//! (§4.3). An Interest for which a line has no room is refused with the line's rates: another
//! forwarder that speaks MIRCC hears of that, and for all who do not, the forwarder here asks as
//! MIRCC's consumer does ([`Asks`](crate::edge::asks::Asks)).

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use midpath_core::rng::unit;
use midpath_core::units::{Bytes, Time};
use midpath_ndn::link::reason;
use midpath_ndn::{DataView, Header, InterestView, Mircc, NameView, View};
use midpath_schemes::rated::{
    Ask, Class, Interest as Shaped, NextHop as Hop, NodeLink, Offer, PathId, Request, Stamped, Trail, Via, Way,
    without_hint,
};

use crate::edge::asks::{MOST_OF_STRANGER, Offered, With};
use crate::faces::FaceId;
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::forwarder::interests::Onward;
use crate::names::Keyed;
use crate::pit::{EntryId, OutRecord};
use crate::shaped_face::{Rated, ShapedFace, Turn, Waiting};
use crate::strategy::Strategy;

/// An Interest from another face in what was asked for longer ago goes on: the one before may be lost.
/// NFD's longest suppression, as in the simulator.
const SUPPRESSION: Time = Time::from_ms(250);
/// The rates of a Nack that begins here, before its line's.
const NONE_YET: u64 = u64::MAX;

impl Forwarder {
    /// The link of a face is known: MIRCC runs there as soon as the other end says that it speaks it.
    pub fn set_link(&mut self, now: Time, face: FaceId, rated: Rated) {
        if self.faces.get(face).is_some() {
            self.lines.insert(face, ShapedFace::new(rated, &self.settings.mircc, now));
        }
    }

    /// Faces whose links are known.
    pub fn lines(&self) -> impl Iterator<Item = (FaceId, &ShapedFace)> {
        self.lines.iter().map(|(face, line)| (*face, line))
    }

    /// What applications' flows do whose next hops speak MIRCC.
    pub fn flows(&self) -> Vec<crate::edge::asks::Doing> {
        self.asks.doing()
    }

    /// Whether the other end of a face speaks MIRCC.
    pub(super) fn speaks(&self, now: Time, face: FaceId) -> bool {
        self.lines.get(&face).is_some_and(|line| line.speaks(now))
    }

    /// Called with each IDLE packet.
    pub(super) fn on_idle(&mut self, now: Time, face: FaceId, header: &Header) {
        if let Some((line, hello)) = self.lines.get_mut(&face).zip(header.mircc.hello) {
            line.on_hello(now, hello);
        }
    }

    /// Called with each Interest that comes in: it took a part of the link, and so will its Data.
    pub(super) fn note_opposite(&mut self, now: Time, face: FaceId, interest: &InterestView<'_>, header: &Header) {
        let Some(line) = self.lines.get_mut(&face).filter(|line| line.speaks(now)) else { return };
        line.at(now);
        let size = Bytes(u64::from(line.rated.on_link(interest.wire.len())));
        line.link.on_opposite_interest(now, size, expected(line, &header.mircc));
    }

    /// The next hops that speak MIRCC, if the best one does and the strategy leaves the choice: those
    /// that answer, or all.
    pub(super) fn rated_hops(&self, now: Time, hops: &[NextHop], onward: &Onward<'_>) -> Vec<FaceId> {
        let asked = onward.header.next_hop_face.is_some() || self.strategy(onward.interest.name) != Strategy::BestRoute;
        // A neighbour that is heard no more is no plain one.
        let up = |hop: &&NextHop| !self.lines.get(&hop.face).is_some_and(|line| line.is_down(now));
        if asked || hops.iter().find(up).is_none_or(|hop| !self.speaks(now, hop.face)) {
            return Vec::new();
        }
        let speak = |hop: &&NextHop| self.speaks(now, hop.face);
        let answer = hops.iter().filter(speak).filter(|hop| !hop.is_silent());
        let faces: Vec<FaceId> = answer.map(|hop| hop.face).collect();
        if faces.is_empty() { hops.iter().filter(speak).map(|hop| hop.face).collect() } else { faces }
    }

    /// Sends an Interest on over the lines, if its next hops are such; whether they are. `again`: an
    /// entry waits for it already.
    pub(super) fn by_lines(
        &mut self,
        now: Time,
        id: EntryId,
        hops: &[NextHop],
        onward: &Onward<'_>,
        again: bool,
    ) -> bool {
        let faces = self.rated_hops(now, hops, onward);
        if faces.is_empty() {
            return false;
        }
        if !self.speaks(now, onward.from) && self.settings.pace {
            return self.ask_by_rates(now, id, onward, &faces, again);
        }
        if again {
            let known = self.pit.get(id);
            let other = known.is_none_or(|entry| entry.ins.iter().any(|record| record.face != onward.from));
            let last = known.and_then(|entry| entry.last_sent());
            if other && last.is_some_and(|last| now.saturating_sub(last) < SUPPRESSION) {
                self.counters.aggregated += 1;
                return true;
            }
        }
        let fields = onward.header.mircc;
        let (face, upstream) = self.steer(now, &faces, fields.path_id.map(PathId));
        let mircc = Mircc { hello: None, path_id: upstream.map(|path| path.0), rates: None, ..fields };
        let header = Header { congestion_mark: onward.header.congestion_mark, mircc, ..Header::default() };
        self.offer(now, face, id, onward.interest, onward.nonce, header);
        self.probe(now, id, hops, onward.interest, header);
        true
    }

    /// Asks a silent next hop, too, whether it still is.
    fn probe(&mut self, now: Time, id: EntryId, hops: &[NextHop], interest: &InterestView<'_>, header: Header) {
        let due = self.due_for_probe(now, hops, interest);
        if let Some(face) = due.filter(|face| self.speaks(now, *face)) {
            let (nonce, mircc) = (self.nonce(), Mircc { path_id: None, ..header.mircc });
            self.offer(now, face, id, interest, nonce, Header { mircc, ..header });
        }
    }

    /// An Interest of who does not speak MIRCC: the forwarder asks for it as a consumer.
    fn ask_by_rates(&mut self, now: Time, id: EntryId, onward: &Onward<'_>, faces: &[FaceId], again: bool) -> bool {
        if again && self.asks.holds(id) {
            self.counters.aggregated += 1;
            return true;
        }
        let flow = Keyed(self.settings.key).hash_one((onward.from, onward.interest.name.parent().bytes()));
        let most = self.lines.get(&faces[0]).map_or(0, |line| line.most().0);
        let size = u16::try_from(most).unwrap_or(u16::MAX);
        let flows = if self.faces.is_local(onward.from) { usize::MAX } else { MOST_OF_STRANGER };
        let with = With { params: &self.settings.mircc, rng: &mut self.random };
        match self.asks.offer(now, id, (onward.from, flow), size, flows, with) {
            Offered::Held => self.send_asked(now),
            // It waits for its end: others would lose their turns to who asks for everything.
            Offered::Full => self.counters.congested += 1,
        }
        true
    }

    /// Which of these an Interest goes to: where the Data with this path came from, else by lot, in
    /// proportion to the links' rates (§4.3.3). And the path from there.
    fn steer(&mut self, now: Time, faces: &[FaceId], path: Option<PathId>) -> (FaceId, Option<PathId>) {
        let silent = |lines: &mut BTreeMap<FaceId, ShapedFace>, face: &FaceId| {
            faces.len() > 1 && lines.get_mut(face).is_some_and(|line| line.is_silent(now))
        };
        let lines = &mut self.lines;
        let answer: Vec<FaceId> = faces.iter().copied().filter(|face| !silent(lines, face)).collect();
        let faces = if answer.is_empty() { faces } else { &answer[..] };
        let known = path.and_then(|path| self.shortcut.steer(path));
        let steered = known.and_then(|(link, upstream)| {
            let face = faces.iter().find(|face| face.0 as u32 == link)?;
            Some((*face, Some(upstream)))
        });
        steered.unwrap_or_else(|| {
            let hops = faces.iter().map(|face| {
                let weight = self.lines.get(face).map_or(1, |line| line.rated.back.0);
                Hop { link: face.0 as u32, weight }
            });
            let drawn = if faces.len() > 1 { without_hint(hops, unit(&mut self.random)) } else { None };
            let face = faces.iter().find(|face| Some(face.0 as u32) == drawn).copied();
            (face.unwrap_or(faces[0]), None)
        })
    }

    /// Hands an Interest to a line.
    pub(super) fn offer(
        &mut self,
        now: Time,
        face: FaceId,
        id: EntryId,
        interest: &InterestView<'_>,
        nonce: u32,
        header: Header,
    ) {
        let Some(line) = self.lines.get_mut(&face) else { return };
        line.at(now);
        let fields = header.mircc;
        let request = Request {
            size: Bytes(u64::from(line.rated.on_link(interest.wire.len() + AROUND))),
            data: expected(line, &fields),
            class: if fields.class == Some(1) { Class::Secondary } else { Class::Primary },
            rtt: fields.round_trip.map(|us| Time::from_us(us.min(1 << 32))),
            via: Some(fields.path_id.map_or(towards(self.settings.key, interest.name), |p| Via::path(PathId(p)))),
            // A face does not say whether a consumer or a router is behind it.
            passing: false,
            token: Waiting { id, wire: interest.wire.into(), nonce, header },
        };
        let offered = line.link.offer(now, request);
        let stamps = line.link.stamps();
        let record = OutRecord { face, nonce, at: now, nacked: None };
        if let Some(entry) = self.pit.get_mut(id) {
            match entry.out(face) {
                Some(known) => *known = record,
                None => entry.outs.push(record),
            }
        }
        match offered {
            Offer::Queued => {}
            Offer::Displaced(Shaped { token, .. }) | Offer::Refused(Shaped { token, .. }) => {
                self.counters.congested += 1;
                let start = Stamped::start(NONE_YET, Trail::None).least(stamps);
                self.on_congestion(now, face, &token, start);
            }
        }
    }

    /// A line has no room for an Interest.
    fn on_congestion(&mut self, now: Time, face: FaceId, waiting: &Waiting, stamped: Stamped) {
        let Some(entry) = self.pit.get_mut(waiting.id) else { return };
        let Some(out) = entry.out(face).filter(|out| out.nonce == waiting.nonce) else { return };
        out.nacked = Some(reason::CONGESTION);
        self.refused(now, waiting.id, Some(stamped));
    }

    /// Called when an Interest was refused for congestion, here or above: who asks hears of it.
    pub(super) fn refused(&mut self, now: Time, id: EntryId, stamped: Option<Stamped>) {
        if self.asks.holds(id) {
            let with = With { params: &self.settings.mircc, rng: &mut self.random };
            self.asks.on_nack(now, id, stamped.map(|s| s.stamps()), with);
            return;
        }
        // Another next hop may still answer.
        if self.pit.get(id).is_some_and(|entry| entry.outs.iter().any(|out| out.nacked.is_none())) {
            return;
        }
        self.pass_refusal(now, id, stamped);
    }

    /// Called with a Nack by a line: its rates with the line's.
    pub(super) fn stamp_nack(&mut self, now: Time, face: FaceId, id: EntryId, header: &Header) -> Option<Stamped> {
        let line = self.lines.get_mut(&face).filter(|line| line.speaks(now))?;
        line.at(now);
        line.on_answered();
        line.link.on_nack(now, &id);
        Some(stamped(&header.mircc, NONE_YET).least(line.link.stamps()))
    }

    /// Called with Data: what they carry from here on, and the bytes that they have on the link.
    pub(super) fn stamp_data(
        &mut self,
        now: Time,
        face: FaceId,
        data: &DataView<'_>,
        header: &Header,
        found: &[EntryId],
    ) -> (Stamped, u16) {
        let start = self.settings.mircc.rates.largest_rate.0;
        let link = NodeLink { node: self.node, link: face.0 as u32 };
        let Some(line) = self.lines.get_mut(&face).filter(|line| line.speaks(now)) else {
            let first = Stamped::start(start, Trail::None);
            // What others forward begins here, and is another path than what is had here.
            let path = if self.faces.is_local(face) { first.path } else { self.shortcut.learn(first.path, link) };
            return (Stamped { path, ..first }, u16::try_from(data.wire.len()).unwrap_or(u16::MAX));
        };
        line.at(now);
        line.on_answered();
        let size = line.rated.on_link(data.wire.len() + AROUND);
        let came = stamped(&header.mircc, start);
        let ways = [Via::path(came.path), towards(self.settings.key, data.name)];
        for id in found {
            if let Some(booked) = line.link.on_data(now, id, ways)
                && size > booked
            {
                line.link.on_larger_data(now, Bytes(u64::from(size - booked)));
            }
        }
        // §3.1: whoever receives the Data stamps it, for the Interests into this link are its own. No
        // neighbour's stamp counts that is above the link's.
        let after = came.least(line.link.stamps());
        let path = self.shortcut.learn(came.path, link);
        (Stamped { path, ..after }, u16::try_from(size).unwrap_or(u16::MAX))
    }

    /// MIRCC's fields of an answer, if the face is one that they go to.
    pub(super) fn fields_to(&self, now: Time, face: FaceId, stamped: Stamped) -> Mircc {
        if !self.speaks(now, face) {
            return Mircc::default();
        }
        let rates = Some((stamped.primary, stamped.secondary));
        Mircc { rates, path_id: Some(stamped.path.0), ..Mircc::default() }
    }

    /// Sends what applications' flows ask for now.
    pub(super) fn send_asked(&mut self, now: Time) {
        loop {
            let asked = self.asks.sends();
            if asked.is_empty() {
                return;
            }
            for (id, ask, size) in asked {
                self.send_ask(now, id, ask, size);
            }
        }
    }

    fn send_ask(&mut self, now: Time, id: EntryId, ask: Ask, size: u16) {
        let Some(record) = self.pit.get(id).and_then(|entry| entry.ins.first()).cloned() else { return };
        let Ok(View::Interest(interest)) = View::of(&record.wire) else { return };
        if ask.again {
            self.counters.retried += 1;
            self.note_silence(now, id);
        }
        let header = Header::default();
        let onward = Onward { interest: &interest, nonce: record.nonce, header: &header, from: record.face };
        let hops = self.usable(&onward);
        let faces = self.rated_hops(now, &hops, &onward);
        let Some(first) = faces.first().copied() else { return };
        let hint = if let Way::Path(path) = ask.way { Some(path) } else { None };
        let (face, upstream) =
            if faces.len() > 1 || hint.is_some() { self.steer(now, &faces, hint) } else { (first, None) };
        let mircc = Mircc {
            class: (ask.class == Class::Secondary).then_some(1),
            data_size: Some(u64::from(size)),
            round_trip: ask.rtt.map(|rtt| (rtt.as_ns() / 1000).max(1)),
            path_id: upstream.map(|path| path.0),
            ..Mircc::default()
        };
        // Who is asked again takes the nonce that it knows for a loop.
        let nonce = if ask.again { self.nonce() } else { record.nonce };
        let header = Header { mircc, ..Header::default() };
        self.offer(now, face, id, &interest, nonce, header);
        self.probe(now, id, &hops, &interest, header);
    }

    /// When a line, or a flow that asks by rates, has something to do.
    pub(super) fn next_rated(&self) -> Time {
        let now = self.last_time;
        self.lines.values().map(|line| line.next_wake(now)).fold(self.asks.next_wake(), Time::min)
    }

    /// Does what is due.
    pub(super) fn run_lines(&mut self, now: Time) {
        self.last_time = self.last_time.max(now);
        while let Some(flow) = self.asks.due(now) {
            let with = With { params: &self.settings.mircc, rng: &mut self.random };
            self.asks.run(now, flow, with);
            self.send_asked(now);
        }
        let faces: Vec<FaceId> = self.lines.keys().copied().collect();
        for face in faces {
            if let Some(hello) = self.lines.get_mut(&face).and_then(|line| line.hello(now)) {
                self.count_sent(face, hello.len());
                self.out.raw(face, &hello);
            }
            if !self.speaks(now, face) {
                self.let_go(now, face);
                self.send_asked(now);
            }
            self.transmit(now, face);
        }
    }

    /// The other end is heard no more: the face is one as all others.
    fn let_go(&mut self, now: Time, face: FaceId) {
        let Some(line) = self.lines.get_mut(&face) else { return };
        let (frames, interests) = line.drain();
        for frame in frames {
            self.out.raw(face, &frame);
        }
        for waiting in interests {
            self.on_congestion(now, face, &waiting, Stamped::start(0, Trail::None));
        }
    }

    /// Sends what a line lets go now.
    fn transmit(&mut self, now: Time, face: FaceId) {
        while let Some(line) = self.lines.get_mut(&face)
            && let Some(turn) = line.poll(now)
        {
            match turn {
                Turn::Frame(frame) => {
                    line.left(now, frame.len());
                    self.out.raw(face, &frame);
                }
                Turn::Interest(interest) => self.transmit_interest(now, face, &interest),
            }
        }
    }

    fn transmit_interest(&mut self, now: Time, face: FaceId, interest: &Shaped<Waiting>) {
        let Waiting { id, ref wire, nonce, header } = interest.token;
        // Nobody may wait for it any more, or another has taken its place.
        let Some(entry) = self.pit.get_mut(id) else { return };
        let Some(out) = entry.out(face).filter(|out| out.nonce == nonce && out.nacked.is_none()) else { return };
        out.at = now;
        let Ok(View::Interest(view)) = View::of(wire) else { return };
        let Some(line) = self.lines.get_mut(&face) else { return };
        line.link.left(now, id, interest);
        let length = self.out.again_around(face, &header, &view, nonce);
        line.left(now, length);
        line.on_asked(now);
        self.count_sent(face, length);
        if let Some(state) = self.faces.get_mut(face) {
            state.sent.interests += 1;
        }
    }

    fn count_sent(&mut self, face: FaceId, bytes: usize) {
        if let Some(state) = self.faces.get_mut(face) {
            state.sent.bytes += bytes as u64;
        }
    }

    /// Puts a frame where it waits for a line's turn, if the face has a line that is used.
    pub(super) fn queue(&mut self, now: Time, face: FaceId, header: &Header, packet: &[u8]) -> Option<usize> {
        let line = self.lines.get_mut(&face).filter(|line| line.speaks(now))?;
        let mut frame = Vec::with_capacity(packet.len() + AROUND);
        header.wrap(packet, &mut frame);
        let length = frame.len();
        line.push(frame);
        Some(length)
    }
}

/// What MIRCC's and other fields take around a packet, about.
const AROUND: usize = 48;

/// Any way to whoever has what is below this name's prefix.
fn towards(key: [u8; 16], name: NameView<'_>) -> Via {
    Via::of_number(Keyed(key).hash_one(name.parent().bytes()))
}

/// What came with these fields.
fn stamped(fields: &Mircc, start: u64) -> Stamped {
    let (primary, secondary) = fields.rates.unwrap_or((start, start));
    Stamped { primary, secondary, path: PathId(fields.path_id.unwrap_or(0)), trail: Trail::None }
}

/// The size of the Data that an Interest asks for: the longest if it does not say, or says more.
fn expected(line: &ShapedFace, fields: &Mircc) -> Bytes {
    Bytes(fields.data_size.map_or(line.most().0, |size| size.clamp(1, line.most().0)))
}
