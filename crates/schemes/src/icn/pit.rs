//! The Pending Interest Table: downstreams of each pending segment, and the upstream of its Interest.
//!
//! It has no timer. An expired entry counts as absent. When the table is full, expired entries are removed, at most
//! a few times per lifetime, so that a flood of Interests to random names costs neither memory nor time without bound.

use midpath_core::packet::{FlowId, Name, NodeId, PortId};
use midpath_core::roles::Face;
use midpath_core::units::Time;

use super::table::Table;

/// An object and its segment.
pub type Key = (Name, u32);

/// One who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Where the answer goes.
    pub face: Face,
    /// Whom it is for: his node, and the number that he gave.
    pub consumer: NodeId,
    /// The number.
    pub flow: FlowId,
    /// The nonce of his last Interest.
    pub nonce: u32,
}

/// Faces that may wait for one segment at a node, and neighbours that one Interest may have gone
/// to. Ours: more than a node usually has.
const MAX_RECORDS: usize = 64;
const MAX_OUTS: usize = 3;

/// The Interest has gone to nobody so far.
const NOWHERE: [Option<Option<PortId>>; MAX_OUTS] = [None; MAX_OUTS];

/// An Interest from another face in what was asked for longer ago is sent on: the one before may be
/// lost. NFD's longest suppression.
const SUPPRESSION: Time = Time::from_ms(250);

/// Sweeps per lifetime. Ours.
const SWEEPS: u64 = 4;

/// Who waits for a segment.
#[derive(Debug, Clone)]
pub struct Entry {
    first: Record,
    more: Vec<Record>,
    /// The ports that the Interest went to and that have not answered; `None` is the producer here.
    /// The last one last.
    outs: [Option<Option<PortId>>; MAX_OUTS],
    until: Time,
    /// When the Interest last went on.
    asked_at: Time,
    /// Largest Data that somebody has asked for: shapers have booked no more.
    pub expected: u16,
}

impl Entry {
    /// The one who waits, if he alone does.
    #[inline]
    pub fn only(&self) -> Option<&Record> {
        if self.more.is_empty() { Some(&self.first) } else { None }
    }

    /// Those who wait.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        std::iter::once(&self.first).chain(&self.more)
    }

    fn record_mut(&mut self, face: Face) -> Option<&mut Record> {
        std::iter::once(&mut self.first).chain(&mut self.more).find(|r| r.face == face)
    }

    /// Another Interest in the same segment.
    fn join(&mut self, now: Time, record: Record, expected: u16) -> Verdict {
        if let Some(same) = self.records().find(|r| r.nonce == record.nonce) {
            return if same.face == record.face { Verdict::Repeated } else { Verdict::Loop };
        }
        let full = self.more.len() + 1 >= MAX_RECORDS;
        let known = self.record_mut(record.face);
        let again = known.is_some();
        match known {
            Some(known) => *known = record,
            None if full => return Verdict::Full,
            None => self.more.push(record),
        }
        // Upstream, less may have been booked than this one asks for.
        let larger = expected > self.expected;
        self.expected = self.expected.max(expected);
        if !again && !larger && now.saturating_sub(self.asked_at) < SUPPRESSION {
            return Verdict::Aggregate;
        }
        self.asked_at = now;
        Verdict::Forward
    }

    fn requested_by(&self, port: Option<PortId>) -> bool {
        self.outs.contains(&Some(port))
    }

    /// Its Interest goes to a port, and may have gone elsewhere before.
    fn sent_again(&mut self, port: Option<PortId>) {
        if self.requested_by(port) {
            return;
        }
        match self.outs.iter_mut().find(|out| out.is_none()) {
            Some(free) => *free = Some(port),
            None => {
                self.outs.rotate_left(1);
                self.outs[MAX_OUTS - 1] = Some(port);
            }
        }
    }
}

/// What is to become of an Interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on: the first one, or its consumer asks again.
    Forward,
    /// Another one like it is on its way; its answer will be for both.
    Aggregate,
    /// The same one came in over the same face: a copy.
    Repeated,
    /// It has come round.
    Loop,
    /// There is no room.
    Full,
}

/// What a host may have pending: a window that grows with each of its Interests that is answered
/// and shrinks when some never were, as those in random names. Afanasyev et al. (*Interest flooding
/// attack and countermeasures*, Networking 2013) go by the same sign.
#[derive(Debug, Clone, Copy)]
struct Trust {
    window: u32,
    pending: u32,
}

/// A host may always have so many pending. Ours.
const LEAST_TRUST: u32 = 16;

/// Where an entry stands in the table.
pub type Place = u32;

