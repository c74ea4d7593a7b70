//! Trace targets that a first run finds for a second one.

use std::cmp::Reverse;

use midpath_core::spec::SpecError;
use midpath_core::units::{Ratio, Time};

use super::{FlowRows, Traced};
use crate::setup::{Found, Search};

/// What was looked for.
pub fn found(search: Search, rows: &FlowRows<'_>, traced: Option<&Traced>) -> Result<Found, SpecError> {
    let mut at: Vec<Time> = traced.map(|t| t.happened().collect()).unwrap_or_default();
    match search {
        Search::Slowest(share) => return Ok(Found { flows: slowest(rows, share), ..Found::default() }),
        Search::FirstDrop => at.truncate(1),
        Search::Timeouts(_) => {}
    }
    if at.is_empty() {
        let message = match search {
            Search::Timeouts(flow) => format!("nothing would be recorded: flow {flow} had no timeout"),
            _ => "nothing would be recorded: no packet was dropped there".to_owned(),
        };
        return Err(SpecError::new("trace.around", message));
    }
    Ok(Found { at, ..Found::default() })
}

/// The flows that take longest, at least one of them; of two that take as long the first.
fn slowest(rows: &FlowRows<'_>, share: Ratio) -> Vec<u32> {
    let mut times: Vec<(Time, u32)> = rows.iter().map(|row| row.fct.unwrap_or(Time::MAX)).zip(0..).collect();
    times.sort_unstable_by_key(|(took, flow)| (Reverse(*took), *flow));
    times.truncate((share.as_f64() * times.len() as f64).ceil() as usize);
    let mut flows: Vec<u32> = times.into_iter().map(|(_, flow)| flow).collect();
    flows.sort_unstable();
    flows
}
