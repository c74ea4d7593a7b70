//! The Pending Interest Table: downstream and upstream faces of pending Interests.
//!
//! It is bounded in records and bytes, and no face can fill it: one may use as much as is free (Choudhury and
//! Hahne's dynamic threshold with α = 1). A single busy face gets half, and others still have room.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use midpath_core::units::Time;
use midpath_ndn::name::{MAX_COMPONENTS, NAME};
use midpath_ndn::name_view::IMPLICIT_DIGEST;
use midpath_ndn::{DataView, InterestView, NameView, PitToken, tlv};
use rustc_hash::FxHashMap;

use crate::faces::FaceId;
use crate::name;
use crate::names::{NameId, Names};

/// What a record costs besides the bytes of its Interest and its name. Ours: its share of the
/// entry, of two tables and of a heap.
const OVERHEAD: usize = 384;
/// Faces that wait for one entry, and that its Interest went to. Ours: more than a node has
/// neighbours; a search goes through all.
const MAX_RECORDS: usize = 1024;
/// Dead entries that the heap of ends keeps besides as many as are alive.
const SLACK: usize = 1024;

/// An entry's number, with what tells it from those that had the number before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct EntryId {
    place: u32,
    generation: u32,
}

#[cfg(test)]
impl EntryId {
    /// One for tests of what only tells entries apart.
    pub fn numbered(place: u32) -> EntryId {
        EntryId { place, generation: 0 }
    }
}

/// One who waits.
#[derive(Debug, Clone)]
pub struct InRecord {
    /// Where the answer goes.
    pub face: FaceId,
    /// The nonce of the last Interest.
    pub nonce: u32,
    /// Until when.
    pub until: Time,
    /// Its own word for the Interest.
    pub token: Option<PitToken>,
    /// The Interest: a Nack brings it back.
    pub wire: Arc<[u8]>,
}

/// Where the Interest went.
#[derive(Debug, Clone, Copy)]
pub struct OutRecord {
    /// The face.
    pub face: FaceId,
    /// The nonce that was sent.
    pub nonce: u32,
    /// When.
    pub at: Time,
    /// The reason, if it came back as a Nack.
    pub nacked: Option<u64>,
}

/// What tells entries of one name apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Selectors {
    can_be_prefix: bool,
    must_be_fresh: bool,
    /// The names of the forwarding hint: Data that came through another may be another's.
    hint: Box<[u8]>,
}

impl Selectors {
    fn of(interest: &InterestView<'_>) -> Selectors {
        let mut hint = Vec::new();
        interest.hints().for_each(|name| tlv::put(NAME, name.bytes(), &mut hint));
        let InterestView { can_be_prefix, must_be_fresh, .. } = *interest;
        Selectors { can_be_prefix, must_be_fresh, hint: hint.into() }
    }
}

/// Who waits for something.
#[derive(Debug)]
pub struct Entry {
    /// What.
    pub name: NameId,
    selectors: Selectors,
    /// Who.
    pub ins: Vec<InRecord>,
    /// Where it was asked for.
    pub outs: Vec<OutRecord>,
    /// How long Interests in the same are held back after one was sent.
    pub suppression: Time,
    /// The next entry of the same name.
    next: Option<u32>,
    components: usize,
    generation: u32,
}

impl Entry {
    /// Until when somebody waits.
    pub fn until(&self) -> Time {
        self.ins.iter().map(|record| record.until).max().unwrap_or(Time::ZERO)
    }

    /// When it was last sent.
    pub fn last_sent(&self) -> Option<Time> {
        self.outs.iter().map(|record| record.at).max()
    }

    /// The record of a face that was asked.
    pub fn out(&mut self, face: FaceId) -> Option<&mut OutRecord> {
        self.outs.iter_mut().find(|record| record.face == face)
    }
}

/// What became of an Interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Nobody waited for it before.
    New(EntryId),
    /// Somebody does.
    Known(EntryId),
    /// It has been here with this nonce, from another face.
    Loop,
    /// There is no room for another of this face.
    Full,
}

/// What a face has in the table.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    records: usize,
    bytes: usize,
}

/// The table.
#[derive(Debug)]
pub struct Pit {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    generation: u32,
    by_name: FxHashMap<NameId, u32>,
    /// Entries that longer names answer, by their number of components.
    prefixes: [u32; MAX_COMPONENTS + 1],
    /// Names of Data whose digest somebody waits for.
    digests: FxHashMap<NameId, u32>,
    ends: BinaryHeap<Reverse<(Time, EntryId)>>,
    pending: FxHashMap<FaceId, Pending>,
    records: usize,
    bytes: usize,
    max_records: usize,
    max_bytes: usize,
}

