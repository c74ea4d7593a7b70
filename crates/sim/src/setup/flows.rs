use std::collections::BTreeSet;
use std::sync::Arc;

use midpath_core::files::Files;
use midpath_core::node::Flows;
use midpath_core::packet::{FlowId, HOP_LIMIT, NodeId, Packet};
use midpath_core::roles::{Accept, End, Endpoint, FlowSpec, Names, Network, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_core::suggest;
use midpath_core::units::Rate;
use midpath_schemes::{CONSTANT_RATE, Catalogue};
use midpath_topo::Topology;
use midpath_topo::path::Unloaded;
use midpath_traffic::{Context, Flow, FlowList, FlowMemoryBudget, Host, HostTable, LinkRates, Seed, Specs, Writes};
use rustc_hash::FxHashMap;

use super::all_flows::{AllFlows, Ways};
use super::deliveries::{Marked, Marks};
use super::deploy::{Deployment, NONE};
use super::pooled::Pooled;
use super::waits::awaited_bytes;
use super::writer::{Source, Writer};
use super::{Groups, IDEAL, Objects, TableRoutes};
use crate::memory;
use crate::scenario::{Scenario, column};

/// The schemes of a run.
pub(super) struct Schemes {
    by_name: Vec<(String, Arc<dyn Scheme>)>,
    default: Option<usize>,
    /// Where flows name a scheme: the key, and which.
    named: Vec<(String, usize)>,
}

impl Schemes {
    pub fn new(scenario: &Scenario, catalogue: &Catalogue) -> Result<Schemes, SpecError> {
        for (name, table) in &scenario.schemes {
            if !table.is_object() {
                let message = format!("`{table}` is not a table of parameters; write [schemes.{name}]");
                return Err(SpecError::new(format!("schemes.{name}"), message));
            }
            if name != IDEAL && !catalogue.names().any(|n| n == name) {
                return Err(unknown(format!("schemes.{name}"), name, catalogue));
            }
        }
        let mut schemes = Schemes { by_name: Vec::new(), default: None, named: Vec::new() };
        if scenario.scheme != IDEAL {
            schemes.default = Some(schemes.add("scheme".to_owned(), &scenario.scheme, scenario, catalogue)?);
        }
        let flows = scenario.flow.iter().enumerate().map(|(i, f)| (format!("flow[{i}].scheme"), &f.scheme));
        let loads = scenario.workload.iter().enumerate().map(|(i, w)| (format!("workload[{i}].scheme"), &w.scheme));
        let clients = scenario.client.iter().enumerate().map(|(i, c)| (format!("client[{i}].scheme"), &c.scheme));
        let jobs = scenario.job.iter().enumerate().map(|(i, j)| (format!("job[{i}].scheme"), &j.scheme));
        for (key, name) in flows.chain(loads).chain(clients).chain(jobs) {
            match name.as_deref() {
                None => {}
                Some(IDEAL) => {
                    return Err(SpecError::new(key, "`ideal` is for a whole run, not a flow's scheme"));
                }
                Some(name) => {
                    let i = schemes.add(key.clone(), name, scenario, catalogue)?;
                    schemes.carries(i).map_err(|e| e.under(&key))?;
                    schemes.named.push((key, i));
                }
            }
        }
        for (i, row) in scenario.deploy.iter().enumerate() {
            if let Some(name) = row.scheme.as_deref().filter(|n| *n != NONE) {
                schemes.add(format!("deploy[{i}].scheme"), name, scenario, catalogue)?;
            }
        }
        for (i, row) in scenario.deploy.iter().enumerate() {
            if let Some(name) = &row.tunnels {
                schemes.add(format!("deploy[{i}].tunnels"), name, scenario, catalogue)?;
            }
        }
        if catalogue.contains(CONSTANT_RATE) {
            schemes.add(format!("schemes.{CONSTANT_RATE}"), CONSTANT_RATE, scenario, catalogue)?;
        }
        // Parameters of schemes that do not run here are checked, too: another run of this scenario has them.
        for name in scenario.schemes.keys().filter(|n| *n != IDEAL && schemes.find(n).is_none()) {
            build(name, scenario, catalogue)?;
        }
        Ok(schemes)
    }

    fn add(&mut self, key: String, name: &str, scenario: &Scenario, catalogue: &Catalogue) -> Result<usize, SpecError> {
        if let Some(i) = self.find(name) {
            return Ok(i);
        }
        if !catalogue.names().any(|n| n == name) {
            return Err(unknown(key, name, catalogue));
        }
        self.by_name.push((name.to_owned(), build(name, scenario, catalogue)?));
        Ok(self.by_name.len() - 1)
    }

    /// Whether the network schemes that flows need run anywhere.
    pub fn check_needs(&self, scenario: &Scenario, flows: &AllFlows, deployment: &Deployment) -> Result<(), SpecError> {
        let unnamed = scenario.messages || flows.terms().iter().any(|terms| terms.scheme.is_none());
        let run = self.default.filter(|_| unnamed).map(|i| ("scheme".to_owned(), i));
        // Under the ideal nothing runs in the network.
        for (key, i) in self.named.iter().cloned().chain(run).filter(|_| self.default.is_some()) {
            let (name, scheme) = &self.by_name[i];
            let transport = scheme.transport();
            let needs = transport.as_deref().and_then(|t| t.needs()).filter(|n| !deployment.has(n));
            if let Some(network) = needs {
                let whole = if scenario.deploy.is_empty() {
                    " for the whole run, or in a `[[deploy]]`"
                } else {
                    " in a `[[deploy]]`"
                };
                let message = format!(
                    "`{name}` needs `{network}` in the network, which is not deployed; write `scheme = \
                        \"{network}\"`{whole}"
                );
                return Err(SpecError::new(key, message));
            }
        }
        Ok(())
    }

    /// Resolves the names in the schemes' parameters.
    pub fn bind(&mut self, names: &dyn Names) -> Result<(), SpecError> {
        for (name, scheme) in &mut self.by_name {
            if let Some(bound) = scheme.bind(names).map_err(|e| e.under(&format!("schemes.{name}")))? {
                *scheme = bound;
            }
        }
        Ok(())
    }

    /// What carries a flow of scheme `named`, or of the run's scheme; nothing under the ideal.
    pub fn transport(&self, named: Option<&str>) -> Result<Option<Arc<dyn Transport>>, SpecError> {
        let Some(i) = named.and_then(|s| self.find(s)).or(self.default) else { return Ok(None) };
        self.carries(i).map(Some).map_err(|e| e.under("scheme"))
    }

    /// What carries flows of this scheme, which a key has named.
    pub fn transport_of(&self, name: &str) -> Result<Arc<dyn Transport>, SpecError> {
        let message = || format!("there is no scheme `{name}`");
        self.find(name).ok_or_else(|| SpecError::new("", message())).and_then(|i| self.carries(i))
    }

    /// Whether a path can be given to a flow of scheme `named`, or of the run's scheme.
    pub fn check_path(&self, named: Option<&str>) -> Result<(), SpecError> {
        let Some(i) = named.and_then(|s| self.find(s)).or(self.default) else { return Ok(()) };
        if self.carries(i).is_ok_and(|transport| transport.finds_paths()) {
            let name = &self.by_name[i].0;
            return Err(SpecError::new("", format!("`{name}` chooses its own paths; leave this out")));
        }
        Ok(())
    }

    /// What carries the flows of scheme `i`.
    fn carries(&self, i: usize) -> Result<Arc<dyn Transport>, SpecError> {
        let (name, scheme) = &self.by_name[i];
        let message = || format!("`{name}` runs in the network and carries no flows; give each flow another `scheme`");
        scheme.transport().ok_or_else(|| SpecError::new("", message()))
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.by_name.iter().position(|s| s.0 == name)
    }

    /// What nodes run that have this scheme, if that is more than queues and shortest paths.
    pub fn network(&self, name: &str) -> Option<Arc<dyn Network>> {
        self.find(name).and_then(|i| self.by_name[i].1.network())
    }
}

/// A scheme's table of parameters. The queue in it is the network's.
pub(super) fn table_of(scenario: &Scenario, name: &str) -> serde_json::Value {
    let mut params = scenario.schemes.get(name).cloned().unwrap_or_else(|| serde_json::json!({}));
    if let Some(map) = params.as_object_mut() {
        map.remove("queue");
    }
    params
}

/// A scheme with the parameters that the scenario gives it.
fn build(name: &str, scenario: &Scenario, catalogue: &Catalogue) -> Result<Arc<dyn Scheme>, SpecError> {
    catalogue.build(name, &table_of(scenario, name)).map_err(|e| e.under(&format!("schemes.{name}")))
}

fn unknown(key: String, name: &str, catalogue: &Catalogue) -> SpecError {
    if column::is_of_a_run(name) {
        let message = format!("there is no scheme `{name}`: `+` and `@` are allowed in the scheme of a whole run only");
        return SpecError::new(key, message);
    }
    let near = suggest::nearest(name, catalogue.names().chain([IDEAL]));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    // More names than a line has room for.
    SpecError::new(key, format!("there is no scheme `{name}`; {near}`midpath schemes` lists those that there are"))
}

/// Builds flows' ends when nodes ask for them.
pub struct FlowTable {
    flows: Arc<AllFlows>,
    pooled: Arc<Pooled>,
    groups: Arc<Groups>,
    /// The number of the scheme by the number of a flow's terms.
    schemes: Vec<u8>,
    transports: Vec<Option<Arc<dyn Transport>>>,
    /// That of flows which name none.
    default: Option<Arc<dyn Transport>>,
    objects: Arc<Objects>,
    /// What others wait for of flows, in bytes, by number of their group.
    marks: FxHashMap<u32, Arc<[u64]>>,
    /// The run's.
    seed: Seed,
}

impl FlowTable {
    pub(super) fn new(
        flows: &Arc<AllFlows>,
        pooled: &Arc<Pooled>,
        (groups, objects): (&Arc<Groups>, &Arc<Objects>),
        schemes: &Schemes,
        seed: Seed,
    ) -> FlowTable {
        let numbers = flows.terms().iter().map(|terms| {
            let named = terms.scheme.as_deref().and_then(|s| schemes.find(s));
            named.or(schemes.default).unwrap_or(0) as u8
        });
        let numbers = numbers.collect();
        let transports: Vec<_> = schemes.by_name.iter().map(|s| s.1.transport()).collect();
        let default = schemes.default.and_then(|i| transports[i].clone());
        let awaited = awaited_bytes(flows);
        let marks = awaited.into_iter().map(|(group, afters)| (group, marks_of(flows, &afters))).collect();
        let (flows, pooled) = (flows.clone(), pooled.clone());
        let (groups, objects) = (groups.clone(), objects.clone());
        FlowTable { marks, flows, pooled, groups, schemes: numbers, transports, default, objects, seed }
    }

    /// What an end is told of its flow.
    fn spec(&self, flow: FlowId) -> Option<FlowSpec> {
        let info = self.flows.find(flow)?;
        let name = self.objects.name(flow.0, info.flow.src);
        let mtu = self.objects.mtu(name).unwrap_or(info.mtu);
        let (group, budget) = self.groups.of(&info.flow);
        Some(FlowSpec { mtu, name, ..info.spec(flow, group, budget) })
    }

    /// Has an end at which a flow arrives say what somebody waits for of it.
    fn marked(&self, flow: FlowId, end: Box<dyn Endpoint>) -> Box<dyn Endpoint> {
        let (i, flows) = (flow.0 as usize, self.flows.clone());
        if flows.messages(i).is_some() {
            let pooled = self.pooled.clone();
            return Box::new(Marked::new(
                end,
                Marks::Messages { flows, pooled, connection: flow.0, next: 0, begin: 0 },
            ));
        }
        match self.marks.get(&flows.get(i).flow.group_number) {
            Some(all) => Box::new(Marked::new(end, Marks::Bytes { flow, all: all.clone(), next: 0 })),
            None => end,
        }
    }

    fn transport(&self, flow: FlowId) -> Option<&dyn Transport> {
        let scheme = self.schemes[self.flows.find(flow)?.flow.terms_number as usize];
        self.transports.get(usize::from(scheme))?.as_deref()
    }
}

impl Flows for FlowTable {
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>> {
        let (transport, spec) = (self.transport(flow)?, self.spec(flow)?);
        let (info, i) = (self.flows.find(flow)?, flow.0 as usize);
        let source = match &info.flow.writes {
            Some(laws) => Source::Timed(Writes::new(laws.clone(), &self.seed, flow.0)),
            None if self.flows.messages(i).is_some() => {
                let (flows, pooled) = (self.flows.clone(), self.pooled.clone());
                Source::Messages { flows, pooled, connection: flow.0, next: 0 }
            }
            None if info.opener == End::Destination => return Some(self.marked(flow, transport.open(&spec))),
            None => return Some(transport.open(&spec)),
        };
        Some(Box::new(Writer::new(&spec, source, |spec| transport.open(spec))))
    }
    fn connection(&self, flow: FlowId) -> Option<FlowId> {
        self.pooled.begin(flow.0).map(FlowId)
    }
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        match (self.transport(first.flow), self.spec(first.flow)) {
            (Some(transport), Some(spec)) => {
                let info = self.flows.get(first.flow.0 as usize);
                let passive = info.ends().1;
                let here = passive == node || self.objects.has_copy(spec.name, node);
                match transport.accept(first, here.then_some(&spec)) {
                    Accept::Take(end) if info.opener == End::Source && passive == node => {
                        Accept::Take(self.marked(first.flow, end))
                    }
                    answer => answer,
                }
            }
            // The scenario has no such flow, and results no place for it.
            _ => self.refuse(first).map_or(Accept::Ignore, Accept::Refuse),
        }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        self.transport(packet.flow).or(self.default.as_deref())?.refuse(packet)
    }
}

