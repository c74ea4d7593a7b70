//! What is to be traced: names resolved, and what could only be empty refused.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use super::deploy::select;
use super::{IDEAL, Setup};
use crate::engine::TracePlan;
use crate::scenario::TraceSpec;

/// Most events of a record. Ours: they fill 1.3 GB while a run goes on.
const MAX_EVENTS: u32 = 10_000_000;

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
        let to = spec.length.map_or(Time::MAX, |length| spec.from.saturating_add(length));
        let (nodes, flows) = (self.traced_nodes(spec)?, self.traced_flows(spec, to)?);
        Ok(TracePlan { from: spec.from, to, nodes, flows, events: spec.events as usize })
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
            let Some(place) = chosen.get_mut(*flow as usize) else {
                let message = match self.flows.len() {
                    1 => format!("there is no flow {flow}; the run has one, 0"),
                    all => format!("there is no flow {flow}; the run has {all}, from 0 to {}", all - 1),
                };
                return Err(SpecError::new(format!("flows[{i}]"), message));
            };
            *place = true;
        }
        let starts = numbers.iter().map(|flow| self.flows[*flow as usize].flow.start);
        match starts.min() {
            None => Err(SpecError::new("flows", "is empty: nothing would be recorded; leave it out for all flows")),
            Some(first) if first >= to => {
                let message = format!("nothing would be recorded: the first starts at {first}, the trace ends at {to}");
                Err(SpecError::new("flows", message))
            }
            Some(_) => Ok(Some(chosen)),
        }
    }
}