/// A place for an entry with the first who waits.
#[inline]
fn put(
    entries: &mut Vec<Entry>,
    free: &mut Vec<Place>,
    (now, until): (Time, Time),
    first: Record,
    expected: u16,
) -> Place {
    match free.pop() {
        Some(place) => {
            // Over the old one: few have a list to give back.
            let entry = &mut entries[place as usize];
            if !entry.more.is_empty() {
                entry.more = Vec::new();
            }
            (entry.first, entry.outs, entry.until, entry.asked_at) = (first, NOWHERE, until, now);
            entry.expected = expected;
            place
        }
        None => {
            entries.push(Entry { first, more: Vec::new(), outs: NOWHERE, until, asked_at: now, expected });
            (entries.len() - 1) as Place
        }
    }
}

/// The table.
#[derive(Debug)]
pub struct Pit {
    /// Entries keep their places as long as they live, for they are larger than what a hash table
    /// moves at no cost.
    places: Table<Key, Place>,
    entries: Vec<Entry>,
    free: Vec<Place>,
    /// The entry of the Interest that came last: where it goes is told next.
    last: Place,
    limit: usize,
    lifetime: Time,
    swept: Option<Time>,
    /// By port, where hosts are bounded.
    trust: Vec<Option<Trust>>,
}

impl Pit {
    /// A table of at most `limit` segments, each for `lifetime` after the last Interest.
    pub fn new(limit: usize, lifetime: Time) -> Pit {
        Pit {
            places: Table::default(),
            entries: Vec::new(),
            free: Vec::new(),
            last: 0,
            limit,
            lifetime,
            swept: None,
            trust: Vec::new(),
        }
    }

    /// The same, with so many Interests pending at first from the hosts behind some of the ports.
    #[must_use]
    pub fn bounding_hosts(self, first: u32, hosts: impl Iterator<Item = bool>) -> Pit {
        let mut trust: Vec<_> = hosts.map(|host| host.then_some(Trust { window: first, pending: 0 })).collect();
        if trust.iter().all(Option::is_none) {
            trust.clear();
        }
        Pit { trust, ..self }
    }

    fn trust(&mut self, face: Face) -> Option<&mut Trust> {
        let Face::Port(port) = face else { return None };
        self.trust.get_mut(usize::from(port.0))?.as_mut()
    }

    /// Whether a host may have one more pending. Those that are over count no more.
    fn trusts(&mut self, now: Time, face: Face) -> bool {
        let full = |t: Option<&mut Trust>| t.is_some_and(|t| t.pending >= t.window);
        if full(self.trust(face)) {
            self.sweep(now);
        }
        !full(self.trust(face))
    }

    /// Who waited in this entry waits no more: it was answered, or it was not.
    #[inline]
    fn forget_waiters(&mut self, place: Place, answered: bool) {
        if !self.trust.is_empty() {
            self.trust_again(place, answered);
        }
    }

    /// The same where hosts are bounded.
    #[inline(never)]
    fn trust_again(&mut self, place: Place, answered: bool) {
        for record in self.entries[place as usize].records() {
            let Face::Port(port) = record.face else { continue };
            if let Some(Some(trust)) = self.trust.get_mut(usize::from(port.0)) {
                trust.pending = trust.pending.saturating_sub(1);
                trust.window = trust.window.saturating_add(u32::from(answered));
            }
        }
    }

    /// Called with each Interest: whether it goes on. For each: a call costs 25 instructions.
    #[inline(always)]
    pub fn interest(&mut self, now: Time, key: Key, record: Record, expected: u16) -> Verdict {
        let until = now.saturating_add(self.lifetime);
        // Most are the first in their segment, and nobody is bounded: one look says so.
        if self.trust.is_empty() && self.places.len() < self.limit {
            let (mut place, entries, free) = (0, &mut self.entries, &mut self.free);
            let new = || {
                place = put(entries, free, (now, until), record, expected);
                place
            };
            if self.places.put_new(key, new) {
                self.last = place;
                return Verdict::Forward;
            }
        }
        self.further_interest(now, key, record, expected)
    }

    /// The same of one that may be another in its segment, or of a host that is bounded.
    #[inline(never)]
    fn further_interest(&mut self, now: Time, key: Key, record: Record, expected: u16) -> Verdict {
        let until = now.saturating_add(self.lifetime);
        let place = self.places.get(&key).copied();
        let known = place.filter(|p| self.entries[*p as usize].until > now);
        let waits = known.is_some_and(|p| self.entries[p as usize].records().any(|r| r.face == record.face));
        if !waits && !self.trusts(now, record.face) {
            return Verdict::Full;
        }
        if let Some(place) = known {
            let entry = &mut self.entries[place as usize];
            let verdict = entry.join(now, record, expected);
            if matches!(verdict, Verdict::Forward | Verdict::Aggregate) {
                entry.until = until;
                self.last = place;
                self.count_pending(record.face, waits);
            }
            return verdict;
        }
        if self.places.len() >= self.limit && !self.sweep(now) {
            return Verdict::Full;
        }
        if let Some(over) = place.and_then(|_| self.places.remove(&key)) {
            self.forget_waiters(over, false);
            self.free.push(over);
        }
        self.count_pending(record.face, false);
        let place = put(&mut self.entries, &mut self.free, (now, until), record, expected);
        self.places.put(key, |_| place);
        self.last = place;
        Verdict::Forward
    }

