//! The flows that each node starts: four bytes per flow.

use std::sync::Arc;

use midpath_core::packet::FlowId;
use midpath_core::units::Time;

use super::{AllFlows, FlowInfo};

/// The flows that each node starts at times that are known, whatever happens before, in order of these.
pub(super) struct Starts {
    flows: Arc<AllFlows>,
    /// Numbers of flows, of one node after the other.
    numbers: Vec<u32>,
    /// Where each node's begin, and after the last node's where all end.
    first: Vec<u32>,
}

impl Starts {
    pub fn of(flows: &Arc<AllFlows>, nodes: usize) -> Starts {
        let is_fixed = |i: usize, info: &FlowInfo<'_>| {
            info.flow.wait.is_none() && flows.guard(i).is_none() && flows.messages(i).is_none()
        };
        let fixed = || flows.iter().enumerate().filter(|(i, info)| is_fixed(*i, info));
        let mut first = vec![0u32; nodes + 1];
        fixed().for_each(|(_, info)| first[info.ends().0.0 as usize + 1] += 1);
        for n in 0..nodes {
            first[n + 1] += first[n];
        }
        let (mut next, mut numbers) = (first.clone(), vec![0; first[nodes] as usize]);
        for (i, info) in fixed() {
            let place = &mut next[info.ends().0.0 as usize];
            numbers[*place as usize] = i as u32;
            *place += 1;
        }
        // Those of clients and jobs are numbered behind all others.
        for n in 0..nodes {
            let own = &mut numbers[first[n] as usize..first[n + 1] as usize];
            let at = |flow: &u32| flows.get(*flow as usize).flow.start;
            if !own.is_sorted_by_key(at) {
                own.sort_by_key(at);
            }
        }
        Starts { flows: flows.clone(), numbers, first }
    }

    /// Those of node `n`.
    pub fn at(starts: &Arc<Starts>, n: usize) -> impl Iterator<Item = (Time, FlowId)> + Send + 'static {
        let starts = starts.clone();
        (starts.first[n]..starts.first[n + 1]).map(move |place| {
            let flow = starts.numbers[place as usize];
            (starts.flows.get(flow as usize).flow.start, FlowId(flow))
        })
    }
}