impl Pit {
    /// A table of at most so many records and bytes.
    pub fn new(max_records: usize, max_bytes: usize) -> Pit {
        Pit {
            entries: Vec::new(),
            free: Vec::new(),
            generation: 0,
            by_name: FxHashMap::default(),
            prefixes: [0; MAX_COMPONENTS + 1],
            digests: FxHashMap::default(),
            ends: BinaryHeap::new(),
            pending: FxHashMap::default(),
            records: 0,
            bytes: 0,
            max_records,
            max_bytes,
        }
    }

    /// How many wait, each counted for each Interest.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of what waits, with what each costs besides.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// An entry that is alive.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.place as usize)?.as_ref().filter(|entry| entry.generation == id.generation)
    }

    /// The same, to change.
    pub fn get_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        self.entries.get_mut(id.place as usize)?.as_mut().filter(|entry| entry.generation == id.generation)
    }

    /// The entries of a name.
    fn of_name(&self, name: NameId) -> impl Iterator<Item = (u32, &Entry)> {
        let mut next = self.by_name.get(&name).copied();
        std::iter::from_fn(move || {
            let place = next?;
            let entry = self.entries[place as usize].as_ref()?;
            next = entry.next;
            Some((place, entry))
        })
    }

    fn id(&self, place: u32) -> Option<EntryId> {
        let generation = self.entries[place as usize].as_ref()?.generation;
        Some(EntryId { place, generation })
    }

    /// The entry of an Interest.
    fn find(&self, interest: &InterestView<'_>, names: &Names) -> Option<EntryId> {
        let name = names.find(interest.name.bytes()).filter(|name| self.by_name.contains_key(name))?;
        let selectors = Selectors::of(interest);
        let (place, _) = self.of_name(name).find(|(_, entry)| entry.selectors == selectors)?;
        self.id(place)
    }

    /// Whether a face may have one more record of this size.
    fn has_room(&self, face: FaceId, cost: usize) -> bool {
        let own = self.pending.get(&face).copied().unwrap_or_default();
        own.records < self.max_records.saturating_sub(self.records)
            && own.bytes + cost <= self.max_bytes.saturating_sub(self.bytes)
    }

    fn cost(wire: &[u8], name: usize) -> usize {
        // The name stands once for all, and each record answers for it: it may be the last.
        wire.len() + name + OVERHEAD
    }

    fn count(&mut self, face: FaceId, cost: usize) {
        let own = self.pending.entry(face).or_default();
        (own.records, own.bytes) = (own.records + 1, own.bytes + cost);
        (self.records, self.bytes) = (self.records + 1, self.bytes + cost);
    }

    fn discount(&mut self, face: FaceId, cost: usize) {
        (self.records, self.bytes) = (self.records - 1, self.bytes - cost);
        if let Some(own) = self.pending.get_mut(&face) {
            (own.records, own.bytes) = (own.records - 1, own.bytes - cost);
            if own.records == 0 {
                self.pending.remove(&face);
            }
        }
    }

    /// Called with each Interest. `nonce` is the one that it is sent on with.
    pub fn join(&mut self, interest: &InterestView<'_>, record: InRecord, names: &mut Names) -> Joined {
        let known = self.find(interest, names);
        let cost = Pit::cost(&record.wire, interest.name.bytes().len());
        let Some(entry) = known.and_then(|id| self.get_mut(id)) else {
            if !self.has_room(record.face, cost) {
                return Joined::Full;
            }
            return Joined::New(self.insert(interest, record, cost, names));
        };
        let other = |r: &InRecord| r.nonce == record.nonce && r.face != record.face;
        if entry.ins.iter().any(other) {
            return Joined::Loop;
        }
        let (face, name) = (record.face, interest.name.bytes().len());
        let place = entry.ins.iter().position(|r| r.face == face);
        let full = entry.ins.len() >= MAX_RECORDS;
        let before = place.map(|place| Pit::cost(&entry.ins[place].wire, name));
        if let Some(before) = before {
            self.discount(face, before);
        }
        let full = before.is_none() && full;
        if full || !self.has_room(face, cost) {
            if let Some(before) = before {
                self.count(face, before);
            }
            return Joined::Full;
        }
        self.count(face, cost);
        let (Some(id), Some(entry)) = (known, known.and_then(|id| self.get_mut(id))) else { return Joined::Full };
        match place {
            Some(place) => entry.ins[place] = record,
            None => entry.ins.push(record),
        }
        Joined::Known(id)
    }

    fn insert(&mut self, interest: &InterestView<'_>, record: InRecord, cost: usize, names: &mut Names) -> EntryId {
        self.count(record.face, cost);
        let name = names.hold(interest.name.bytes());
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        self.generation = self.generation.wrapping_add(1);
        let id = EntryId { place, generation: self.generation };
        self.ends.push(Reverse((record.until, id)));
        let entry = Entry {
            name,
            selectors: Selectors::of(interest),
            ins: vec![record],
            outs: Vec::new(),
            suppression: Time::ZERO,
            next: self.by_name.insert(name, place),
            components: name::count(interest.name).min(MAX_COMPONENTS),
            generation: self.generation,
        };
        if interest.can_be_prefix {
            self.prefixes[entry.components] += 1;
        }
        if let Some((data, _)) = name::full(interest.name) {
            *self.digests.entry(names.hold(data)).or_default() += 1;
        }
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        id
    }

    /// Takes an entry out.
    pub fn remove(&mut self, id: EntryId, names: &mut Names) -> Option<Entry> {
        self.get(id)?;
        let entry = self.entries[id.place as usize].take()?;
        self.free.push(id.place);
        self.unchain(&entry, id.place);
        let name = names.name(entry.name).clone();
        if entry.selectors.can_be_prefix {
            self.prefixes[entry.components] -= 1;
        }
        if let Some((data, _)) = name::full(name::view(&name)) {
            self.forget_digest(data, names);
        }
        entry.ins.iter().for_each(|record| self.discount(record.face, Pit::cost(&record.wire, name.len())));
        names.release(entry.name);
        self.shrink();
        Some(entry)
    }

    /// Takes an entry out of those of its name.
    fn unchain(&mut self, entry: &Entry, place: u32) {
        let first = self.by_name.get(&entry.name).copied();
        if first == Some(place) {
            match entry.next {
                Some(next) => self.by_name.insert(entry.name, next),
                None => self.by_name.remove(&entry.name),
            };
            return;
        }
        let mut at = first;
        while let Some(other) = at.and_then(|at| self.entries[at as usize].as_mut()) {
            if other.next == Some(place) {
                other.next = entry.next;
                return;
            }
            at = other.next;
        }
    }

    /// Each Interest in a digest held the name of the Data.
    fn forget_digest(&mut self, data: &[u8], names: &mut Names) {
        let Some(id) = names.find(data) else { return };
        if let Some(count) = self.digests.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.digests.remove(&id);
            }
            names.release(id);
        }
    }

    /// The heap keeps times of entries that are gone; not too many.
    fn shrink(&mut self) {
        if self.ends.len() > 2 * self.len() + SLACK {
            let alive = |id: &EntryId| {
                self.entries[id.place as usize].as_ref().is_some_and(|entry| entry.generation == id.generation)
            };
            self.ends.retain(|Reverse((_, id))| alive(id));
        }
    }

    /// When the next entry may be over.
    pub fn next_wake(&self) -> Time {
        self.ends.peek().map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// An entry that is over; it stays until it is removed.
    pub fn over(&mut self, now: Time) -> Option<EntryId> {
        while let Some(Reverse((at, id))) = self.ends.peek().copied() {
            if at > now {
                return None;
            }
            self.ends.pop();
            let Some(until) = self.get(id).map(Entry::until) else { continue };
            if until > now {
                self.ends.push(Reverse((until, id)));
                continue;
            }
            return Some(id);
        }
        None
    }

    /// The entries that Data answer, whoever was asked.
    pub fn matches(&self, data: &DataView<'_>, names: &Names, found: &mut Vec<EntryId>) {
        let all = |name: NameId| self.of_name(name).map(|(place, _)| place);
        let exact = names.find(data.name.bytes());
        found.extend(exact.into_iter().flat_map(all).filter_map(|place| self.id(place)));
        if exact.is_some_and(|name| self.digests.contains_key(&name)) {
            let mut full = data.name.bytes().to_vec();
            name::push(&mut full, IMPLICIT_DIGEST, &data.implicit_digest());
            found.extend(names.find(&full).into_iter().flat_map(all).filter_map(|place| self.id(place)));
        }
        let shorter = |(_, prefix): &(usize, NameView<'_>)| *prefix != data.name;
        for (length, prefix) in data.name.prefixes().enumerate().take_while(shorter) {
            if self.prefixes[length] == 0 {
                continue;
            }
            let Some(name) = names.find(prefix.bytes()) else { continue };
            let prefixes = self.of_name(name).filter(|(_, entry)| entry.selectors.can_be_prefix);
            found.extend(prefixes.filter_map(|(place, _)| self.id(place)));
        }
    }

    /// The entry of the Interest that a Nack brings back.
    pub fn nacked(&self, interest: &InterestView<'_>, names: &Names) -> Option<EntryId> {
        self.find(interest, names)
    }
}
