//! Links taken out of a network: what is left when some of its links are not there.

use midpath_core::spec::SpecError;

use crate::graph::{LinkInfo, Topology};

/// Most neighbours that an error lists.
const LISTED: usize = 8;

/// `topology` without the links between these pairs of nodes: both directions, and all of several
/// parallel links.
///
/// Nodes stay, also those that have no link left. What is left need not be connected: who asks for
/// routes says which are missing.
pub fn without(topology: Topology, pairs: &[[String; 2]]) -> Result<Topology, SpecError> {
    if pairs.is_empty() {
        return Ok(topology);
    }
    let mut out = vec![false; topology.links().len()];
    for (i, [a, b]) in pairs.iter().enumerate() {
        let links = links_between(&topology, a, b).map_err(|e| e.under(&format!("without[{i}]")))?;
        links.into_iter().for_each(|link| out[link] = true);
    }
    let kept: Vec<LinkInfo> =
        topology.links().iter().zip(&out).filter(|(_, out)| !**out).map(|(l, _)| l.clone()).collect();
    Topology::new(topology.nodes().to_vec(), kept)
}

/// The links between two nodes by name, of which there is at least one. An error's key is the
/// position of the name: `[0]`.
pub fn links_between(topology: &Topology, a: &str, b: &str) -> Result<Vec<usize>, SpecError> {
    let node = |i: usize, name: &str| topology.named(name).map_err(|why| SpecError::new(format!("[{i}]"), why));
    let (na, nb) = (node(0, a)?, node(1, b)?);
    let links: Vec<usize> =
        topology.ports(na).iter().filter(|p| p.peer as usize == nb).map(|p| p.link as usize).collect();
    if links.is_empty() {
        return Err(SpecError::new("", no_link(topology, na, nb)));
    }
    Ok(links)
}

/// "there is no link between `a` and `c`", with the links that `a` has.
fn no_link(topology: &Topology, a: usize, b: usize) -> String {
    let name = |n: usize| &topology.nodes()[n].name;
    let mut peers: Vec<usize> = topology.ports(a).iter().map(|p| p.peer as usize).collect();
    peers.dedup();
    let listed: Vec<String> = peers.iter().take(LISTED).map(|&p| format!("`{}`", name(p))).collect();
    let more = if peers.len() > LISTED { ", …" } else { "" };
    let has = match listed.len() {
        0 => "no links".to_owned(),
        _ => format!("links to {}{more}", listed.join(", ")),
    };
    format!("there is no link between `{}` and `{}`; `{}` has {has}", name(a), name(b), name(a))
}

/// How the network falls apart for packets, as a sentence; `None` if every router reaches every
/// other without passing a host.
pub fn parts(topology: &Topology) -> Option<String> {
    let components = topology.adjacency().components();
    if components.len() <= 1 {
        return None;
    }
    let list = |part: &Vec<usize>| {
        let names: Vec<String> = part.iter().take(LISTED).map(|&n| format!("`{}`", topology.nodes()[n].name)).collect();
        format!("{}{}", names.join(", "), if part.len() > LISTED { ", …" } else { "" })
    };
    let apart: Vec<String> = components[1..].iter().take(LISTED).map(list).collect();
    let more = if components.len() - 1 > LISTED { " and others" } else { "" };
    Some(format!(
        "the network falls into {} parts: cut off from the largest are {}{more}",
        components.len(),
        apart.join("; "),
    ))
}
