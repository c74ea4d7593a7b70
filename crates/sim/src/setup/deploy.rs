//! Which network scheme runs at which ports: the table `[[deploy]]`, resolved.

use std::collections::BTreeSet;
use std::sync::Arc;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::{LinkInfo, Map, Names, Network};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;
use midpath_topo::Topology;
use serde_json::{Value, json};

use super::flows::{Schemes, table_of};
use super::tunnels::Tunnels;
use super::{IDEAL, link_info};
use crate::scenario::{DeploySpec, Scenario};

/// No scheme: the scenario's queues, shortest paths.
pub(super) const NONE: &str = "none";

/// One scheme with one set of parameters, at some of the network's nodes.
pub(super) struct Instance {
    name: String,
    /// The scheme's name.
    pub scheme: String,
    /// What its nodes run; `None` is the scenario's queues and shortest paths.
    pub network: Option<Arc<dyn Network>>,
    /// The row that says what its tunnels are, if it has any.
    tunnels: Option<usize>,
}

/// Which instance each port has.
pub(super) struct Deployment {
    instances: Vec<Instance>,
    rows: Vec<Row>,
    /// The instances at each node, in the order of their first rows.
    at: Vec<Vec<usize>>,
}

/// A row of the table.
struct Row {
    instance: usize,
    place: Place,
    queue: Option<String>,
}

/// The ports that a row is for.
enum Place {
    All,
    Some { nodes: BTreeSet<usize>, ports: BTreeSet<(usize, u16)> },
}

impl Place {
    fn has(&self, node: usize, port: u16) -> bool {
        match self {
            Place::All => true,
            Place::Some { nodes, ports } => nodes.contains(&node) || ports.contains(&(node, port)),
        }
    }
}

impl Deployment {
    /// Resolves the table. The schemes must have been bound.
    pub fn new(
        scenario: &Scenario,
        catalogue: &Catalogue,
        schemes: &Schemes,
        topology: &Topology,
        names: &dyn Names,
    ) -> Result<Deployment, SpecError> {
        let mut table = Deployment { instances: Vec::new(), rows: Vec::new(), at: Vec::new() };
        if scenario.scheme != IDEAL && scenario.deploy.is_empty() {
            let (scheme, network) = (scenario.scheme.clone(), schemes.network(&scenario.scheme));
            table.instances.push(Instance { name: scheme.clone(), scheme, network, tunnels: None });
            table.rows.push(Row { instance: 0, place: Place::All, queue: None });
        }
        for (i, row) in scenario.deploy.iter().enumerate().filter(|_| scenario.scheme != IDEAL) {
            let under = |e: SpecError| e.under(&format!("deploy[{i}]"));
            let place = place(row, topology).map_err(under)?;
            let queue = known_queue(row, scenario).map_err(under)?;
            let instance = table.instance(i, row, scenario, catalogue, schemes, names)?;
            table.rows.push(Row { instance, place, queue });
        }
        table.at = (0..topology.nodes().len()).map(|n| table.running(n, topology.ports(n).len())).collect();
        Ok(table)
    }

    /// The number of the instance that a row names, which is made if it is new.
    fn instance(
        &mut self,
        i: usize,
        row: &DeploySpec,
        scenario: &Scenario,
        catalogue: &Catalogue,
        schemes: &Schemes,
        names: &dyn Names,
    ) -> Result<usize, SpecError> {
        let scheme = row.scheme.as_deref().unwrap_or(&scenario.scheme);
        let name = row.name.as_deref().unwrap_or(scheme);
        if let Some(known) = self.instances.iter().position(|k| k.name == name) {
            let message = match () {
                () if self.instances[known].scheme != scheme => {
                    format!("the instance `{name}` runs `{}` in an earlier row", self.instances[known].scheme)
                }
                () if row.tunnels.is_some() => {
                    let message = format!("the instance `{name}` takes `tunnels` from its first row");
                    return Err(SpecError::new(format!("deploy[{i}].tunnels"), message));
                }
                () if row.params.is_some() => {
                    format!("the instance `{name}` takes `params` from its first row; give this row a `name`")
                }
                () => return Ok(known),
            };
            return Err(SpecError::new(format!("deploy[{i}]"), message));
        }
        let network = match &row.params {
            None => schemes.network(scheme),
            Some(own) => {
                let params = over(table_of(scenario, scheme), own);
                let under = |e: SpecError| e.under(&format!("deploy[{i}].params"));
                let built = catalogue.build(scheme, &params).map_err(under)?;
                built.bind(names).map_err(under)?.unwrap_or(built).network()
            }
        };
        // The run's scheme may be a transport alone: its network is plain.
        if network.is_none() && row.scheme.is_some() && scheme != NONE {
            let message =
                format!("`{scheme}` carries flows and runs nothing in the network; write \"none\" for plain queues");
            return Err(SpecError::new(format!("deploy[{i}].scheme"), message));
        }
        if row.tunnels.is_some() && row.nodes.is_empty() && !row.ports.is_empty() {
            let message = "tunnels connect whole nodes; list them in `nodes`";
            return Err(SpecError::new(format!("deploy[{i}].tunnels"), message));
        }
        let tunnels = row.tunnels.is_some().then_some(i);
        self.instances.push(Instance { name: name.to_owned(), scheme: scheme.to_owned(), network, tunnels });
        Ok(self.instances.len() - 1)
    }

