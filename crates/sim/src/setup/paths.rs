//! Explicit paths: `path` of a `[[flow]]`, for its data and, reversed, its ACKs.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use midpath_core::packet::{FlowId, Interfaces, NodeId, flow_key};
use midpath_core::spec::SpecError;
use midpath_topo::Topology;
use midpath_topo::spec::links_between;
use midpath_traffic::{Flow, FlowList};
use rustc_hash::FxHashMap;

use super::flows::Schemes;
use crate::scenario::Scenario;

/// A node, where packets go, and their conversation.
type Place = (NodeId, NodeId, u32);

/// The ports that conversations with a path of their own leave nodes through.
#[derive(Debug, Default)]
pub struct GivenPaths {
    ports: FxHashMap<Place, u16>,
    /// The links of each conversation's path, with what it put into `ports`.
    all: Vec<(Arc<[usize]>, Vec<Place>)>,
}

impl GivenPaths {
    /// The paths of `flows`, whose numbers are their positions.
    pub(super) fn new(
        scenario: &Scenario,
        topology: &Topology,
        flows: &FlowList,
        schemes: &Schemes,
    ) -> Result<GivenPaths, SpecError> {
        let (mut given, mut known) = (GivenPaths::default(), FxHashMap::default());
        for (i, flow) in flows.iter().enumerate() {
            let Some(entry) = flow.path else { continue };
            let path = match known.entry(entry) {
                Entry::Occupied(path) => path.into_mut(),
                Entry::Vacant(new) => {
                    let path = path_of(scenario, topology, &flow, entry as usize, schemes);
                    new.insert(path.map_err(|e| e.under(&format!("flow[{entry}].path")))?)
                }
            };
            if let Some(path) = path {
                given.add(path, FlowId(i as u32), &flow);
            }
        }
        Ok(given)
    }

    fn add(&mut self, path: &Path, id: FlowId, flow: &Flow<'_>) {
        let (src, dst) = (NodeId(flow.src), NodeId(flow.dst));
        let key = flow_key(id, src, dst, Interfaces::ANY);
        let out = path.out.iter().map(|(node, port)| ((*node, dst, key), *port));
        let back = path.back.iter().map(|(node, port)| ((*node, src, key), *port));
        let places: Vec<(Place, u16)> = out.chain(back).collect();
        self.all.push((path.links.clone(), places.iter().map(|p| p.0).collect()));
        self.ports.extend(places);
    }

    /// Those of which every link is usable. Flows whose path is broken take shortest paths.
    pub fn over(&self, usable: impl Fn(usize) -> bool) -> GivenPaths {
        let whole = |of: &&(Arc<[usize]>, Vec<Place>)| of.0.iter().all(|link| usable(*link));
        let all: Vec<_> = self.all.iter().filter(whole).cloned().collect();
        let ports = all.iter().flat_map(|of| &of.1).map(|place| (*place, self.ports[place])).collect();
        GivenPaths { ports, all }
    }

    /// Whether no flow has a path of its own.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The port of the conversation `key` at `node` towards `dst`, as a choice of one.
    #[inline]
    pub fn port(&self, node: NodeId, dst: NodeId, key: u32) -> Option<&[u16]> {
        self.ports.get(&(node, dst, key)).map(std::slice::from_ref)
    }

    /// Bytes that they take, about.
    pub fn memory(&self) -> usize {
        self.ports.len() * 2 * (size_of::<Place>() + size_of::<u16>())
    }
}

/// The path of the `[[flow]]` number `entry`; `None` if it has a link that is taken out.
fn path_of(
    scenario: &Scenario,
    topology: &Topology,
    flow: &Flow<'_>,
    entry: usize,
    schemes: &Schemes,
) -> Result<Option<Path>, SpecError> {
    let ends = (flow.src as usize, flow.dst as usize);
    let nodes = resolve(topology, &scenario.flow[entry].path, ends, &scenario.topology.without)?;
    schemes.check_path(flow.scheme.as_deref())?;
    Ok(nodes.map(|nodes| Path::new(topology, &nodes)))
}

/// A path as ports, there and back.
struct Path {
    out: Vec<(NodeId, u16)>,
    back: Vec<(NodeId, u16)>,
    links: Arc<[usize]>,
}

impl Path {
    /// The path through `nodes`, each of which has a link to the next; of parallel links it takes
    /// the first.
    fn new(topology: &Topology, nodes: &[usize]) -> Path {
        let (mut out, mut back, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for pair in nodes.windows(2) {
            let port = topology.port_to(pair[0], pair[1]).expect("they were found to be linked");
            let link = topology.ports(pair[0])[usize::from(port)].link as usize;
            let other = topology.port_of_link(pair[1], link).expect("a link is at both of its ends");
            out.push((NodeId(pair[0] as u32), port));
            back.push((NodeId(pair[1] as u32), other));
            links.push(link);
        }
        Path { out, back, links: links.into() }
    }
}

/// The nodes of a path with its two hosts, which `names` may leave out. `None` if it needs a link
/// that the scenario takes out: then the flow goes as routing does. Keys of errors are positions in
/// `names`.
fn resolve(
    topology: &Topology,
    names: &[String],
    (src, dst): (usize, usize),
    without: &[[String; 2]],
) -> Result<Option<Vec<usize>>, SpecError> {
    let mut nodes = Vec::with_capacity(names.len() + 2);
    for (i, name) in names.iter().enumerate() {
        let key = format!("[{i}]");
        let node = topology.named(name).map_err(|why| SpecError::new(key.clone(), why))?;
        if nodes.contains(&node) {
            return Err(SpecError::new(key, format!("a path may visit `{name}` only once")));
        }
        let end = (i == 0 && node == src) || (i + 1 == names.len() && node == dst);
        if topology.is_host(node) && !end {
            let message = format!("`{name}` is a host, and hosts do not forward; list routers");
            return Err(SpecError::new(key, message));
        }
        nodes.push(node);
    }
    if nodes.first() != Some(&src) {
        nodes.insert(0, src);
    }
    if nodes.last() != Some(&dst) {
        nodes.push(dst);
    }
    let name = |n: usize| topology.nodes()[n].name.as_str();
    for pair in nodes.windows(2) {
        let (a, b) = (name(pair[0]), name(pair[1]));
        if without.iter().any(|[x, y]| (x == a && y == b) || (x == b && y == a)) {
            return Ok(None);
        }
        links_between(topology, a, b).map_err(|e| SpecError::new("", e.message))?;
    }
    Ok(Some(nodes))
}
