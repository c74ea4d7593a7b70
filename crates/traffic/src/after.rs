//! What flows wait for before they start: groups of other flows, or the steps of a client or a job.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};

use crate::groups::GroupNames;

/// What a flow's start counts from, where that is no time of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// The end of all flows of groups: number in [`crate::FlowList::afters`].
    Groups(u32),
    /// A step of a client or a job: number in [`crate::FlowList::steps`].
    Step(u32),
}

impl WaitFor {
    /// In 32 bits, of which 0 is none.
    pub(crate) const fn pack(wait: Option<WaitFor>) -> u32 {
        match wait {
            None => 0,
            Some(WaitFor::Groups(i)) => 2 * i + 1,
            Some(WaitFor::Step(i)) => 2 * i + 2,
        }
    }

    pub(crate) const fn unpack(packed: u32) -> Option<WaitFor> {
        match packed {
            0 => None,
            odd if odd % 2 == 1 => Some(WaitFor::Groups(odd / 2)),
            even => Some(WaitFor::Step(even / 2 - 1)),
        }
    }
}

/// An `after` of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// The groups whose flows must all have ended, in order of their names.
    pub groups: &'a [u32],
    /// Bytes of each flow that must have been delivered, in place of its end.
    pub bytes: Option<Bytes>,
    /// The group of the client or job that waits. Flows and workloads say it themselves.
    pub by: Option<u32>,
    /// The groups as they are written.
    written: &'a [u32],
    place: &'a Place,
    line: u32,
}

impl After<'_> {
    /// What is wrong with one of its groups, at its key and, of a list, its line.
    pub fn refuse(&self, group: u32, message: String) -> SpecError {
        let j = self.written.iter().position(|number| *number == group).unwrap_or_default();
        match self.place.file {
            Some(_) => self.refuse_all(message),
            None => SpecError::new(format!("{}[{j}]", self.place.key), message),
        }
    }

    /// What is wrong with there being one.
    pub fn refuse_all(&self, message: String) -> SpecError {
        let Place { key, file, .. } = self.place;
        let message =
            file.as_ref().map_or(message.clone(), |file| format!("{file}: line {}: after: {message}", self.line));
        SpecError::new(key.clone(), message)
    }
}

/// An `after` on its way into the list.
#[derive(Debug)]
pub(crate) struct NewAfter<'a> {
    groups: &'a [String],
    place: Place,
    line: u32,
}

/// Where `after`s are written, and what is said of them there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    key: String,
    /// Of a list.
    file: Option<String>,
    bytes: Option<Bytes>,
    by: Option<u32>,
}

impl<'a> NewAfter<'a> {
    /// The groups that the key `key` names; `None` if it names none.
    pub fn of(groups: &'a [String], key: String) -> Option<NewAfter<'a>> {
        (!groups.is_empty()).then_some(NewAfter {
            groups,
            place: Place { key, file: None, bytes: None, by: None },
            line: 0,
        })
    }

    /// The same of a line of a list.
    pub fn at(self, file: &str, line: u64) -> NewAfter<'a> {
        NewAfter { place: Place { file: Some(file.to_owned()), ..self.place }, line: line as u32, ..self }
    }

    /// The same for the first bytes of each flow; `key` is where these are said.
    pub fn bytes(after: Option<NewAfter<'a>>, bytes: Option<Bytes>) -> Result<Option<NewAfter<'a>>, SpecError> {
        match (after, bytes) {
            (_, Some(Bytes::ZERO)) => Err(SpecError::new("after_bytes", "at least 1 B; leave it out for no wait")),
            (None, Some(_)) => Err(SpecError::new("after_bytes", "says how many bytes of `after`; give that, too")),
            (after, bytes) => Ok(after.map(|after| NewAfter { place: Place { bytes, ..after.place }, ..after })),
        }
    }

    /// The same, which the client or job of this group says.
    pub fn by(self, group: u32) -> NewAfter<'a> {
        NewAfter { place: Place { by: Some(group), ..self.place }, ..self }
    }
}

/// All `after`s, by number: each line of a list may have one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Afters {
    rows: Vec<AfterRow>,
    /// Numbers of groups, of one `after` behind the other.
    groups: Vec<u32>,
    places: Vec<Place>,
    /// The groups as they are written, where that is not in order of their names, or some stand twice.
    written: BTreeMap<u32, Vec<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct AfterRow {
    /// Where its groups end; they begin where those of the one before end.
    end: u32,
    place: u32,
    line: u32,
}

impl Afters {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn groups_of(&self, number: usize) -> &[u32] {
        let begin = number.checked_sub(1).map_or(0, |before| self.rows[before].end);
        &self.groups[begin as usize..self.rows[number].end as usize]
    }

    fn written(&self, number: usize) -> &[u32] {
        self.written.get(&(number as u32)).map_or_else(|| self.groups_of(number), Vec::as_slice)
    }

