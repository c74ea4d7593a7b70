//! Warnings of a run: each once, with its ports.

use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, PortId};
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::FlowRows;
use super::no_effect::unread_keys;
use crate::engine::Engine;
use crate::scenario::FaultSpec;
use crate::setup::{IDEAL, Setup};

/// More ports than these are counted, not named.
const MAX_NAMED: usize = 8;

/// What is warned of: who says it (a scheme; nobody of what the run itself shows), what, and of
/// which ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    scheme: String,
    message: String,
    ports: Vec<String>,
}

impl Warning {
    /// Of a scheme at these ports.
    pub(super) fn new(scheme: &str, message: String, ports: Vec<String>) -> Warning {
        Warning { scheme: scheme.to_owned(), message, ports }
    }

    /// Of the whole run.
    pub(super) fn of_run(message: String) -> Warning {
        Warning { scheme: String::new(), message, ports: Vec::new() }
    }

    /// Who says it.
    pub(super) fn scheme(&self) -> &str {
        &self.scheme
    }

    fn json(&self) -> Value {
        let ports = &self.ports;
        json!({
            "scheme": self.scheme, "message": self.message, "count": ports.len(), "ports": ports[..ports.len().min(MAX_NAMED)],
        })
    }
}

/// `warnings` of `run.json`: what `schemes` say, and what the flows' rows show.
pub fn warnings(setup: &Setup, rows: &FlowRows<'_>, schemes: Vec<Warning>) -> Value {
    let all = schemes.into_iter().chain(beforehand(setup)).chain(unfinished(setup, rows));
    all.map(|warning| warning.json()).collect()
}

/// Those of them that need no run.
pub fn warnings_beforehand(setup: &Setup) -> Vec<Value> {
    let ideal = rerouted_ideal(setup).filter(|_| setup.scenario.scheme == IDEAL);
    ideal.into_iter().chain(beforehand(setup)).map(|warning| warning.json()).collect()
}

fn beforehand(setup: &Setup) -> impl Iterator<Item = Warning> {
    let topology = setup.topology.unused().iter().map(|what| Warning::of_run(format!("the topology: {what}")));
    topology
        .chain(setup.flows.notes().iter().map(|note| Warning::of_run(note.clone())))
        .chain(unread_keys(setup))
        .chain(idle_stubs(setup))
        .chain(small_queues(setup))
        .chain(late_faults(setup))
        .chain(overload(setup))
}

/// A port by the names of its two ends.
pub(super) fn port_name(setup: &Setup, n: usize, p: usize) -> String {
    let name = |n: usize| &setup.topology.nodes()[n].name;
    format!("{}>{}", name(n), name(setup.topology.ports(n)[p].peer as usize))
}

/// What schemes say at their ports.
fn of_schemes(setup: &Setup, engine: &Engine) -> Vec<Warning> {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for n in 0..setup.topology.nodes().len() {
        for p in 0..setup.topology.ports(n).len() {
            let mut said = Vec::new();
            engine.node(NodeId(n as u32)).warnings(PortId(p as u16), &mut said);
            let scheme = setup.scheme_at(n, p).unwrap_or_default();
            for what in said {
                found.entry((scheme.to_owned(), what)).or_default().push(port_name(setup, n, p));
            }
        }
    }
    found.into_iter().map(|((scheme, message), ports)| Warning { scheme, message, ports }).collect()
}

/// What schemes say, and whether packets had no way.
pub fn of_run(setup: &Setup, engine: &Engine) -> Vec<Warning> {
    let lost = engine.tally().no_route;
    let message = || format!("{lost} packets had no route to their destination and were dropped");
    let no_route = (lost > 0).then(|| Warning::of_run(message()));
    no_route.into_iter().chain(of_schemes(setup, engine)).collect()
}

/// The ideal knows of links that are down, and of no other paths.
pub fn rerouted_ideal(setup: &Setup) -> Option<Warning> {
    let message = "the ideal's flows keep their initial paths and stall while a link there is down: it ignores \
        `[routing] reconverge`, and is no bound here";
    setup.reroutes().next().map(|_| Warning::of_run(message.to_owned()))
}