    fn row(&self, node: usize, port: usize) -> Option<&Row> {
        self.rows.iter().rev().find(|r| r.place.has(node, port as u16))
    }

    fn running(&self, node: usize, ports: usize) -> Vec<usize> {
        let found: BTreeSet<usize> = (0..ports).filter_map(|p| self.row(node, p)).map(|r| r.instance).collect();
        found.into_iter().collect()
    }

    /// The instance of a port, by number.
    pub fn of(&self, node: usize, port: usize) -> Option<usize> {
        self.row(node, port).map(|r| r.instance)
    }

    /// A node's ports that have an instance.
    pub fn ports(&self, node: usize, ports: usize, instance: usize) -> Vec<PortId> {
        (0..ports).filter(|p| self.of(node, *p) == Some(instance)).map(|p| PortId(p as u16)).collect()
    }

    /// The queue that a port's row names.
    pub fn queue(&self, node: usize, port: usize) -> Option<&str> {
        self.row(node, port)?.queue.as_deref()
    }

    /// The instances at a node, by number.
    pub fn at(&self, node: usize) -> &[usize] {
        self.at.get(node).map_or(&[], Vec::as_slice)
    }

    /// The instances with tunnels: the number, the key that says so, and the TCP's name.
    pub fn tunnels<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = (usize, String, &'a str)> {
        self.instances.iter().enumerate().filter_map(|(number, instance)| {
            let row = instance.tunnels?;
            Some((number, format!("deploy[{row}].tunnels"), scenario.deploy[row].tunnels.as_deref()?))
        })
    }

    pub fn get(&self, instance: usize) -> &Instance {
        &self.instances[instance]
    }

    /// What runs where: each instance with how many ports it has, and its nodes, unless they are
    /// all.
    pub fn json(&self, topology: &Topology) -> Value {
        let of = |(i, instance): (usize, &Instance)| {
            let nodes: Vec<usize> = (0..self.at.len()).filter(|n| self.at[*n].contains(&i)).collect();
            let ports: usize = nodes.iter().map(|n| self.ports(*n, topology.ports(*n).len(), i).len()).sum();
            let all = nodes.len() == topology.nodes().len();
            let names = || nodes.iter().map(|n| topology.nodes()[*n].name.as_str()).collect::<Vec<_>>();
            json!({
                "instance": instance.name,
                // Of a transport that runs nothing in the network, the queues are the scenario's.
                "scheme": if instance.network.is_some() { instance.scheme.as_str() } else { NONE },
                "ports": ports,
                "nodes": if all { json!("all") } else { json!(names()) },
            })
        };
        self.instances.iter().enumerate().map(of).collect()
    }

    /// The schemes that run in the network.
    pub fn networks(&self) -> impl Iterator<Item = &str> {
        self.instances.iter().filter(|i| i.network.is_some()).map(|i| i.scheme.as_str())
    }

    /// Whether a network scheme runs anywhere.
    pub fn has(&self, scheme: &str) -> bool {
        self.instances.iter().any(|i| i.scheme == scheme && i.network.is_some())
    }
}

