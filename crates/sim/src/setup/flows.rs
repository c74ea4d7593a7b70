use std::path::Path;
use std::sync::Arc;

use midpath_core::node::Flows;
use midpath_core::packet::{FlowId, HOP_LIMIT, Name, NodeId, Packet};
use midpath_core::roles::{Accept, End, Endpoint, FlowSpec, Names, Network, Scheme, TCP_HEADERS, Transport};
use midpath_core::spec::SpecError;
use midpath_core::suggest;
use midpath_core::units::{Bytes, Rate, Time};
use midpath_schemes::{CONSTANT_RATE, Catalogue};
use midpath_topo::Topology;
use midpath_topo::path::Unloaded;
use midpath_topo::routing::Hop;
use midpath_traffic::{Context, Flow, Host, HostTable, LinkRates, Room, Terms};
use rustc_hash::FxHashMap;

use super::deploy::{Deployment, NONE};
use super::{Groups, IDEAL, Objects, TableRoutes};
use crate::memory;
use crate::scenario::Scenario;

/// A flow and what its path is like when nobody else is there.
#[derive(Debug, Clone)]
pub struct FlowInfo {
    /// Who, whom, how much, when.
    pub flow: Flow,
    /// Links on the path.
    pub hops: u32,
    /// From its start to its last byte's arrival on an unloaded path, without handshake: packets of
    /// the path's MTU sent back to back, stored and forwarded at each hop.
    pub unloaded: Option<Time>,
    /// Propagation both ways, and one full packet out.
    pub rtt: Time,
    /// The path's MTU.
    pub mtu: u32,
    /// Header bytes of each of its packets.
    pub headers: u32,
    /// Which end opens it.
    pub opener: End,
    /// The path's slowest link.
    pub bottleneck: Rate,
}

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
        for (key, name) in flows.chain(loads) {
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
    pub fn check_needs(
        &self,
        scenario: &Scenario,
        flows: &[FlowInfo],
        deployment: &Deployment,
    ) -> Result<(), SpecError> {
        let unnamed = flows.iter().any(|f| f.flow.scheme.is_none());
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
                    "`{name}` needs `{network}` in the network, which runs nowhere; write `scheme = \"{network}\"`{whole}"
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
            return Err(SpecError::new("", format!("`{name}` finds its own ways; leave this out")));
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
    let near = suggest::nearest(name, catalogue.names().chain([IDEAL]));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    // More names than a line has room for.
    SpecError::new(key, format!("there is no scheme `{name}`; {near}`midpath schemes` lists those that there are"))
}

/// Builds flows' ends when nodes ask for them.
pub struct FlowTable {
    flows: Arc<Vec<FlowInfo>>,
    groups: Arc<Groups>,
    /// The number of each flow's scheme.
    schemes: Vec<u8>,
    transports: Vec<Option<Arc<dyn Transport>>>,
    /// That of flows which name none.
    default: Option<Arc<dyn Transport>>,
    objects: Arc<Objects>,
}

impl FlowTable {
    pub(super) fn new(
        flows: &Arc<Vec<FlowInfo>>,
        groups: &Arc<Groups>,
        objects: &Arc<Objects>,
        schemes: &Schemes,
    ) -> FlowTable {
        let numbers = flows.iter().map(|f| {
            let named = f.flow.scheme.as_deref().and_then(|s| schemes.find(s));
            named.or(schemes.default).unwrap_or(0) as u8
        });
        let numbers = numbers.collect();
        let transports: Vec<_> = schemes.by_name.iter().map(|s| s.1.transport()).collect();
        let default = schemes.default.and_then(|i| transports[i].clone());
        let (flows, groups, objects) = (flows.clone(), groups.clone(), objects.clone());
        FlowTable { flows, groups, schemes: numbers, transports, default, objects }
    }

    /// What an end is told of its flow.
    fn spec(&self, flow: FlowId) -> Option<FlowSpec> {
        let i = flow.0 as usize;
        let info = self.flows.get(i)?;
        let name = self.objects.of[i];
        let mtu = self.objects.mtu(name).unwrap_or(info.mtu);
        Some(FlowSpec { mtu, name, ..info.spec(flow, self.groups.of[i], self.groups.budgets[i]) })
    }

    fn transport(&self, flow: FlowId) -> Option<&dyn Transport> {
        let scheme = *self.schemes.get(flow.0 as usize)?;
        self.transports.get(usize::from(scheme))?.as_deref()
    }
}

impl Flows for FlowTable {
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(self.transport(flow)?.open(&self.spec(flow)?))
    }
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        match (self.transport(first.flow), self.spec(first.flow)) {
            (Some(transport), Some(spec)) => {
                let passive = self.flows[first.flow.0 as usize].ends().1;
                let here = passive == node || self.objects.has_copy(spec.name, node);
                transport.accept(first, here.then_some(&spec))
            }
            // The scenario has no such flow, and results no place for it.
            _ => self.refuse(first).map_or(Accept::Ignore, Accept::Refuse),
        }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        self.transport(packet.flow).or(self.default.as_deref())?.refuse(packet)
    }
}

