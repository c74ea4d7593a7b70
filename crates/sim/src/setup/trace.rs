//! Checks of `[trace]`: names are resolved, and traces that would be empty refused.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Ratio, Time};

use super::deploy::select;
use super::{IDEAL, Setup};
use crate::engine::TracePlan;
use crate::scenario::TraceSpec;

/// Most events of a record. Ours: they fill 1.3 GB while a run goes on.
const MAX_EVENTS: u32 = 10_000_000;

/// How long before what a trace is around it begins. Ours: a few round trips.
const BEFORE: Time = Time(50_000_000_000);

/// Events that a first run keeps of those that it looks for. Ours.
const SOUGHT: usize = 10_000;

/// What a first run is to find, so that a second one records what is around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Search {
    /// The first packet that is dropped.
    FirstDrop,
    /// All timeouts of a flow.
    Timeouts(u32),
    /// The share of flows that take longest.
    Slowest(Ratio),
}

/// What a first run has found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// When.
    pub at: Vec<Time>,
    /// Which flows.
    pub flows: Vec<u32>,
}

impl Setup {
    /// What is to be traced, if anything is. The fluid model has no packets.
    pub(crate) fn trace_plan(&self) -> Result<Option<Arc<TracePlan>>, SpecError> {
        let Some(spec) = &self.scenario.trace else { return Ok(None) };
        let plan = self.plan_of(spec).map_err(|e| e.under("trace"))?;
        Ok((self.scenario.scheme != IDEAL).then(|| Arc::new(plan)))
    }

    fn plan_of(&self, spec: &TraceSpec) -> Result<TracePlan, SpecError> {
        if spec.length.is_some_and(Time::is_zero) {
            return Err(SpecError::new("for", "must be above zero"));
        }
        if let Some(stop) = self.scenario.stop.filter(|stop| spec.from >= *stop) {
            let message = format!("{} is outside the run, which ends at {stop}", spec.from);
            return Err(SpecError::new("from", message));
        }
        if !(1..=MAX_EVENTS).contains(&spec.events) {
            let message = format!("{} is out of range; write 1 to {MAX_EVENTS}", spec.events);
            return Err(SpecError::new("events", message));
        }
        self.search_of(spec)?;
        let to = match &spec.around {
            None => spec.length.map_or(Time::MAX, |length| spec.from.saturating_add(length)),
            Some(_) => Time::MAX,
        };
        let (nodes, flows) = (self.traced_nodes(spec)?, self.traced_flows(spec, to)?);
        Ok(TracePlan { windows: vec![(spec.from, to)], only: None, nodes, flows, events: spec.events as usize })
    }

    /// What a first run is to find, if it is needed.
    pub(crate) fn trace_search(&self) -> Result<Option<Search>, SpecError> {
        let spec = self.scenario.trace.as_ref().filter(|_| self.scenario.scheme != IDEAL);
        spec.map_or(Ok(None), |spec| self.search_of(spec).map_err(|e| e.under("trace")))
    }