/// The scheme's table with an instance's own parameters over it, tables within tables as well.
fn over(mut base: serde_json::Value, own: &serde_json::Map<String, serde_json::Value>) -> serde_json::Value {
    if let Some(table) = base.as_object_mut() {
        for (key, value) in own {
            let merged = match (table.remove(key), value) {
                (Some(below @ serde_json::Value::Object(_)), serde_json::Value::Object(above)) => over(below, above),
                _ => value.clone(),
            };
            table.insert(key.clone(), merged);
        }
    }
    base
}

fn known_queue(row: &DeploySpec, scenario: &Scenario) -> Result<Option<String>, SpecError> {
    match &row.queue {
        Some(name) if !scenario.queues.contains_key(name) => {
            let known = scenario.queues.keys().cloned().collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {known}") };
            Err(SpecError::new("queue", format!("there is no queue `{name}`; of `[queues.…]` {known}")))
        }
        queue => Ok(queue.clone()),
    }
}

fn place(row: &DeploySpec, topology: &Topology) -> Result<Place, SpecError> {
    if row.nodes.is_empty() && row.ports.is_empty() {
        return Ok(Place::All);
    }
    let (mut nodes, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (i, selector) in row.nodes.iter().enumerate() {
        nodes.extend(select_some(i, selector, topology)?);
    }
    for (i, port) in row.ports.iter().enumerate() {
        let ends = port.split_once('>').map(|(a, b)| (topology.find(a.trim()), topology.find(b.trim())));
        let found = match ends {
            Some((Some(a), Some(b))) => topology.port_to(a, b).map(|p| (a, p)),
            _ => None,
        };
        let message = || format!("there is no port `{port}`; write a node and its neighbour, such as \"r0>r1\"");
        ports.insert(found.ok_or_else(|| SpecError::new(format!("ports[{i}]"), message()))?);
    }
    Ok(Place::Some { nodes, ports })
}

/// The nodes that a word of `nodes` stands for: a node's name before anything else.
pub(super) fn select(selector: &str, topology: &Topology) -> Vec<usize> {
    if let Some(n) = topology.find(selector) {
        return vec![n];
    }
    let all = topology.nodes().iter().enumerate();
    match (selector, selector.strip_suffix('*')) {
        ("hosts", _) => topology.hosts().collect(),
        ("routers", _) => topology.routers().collect(),
        (_, Some(prefix)) => all.filter(|(_, n)| n.name.starts_with(prefix)).map(|(i, _)| i).collect(),
        (class, None) => all.filter(|(_, n)| n.class.as_deref() == Some(class)).map(|(i, _)| i).collect(),
    }
}

/// The same of the `i`th word, which has to stand for some.
pub(super) fn select_some(i: usize, selector: &str, topology: &Topology) -> Result<Vec<usize>, SpecError> {
    let found = select(selector, topology);
    let message = || {
        format!("no node, and no class of nodes, is called `{selector}`; others are \"hosts\", \"routers\" and \"r*\"")
    };
    if found.is_empty() { Err(SpecError::new(format!("nodes[{i}]"), message())) } else { Ok(found) }
}

/// The topology as the nodes of one instance look at it.
pub(super) struct NetworkMap<'a> {
    pub topology: &'a Topology,
    pub deployment: &'a Deployment,
    pub tunnels: &'a Tunnels,
    pub instance: usize,
}

impl Map for NetworkMap<'_> {
    fn links(&self, node: NodeId) -> Vec<LinkInfo> {
        links(self.topology, node)
    }
    fn is_host(&self, node: NodeId) -> bool {
        self.topology.is_host(node.0 as usize)
    }
    fn runs(&self, node: NodeId) -> bool {
        self.deployment.at(node.0 as usize).contains(&self.instance)
    }
    fn is_tunnel(&self, node: NodeId, port: PortId) -> bool {
        let ports = self.topology.ports(node.0 as usize);
        ports.get(usize::from(port.0)).is_some_and(|port| self.tunnels.is_tunnel(port.link as usize))
    }
}

/// The links of a node, by port number.
pub(super) fn links(topology: &Topology, node: NodeId) -> Vec<LinkInfo> {
    let n = node.0 as usize;
    let ports = if n < topology.nodes().len() { topology.ports(n).len() } else { 0 };
    (0..ports).map(|port| link_info(topology, n, port)).collect()
}
