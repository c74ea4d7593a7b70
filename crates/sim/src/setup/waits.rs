//! Flows that start when others have ended: whether the scenario's `after` can come true, and what the engine is
//! told of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::spec::SpecError;
use midpath_core::suggest;
use midpath_core::units::Time;
use midpath_traffic::Terms;

use super::AllFlows;
use crate::engine::{NetLink, Wait, Waits};
use crate::scenario::Scenario;

/// Whether each `after` names groups whose flows end, and none waits for itself.
pub(super) fn check(scenario: &Scenario, flows: &AllFlows) -> Result<(), SpecError> {
    let terms = flows.terms();
    if terms.iter().all(|terms| terms.after.is_none()) {
        return Ok(());
    }
    let groups: BTreeSet<&str> = terms.iter().map(|terms| &*terms.group).collect();
    for (i, flow) in scenario.flow.iter().enumerate() {
        for (j, name) in flow.after.iter().enumerate() {
            if !groups.contains(name.as_str()) {
                let message = suggest::unknown("group", name, groups.iter().copied());
                return Err(SpecError::new(format!("flow[{i}].after[{j}]"), message));
            }
        }
    }
    let awaited: BTreeSet<&str> = scenario.flow.iter().flat_map(|flow| &flow.after).map(String::as_str).collect();
    if let Some(endless) = flows.iter().find(|info| info.flow.size.is_none() && awaited.contains(&*info.flow.group)) {
        let group = &*endless.flow.group;
        let waits = |flow: &midpath_traffic::ExplicitFlow| flow.after.iter().position(|name| name == group);
        let (i, j) = scenario.flow.iter().enumerate().find_map(|(i, flow)| Some((i, waits(flow)?))).unwrap_or_default();
        let message = format!("a flow of `{group}` has no end to wait for; give it a `size`");
        return Err(SpecError::new(format!("flow[{i}].after[{j}]"), message));
    }
    check_cycles(terms, scenario)
}

/// Takes away groups whose flows wait for none that is left, until all are gone, or wait for each other.
fn check_cycles(terms: &[Terms], scenario: &Scenario) -> Result<(), SpecError> {
    let mut open = BTreeMap::<&str, BTreeSet<&str>>::new();
    for terms in terms {
        let after = terms.after.map_or(&[][..], |entry| &scenario.flow[entry as usize].after);
        open.entry(&terms.group).or_default().extend(after.iter().map(String::as_str));
    }
    loop {
        let ready: Vec<&str> = open.iter().filter(|(_, after)| after.is_empty()).map(|(group, _)| *group).collect();
        if ready.is_empty() {
            break;
        }
        for group in ready {
            open.remove(group);
            open.values_mut().for_each(|after| {
                after.remove(group);
            });
        }
    }
    // Who waits for one that is left is left: from any of them on, a group comes up again.
    let Some((&first, _)) = open.iter().next() else { return Ok(()) };
    let mut way = vec![first];
    let again = loop {
        let next = open[way[way.len() - 1]].first().copied().unwrap_or(first);
        if let Some(at) = way.iter().position(|group| *group == next) {
            break at;
        }
        way.push(next);
    };
    let (group, next) = (way[again], way.get(again + 1).copied().unwrap_or(way[again]));
    let here = |flow: &midpath_traffic::ExplicitFlow| {
        (flow.group.as_deref().unwrap_or("flows") == group).then(|| flow.after.iter().position(|name| name == next))?
    };
    let (i, j) = scenario.flow.iter().enumerate().find_map(|(i, flow)| Some((i, here(flow)?))).unwrap_or_default();
    let cycle: Vec<String> = way[again..].iter().chain([&group]).map(|group| format!("`{group}`")).collect();
    let message = format!(
        "would wait for itself: {}; give the flows that wait a `group` of their own, and end the circle",
        cycle.join(" after ")
    );
    Err(SpecError::new(format!("flow[{i}].after[{j}]"), message))
}

/// The waits of a network with these links; `None` where no flow waits.
pub(super) fn waits(scenario: &Scenario, flows: &Arc<AllFlows>, links: &[NetLink], nodes: usize) -> Option<Arc<Waits>> {
    let terms = flows.terms();
    let entries: Vec<u32> = terms.iter().filter_map(|terms| terms.after).collect();
    if entries.is_empty() {
        return None;
    }
    let of_entry: BTreeMap<u32, usize> = entries.iter().enumerate().map(|(w, entry)| (*entry, w)).collect();
    let after = |entry: u32| scenario.flow[entry as usize].after.iter().map(String::as_str).collect::<BTreeSet<_>>();
    let groups: Vec<BTreeSet<&str>> = entries.iter().map(|entry| after(*entry)).collect();
    let followers = |terms: &Terms| -> Arc<[u32]> {
        (0..).zip(&groups).filter(|(_, after)| after.contains(&*terms.group)).map(|(w, _)| w).collect()
    };
    let followers: Vec<Arc<[u32]>> = terms.iter().map(followers).collect();
    let mut all: Vec<Wait> = entries.iter().map(|_| Wait::default()).collect();
    for (i, info) in flows.iter().enumerate() {
        if let Some(entry) = info.flow.after {
            let wait = &mut all[of_entry[&entry]];
            wait.node = info.ends().0;
            wait.flows.push((info.flow.start, FlowId(i as u32)));
        }
        for &w in followers[info.flow.terms_number as usize].iter() {
            all[w as usize].ends += 1;
            all[w as usize].delays.insert(NodeId(info.flow.dst), Time::MAX);
        }
    }
    let mut to_node: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    all.iter().enumerate().for_each(|(w, wait)| to_node.entry(wait.node).or_default().push(w));
    let mut incoming = vec![Vec::new(); nodes];
    links.iter().for_each(|link| incoming[link.to.0.0 as usize].push((link.from.0, link.shortest())));
    for (node, waits) in to_node {
        let least = least_delays(node, &incoming);
        for w in waits {
            all[w].delays.iter_mut().for_each(|(from, delay)| *delay = least[from.0 as usize]);
        }
    }
    let (none, flows): (Arc<[u32]>, _) = (Arc::new([]), flows.clone());
    let of = move |flow: FlowId, at: NodeId| match flows.find(flow) {
        Some(info) if info.flow.dst == at.0 => followers[info.flow.terms_number as usize].clone(),
        _ => none.clone(),
    };
    Some(Arc::new(Waits { all, of: Box::new(of) }))
}

/// The least sum of propagation delays from each node to `to` (Dijkstra).
fn least_delays(to: NodeId, incoming: &[Vec<(NodeId, Time)>]) -> Vec<Time> {
    let mut least = vec![Time::MAX; incoming.len()];
    least[to.0 as usize] = Time::ZERO;
    let mut heap = BinaryHeap::from([Reverse((Time::ZERO, to.0))]);
    while let Some(Reverse((here, n))) = heap.pop() {
        if here != least[n as usize] {
            continue;
        }
        for (from, delay) in &incoming[n as usize] {
            let (far, known) = (here.saturating_add(*delay), &mut least[from.0 as usize]);
            if far < *known {
                *known = far;
                heap.push(Reverse((far, from.0)));
            }
        }
    }
    least
}