/// What these `after`s wait for, in bytes, in order.
fn marks_of(flows: &AllFlows, afters: &[u32]) -> Arc<[u64]> {
    let bytes = afters.iter().filter_map(|after| Some(flows.after(*after).bytes?.0));
    bytes.collect::<BTreeSet<u64>>().into_iter().collect()
}

struct Links<'a>(&'a Topology);

impl LinkRates for Links<'_> {
    fn link_rate(&self, from: &str, to: &str) -> Option<Rate> {
        let (from, to) = (self.0.find(from)?, self.0.find(to)?);
        let port = self.0.port_to(from, to)?;
        Some(self.0.links()[self.0.ports(from)[port as usize].link as usize].rate_from(from))
    }
}

/// The hosts; those of one router share its people and its trunks. Places are routers by name, and
/// by label where that is nobody else's.
fn host_table(topology: &Topology) -> HostTable {
    let own = |router: usize| topology.ports(router).iter().map(|p| p.peer).filter(|&p| topology.is_host(p as usize));
    let shares: FxHashMap<usize, usize> = topology.routers().map(|n| (n, own(n).count().max(1))).collect();
    let host = |n: usize| {
        let links = topology.ports(n).iter().map(|p| &topology.links()[p.link as usize]);
        let access = links.map(|l| l.rate_from(n)).sum();
        let mut host = Host::new(topology.nodes()[n].name.clone(), n as u32, access);
        let router = topology.ports(n).first().map(|p| p.peer as usize);
        if let Some((router, hosts)) = router.and_then(|r| Some((r, *shares.get(&r)?))) {
            let at = &topology.nodes()[router];
            host.population = at.population.map(|people| people / hosts as f64);
            host.trunk = Rate(at.trunk.0 / hosts as u64);
        }
        host
    };
    let label = |n: usize| topology.nodes()[n].label.clone().filter(|label| topology.find(label).is_none());
    let names = topology.routers().map(|n| (topology.nodes()[n].name.clone(), n));
    let labels = topology.routers().filter_map(|n| Some((label(n)?, n)));
    let places = names.chain(labels).map(|(name, n)| (name, own(n).collect()));
    HostTable::new(topology.hosts().map(host)).with_places(places)
}