/// Nodes that were taken for hosts because they have one link, and that no flow needs: they may
/// have been meant as routers.
fn idle_stubs(setup: &Setup) -> Option<Warning> {
    let spec = &setup.scenario.topology;
    // Hosts that `hosts` attaches are not among these.
    let linked: FxHashSet<&str> = spec.links.iter().flatten().flat_map(|l| [l.a.as_str(), l.b.as_str()]).collect();
    let nodes = spec.nodes.iter().flatten();
    let of_a_kind: FxHashSet<&str> = nodes.filter(|n| n.kind.is_some()).map(|n| n.name.as_str()).collect();
    let used: FxHashSet<u32> = setup.flows.iter().flat_map(|f| [f.flow.src, f.flow.dst]).collect();
    let idle = setup.topology.hosts().filter(|n| !used.contains(&(*n as u32)));
    let idle = idle.map(|n| setup.topology.nodes()[n].name.as_str());
    let mut guessed = idle.filter(|name| linked.contains(name) && !of_a_kind.contains(name));
    let first = guessed.next()?;
    let which = match guessed.count() {
        0 => format!("`{first}` became a host, as a node with one link does"),
        more => format!("`{first}` and {more} more became hosts, as nodes with one link do"),
    };
    Some(Warning::of_run(format!(
        "{which}, but no flow begins or ends there; for a router write nodes = [{{ name = \"{first}\", kind = \
            \"router\" }}]"
    )))
}

/// Queues in which no full packet can wait.
fn small_queues(setup: &Setup) -> Option<Warning> {
    // What came in is counted by port then, and bounded by that.
    if setup.lossless.as_ref().is_some_and(|lossless| lossless.classes().all(|(_, lossless)| lossless)) {
        return None;
    }
    let small = setup.too_small();
    let room = small.iter().map(|(_, room)| *room).min()?;
    let ports = small.iter().map(|((n, p), _)| port_name(setup, *n, *p)).collect();
    let message = format!("the queue cannot hold a full packet: its limit is {room}");
    Some(Warning { scheme: String::new(), message, ports })
}

/// Faults at or after `stop`. They are no error: a run may be cut short.
fn late_faults(setup: &Setup) -> Option<Warning> {
    let stop = setup.scenario.stop?;
    let late = |(i, fault): (usize, &FaultSpec)| (fault.at >= stop).then(|| format!("fault[{i}] at {}", fault.at));
    let late: Vec<_> = setup.scenario.fault.iter().enumerate().filter_map(late).collect();
    let message = || format!("{} never happens: the run stops at {stop}", late.join(", "));
    (!late.is_empty()).then(|| Warning::of_run(message()))
}

/// The port that is offered most of what it can carry until `stop`, if that is more than all.
fn overload(setup: &Setup) -> Option<Warning> {
    let (port, times) = setup.most_offered()?;
    let message = format!(
        "offered {times:.1} times its capacity until `stop`, on shortest paths: not all flows can end there, \
            under any scheme"
    );
    let ports = vec![port_name(setup, port.0, port.1)];
    (times > 1.0).then_some(Warning { scheme: String::new(), message, ports })
}

/// Flows with a size that did not end.
fn unfinished(setup: &Setup, rows: &FlowRows<'_>) -> impl Iterator<Item = Warning> {
    let late = |start: Option<midpath_core::units::Time>| {
        start.is_none_or(|start| setup.scenario.stop.is_some_and(|stop| start >= stop))
    };
    let (mut ended, mut open, mut never) = (0, 0, 0);
    for (i, _, row) in rows.with_flows().filter(|(_, info, _)| info.flow.size.is_some()) {
        match row.fct {
            Some(_) => ended += 1,
            None if !late(row.start) => open += 1,
            None if rows.is_unasked(i) => {}
            None => never += 1,
        }
    }
    let all: usize = ended + open + never;
    let open = (open > 0).then(|| {
        format!(
            "{open} of {all} flows did not end; AFCT, percentiles and slowdowns cover only those that did, and \
                look better than they are"
        )
    });
    let never = (never > 0).then(|| format!("{never} of {all} flows did not start before the end"));
    open.into_iter().chain(never).map(Warning::of_run)
}
