//! What a workload comes to: flows.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use std::ops::Deref;
use std::sync::Arc;

/// The most flows of one run, whatever memory there is. Our choice: more than a run could report
/// on.
pub const MAX_FLOWS: u64 = 50_000_000;

/// One transfer from a host to another. What it has in common with others is in its [`Terms`],
/// whose fields are reached as the flow's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Node index of the sending host.
    pub src: u32,
    /// Node index of the receiving host, never that of the sender.
    pub dst: u32,
    /// Payload to move, at least one byte; `None` runs until `stop`, or until the run ends.
    pub size: Option<Bytes>,
    /// When the sender has its data.
    pub start: Time,
    /// When the sender gives up, done or not; always after `start`.
    pub stop: Option<Time>,
    /// On what terms. A million flows of a workload share theirs.
    pub terms: Arc<Terms>,
}

/// What is said of the flows of a workload, mostly of all alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Scheme that carries it; `None` is the run's default.
    pub scheme: Option<Arc<str>>,
    /// Name under which results are added up.
    pub group: Arc<str>,
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
}

impl Deref for Flow {
    type Target = Terms;
    fn deref(&self) -> &Terms {
        &self.terms
    }
}

impl Terms {
    /// The terms of flows about which nothing is said but the group.
    pub fn of(group: impl Into<Arc<str>>) -> Terms {
        Terms {
            scheme: None,
            group: group.into(),
            budget: None,
            rate: None,
            weight: 1.0,
            object: None,
            replicas: None,
            path: None,
        }
    }

    /// Shares them with `others` if those are the same; if not, others may share these from now on.
    pub fn shared(self, others: &mut Option<Arc<Terms>>) -> Arc<Terms> {
        match others {
            Some(same) if **same == self => same.clone(),
            _ => others.insert(Arc::new(self)).clone(),
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

/// Counts flows against the most that a run may have.
#[derive(Debug)]
pub(crate) struct Budget {
    taken: u64,
    room: Room,
}

/// For how many flows there is memory: a number that no run goes beyond, and less where less is
/// free.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    most: u64,
    /// In bytes: what is free, and what a flow takes.
    memory: Option<(u64, u64)>,
}

impl Room {
    /// Room for [`MAX_FLOWS`].
    pub const MAX: Room = Room { most: MAX_FLOWS, memory: None };

    /// Room for as many flows of `each` bytes as `free` bytes hold.
    pub const fn of(free: u64, each: u64) -> Room {
        let fit = free / each;
        if fit < MAX_FLOWS { Room { most: fit, memory: Some((free, each)) } } else { Room::MAX }
    }

    /// Refuses at `key` to have `flows` flows, "more than 3" of them, where there is no room for
    /// them.
    pub(crate) fn admit(self, flows: u64, say: impl FnOnce() -> String, key: &str) -> Result<(), SpecError> {
        if flows <= self.most {
            return Ok(());
        }
        let why = match self.memory {
            None => format!("a run has {MAX_FLOWS} at most"),
            Some((free, each)) => format!(
                "they take {each} B of memory each, and {:.1} GB are free here: {} flows at most",
                free as f64 / 1e9,
                self.most
            ),
        };
        Err(SpecError::new(key, format!("{} flows; {why}; ask for fewer flows, a lower rate or less time", say())))
    }
}

impl Budget {
    pub(crate) const fn new(room: Room) -> Budget {
        Budget { taken: 0, room }
    }

    /// Takes `n` flows, or says at `key` that they are too many.
    pub(crate) fn take(&mut self, n: u64, key: &str) -> Result<(), SpecError> {
        self.taken = self.taken.saturating_add(n);
        let most = self.room.most;
        self.room.admit(self.taken, || format!("more than {most}"), key)
    }
}