/// The flows, in order of their start.
pub(super) fn draw(
    scenario: &Scenario,
    seed: &Seed,
    files: Files<'_>,
    topology: &Topology,
    catalogue: &Catalogue,
) -> Result<FlowList, SpecError> {
    let hosts = host_table(topology);
    let free = memory::free().unwrap_or(memory::UNKNOWN);
    let packets = [memory::PER_FLOW, memory::PER_ACTIVE_FLOW];
    let [each, active] = if scenario.scheme == IDEAL { memory::PER_FLUID_FLOW } else { packets };
    let room = FlowMemoryBudget::of(free, each, active);
    let context = Context {
        hosts: &hosts,
        links: &Links(topology),
        files,
        seed,
        horizon: scenario.stop,
        room,
        constant_rate: CONSTANT_RATE,
        reads: &|scheme, key| catalogue.check_flow_key(scheme, key),
    };
    let Scenario { flow, workload, client, job, .. } = scenario;
    let mut flows = midpath_traffic::generate(&Specs { flow, workload, client, job }, &context)?;
    if flows.is_empty() && !scenario.flows_optional {
        let none_drawn = "no `[[workload]]` had an arrival before its end: it needs more time, or a higher rate";
        let none_given = "the scenario has no flows; write a `[[flow]]`, `[[workload]]`, `[[client]]` or `[[job]]`";
        return Err(match scenario.workload.is_empty() {
            true => SpecError::new("flow", none_given),
            false => SpecError::new("workload", none_drawn),
        });
    }
    let endless = |(i, f): (usize, Flow<'_>)| f.size.is_none() && f.stop.is_none() && flows.messages(i).is_none();
    if scenario.stop.is_none() && flows.iter().enumerate().any(endless) {
        return Err(SpecError::new("stop", "is required: a flow without `size` or `stop` would never end"));
    }
    for terms in flows.terms_mut().iter_mut().filter(|terms| terms.rate.is_some() && terms.scheme.is_none()) {
        terms.scheme = Some(CONSTANT_RATE.into());
    }
    Ok(flows)
}

/// The flows with what their paths are like.
pub(super) fn describe(
    scenario: &Scenario,
    topology: &Topology,
    routes: &TableRoutes,
    schemes: &Schemes,
    flows: FlowList,
) -> Result<AllFlows, SpecError> {
    check_ways(scenario, topology, routes, &flows)?;
    let mut ways = Ways::with_capacity(flows.len());
    for (i, flow) in flows.iter().enumerate() {
        let (src, dst) = (flow.src as usize, flow.dst as usize);
        let transport = schemes.transport(flow.scheme.as_deref())?;
        let hops = routes.path(topology, src, dst, i as u32).unwrap_or_default();
        if hops.len() > usize::from(HOP_LIMIT) {
            let message = format!("flow {i} crosses {} links; packets live for {HOP_LIMIT}", hops.len());
            return Err(SpecError::new("topology", message));
        }
        ways.push(&Unloaded::new(topology, &hops), transport.as_deref());
    }
    Ok(AllFlows::new(flows, ways))
}

/// Most flows that an error names.
const NAMED: usize = 5;

/// Whether every flow has a way. The error names those that have none, and what the network has
/// fallen into.
fn check_ways(
    scenario: &Scenario,
    topology: &Topology,
    routes: &TableRoutes,
    flows: &FlowList,
) -> Result<(), SpecError> {
    let reaches = |f: Flow<'_>| routes.reaches(f.src as usize, f.dst as usize);
    let stuck: Vec<usize> = (0..flows.len()).filter(|&i| !reaches(flows.get(i))).collect();
    if stuck.is_empty() {
        return Ok(());
    }
    let name = |n: u32| &topology.nodes()[n as usize].name;
    let named: Vec<String> = stuck
        .iter()
        .take(NAMED)
        .map(|&i| format!("flow {i} from `{}` to `{}`", name(flows.get(i).src), name(flows.get(i).dst)))
        .collect();
    let more = if stuck.len() > NAMED { ", …" } else { "" };
    let mut message = format!("{} of {} flows have no route: {}{more}", stuck.len(), flows.len(), named.join(", "));
    if let Some(parts) = midpath_topo::spec::parts(topology) {
        message += &format!("; {parts}");
    }
    let key = if scenario.topology.without.is_empty() { "topology" } else { "topology.without" };
    Err(SpecError::new(key, message))
}
