//! Warnings about settings without effect in a run: the result would be the same without them.

use std::collections::BTreeMap;

use midpath_core::packet::NodeId;
use midpath_core::units::Time;
use midpath_topo::Hop;
use midpath_traffic::{ArrivalSpec, LoadOf, WorkloadSpec};

use super::PortRow;
use super::warnings::Warning;
use crate::scenario::FaultSpec;
use crate::setup::{FlowInfo, IDEAL, Setup};

/// Of the load that was asked for, the part that has to cross the link that it is a share of. Ours:
/// draws differ by less.
const HALF: f64 = 0.5;

/// What the run warns of.
pub fn without_effect(setup: &Setup, ports: &[PortRow]) -> Vec<Warning> {
    let faults = setup.scenario.fault.iter().enumerate().filter_map(|(i, spec)| idle_fault(setup, ports, i, spec));
    let varied = setup.scenario.vary.iter().enumerate().filter_map(|(i, spec)| {
        let [a, b] = &spec.link;
        is_idle(setup, ports, a, b).then(|| format!("vary[{i}] changes nothing: no packet crosses {a}–{b}"))
    });
    let (aqms, loads) = (idle_aqms(setup, ports), loads_elsewhere(setup));
    faults.chain(varied).chain(aqms).chain(loads).map(Warning::of_run).collect()
}

/// Keys of flows that name no scheme which the run's does not read: other runs of the scenario may have one that does.
pub(super) fn unread_keys(setup: &Setup) -> impl Iterator<Item = Warning> {
    let mut unread = BTreeMap::<&str, Vec<String>>::new();
    let scenario = &setup.scenario;
    let flows = scenario.flow.iter().enumerate().filter(|(_, flow)| flow.scheme.is_none() && flow.rate.is_none());
    let flows = flows.flat_map(|(i, flow)| {
        flow.may_be_unread().into_iter().filter(|(_, given)| *given).map(move |(key, _)| (key, format!("flow[{i}]")))
    });
    let loads = scenario.workload.iter().enumerate().filter(|(_, load)| load.scheme.is_none());
    let loads = loads.filter(|(_, load)| !matches!(load.arrivals, Some(ArrivalSpec::Ppbp { .. })));
    let loads = loads.flat_map(|(i, load)| {
        let keys = [("weight", load.weight.is_some()), ("budget", load.budget.is_some())];
        keys.into_iter().filter(|(_, given)| *given).map(move |(key, _)| (key, format!("workload[{i}]")))
    });
    let scheme = &scenario.scheme;
    // A line of a list that names a scheme was accepted, so that scheme reads the workload's keys.
    let lists = scenario.workload.iter().any(|load| load.list.is_some());
    let named = || setup.flows.terms().iter().filter_map(|terms| terms.scheme.as_deref());
    let by_others =
        |key: &str| lists && named().any(|name| setup.description(name).is_none_or(|own| own.reads.contains(&key)));
    for (key, whose) in flows.chain(loads).filter(|(key, _)| !is_read(setup, key) && !by_others(key)) {
        unread.entry(key).or_default().push(whose);
    }
    unread.into_iter().map(move |(key, whose)| {
        let more = if whose.len() > 1 { format!(" and {} more", whose.len() - 1) } else { String::new() };
        Warning::of_run(format!("`{key}` of {}{more} has no effect: `{scheme}` does not read it", whose[0]))
    })
}

/// Whether flows of the run's scheme read a key of theirs. The ideal has weights.
fn is_read(setup: &Setup, key: &str) -> bool {
    let scheme = &setup.scenario.scheme;
    match setup.description(scheme) {
        Some(own) => own.reads.contains(&key),
        None => scheme != IDEAL || key == "weight",
    }
}

fn idle_fault(setup: &Setup, ports: &[PortRow], i: usize, spec: &FaultSpec) -> Option<String> {
    // Those after `stop` are said apart.
    if setup.scenario.stop.is_some_and(|stop| spec.at >= stop) {
        return None;
    }
    if let Some(name) = &spec.node {
        let node = setup.topology.find(name)?;
        let at = |row: &PortRow| row.place.0 as usize == node || row.place.2 as usize == node;
        let idle = !ports.iter().any(|row| at(row) && has_seen(row));
        return idle.then(|| format!("fault[{i}] changes nothing: no packet crosses {name}"));
    }
    let [a, b] = spec.link.as_ref()?;
    is_idle(setup, ports, a, b).then(|| format!("fault[{i}] changes nothing: no packet crosses {a}–{b}"))
}

/// Whether nothing came to any link between two nodes, and no flow's way with all links led there:
/// routes that follow the network lead around a link that is down.
fn is_idle(setup: &Setup, ports: &[PortRow], a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (setup.topology.find(a), setup.topology.find(b)) else { return false };
    let between = |x: usize, y: usize| (x, y) == (a, b) || (y, x) == (a, b);
    if ports.iter().any(|row| between(row.place.0 as usize, row.place.2 as usize) && has_seen(row)) {
        return false;
    }
    let leads = |hop: &Hop| {
        let link = &setup.topology.links()[hop.link];
        between(link.a, link.b)
    };
    let whole = setup.routes.whole();
    let ways = |i: usize| {
        let (from, to) = setup.flows.get(i).ends();
        let way = |(a, b): (NodeId, NodeId)| whole.path(&setup.topology, a.0 as usize, b.0 as usize, i as u32);
        [(from, to), (to, from)].into_iter().filter_map(way).flatten().any(|hop| leads(&hop))
    };
    setup.scenario.routing.reconverge.is_none() || !(0..setup.flows.len()).any(ways)
}

