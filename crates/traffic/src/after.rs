//! What flows wait for before they start: groups of other flows, or the steps of a client or a job.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// The groups whose flows must all have ended.
    pub groups: BTreeSet<Arc<str>>,
    /// Bytes of each flow that must have been delivered, in place of its end.
    pub bytes: Option<Bytes>,
    /// The group of the client or job that waits. Flows and workloads say it themselves.
    pub by: Option<Arc<str>>,
    /// As they are written.
    written: Vec<Arc<str>>,
    /// The key, and of a list the file and its line.
    key: String,
    place: Option<String>,
}

impl After {
    /// The groups that the key `key` names; `None` if it names none.
    pub(crate) fn of(groups: &[String], key: String, place: Option<String>) -> Option<After> {
        let written: Vec<Arc<str>> = groups.iter().map(|name| Arc::from(name.as_str())).collect();
        let groups = written.iter().cloned().collect();
        (!written.is_empty()).then_some(After { groups, bytes: None, by: None, written, key, place })
    }

    /// What is wrong with one of its groups, at its key and, of a list, its line.
    pub fn refuse(&self, group: &str, message: String) -> SpecError {
        let j = self.written.iter().position(|name| &**name == group).unwrap_or_default();
        match self.place {
            Some(_) => self.refuse_all(message),
            None => SpecError::new(format!("{}[{j}]", self.key), message),
        }
    }

    /// What is wrong with there being one.
    pub fn refuse_all(&self, message: String) -> SpecError {
        let message = self.place.as_ref().map_or(message.clone(), |place| format!("{place}: after: {message}"));
        SpecError::new(self.key.clone(), message)
    }

    /// The same for the first bytes of each flow; `key` is where these are said.
    pub(crate) fn bytes(after: Option<After>, bytes: Option<Bytes>) -> Result<Option<After>, SpecError> {
        match (after, bytes) {
            (_, Some(Bytes::ZERO)) => Err(SpecError::new("after_bytes", "at least 1 B; leave it out for no wait")),
            (None, Some(_)) => Err(SpecError::new("after_bytes", "says how many bytes of `after`; give that, too")),
            (after, bytes) => Ok(after.map(|after| After { bytes, ..after })),
        }
    }

    /// The same, which the client or job of this group says.
    pub(crate) fn by(mut self, group: &Arc<str>) -> After {
        self.by = Some(group.clone());
        self
    }

    /// Whether flows of a list's lines say it.
    pub(crate) fn is_same(&self, other: &After) -> bool {
        self.key == other.key && self.written == other.written && self.bytes == other.bytes
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
