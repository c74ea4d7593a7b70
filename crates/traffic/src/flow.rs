//! What a workload comes to: flows.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use std::sync::Arc;

/// The most flows of one run. Our choice: at about 100 bytes each they fill 5 GB, more than a run could report on.
pub const MAX_FLOWS: u64 = 50_000_000;

/// One transfer from a host to another.
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
}

/// The weight that `weight` says, 1 unless it says one.
pub(crate) fn weight(weight: Option<f64>) -> Result<f64, SpecError> {
    match weight.unwrap_or(1.0) {
        // Within these bounds sums and quotients of weights stay exact enough.
        w if (1e-12..=1e12).contains(&w) => Ok(w),
        _ => Err(SpecError::new("weight", "a number from 1e-12 to 1e12")),
    }
}

/// Counts flows against [`MAX_FLOWS`].
#[derive(Debug, Default)]
pub(crate) struct Budget(u64);

impl Budget {
    /// Takes `n` flows, or says at `key` that they are too many.
    pub(crate) fn take(&mut self, n: u64, key: &str) -> Result<(), SpecError> {
        self.0 = self.0.saturating_add(n);
        if self.0 <= MAX_FLOWS {
            return Ok(());
        }
        let message =
            format!("more than {MAX_FLOWS} flows in this run; ask for fewer flows, a lower rate or less time");
        Err(SpecError::new(key, message))
    }
}