    /// The entry at this place, also right after it was taken out.
    pub fn entry(&self, place: Place) -> &Entry {
        &self.entries[place as usize]
    }

    /// Takes entries out that are over; says whether there is room now.
    fn sweep(&mut self, now: Time) -> bool {
        let pause = Time(self.lifetime.0 / SWEEPS);
        if self.swept.is_some_and(|last| now.saturating_sub(last) < pause) {
            return false;
        }
        self.swept = Some(now);
        let entries = &self.entries;
        let over = self.places.extract(|place| entries[*place as usize].until <= now);
        let before: Vec<u32> = self.trust.iter().map(|t| t.map_or(0, |t| t.pending)).collect();
        over.iter().for_each(|place| self.forget_waiters(*place, false));
        self.free.extend(over);
        // Once per sweep: a host of whose Interests some were never answered has half the window.
        for (trust, before) in self.trust.iter_mut().zip(before) {
            if let Some(trust) = trust.as_mut().filter(|t| t.pending < before) {
                trust.window = (trust.window / 2).max(LEAST_TRUST);
            }
        }
        self.places.len() < self.limit
    }

    /// One more who waits, unless he does already.
    fn count_pending(&mut self, face: Face, already: bool) {
        if let Some(trust) = self.trust(face).filter(|_| !already) {
            trust.pending += 1;
        }
    }

    /// Called when the Interest that came last goes out of a port, or to the producer here (`None`).
    #[inline]
    pub fn sent(&mut self, port: Option<PortId>) {
        match self.entries.get_mut(self.last as usize) {
            Some(Entry { outs: [first @ None, None, None], .. }) => *first = Some(port),
            Some(entry) => entry.sent_again(port),
            None => {}
        }
    }

    /// Called with Data: those who wait for it, if it comes from where the Interest went and is no
    /// larger than was asked for. The entry is taken out; it can be read until the next Interest
    /// comes. In line, as for Interests.
    #[inline(always)]
    pub fn data(&mut self, now: Time, key: Key, from: Option<PortId>, size: u32) -> Option<Place> {
        let entries = &self.entries;
        let place = self.places.remove_if(&key, |place| {
            let entry = &entries[*place as usize];
            entry.until > now && entry.requested_by(from) && size <= u32::from(entry.expected)
        })?;
        self.vacate(place, true);
        Some(place)
    }

    /// Called with a Nack: those who wait, if nobody else is left who may answer, as for Data. The
    /// outer `None`: it answers nothing.
    pub fn nack(&mut self, now: Time, key: Key, from: Option<PortId>) -> Option<Option<Place>> {
        let place = *self.places.get(&key)?;
        let entry = Some(&mut self.entries[place as usize]).filter(|e| e.until > now)?;
        let out = entry.outs.iter_mut().find(|out| **out == Some(from))?;
        *out = None;
        if entry.outs.iter().any(Option::is_some) {
            return Some(None);
        }
        self.forget(key);
        Some(Some(place))
    }

    /// Called when an Interest could not be sent anywhere.
    pub fn forget(&mut self, key: Key) {
        if let Some(place) = self.places.remove(&key) {
            self.vacate(place, false);
        }
    }

    /// Called with an entry that has been taken out.
    #[inline]
    fn vacate(&mut self, place: Place, answered: bool) {
        self.forget_waiters(place, answered);
        self.free.push(place);
    }