impl FlowInfo {
    fn new(flow: Flow, topology: &Topology, hops: &[Hop], transport: Option<&dyn Transport>) -> FlowInfo {
        let headers = transport.map_or(TCP_HEADERS, Transport::headers);
        let opener = transport.map_or(End::Source, Transport::opener);
        let path = Unloaded::new(topology, hops);
        let mtu = path.mtu;
        let rtt = path.packet_time(Bytes(u64::from(mtu))).saturating_add(path.delay);
        let unloaded = flow.size.map(|size| unloaded_time(&path, size, headers));
        FlowInfo { hops: hops.len() as u32, unloaded, rtt, mtu, headers, opener, bottleneck: path.bottleneck, flow }
    }

    /// The nodes of its active and its passive end.
    pub fn ends(&self) -> (NodeId, NodeId) {
        let (src, dst) = (NodeId(self.flow.src), NodeId(self.flow.dst));
        match self.opener {
            End::Source => (src, dst),
            End::Destination => (dst, src),
        }
    }

    /// The payload of a full packet.
    fn payload(&self) -> u64 {
        u64::from(self.mtu.saturating_sub(self.headers).max(1))
    }

    /// Bytes on the wire for the whole flow.
    pub fn wire_bytes(&self) -> Option<u64> {
        let size = self.flow.size?.0;
        let packets = size.div_ceil(self.payload()).max(1);
        Some(size.saturating_add(packets.saturating_mul(u64::from(self.headers))))
    }

    /// The payload's share of what is on the wire.
    pub fn payload_share(&self) -> f64 {
        match self.flow.size.zip(self.wire_bytes()) {
            Some((size, wire)) => size.as_f64() / wire as f64,
            None => self.payload() as f64 / f64::from(self.mtu.max(1)),
        }
    }

    fn spec(&self, id: FlowId, group: u32, budget: Option<u32>) -> FlowSpec {
        FlowSpec {
            id,
            src: NodeId(self.flow.src),
            dst: NodeId(self.flow.dst),
            size: self.flow.size,
            stop: self.flow.stop,
            rate: self.flow.rate,
            mtu: self.mtu,
            group,
            budget,
            weight: self.flow.weight,
            name: Name { prefix: NodeId(self.flow.src), object: id.0 },
        }
    }
}

