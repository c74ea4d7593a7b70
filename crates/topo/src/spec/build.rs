//! From the table to the topology: source, parts, kinds, classes, rates and delays, hosts, checks.

use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use super::{Component, TopologySpec, attach, check, fill, source, without};
use crate::classes;
use crate::draft::{Draft, MIN_DELAY};
use crate::graph::{NodeKind, Topology};
use crate::routing::fold;

/// Most routers of a topology.
pub const MAX_ROUTERS: usize = 500_000;

/// Most ways, one from each router to each that has hosts: 500,000 routers of which 2,100 have some,
/// or 32,000 that all do. Each takes 1 to 4 bytes once a flow goes there.
const MAX_WAYS: usize = 1 << 30;

/// Builds the topology. `files` are those that it names; `seed` is the scenario's.
///
/// An error's key is relative to the topology table: `links[3].a`. `SpecError::under("topology")`
/// completes it.
pub fn build<'a>(spec: &TopologySpec, files: impl Into<Files<'a>>, seed: u64) -> Result<Topology, SpecError> {
    let min_delay = spec.min_delay.unwrap_or(MIN_DELAY);
    check::values(spec)?;
    let mut draft = source::draft(spec, files.into(), seed)?;
    draft.drop_self_loops();
    let edge_degree = spec.edge_degree.unwrap_or(classes::EDGE_DEGREE);
    if spec.drop_edge_links == Some(true) {
        classes::drop_edge_links(&mut draft, edge_degree);
    }
    if spec.component == Some(Component::Largest) {
        draft.keep_largest_component();
    }
    classes::assign(&mut draft, edge_degree);
    fill::links(spec, &mut draft, min_delay)?;
    draft.add_up_trunks();
    attach::hosts(spec, &mut draft, min_delay, seed)?;
    let unused = std::mem::take(&mut draft.unused);
    let notes: Vec<String> = draft.notes.iter().chain(&unused).cloned().collect();
    let whole = finish(spec, draft, min_delay).map_err(|e| with_notes(e, &notes))?;
    Ok(without::without(whole, &spec.without)?.with_unused(unused))
}

fn finish(spec: &TopologySpec, draft: Draft, min_delay: Time) -> Result<Topology, SpecError> {
    let inline = spec.links.is_some();
    // Links and nodes have keys of their own only where the scenario itself lists them.
    let of_source = |e: SpecError| SpecError::new(source::key(spec), format!("{}: {}", e.key, e.message));
    let topology = draft.finish(min_delay).map_err(|e| if inline { e } else { of_source(e) })?;
    check_connected(spec, &topology)?;
    check_size(&topology).map_err(|message| SpecError::new(source::key(spec), message))?;
    Ok(topology)
}

/// Refuses what there is no memory to route over.
fn check_size(topology: &Topology) -> Result<(), String> {
    let routers = topology.routers().count();
    if routers > MAX_ROUTERS {
        return Err(format!("{routers} routers; routing supports at most {MAX_ROUTERS}"));
    }
    let mut places: Vec<usize> =
        topology.hosts().map(|host| fold(topology, host).map_or(host, |(router, _)| router)).collect();
    places.sort_unstable();
    places.dedup();
    if routers.saturating_mul(places.len()) > MAX_WAYS {
        let (places, most) = (places.len(), MAX_WAYS / routers);
        return Err(format!("{routers} routers with hosts at {places} of them; at most {most} may have hosts"));
    }
    Ok(())
}

fn check_connected(spec: &TopologySpec, topology: &Topology) -> Result<(), SpecError> {
    let parts = topology.adjacency().components();
    if parts.len() <= 1 {
        return stranded_by_hosts(spec, topology);
    }
    let name = |part: &Vec<usize>| topology.nodes()[part[0]].name.clone();
    let message = format!(
        "the network is not connected: of its {} parts the largest has {} of {} nodes; `{}` cannot reach `{}`. Add links, \
         or write component = \"largest\"",
        parts.len(),
        parts[0].len(),
        topology.nodes().len(),
        name(&parts[1]),
        name(&parts[0]),
    );
    Err(SpecError::new(source::key(spec), message))
}

/// Hosts don't forward, so a network whose parts meet only in a multi-homed host is not connected for packets, unless
/// each host is linked to one of the parts: a plane, beside which there may be others, and switches inside servers.
fn stranded_by_hosts(spec: &TopologySpec, topology: &Topology) -> Result<(), SpecError> {
    let is_router = |n: usize| topology.nodes()[n].kind == NodeKind::Router;
    // By the router that each node was reached from, last.
    let (mut seen, mut first) = (vec![usize::MAX; topology.nodes().len()], None);
    for start in topology.routers() {
        if seen[start] != usize::MAX {
            continue;
        }
        seen[start] = start;
        let mut reached = vec![start];
        while let Some(n) = reached.pop() {
            for port in topology.ports(n) {
                let peer = port.peer as usize;
                if std::mem::replace(&mut seen[peer], start) != start && is_router(peer) {
                    reached.push(peer);
                }
            }
        }
        match topology.hosts().find(|&n| seen[n] != start) {
            None => return Ok(()),
            Some(n) => first = first.or(Some((n, start))),
        }
    }
    match first {
        None => check_hosts_only(spec, topology),
        Some((n, start)) => {
            let (a, b) = (&topology.nodes()[n].name, &topology.nodes()[start].name);
            let message =
                format!("`{a}` reaches `{b}` only through a host, and hosts do not forward; make it a router");
            Err(SpecError::new(source::key(spec), message))
        }
    }
}

fn check_hosts_only(spec: &TopologySpec, topology: &Topology) -> Result<(), SpecError> {
    match topology.nodes() {
        [_] | [_, _] => Ok(()),
        _ => {
            Err(SpecError::new(source::key(spec), "there is no router, and hosts do not forward; make a node a router"))
        }
    }
}

fn with_notes(mut error: SpecError, notes: &[String]) -> SpecError {
    if !notes.is_empty() {
        error.message = format!("{} (note: {})", error.message, notes.join("; "));
    }
    error
}
