//! What a workload comes to: flows.

use crate::after::WaitFor;
use crate::groups::GroupNames;
use crate::writes::WriteLaws;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use std::ops::Deref;
use std::sync::Arc;

/// The most flows of one run, whatever memory there is: more have no numbers on the wire.
pub const MAX_FLOWS: u64 = midpath_core::wire::MAX_FLOWS as u64;

/// One transfer from a host to another. What it has in common with others is in its [`Terms`],
/// whose fields are reached as the flow's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow<'a> {
    /// Node index of the sending host.
    pub src: u32,
    /// Node index of the receiving host, never that of the sender.
    pub dst: u32,
    /// Payload to move, at least one byte; `None` runs until `stop`, or until the run ends.
    pub size: Option<Bytes>,
    /// When the sender has its data; how long after what it waits for.
    pub start: Time,
    /// What it waits for before.
    pub wait: Option<WaitFor>,
    /// The number of the group under which results are added up.
    pub group_number: u32,
    /// When the sender gives up, done or not; always after `start`.
    pub stop: Option<Time>,
    /// On what terms. A million flows of a workload share theirs.
    pub terms: &'a Terms,
    /// The number of these terms in the list.
    pub terms_number: u32,
    pub(crate) groups: &'a GroupNames,
}

impl<'a> Flow<'a> {
    /// The name of its group.
    pub fn group(&self) -> &'a str {
        self.groups.get(self.group_number)
    }
}

/// What is said of the flows of a workload, mostly of all alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Scheme that carries it; `None` is the run's default.
    pub scheme: Option<Arc<str>>,
    /// Whose part of its host's budget it spends, for schemes with budgets.
    pub budget: Option<Arc<str>>,
    /// Sends at this constant rate, without congestion control.
    pub rate: Option<Rate>,
    /// Its weight among other flows, for schemes and bounds that have weights.
    pub weight: f64,
    /// What it moves, if other flows may move the same: they have the same word here.
    pub object: Option<Arc<str>>,
    /// Node indices of further hosts that have what it moves.
    pub replicas: Option<Arc<[u32]>>,
    /// The `[[flow]]` whose `path` it takes, by number; `None` goes as routing does.
    pub path: Option<u32>,
    /// What its application writes, where that is not all at its start.
    pub writes: Option<Arc<WriteLaws>>,
    /// Datagrams that take longer are late.
    pub late_after: Option<Time>,
}

impl Deref for Flow<'_> {
    type Target = Terms;
    fn deref(&self) -> &Terms {
        self.terms
    }
}

impl Terms {
    /// The terms of flows about which nothing is said.
    pub const fn plain() -> Terms {
        Terms {
            scheme: None,
            budget: None,
            rate: None,
            weight: 1.0,
            object: None,
            replicas: None,
            path: None,
            writes: None,
            late_after: None,
        }
    }
}

/// The weight that `weight` says, 1 unless it says one.
pub(crate) fn weight(weight: Option<f64>) -> Result<f64, SpecError> {
    match weight.unwrap_or(1.0) {
        // Within these bounds sums and quotients of weights stay exact enough.
        w if (1e-12..=1e12).contains(&w) => Ok(w),
        _ => Err(SpecError::new("weight", "a number from 1e-12 to 1e12")),
    }
}

/// How flows arrive, which says how many are there at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrivalPattern {
    /// One after another: most have ended when the last begins.
    Spaced,
    /// All at once.
    Simultaneous,
}

/// Counts flows against the most that a run may have.
#[derive(Debug)]
pub(crate) struct Budget {
    flows: u64,
    bytes: u64,
    room: FlowMemoryBudget,
}

/// For how many flows there is memory: a number that no run goes beyond, and less where less is
/// free.
#[derive(Debug, Clone, Copy)]
pub struct FlowMemoryBudget {
    /// In bytes.
    free: u64,
    /// What a flow takes in all, and what one takes that is under way.
    each: (u64, u64),
}

impl FlowMemoryBudget {
    /// Room for [`MAX_FLOWS`].
    pub const MAX: FlowMemoryBudget = FlowMemoryBudget { free: u64::MAX, each: (0, 0) };

    /// Room in so many bytes, of which a flow takes `each` in all, and `active` while it is under way.
    pub const fn of(free: u64, each: u64, active: u64) -> FlowMemoryBudget {
        FlowMemoryBudget { free, each: (each, active) }
    }

    fn each(self, pattern: ArrivalPattern) -> u64 {
        match pattern {
            ArrivalPattern::Spaced => self.each.0,
            ArrivalPattern::Simultaneous => self.each.1,
        }
    }

    /// Refuses at `key` to have `flows` flows, "more than 3" of them, where there is no room for
    /// them.
    pub(crate) fn admit(
        self,
        flows: u64,
        pattern: ArrivalPattern,
        say: impl FnOnce() -> String,
        key: &str,
    ) -> Result<(), SpecError> {
        self.check(flows, flows.saturating_mul(self.each(pattern)), pattern, say, key)
    }

    fn check(
        self,
        flows: u64,
        bytes: u64,
        pattern: ArrivalPattern,
        say: impl FnOnce() -> String,
        key: &str,
    ) -> Result<(), SpecError> {
        let why = if flows > MAX_FLOWS {
            format!("a run may have at most {MAX_FLOWS}")
        } else if bytes > self.free {
            let (each, free) = (self.each(pattern), self.free as f64 / 1e9);
            format!("each needs {each} B of memory, and {free:.1} GB are free")
        } else {
            return Ok(());
        };
        Err(SpecError::new(key, format!("{} flows; {why}; reduce the flows, the rate or the time", say())))
    }
}

impl Budget {
    pub(crate) const fn new(room: FlowMemoryBudget) -> Budget {
        Budget { flows: 0, bytes: 0, room }
    }

    /// Takes `n` flows, or says at `key` that they are too many.
    pub(crate) fn take(&mut self, n: u64, pattern: ArrivalPattern, key: &str) -> Result<(), SpecError> {
        let before = self.flows;
        self.flows = self.flows.saturating_add(n);
        self.bytes = self.bytes.saturating_add(n.saturating_mul(self.room.each(pattern)));
        self.room.check(self.flows, self.bytes, pattern, || format!("more than {before}"), key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_come_at_once_take_more_room() {
        let mut budget = Budget::new(FlowMemoryBudget::of(10_000, 200, 2_000));
        assert!(budget.take(30, ArrivalPattern::Spaced, "flows").is_ok());
        assert!(budget.take(2, ArrivalPattern::Simultaneous, "count").is_ok());
        let e = budget.take(1, ArrivalPattern::Simultaneous, "count").expect_err("no room");
        assert!(e.key == "count" && e.message.starts_with("more than 32 flows; each needs 2000 B"), "{e}");
        let e = FlowMemoryBudget::MAX
            .admit(MAX_FLOWS + 1, ArrivalPattern::Spaced, || "about 5".to_owned(), "flows")
            .expect_err("too many");
        assert!(e.message.starts_with("about 5 flows; a run may have at most 536870912"), "{e}");
    }
}