    /// Segments that it has an entry for, those that are over included.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.entries.clear();
        self.free.clear();
        (self.swept, self.last) = (None, 0);
        self.trust.iter_mut().flatten().for_each(|trust| trust.pending = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (Name { prefix: NodeId(9), object: 1 }, 4);
    const OUT: Option<PortId> = Some(PortId(7));
    const S: fn(u64) -> Time = Time::from_secs;

    fn record(face: u16, nonce: u32) -> Record {
        let face = Face::Port(PortId(face));
        Record { face, consumer: NodeId(2), flow: FlowId(3), nonce }
    }

    fn pit() -> Pit {
        Pit::new(10, S(4))
    }

    fn waiting(pit: &Pit, place: Option<Place>) -> Vec<Face> {
        place.iter().flat_map(|p| pit.entry(*p).records()).map(|r| r.face).collect()
    }

    #[test]
    fn interests_in_the_same_segment_are_one_and_its_data_go_to_all() {
        let mut pit = pit();
        assert_eq!(pit.interest(S(0), KEY, record(0, 1), 1500), Verdict::Forward);
        pit.sent(OUT);
        assert_eq!(pit.interest(Time::from_ms(249), KEY, record(1, 2), 1500), Verdict::Aggregate);
        let app = Record { face: Face::App(FlowId(8)), ..record(0, 3) };
        assert_eq!(pit.interest(Time::from_ms(250), KEY, app, 1500), Verdict::Forward, "the first may be lost");
        let place = pit.data(S(2), KEY, OUT, 1500);
        assert_eq!(waiting(&pit, place), [record(0, 0).face, record(1, 0).face, app.face]);
        assert!(pit.is_empty() && pit.data(S(2), KEY, OUT, 1500).is_none(), "it is answered once");
    }

    #[test]
    fn who_asks_again_is_sent_on_and_a_nonce_goes_nowhere_twice() {
        let mut pit = pit();
        pit.interest(S(0), KEY, record(0, 1), 1500);
        assert_eq!(pit.interest(S(1), KEY, record(5, 1), 1500), Verdict::Loop);
        assert_eq!(pit.interest(S(1), KEY, record(0, 1), 1500), Verdict::Repeated);
        assert_eq!(pit.interest(S(1), KEY, record(0, 2), 1500), Verdict::Forward);
    }

    #[test]
    fn only_who_was_asked_may_answer_and_with_no_more_than_was_booked() {
        let mut pit = pit();
        pit.interest(S(0), KEY, record(0, 1), 1000);
        pit.sent(OUT);
        assert!(pit.data(S(1), KEY, Some(PortId(3)), 1000).is_none());
        assert!(pit.data(S(1), KEY, OUT, 1001).is_none());
        assert_eq!(pit.interest(S(1), KEY, record(1, 2), 1500), Verdict::Forward, "more must be booked");
        assert!(pit.data(S(1), KEY, OUT, 1001).is_some());
    }

    #[test]
    fn a_nack_counts_when_nobody_else_may_answer() {
        let mut pit = pit();
        pit.interest(S(0), KEY, record(0, 1), 1500);
        pit.sent(OUT);
        pit.sent(None);
        assert!(pit.nack(S(1), KEY, Some(PortId(1))).is_none());
        assert!(pit.nack(S(1), KEY, OUT).expect("asked").is_none());
        let place = pit.nack(S(1), KEY, None).expect("asked");
        assert_eq!(waiting(&pit, place).len(), 1);
    }

    /// A host that floods has ever fewer pending; its neighbour, whose Interests are answered, is
    /// not bounded.
    #[test]
    fn a_host_whose_interests_are_never_answered_gets_ever_less_room() {
        let mut pit = Pit::new(100_000, S(4)).bounding_hosts(64, [true, true, false].into_iter());
        let mut segment = 0;
        let mut admitted = |pit: &mut Pit, now: Time, face: u16| {
            let verdicts = (0..1000).map(|_| {
                segment += 1;
                pit.interest(now, (KEY.0, segment), record(face, segment), 1500)
            });
            verdicts.filter(|v| *v == Verdict::Forward).count()
        };
        let flood: Vec<usize> = (0..5).map(|i| admitted(&mut pit, S(5 * i), 0)).collect();
        assert_eq!(flood, [64, 32, 16, 16, 16]);
        assert_eq!(admitted(&mut pit, S(30), 2), 1000, "a router is not bounded");
        for segment in 2_000_000..2_001_000 {
            let key = (KEY.0, segment);
            assert_eq!(pit.interest(S(31), key, record(1, segment), 1500), Verdict::Forward);
            pit.sent(OUT);
            assert!(pit.data(S(31), key, OUT, 1500).is_some());
        }
        assert_eq!(admitted(&mut pit, S(32), 1), 1000, "64 and one for each that was answered");
    }

    #[test]
    fn entries_live_as_long_as_said_and_the_table_is_bounded() {
        let mut pit = pit();
        for segment in 0..10 {
            assert_eq!(pit.interest(S(0), (KEY.0, segment), record(0, segment), 1500), Verdict::Forward);
            pit.sent(OUT);
        }
        for segment in 10..1000 {
            assert_eq!(pit.interest(S(3), (KEY.0, segment), record(0, segment), 1500), Verdict::Full);
        }
        assert!(pit.data(S(4), (KEY.0, 1), OUT, 1500).is_none(), "its time is over");
        assert_eq!(pit.interest(S(4), (KEY.0, 1000), record(0, 1), 1500), Verdict::Forward);
        assert_eq!(pit.len(), 1);
    }
}
