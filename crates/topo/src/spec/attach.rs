//! Hosts attached to the routers of a map.

use rustc_hash::FxHashSet;

use midpath_core::rng::{Purpose, Stream, below, stream};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::{HostsSpec, TopologySpec};
use crate::draft::{Draft, DraftLink, DraftNode};
use crate::graph::{MAX_NODES, NodeKind};
use crate::suggest;

/// Attaches what `hosts` asks for; without it, one host at every router of a network that has no
/// host.
pub fn hosts(spec: &TopologySpec, draft: &mut Draft, min_delay: Time, seed: u64) -> Result<(), SpecError> {
    let has_hosts = draft.nodes.iter().any(|n| n.kind == Some(NodeKind::Host));
    let default = HostsSpec::default();
    match &spec.hosts {
        Some(hosts) => attach(hosts, spec, draft, min_delay, seed).map_err(|e| e.under("hosts")),
        None if has_hosts => Ok(()),
        None => attach(&default, spec, draft, min_delay, seed).map_err(|e| e.under("hosts")),
    }
}

fn attach(
    hosts: &HostsSpec,
    spec: &TopologySpec,
    draft: &mut Draft,
    min_delay: Time,
    seed: u64,
) -> Result<(), SpecError> {
    let routers = chosen_routers(hosts, draft)?;
    let first_home = first_homes(hosts, &routers, draft.nodes.len())?;
    let homes = hosts.homes.unwrap_or(1);
    if homes == 0 || homes > routers.len() {
        let message = format!("{homes} routers per host; must be from 1 to {}", routers.len());
        return Err(SpecError::new("homes", message));
    }
    let like = access_link(hosts, spec, draft, min_delay);
    let taken: FxHashSet<String> = draft.nodes.iter().map(|n| n.name.clone()).collect();
    let mut rng = stream(seed, Purpose::Topology, 1);
    for (i, first) in first_home.into_iter().enumerate() {
        let host = draft.nodes.len();
        let name = format!("{}{i}", hosts.prefix.as_deref().unwrap_or("h"));
        if taken.contains(&name) {
            let message =
                format!("`{name}` is already a node of the network; write another prefix for the hosts' names");
            return Err(SpecError::new("prefix", message));
        }
        draft.nodes.push(DraftNode { name, kind: Some(NodeKind::Host), ..DraftNode::default() });
        for home in choose_homes(&mut rng, &routers, first, homes) {
            draft.links.push(DraftLink { a: host, b: home, ..like.clone() });
        }
    }
    Ok(())
}

fn chosen_routers(hosts: &HostsSpec, draft: &Draft) -> Result<Vec<usize>, SpecError> {
    let routers: Vec<usize> = (0..draft.nodes.len()).filter(|&n| draft.nodes[n].kind != Some(NodeKind::Host)).collect();
    let on = hosts.on.as_deref().unwrap_or("all");
    let chosen: Vec<usize> =
        routers.iter().copied().filter(|&n| on == "all" || draft.nodes[n].class.as_deref() == Some(on)).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    if routers.is_empty() {
        return Err(SpecError::new("", "the network has no router to attach hosts to"));
    }
    let mut classes = vec!["all"];
    for class in routers.iter().filter_map(|&n| draft.nodes[n].class.as_deref()) {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    Err(SpecError::new("on", suggest::unknown("router of the class", on, classes)))
}

/// The first router of each host, in the order of hosts.
fn first_homes(hosts: &HostsSpec, routers: &[usize], nodes: usize) -> Result<Vec<usize>, SpecError> {
    let (key, count) = match (hosts.per_node, hosts.total) {
        (Some(_), Some(_)) => {
            return Err(SpecError::new("total", "excludes `per_node`; write one of them"));
        }
        (None, Some(total)) => ("total", Some(total)),
        (per_node, None) => ("per_node", routers.len().checked_mul(per_node.unwrap_or(1))),
    };
    let count = count.filter(|c| c.saturating_add(nodes) <= MAX_NODES);
    let count =
        count.ok_or_else(|| SpecError::new(key, format!("with these hosts there are more than {MAX_NODES} nodes")))?;
    Ok(match hosts.total {
        Some(_) => (0..count).map(|i| routers[i % routers.len()]).collect(),
        None => (0..count).map(|i| routers[i / hosts.per_node.unwrap_or(1)]).collect(),
    })
}

/// What access links are like; their ends are still open.
fn access_link(hosts: &HostsSpec, spec: &TopologySpec, draft: &Draft, min_delay: Time) -> DraftLink {
    let like = spec.access.as_ref();
    let fastest =
        || draft.links.iter().flat_map(|l| [l.rate, l.rate_back]).flatten().max().unwrap_or(Rate::from_gbps(1));
    DraftLink {
        rate: Some(hosts.rate.or(like.map(|l| l.rate)).unwrap_or_else(fastest)),
        delay: Some(hosts.delay.or(like.and_then(|l| l.delay)).unwrap_or(min_delay)),
        mtu: hosts.mtu.or(like.and_then(|l| l.mtu)),
        queue: hosts.queue.clone().or_else(|| like.and_then(|l| l.queue.clone())),
        corruption: like.and_then(|l| l.corruption).map_or(0.0, |c| c.as_f64()),
        ..DraftLink::default()
    }
}

/// `first` and `count - 1` others, different ones.
fn choose_homes(rng: &mut Stream, routers: &[usize], first: usize, count: usize) -> Vec<usize> {
    let mut homes = vec![first];
    while homes.len() < count {
        let home = routers[below(rng, routers.len() as u64) as usize];
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}