    fn search_of(&self, spec: &TraceSpec) -> Result<Option<Search>, SpecError> {
        let refuse = |key: &str, why: &str| Err(SpecError::new(key, why));
        if spec.before.is_some() && spec.around.is_none() {
            return refuse("before", "applies to `around`, which is not given");
        }
        match (&spec.around, spec.slowest) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => refuse("slowest", "applies with `from` and `for`, not with `around`"),
            (None, Some(_)) if spec.flows.is_some() => refuse("slowest", "excludes `flows`; leave one of them out"),
            (None, Some(share)) if share == Ratio::ZERO || share > Ratio::ONE => {
                refuse("slowest", "is out of range; write a share above 0 % and up to 100 %")
            }
            (None, Some(share)) => Ok(Some(Search::Slowest(share))),
            (Some(_), None) if !spec.from.is_zero() => refuse("from", "excludes `around`; leave one of them out"),
            (Some(_), None) if spec.length.is_none() && spec.before == Some(Time::ZERO) => {
                refuse("before", "is zero: say `for` how long the trace lasts")
            }
            (Some(text), None) => self.searched_around(text).map(Some),
        }
    }

    fn searched_around(&self, text: &str) -> Result<Search, SpecError> {
        if text == "first drop" {
            return Ok(Search::FirstDrop);
        }
        let flow = text.strip_prefix("timeouts of flow ").and_then(|number| number.parse().ok());
        match flow {
            Some(flow) => self.traced_flow(flow, "around").map(|()| Search::Timeouts(flow)),
            None => {
                let given: String = text.chars().take(40).collect();
                let message = format!("`{given}`: write \"first drop\" or \"timeouts of flow 7\"");
                Err(SpecError::new("around", message))
            }
        }
    }

    /// What the first run records.
    pub(crate) fn search_plan(&self, search: Search, plan: &TracePlan) -> Option<Arc<TracePlan>> {
        let always = TracePlan { windows: vec![(Time::ZERO, Time::MAX)], events: SOUGHT, ..plan.clone() };
        Some(Arc::new(match search {
            Search::FirstDrop => TracePlan { only: Some("dropped"), ..always },
            Search::Timeouts(flow) => {
                let flows = (0..self.flows.len()).map(|f| f == flow as usize).collect();
                TracePlan { only: Some("timeout"), nodes: None, flows: Some(flows), ..always }
            }
            Search::Slowest(_) => return None,
        }))
    }

    /// What the second run records.
    pub(crate) fn trace_around(&self, found: &Found, plan: &TracePlan) -> TracePlan {
        let mut plan = plan.clone();
        if !found.flows.is_empty() {
            let mut chosen = vec![false; self.flows.len()];
            found.flows.iter().for_each(|f| chosen[*f as usize] = true);
            plan.flows = Some(chosen);
        }
        if let (Some(spec), false) = (&self.scenario.trace, found.at.is_empty()) {
            let before = spec.before.unwrap_or(BEFORE);
            let length = spec.length.unwrap_or(before.saturating_add(before));
            plan.windows = joined(found.at.iter().map(|at| at.saturating_sub(before)), length);
        }
        plan
    }

    fn traced_nodes(&self, spec: &TraceSpec) -> Result<Option<Vec<bool>>, SpecError> {
        let Some(names) = &spec.nodes else { return Ok(None) };
        if names.is_empty() {
            return Err(SpecError::new("nodes", "is empty: nothing would be recorded; leave it out for all nodes"));
        }
        let mut chosen = vec![false; self.topology.nodes().len()];
        for (i, name) in names.iter().enumerate() {
            let found = select(name, &self.topology);
            if found.is_empty() {
                let why = self.topology.named(name).err().unwrap_or_default();
                return Err(SpecError::new(format!("nodes[{i}]"), why));
            }
            found.into_iter().for_each(|n| chosen[n] = true);
        }
        Ok(Some(chosen))
    }

    fn traced_flows(&self, spec: &TraceSpec, to: Time) -> Result<Option<Vec<bool>>, SpecError> {
        let Some(numbers) = &spec.flows else { return Ok(None) };
        let mut chosen = vec![false; self.flows.len()];
        for (i, flow) in numbers.iter().enumerate() {
            self.traced_flow(*flow, &format!("flows[{i}]"))?;
            chosen[*flow as usize] = true;
        }
        let starts = numbers.iter().map(|flow| self.flows.get(*flow as usize).flow.start);
        match starts.min() {
            None => Err(SpecError::new("flows", "is empty: nothing would be recorded; leave it out for all flows")),
            Some(first) if first >= to => {
                let message = format!("nothing would be recorded: the first starts at {first}, the trace ends at {to}");
                Err(SpecError::new("flows", message))
            }
            Some(_) => Ok(Some(chosen)),
        }
    }

    /// Whether there is such a flow.
    fn traced_flow(&self, flow: u32, key: &str) -> Result<(), SpecError> {
        match self.flows.len() {
            all if (flow as usize) < all => Ok(()),
            1 => Err(SpecError::new(key, format!("there is no flow {flow}; the run has one, 0"))),
            all => {
                let message = format!("there is no flow {flow}; the run has {all}, from 0 to {}", all.max(1) - 1);
                Err(SpecError::new(key, message))
            }
        }
    }
}

/// Windows of one length, in order; those that meet are one.
fn joined(starts: impl Iterator<Item = Time>, length: Time) -> Vec<(Time, Time)> {
    let mut windows: Vec<(Time, Time)> = Vec::new();
    for from in starts {
        let to = from.saturating_add(length);
        match windows.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = to,
            None => windows.push((from, to)),
        }
    }
    windows
}