/// When the last packet of `size` payload bytes arrives, sent back to back: full packets, then what
/// is left.
///
/// That is the longest chain of "this hop after that packet": full packets fill the hops up to one
/// of them and queue at the slowest of these; from there on the last packet, which may be smaller,
/// is alone on the way.
fn unloaded_time(path: &Unloaded, size: Bytes, headers: u32) -> Time {
    let mtu = path.mtu;
    let payload = u64::from(mtu.saturating_sub(headers).max(1));
    let full = size.0.saturating_sub(1) / payload;
    let last = Bytes(size.0.max(1) - full * payload + u64::from(headers));
    let mut longest = path.packet_time(last);
    let (mut before, mut slowest, mut after) = (path.delay, Time::ZERO, longest.saturating_sub(path.delay));
    for rate in path.rates.iter().filter(|_| full > 0) {
        let time = rate.time_for(Bytes(u64::from(mtu)));
        (before, slowest) = (before.saturating_add(time), slowest.max(time));
        let queued = Time(slowest.0.saturating_mul(full - 1));
        longest = longest.max(before.saturating_add(queued).saturating_add(after));
        after = after.saturating_sub(rate.time_for(last));
    }
    longest
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
pub(super) fn draw(scenario: &Scenario, base: &Path, topology: &Topology) -> Result<Vec<Flow>, SpecError> {
    let hosts = host_table(topology);
    let room = memory::free().map_or(Room::MAX, |free| Room::of(free, memory::BYTES_PER_FLOW));
    let context = Context {
        hosts: &hosts,
        links: &Links(topology),
        base_dir: base,
        seed: scenario.seed,
        horizon: scenario.stop,
        room,
    };
    let mut flows = midpath_traffic::generate(&scenario.flow, &scenario.workload, &context)?;
    if flows.is_empty() {
        let none_drawn = "no arrival of any `[[workload]]` came before its end: it needs more time, or a higher rate";
        let none_given = "the scenario has no flows; write a `[[flow]]` or a `[[workload]]`";
        return Err(match scenario.workload.is_empty() {
            true => SpecError::new("flow", none_given),
            false => SpecError::new("workload", none_drawn),
        });
    }
    if scenario.stop.is_none() && flows.iter().any(|f| f.size.is_none() && f.stop.is_none()) {
        return Err(SpecError::new("stop", "is needed: a flow without `size` or `stop` would never end"));
    }
    let mut shared = None;
    for flow in flows.iter_mut().filter(|f| f.rate.is_some() && f.scheme.is_none()) {
        flow.terms = Terms { scheme: Some(CONSTANT_RATE.into()), ..Terms::clone(&flow.terms) }.shared(&mut shared);
    }
    Ok(flows)
}

/// The flows with what their paths are like.
pub(super) fn describe(
    scenario: &Scenario,
    topology: &Topology,
    routes: &TableRoutes,
    schemes: &Schemes,
    flows: Vec<Flow>,
) -> Result<Vec<FlowInfo>, SpecError> {
    let mut infos = Vec::with_capacity(flows.len());
    check_ways(scenario, topology, routes, &flows)?;
    for (i, flow) in flows.into_iter().enumerate() {
        let (src, dst) = (flow.src as usize, flow.dst as usize);
        let transport = schemes.transport(flow.scheme.as_deref())?;
        let hops = routes.path(topology, src, dst, i as u32).unwrap_or_default();
        if hops.len() > usize::from(HOP_LIMIT) {
            let message = format!("flow {i} crosses {} links; packets live for {HOP_LIMIT}", hops.len());
            return Err(SpecError::new("topology", message));
        }
        infos.push(FlowInfo::new(flow, topology, &hops, transport.as_deref()));
    }
    Ok(infos)
}

/// Most flows that an error names.
const NAMED: usize = 5;

/// Whether every flow has a way. The error names those that have none, and what the network has
/// fallen into.
fn check_ways(scenario: &Scenario, topology: &Topology, routes: &TableRoutes, flows: &[Flow]) -> Result<(), SpecError> {
    let reaches = |f: &Flow| f.src == f.dst || !routes.table.next_ports(f.src as usize, f.dst as usize).is_empty();
    let stuck: Vec<usize> = (0..flows.len()).filter(|&i| !reaches(&flows[i])).collect();
    if stuck.is_empty() {
        return Ok(());
    }
    let name = |n: u32| &topology.nodes()[n as usize].name;
    let named: Vec<String> = stuck
        .iter()
        .take(NAMED)
        .map(|&i| format!("flow {i} from `{}` to `{}`", name(flows[i].src), name(flows[i].dst)))
        .collect();
    let more = if stuck.len() > NAMED { ", …" } else { "" };
    let mut message = format!("{} of {} flows have no way: {}{more}", stuck.len(), flows.len(), named.join(", "));
    if let Some(parts) = midpath_topo::spec::parts(topology) {
        message += &format!("; {parts}");
    }
    let key = if scenario.topology.without.is_empty() { "topology" } else { "topology.without" };
    Err(SpecError::new(key, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packet by packet and hop by hop.
    fn stepped(path: &Unloaded, packets: &[u64]) -> Time {
        let mut free = vec![Time::ZERO; path.rates.len()];
        let mut arrival = Time::ZERO;
        for size in packets {
            arrival = Time::ZERO;
            for (rate, free) in path.rates.iter().zip(&mut free) {
                arrival = arrival.max(*free) + rate.time_for(Bytes(*size));
                *free = arrival;
            }
        }
        arrival + path.delay
    }

    proptest! {
        #[test]
        fn the_unloaded_time_is_that_of_the_last_packet(
            rates in prop::collection::vec(1u64..100, 1..6), size in 1u64..40_000, delay in 0u64..1000,
        ) {
            let rates: Vec<Rate> = rates.into_iter().map(Rate::from_mbps).collect();
            let bottleneck = rates.iter().copied().min().unwrap_or_default();
            let path = Unloaded { links: Vec::new(), delay: Time::from_us(delay), bottleneck, mtu: 1500, rates };
            let full = (size - 1) / 1448;
            let mut packets = vec![1500; full as usize];
            packets.push(size - full * 1448 + 52);
            prop_assert_eq!(unloaded_time(&path, Bytes(size), TCP_HEADERS), stepped(&path, &packets));
        }
    }
}