    /// Number `number`.
    pub fn get(&self, number: usize) -> After<'_> {
        let AfterRow { place, line, .. } = self.rows[number];
        let place = &self.places[place as usize];
        let Place { bytes, by, .. } = *place;
        After { groups: self.groups_of(number), bytes, by, written: self.written(number), place, line }
    }

    /// The number of such an `after`: that of the same, if it was the last.
    pub fn number(&mut self, after: NewAfter<'_>, names: &mut GroupNames) -> u32 {
        let written: Vec<u32> = after.groups.iter().map(|name| names.number(name)).collect();
        let next = self.rows.len() as u32;
        let same_place = self.places.last() == Some(&after.place);
        if same_place && next > 0 && self.written(next as usize - 1) == written {
            return next - 1;
        }
        if !same_place {
            self.places.push(after.place);
        }
        let mut sorted = written.clone();
        sorted.sort_unstable_by_key(|number| names.get(*number));
        sorted.dedup();
        self.groups.extend(&sorted);
        if sorted != written {
            self.written.insert(next, written);
        }
        let (end, place) = (self.groups.len() as u32, self.places.len() as u32 - 1);
        self.rows.push(AfterRow { end, place, line: after.line });
        next
    }

    /// Gives groups other numbers.
    pub fn renumber(&mut self, numbers: &[u32]) {
        let written = self.written.values_mut().flatten();
        let by = self.places.iter_mut().filter_map(|place| place.by.as_mut());
        self.groups.iter_mut().chain(written).chain(by).for_each(|group| *group = numbers[*group as usize]);
    }

    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.groups.shrink_to_fit();
    }
}

/// A point in a client's or a job's order of flows: when so many flows have ended, or steps before it have come up, flows
/// start at its node, and the next step of the same node comes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub node: u32,
    /// How many ends of flows and steps it waits for, `after` not counted.
    pub ends: u32,
    /// What else is said of it: [`Step::PLAIN`] for nothing, a server, or the number of a [`RareStep`].
    rare: u32,
}

/// What else is said of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Said {
    Nothing,
    /// Who works for it: of many, and so in few bytes.
    Server(u32),
    /// Number of its [`RareStep`].
    Rare(usize),
}

/// A number, in four bytes where it may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(NonZeroU32);

impl Number {
    pub(crate) fn of(number: u32) -> Number {
        Number(NonZeroU32::MAX.min(NonZeroU32::MIN.saturating_add(number)))
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// What is said of few steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RareStep {
    /// The step for which it counts, and how much later.
    pub then: Option<(Number, Time)>,
    /// Number in [`crate::FlowList::afters`] of groups for whose flows it waits, too.
    pub after: Option<Number>,
    /// Number of a request to a server that may be asked again: the first reply counts.
    pub call: Option<Number>,
    /// Number in [`crate::FlowList::servers`] of who works for it.
    pub server: Option<Number>,
    /// The step that is cancelled when its server begins to work.
    pub twin: Option<Number>,
}

/// When a request is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// How much later than what it waits for it begins.
    pub begins: Time,
    /// How long after that it is given up; [`Time::MAX`] for never.
    pub gives_up: Time,
    /// The step after which it begins; `None` where `begins` is a time of the run.
    pub after: Option<Number>,
}

impl Call {
    /// How long after what it waits for it is given up.
    pub fn over(&self) -> Option<Time> {
        (self.gives_up < Time::MAX).then(|| self.begins.saturating_add(self.gives_up))
    }
}

impl Step {
    const PLAIN: u32 = u32::MAX;
    const SERVER: u32 = 1 << 31;

    /// One that waits for so many ends.
    pub const fn new(node: u32, ends: usize) -> Step {
        Step { node, ends: ends as u32, rare: Step::PLAIN }
    }

    pub(crate) const fn said(self) -> Said {
        match self.rare {
            Step::PLAIN => Said::Nothing,
            server if server >= Step::SERVER => Said::Server(server - Step::SERVER),
            rare => Said::Rare(rare as usize),
        }
    }

    pub(crate) fn set_server(&mut self, server: u32) {
        self.rare = Step::SERVER + server;
    }

    pub(crate) fn set_rare(&mut self, rare: usize) {
        self.rare = rare as u32;
    }
}

/// Hosts that work for a client's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// How many requests at a time.
    pub workers: u64,
    /// Whether all requests share these.
    pub shares: bool,
}

/// Connections of a client to an origin, over which its requests go in the order in which they are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionPool {
    /// The nodes of the client and the server.
    pub ends: (u32, u32),
    /// The flow of its first connection; the way back is the next, then the other connections follow.
    pub first: u32,
    /// How many connections it has at most.
    pub connections: u32,
    /// How many requests a connection carries at a time.
    pub streams: u32,
    /// Whether a connection carries further requests when it is idle.
    pub keeps: bool,
    /// Flows of a request: it, and what its response has, which follow each other.
    pub messages: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_room_in_a_number() {
        for wait in [None, Some(WaitFor::Groups(0)), Some(WaitFor::Step(0)), Some(WaitFor::Groups(7))] {
            assert_eq!(WaitFor::unpack(WaitFor::pack(wait)), wait);
        }
        assert_eq!(WaitFor::pack(Some(WaitFor::Step(3))), 8);
        assert_eq!((size_of::<Step>(), size_of::<RareStep>(), size_of::<Call>()), (12, 32, 24));
    }
}