/// Whether any packet came to a port.
fn has_seen(row: &PortRow) -> bool {
    let c = &row.counters;
    c.packets + c.drops_queue + c.drops_aqm + c.drops_fault + c.drops_policy + c.max_bytes > 0
}

/// AQMs that the scenario gives to ports, and that chose no packet at any of them.
fn idle_aqms(setup: &Setup, ports: &[PortRow]) -> Vec<String> {
    let mut chosen = BTreeMap::<String, u64>::new();
    for row in ports.iter().filter(|row| row.counters.packets > 0) {
        let (n, p) = (row.place.0 as usize, usize::from(row.place.1));
        // What a scheme's own ports choose is the scheme's to say.
        let asked = setup.aqm_at(n, p).filter(|_| setup.network_at(n, p).is_none());
        if let Some(aqm) = asked {
            *chosen.entry(aqm).or_default() +=
                row.counters.marks + row.counters.trims + row.counters.drops_aqm + row.counters.drops_policy;
        }
    }
    let idle = chosen.into_iter().filter(|(_, count)| *count == 0);
    idle.map(|(aqm, _)| format!("{aqm} marked and dropped nothing: results are those of plain queues")).collect()
}

/// Workloads whose load is a share of a link that less than half of it crosses.
fn loads_elsewhere(setup: &Setup) -> Vec<String> {
    let named = |i: usize, spec: &WorkloadSpec| spec.group.clone().unwrap_or_else(|| format!("workload{i}"));
    let all: Vec<String> = setup.scenario.workload.iter().enumerate().map(|(i, spec)| named(i, spec)).collect();
    let one = |(i, spec): (usize, &WorkloadSpec)| {
        let alone = all.iter().filter(|name| **name == all[i]).count() == 1;
        if alone { load_elsewhere(setup, i, spec, &all[i]) } else { None }
    };
    setup.scenario.workload.iter().enumerate().filter_map(one).collect()
}

fn load_elsewhere(setup: &Setup, i: usize, spec: &WorkloadSpec, group: &str) -> Option<String> {
    let (ArrivalSpec::Poisson { load, load_of, .. } | ArrivalSpec::Ppbp { load, load_of, .. }) =
        spec.arrivals.as_ref()?
    else {
        return None;
    };
    let (load, of) = (load.as_ref()?.as_f64(), load_of.as_ref()?);
    let bits = offered(setup, group);
    let span = span(setup, spec)?.as_secs_f64();
    // The share of a link that is offered to it from one of its ends.
    let share = |(link, from): (usize, usize)| {
        let port = setup.topology.port_of_link(from, link);
        let bits = port.and_then(|port| bits.get(&(from, port)).copied()).unwrap_or_default();
        bits / (setup.topology.links()[link].rate_from(from).as_f64() * span)
    };
    let (most, what) = match of.parse().ok()? {
        LoadOf::Link(a, b) => {
            let (from, to) = (setup.topology.find(&a)?, setup.topology.find(&b)?);
            let links = setup.topology.links().iter().enumerate();
            let own = links.filter(|(_, l)| (l.a, l.b) == (from, to) || (l.b, l.a) == (from, to));
            (own.map(|(link, _)| share((link, from))).sum(), "that link is offered".to_owned())
        }
        // More than all of a rate is a total, over many links.
        LoadOf::Rate(rate) if load <= 1.0 => {
            let links = setup.topology.links();
            let directions = links.iter().enumerate().flat_map(|(i, link)| [(i, link.a), (i, link.b)]);
            let of_rate = directions.filter(|(i, from)| setup.is_inside(*i) && links[*i].rate_from(*from) == rate);
            let most = of_rate.map(share).reduce(f64::max)?;
            (most, "no link of that rate is offered more than".to_owned())
        }
        LoadOf::Rate(_) | LoadOf::Hosts | LoadOf::Receivers | LoadOf::Matrix => return None,
    };
    (most < HALF * load).then(|| {
        format!(
            "workload[{i}] asks for {:.3} % of {of}, and {what} {:.3} %: its flows go elsewhere, or there are few of them",
            100.0 * load,
            100.0 * most
        )
    })
}

/// How long a workload sends, within the run.
fn span(setup: &Setup, spec: &WorkloadSpec) -> Option<Time> {
    let ends = [spec.until, spec.duration.map(|d| spec.start.saturating_add(d)), setup.scenario.stop];
    let end = ends.into_iter().flatten().min()?;
    Some(end.saturating_sub(spec.start)).filter(|span| !span.is_zero())
}

/// Bits that a group's flows are to bring to each port, by their shortest paths.
fn offered(setup: &Setup, group: &str) -> BTreeMap<(usize, u16), f64> {
    let group = setup.groups.number(group);
    let bits = |info: &FlowInfo<'_>| 8.0 * info.wire_bytes().unwrap_or_default() as f64;
    setup.along_paths(|info| (Some(info.flow.group_number) == group).then(|| bits(info)))
}
