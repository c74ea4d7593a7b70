//! Builds everything a run needs from a scenario: topology, routes, flows, schemes, queues, faults, nodes.

mod all_flows;
mod deliveries;
mod deploy;
mod directions;
mod drawing;
mod equipment;
mod faults;
mod flows;
mod hosts;
mod limits;
mod link_fault;
mod measure;
mod messages;
mod names;
mod objects;
mod paths;
mod pfc;
mod pooled;
mod queues;
mod reroute;
mod routes;
mod starts;
mod trace;
mod tunnels;
mod vary;
mod waits;
mod worth;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use midpath_core::files::Files;
use midpath_core::node::{Flows, Forwarding, Host, Node};
use midpath_core::packet::{NodeId, PortId};
use midpath_core::pfc::SharedBuffer;
use midpath_core::queue::{Discipline, QueueSpec};
use midpath_core::rng::Streams;
use midpath_core::roles::{
    Balancing, Ecmp, LinkInfo, Network as NetworkScheme, NodeSpec, PortSpec, ShortestPath, Transport,
};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_schemes::Catalogue;
use midpath_schemes::describe::Description;
use midpath_schemes::tunnel::SharedPipe;
use midpath_topo::Topology;
use midpath_topo::graph::{MAX_DELAY, check_delay};
use midpath_traffic::Seed;

pub use all_flows::{AllFlows, FlowInfo};
pub use directions::Direction;
pub use flows::FlowTable;
pub(crate) use messages::{Messages, NoWay};
pub use names::Groups;
pub use objects::Objects;
pub use pfc::Lossless;
pub use routes::TableRoutes;
pub use trace::{Found, Search};

use self::routes::Jobs;
use crate::engine::{Course, Event, Jitter, Law, NetLink, Network, Variation};
use crate::scenario::{Scenario, column};
use deploy::{Deployment, NetworkMap, links};
use faults::FaultPlan;
use messages::WithMessages;
use paths::GivenPaths;
use pooled::Pooled;
use queues::{Keyed, Queues};
use reroute::Rerouting;
use starts::Starts;
use tunnels::{Tunnels, WithTunnels};
use vary::Variations;
pub use vary::{parse_schedule, parse_trace};

/// The scheme that isn't one: the fluid model on the same topology, routes and flows.
pub const IDEAL: &str = "ideal";

/// A scenario whose parts have all been built and agree with each other.
pub struct Setup {
    /// The scenario, with seed and scheme as this run uses them.
    pub scenario: Scenario,
    /// What traffic is drawn from.
    seed: Seed,
    /// The network.
    pub topology: Topology,
    /// Its shortest paths at the beginning.
    pub routes: Arc<TableRoutes>,
    /// The flows, in order of their start.
    pub flows: Arc<AllFlows>,
    /// Those that begin at run time, if any may.
    pub(crate) messages: Option<Arc<Messages>>,
    /// The longest unloaded round trip of both.
    rtt: Time,
    /// The flows' groups.
    pub groups: Arc<Groups>,
    /// What the flows move.
    pub objects: Arc<Objects>,
    schemes: flows::Schemes,
    deployment: Deployment,
    queues: Queues,
    faults: FaultPlan,
    varying: Variations,
    rerouting: Rerouting,
    /// How nodes use equal-cost paths.
    balancing: Balancing,
    tunnels: Arc<Tunnels>,
    /// Those that take time to take in what arrives.
    pub(crate) hosts: BTreeMap<usize, Host>,
    /// Lossless classes, if there are any.
    pub lossless: Option<Lossless>,
    /// What each sort of port has, for the result.
    pub equipment: serde_json::Value,
    /// What each scheme says of itself, for the result.
    pub described: serde_json::Value,
    /// The same of those that say it, by name; of the run's scheme even if it carries no flow.
    descriptions: BTreeMap<String, Description>,
    /// Their shortest retransmission timeouts.
    min_rtos: BTreeMap<String, Time>,
}

/// What ports are told of the run.
#[derive(Debug, Clone, Copy)]
struct Terms {
    /// The longest unloaded round trip of its flows.
    rtt: Time,
    /// Whether its driver asks them for each packet.
    pulled: bool,
}

/// The link behind a port.
fn link_info(topology: &Topology, n: usize, port: usize) -> LinkInfo {
    let at = topology.ports(n)[port];
    let link = &topology.links()[at.link as usize];
    LinkInfo { rate: link.rate_from(n), delay: link.delay, mtu: link.mtu, peer: NodeId(at.peer) }
}

impl Setup {
    /// Builds every part. `base` is where the scenario's file names are relative to. Keys of errors
    /// start at the scenario's root.
    pub fn new<'a>(scenario: Scenario, files: impl Into<Files<'a>>, catalogue: &Catalogue) -> Result<Setup, SpecError> {
        let files = files.into();
        if scenario.stop.is_some_and(Time::is_zero) {
            return Err(SpecError::new("stop", "must be above zero"));
        }
        let mut topology =
            midpath_topo::spec::build(&scenario.topology, files, scenario.seed).map_err(|e| e.under("topology"))?;
        let mut schemes = flows::Schemes::new(&scenario, catalogue)?;
        let queues = Queues::new(&scenario)?;
        queues.check_names(&scenario.topology)?;
        measure::check(&scenario, &topology)?;
        let varying = Variations::new(&scenario.vary, files, scenario.stop, &mut topology)?;
        let faults = FaultPlan::new(&scenario.fault, &varying, &topology)?;
        let hosts = hosts::hosts(&scenario.host, &topology)?;
        let seed = Seed::from(scenario.seed);
        let flows = flows::draw(&scenario, &seed, files, &topology, catalogue)?;
        let balancing = scenario.routing.balancing().map_err(|e| e.under("routing"))?;
        let jobs = Jobs::of(&scenario.routing, &flows);
        let given = GivenPaths::new(&scenario, &topology, &flows, &schemes)?;
        let outages = faults.outages();
        let down = reroute::down_at_beginning(&scenario.routing, &outages);
        let routes = Arc::new(TableRoutes::at_beginning(&topology, &scenario.routing, (given, jobs), &down));
        let rerouting = Rerouting::new(&topology, &scenario.routing, &routes, &outages)?;
        let flows = Arc::new(flows::describe(&scenario, &topology, &routes, &schemes, flows)?);
        if matches!(scenario.routing.ecmp, Ecmp::LetFlow | Ecmp::Drill | Ecmp::Job) {
            let mut named = flows.terms().iter().map(|terms| terms.scheme.as_deref()).chain([None]);
            named.try_for_each(|scheme| schemes.check_path(scheme)).map_err(|e| e.under("routing.ecmp"))?;
        }
        waits::check(&flows)?;
        waits::check_openers(&flows)?;
        let groups = Arc::new(Groups::new(&flows));
        let objects = Arc::new(Objects::of(&flows, |n| topology.nodes()[n.0 as usize].name.clone())?);
        let between_hosts = scenario.messages.then(|| messages::longest_rtt(&topology, &routes));
        let rtt = flows.longest_rtt().max(between_hosts.unwrap_or_default());
        let names = names::RunNames { topology: &topology, groups: &groups, objects: &objects, rtt };
        schemes.bind(&names)?;
        let deployment = Deployment::new(&scenario, catalogue, &schemes, &topology, &names)?;
        schemes.check_needs(&scenario, &flows, &deployment)?;
        writer::check(&scenario, &flows, &groups, &schemes)?;
        let (tunnels, topology) =
            Tunnels::build(&scenario, &deployment, &schemes, routes.whole(), (topology, flows.len()))?;
        let tunnels = Arc::new(tunnels);
        let first = flows.len() + tunnels.pipes().len();
        let no_packets = || SpecError::new("scheme", "`ideal` is a fluid model, which has no messages");
        let transport = || schemes.transport(None)?.ok_or_else(no_packets);
        let messages = scenario.messages.then(transport).transpose()?.map(|own| Arc::new(Messages::new(first, own)));
        let (equipment, described) = (serde_json::Value::Null, serde_json::Value::Null);
        let mut setup = Setup {
            scenario,
            seed,
            topology,
            routes,
            flows,
            messages,
            rtt,
            groups,
            objects,
            schemes,
            deployment,
            queues,
            faults,
            varying,
            rerouting,
            balancing,
            tunnels,
            hosts,
            lossless: None,
            equipment,
            described,
            descriptions: BTreeMap::new(),
            min_rtos: BTreeMap::new(),
        };
        setup.check_host_jitter()?;
        setup.trace_plan()?;
        setup.try_queues()?;
        setup.check_column(catalogue)?;
        setup.lossless = setup.lossless_classes()?;
        setup.equipment = equipment::equipment(&setup, catalogue);
        setup.described = setup.describe(catalogue);
        setup.descriptions = setup.scheme_descriptions(catalogue);
        let min_rto = |name: &String| Some((name.clone(), equipment::min_rto(&setup, name, catalogue)?));
        setup.min_rtos = setup.descriptions.keys().filter_map(min_rto).collect();
        Ok(setup)
    }

    /// The network's scheme at a port, by name.
    pub fn scheme_at(&self, n: usize, port: usize) -> Option<&str> {
        self.deployment.of(n, port).map(|i| self.deployment.get(i).scheme.as_str())
    }

    /// The scheme that runs at a port in the network; none where that is the scenario's queues and
    /// shortest paths.
    pub(crate) fn network_at(&self, n: usize, port: usize) -> Option<&str> {
        let instance = self.deployment.get(self.deployment.of(n, port)?);
        instance.network.as_ref().map(|_| instance.scheme.as_str())
    }

    /// Ports whose queues have room for less than one full packet, and the room.
    pub(crate) fn too_small(&self) -> Vec<((usize, usize), midpath_core::units::Bytes)> {
        equipment::too_small(self)
    }

    /// The schemes that carry flows or run at ports, by name; none of the ideal.
    fn describe(&self, catalogue: &Catalogue) -> serde_json::Value {
        if self.scenario.scheme == IDEAL {
            return serde_json::json!({});
        }
        let carrying = (0..self.flows.len()).map(|i| self.scheme_of(i));
        let names: BTreeSet<&str> = carrying.chain(self.deployment.networks()).collect();
        let entry = |name: &str| crate::schemes::of_run(name, catalogue, &flows::table_of(&self.scenario, name));
        names.into_iter().map(|name| (name.to_owned(), entry(name))).collect()
    }

    /// What the schemes of flows, of ports and of the run say of themselves.
    fn scheme_descriptions(&self, catalogue: &Catalogue) -> BTreeMap<String, Description> {
        let named = self.flows.terms().iter().filter_map(|terms| terms.scheme.as_deref());
        let names = named.chain([self.scenario.scheme.as_str()]).chain(self.deployment.networks());
        names.filter_map(|name| Some((name.to_owned(), catalogue.description(name)?.clone()))).collect()
    }

    /// What a scheme of the run says of itself, if it does.
    pub(crate) fn description(&self, scheme: &str) -> Option<&Description> {
        self.descriptions.get(scheme)
    }

    /// Whether a port, as its scheme has made it, refuses what does not fit, and does nothing else.
    fn only_drops(&self, n: usize, port: usize) -> bool {
        let built = self.port(
            n,
            port,
            Terms { rtt: Time::ZERO, pulled: false },
            &links(&self.topology, NodeId(n as u32)),
            false,
        );
        matches!(built, Ok(Discipline::DropTail(_)))
    }

    /// The schemes here whose flows need marks.
    pub(crate) fn needing_marks(&self) -> impl Iterator<Item = &str> {
        self.descriptions.iter().filter(|(_, own)| own.needs_marks).map(|(name, _)| name.as_str())
    }

    /// Whether some links are tunnels.
    pub(crate) fn has_tunnels(&self) -> bool {
        !self.tunnels.is_empty()
    }

    /// The shortest retransmission timeout of a scheme's flows, if it has that parameter.
    pub(crate) fn min_rto(&self, scheme: &str) -> Option<Time> {
        self.min_rtos.get(scheme).copied()
    }

    /// What each direction of a tunnel has carried, for the result; none where there are no tunnels.
    pub fn carried(&self, pipes: &[SharedPipe]) -> Option<serde_json::Value> {
        (!self.tunnels.is_empty()).then(|| self.tunnels.json(&self.topology, pipes))
    }

    /// The ports of tunnels whose two ends are on a flow's path, with their rates.
    pub(crate) fn tunnels_on(&self, src: usize, dst: usize, flow: u32) -> Vec<(usize, u16, Rate)> {
        if self.tunnels.is_empty() {
            return Vec::new();
        }
        let hops = self.routes.path(&self.topology, src, dst, flow).unwrap_or_default();
        let nodes: Vec<usize> = hops.iter().map(|hop| hop.node).collect();
        self.tunnels.along(&nodes).map(|(n, p)| (n, p.0, link_info(&self.topology, n, usize::from(p.0)).rate)).collect()
    }

    /// Refuses flows that wait for others, where nothing can make them start.
    pub fn refuse_waits(&self, why: &str) -> Result<(), SpecError> {
        if let Some(after) = self.flows.afters().next() {
            return Err(after.refuse_all(format!("{why}; give it a `start` in its place")));
        }
        let Scenario { client, job, .. } = &self.scenario;
        match [("client", client.len()), ("job", job.len())].into_iter().find(|(_, number)| *number > 0) {
            Some((key, _)) => Err(SpecError::new(format!("{key}[0]"), format!("{why}; leave this out"))),
            None => Ok(()),
        }
    }

    /// Refuses under the ideal what a fluid of sizes and start times has not.
    pub fn refuse_unlike_fluid(&self) -> Result<(), SpecError> {
        self.refuse_waits("`ideal` is a fluid model whose flows start at their times")?;
        match self.scenario.flow.iter().position(|flow| flow.write.is_some()) {
            Some(i) => Err(SpecError::new(
                format!("flow[{i}].write"),
                "`ideal` is a fluid model whose flows have all their data at the start; leave it out and give a `size`",
            )),
            None => Ok(()),
        }
    }

    /// What runs where, for the result.
    pub fn deployed(&self) -> serde_json::Value {
        self.deployment.json(&self.topology)
    }

    /// Whether the network's schemes take the queues that the scenario asks for: one port of each
    /// is built.
    fn try_queues(&self) -> Result<(), SpecError> {
        let (run, mut tried) = (Terms { rtt: self.rtt, pulled: false }, BTreeSet::new());
        for n in 0..self.topology.nodes().len() {
            for port in 0..self.topology.ports(n).len() {
                if tried.insert((self.deployment.of(n, port), &self.queue_of(n, port).key)) {
                    self.port(n, port, run, &links(&self.topology, NodeId(n as u32)), false)?;
                }
            }
        }
        Ok(())
    }

    /// The name of a run that asks for the queue of this key.
    fn called_for(&self, key: &str) -> Option<&str> {
        let called = self.scenario.called.as_deref();
        called.filter(|_| key == queues::DEFAULT && column::queue_of(called).is_some())
    }

    /// Whether ports have the queue that the run's name asks for: one at least, and none of them something else in its
    /// place.
    fn check_column(&self, catalogue: &Catalogue) -> Result<(), SpecError> {
        let all = (0..self.topology.nodes().len()).flat_map(|n| (0..self.topology.ports(n).len()).map(move |p| (n, p)));
        let mut asked = all.filter(|(n, p)| self.called_for(&self.queue_of(*n, *p).key).is_some()).peekable();
        let (Some(called), Some(queue)) = (&self.scenario.called, column::queue_of(self.scenario.called.as_deref()))
        else {
            return Ok(());
        };
        let refused = |why: String| Err(SpecError::new("scheme", format!("`{called}`: {why}")));
        if self.scenario.scheme == IDEAL {
            return refused(format!("`{IDEAL}` is a fluid model and has no queues"));
        }
        if asked.peek().is_none() {
            return refused("no port uses `[queue]`: each has a named one".to_owned());
        }
        let mut seen = BTreeSet::new();
        let sorts = asked.filter(|(n, p)| seen.insert((self.deployment.of(*n, *p), self.topology.is_host(*n))));
        for (n, port) in sorts {
            if let Some(scheme) = self.replacing(n, port, catalogue) {
                return refused(format!("`{queue}` has no AQM, and ports of `{scheme}` then run their own"));
            }
        }
        Ok(())
    }

    /// The scheme that puts an AQM of its own in the place of none.
    fn replacing(&self, n: usize, port: usize, catalogue: &Catalogue) -> Option<&str> {
        let queue = &self.queue_of(n, port).queue;
        let scheme = self.network_at(n, port)?;
        let blank = equipment::asked_aqm(queue).is_none() && (queue.is_drop_tail() || !self.has_plain_queues(n, port));
        let brings = catalogue.description(scheme)?.aqm.is_some() && !self.only_drops(n, port);
        (blank && brings).then_some(scheme)
    }

    /// Shows what there is around a node to a scheme that runs there.
    fn around<R>(
        &self,
        n: usize,
        links: &[LinkInfo],
        instance: usize,
        look: impl FnOnce(&dyn NetworkScheme, &NodeSpec<'_>) -> R,
    ) -> Option<R> {
        let network = self.deployment.get(instance).network.as_deref()?;
        let routes = self.rerouting.at(n);
        let (topology, deployment, tunnels) = (&self.topology, &self.deployment, &*self.tunnels);
        let map = NetworkMap { topology, deployment, tunnels, instance };
        let ecmp = self.scenario.routing.ecmp;
        Some(look(network, &NodeSpec { node: NodeId(n as u32), links, map: &map, routes: &routes, ecmp }))
    }

    /// A port as its scheme, or the scenario, wants it; that of a `lossless` class has a queue without a
    /// limit.
    fn port(
        &self,
        n: usize,
        port: usize,
        run: Terms,
        links: &[LinkInfo],
        lossless: bool,
    ) -> Result<Discipline, SpecError> {
        let spec = PortSpec { queue: self.queue_at(n, port, lossless), ..self.port_spec(n, port, run) };
        let plain = || Ok(spec.queue.build(spec.link.rate));
        let Some(instance) = self.deployment.of(n, port) else { return plain() };
        let built = self.around(n, links, instance, |network, node| network.port(&spec, node));
        built.unwrap_or_else(plain).map_err(|mut e| {
            let (name, key) = (&self.deployment.get(instance).scheme, &self.queue_of(n, port).key);
            if let Some(called) = self.called_for(key) {
                return SpecError::new("scheme", format!("`{called}`: its queue {}", e.message));
            }
            e.message += &format!("; `[schemes.{name}.queue]` gives `{name}` another queue than the other schemes");
            e.under(key)
        })
    }

    /// The network, ready for an engine.
    pub fn network(&self) -> Result<Network, SpecError> {
        self.network_for(false)
    }

    /// The same for a driver that asks ports for each packet ([`PortSpec::pulled`]).
    pub fn pulled_network(&self) -> Result<Network, SpecError> {
        self.refuse_waits("on real packets each flow starts at its time")?;
        self.network_for(true)
    }

    fn network_for(&self, pulled: bool) -> Result<Network, SpecError> {
        let run = Terms { rtt: self.rtt, pulled };
        let pooled = Arc::new(Pooled::new(&self.flows));
        let names = (&self.groups, &self.objects);
        let table = Arc::new(FlowTable::new(&self.flows, &pooled, names, &self.schemes, self.seed.clone()));
        let pipes = self.tunnels.pipes();
        let buffers = self.lossless.as_ref().map_or_else(Vec::new, |lossless| lossless.buffers(&self.topology));
        let table: Arc<dyn Flows> = if self.tunnels.is_empty() {
            table
        } else {
            Arc::new(WithTunnels::new(table, self.tunnels.clone(), pipes.clone()))
        };
        let table: Arc<dyn Flows> = match &self.messages {
            Some(messages) => Arc::new(WithMessages { table, messages: messages.clone() }),
            None => table,
        };
        // Large and many: the vector is made as long as it will be.
        let mut nodes: Vec<Node> = Vec::with_capacity(self.topology.nodes().len());
        for n in 0..self.topology.nodes().len() {
            nodes.push(self.node(n, run, &table, &pipes, buffers.get(n))?);
        }
        let starts = Arc::new(Starts::of(&self.flows, nodes.len()));
        nodes.iter_mut().enumerate().for_each(|(n, node)| node.start_flows(Starts::at(&starts, n)));
        for (node, flow) in self.tunnels.openers() {
            nodes[node].start_flow(Time::ZERO, flow);
        }
        let links = self.links();
        let waits = waits::waits(&self.flows, &pooled, &links, nodes.len());
        for (node, at, what) in waits.iter().flat_map(|waits| &waits.known) {
            nodes[node.0 as usize].release(*at, *what);
        }
        let late_after = Arc::new(writer::late_after(&self.flows));
        let events = self.events();
        Ok(Network { nodes, links, events, seed: self.scenario.seed, pipes, buffers, waits, late_after })
    }

    /// Whether its network or its traffic are drawn from the run's seed.
    pub fn is_stochastic(&self) -> bool {
        self.seed.is_used() || self.scenario.topology.is_stochastic()
    }

    /// What carries flows of the run's scheme, for programs that open flows of their own between
    /// these nodes.
    pub fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.schemes.transport(None).ok().flatten()
    }

    /// What happens to nodes during the run. A link that changes does so before nodes go over to
    /// other routes.
    fn events(&self) -> Vec<(NodeId, Time, Event)> {
        let mut events = self.faults.events(&self.topology);
        for (at, state) in self.rerouting.switches() {
            events.extend((0..self.topology.nodes().len()).map(|n| (NodeId(n as u32), *at, Event::Routes(*state))));
        }
        events
    }

    /// When nodes go over to which other routes; none where they stay.
    pub fn reroutes(&self) -> impl Iterator<Item = (Time, &TableRoutes)> {
        self.rerouting.switches().iter().map(|(at, state)| (*at, self.rerouting.state(*state)))
    }

    fn node(
        &self,
        n: usize,
        run: Terms,
        table: &Arc<dyn Flows>,
        pipes: &[SharedPipe],
        buffer: Option<&SharedBuffer>,
    ) -> Result<Node, SpecError> {
        let links = links(&self.topology, NodeId(n as u32));
        let discipline = |port| {
            let queue = |lossless| self.port(n, port, run, &links, lossless);
            let discipline = match self.lossless.as_ref().zip(buffer) {
                Some((lossless, buffer)) => lossless.port(buffer, links[port].mtu, queue)?,
                None => queue(false)?,
            };
            let discipline = match self.tunnels.from(self.topology.ports(n)[port].link as usize, n) {
                Some(direction) => self.tunnels.before(direction, discipline, pipes)?,
                None => discipline,
            };
            Ok(if self.faults.touches(n, port) { discipline.held() } else { discipline })
        };
        let disciplines = (0..links.len()).map(discipline).collect::<Result<_, SpecError>>()?;
        let (mut chain, mut shared) = (Vec::new(), Vec::new());
        for &instance in self.deployment.at(n) {
            let Some((state, forwarder)) =
                self.around(n, &links, instance, |network, node| (network.state(node), network.forwarder(node)))
            else {
                continue;
            };
            let place = forwarder.is_some().then_some(chain.len());
            chain.extend(forwarder);
            shared.extend(state.map(|state| (state, self.deployment.ports(n, links.len(), instance), place)));
        }
        // Those of the schemes that run here, in order, and shortest paths last.
        let forwarding = Forwarding::new(chain, ShortestPath::new(self.rerouting.at(n), self.balancing));
        let streams = Streams::of(self.scenario.seed, n as u64);
        let back = |(port, link): (usize, &LinkInfo)| {
            let at = self.topology.ports(n)[port];
            self.topology.links()[at.link as usize].rate_from(link.peer.0 as usize)
        };
        let reverse = links.iter().enumerate().map(back).collect();
        let node = Node::new(NodeId(n as u32), links, disciplines, forwarding, table.clone(), streams);
        let node = node.with_reverse_rates(reverse);
        let node = if let Some(host) = self.hosts.get(&n) { node.with_host(*host) } else { node };
        Ok(shared.into_iter().fold(node, |node, (state, ports, place)| node.sharing(state, &ports, place)))
    }

    fn port_spec(&self, n: usize, port: usize, run: Terms) -> PortSpec {
        let at = self.topology.ports(n)[port];
        let peer = at.peer as usize;
        let host = self.topology.is_host(n);
        PortSpec {
            node: NodeId(n as u32),
            port: PortId(port as u16),
            peer: NodeId(at.peer),
            link: link_info(&self.topology, n, port),
            host,
            edge: self.topology.is_host(peer),
            rtt: run.rtt,
            queue: self.queue_of(n, port).queue,
            pulled: run.pulled,
        }
    }

    /// The queue that the scenario asks for at a port.
    fn queue_of(&self, n: usize, port: usize) -> &Keyed {
        let link = &self.topology.links()[self.topology.ports(n)[port].link as usize];
        let named = self.deployment.queue(n, port).or(link.queue.as_deref());
        self.queues.of(named, self.topology.is_host(n), self.scheme_at(n, port))
    }

    /// The queue before link number `link` at node `n`.
    pub fn queue_before(&self, n: usize, link: usize) -> QueueSpec {
        let port = self.topology.port_of_link(n, link).unwrap_or(0);
        self.queue_of(n, usize::from(port)).queue
    }

    /// Both directions of every link.
    fn links(&self) -> Vec<NetLink> {
        let mut all = Vec::with_capacity(self.topology.links().len() * 2);
        for (i, link) in self.topology.links().iter().enumerate() {
            let end = |n: usize| {
                let port = self.topology.port_of_link(n, i).expect("a link is at both of its ends");
                (NodeId(n as u32), PortId(port))
            };
            for (direction, (from, to)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
                all.push(NetLink {
                    from: end(from),
                    to: end(to),
                    rate: link.rate_from(from),
                    // Nothing is ever on a tunnel's own wire.
                    delay: if self.tunnels.is_tunnel(i) { MAX_DELAY } else { link.delay },
                    corruption: link.corruption,
                    course: self.course(i, direction).boxed(),
                });
            }
        }
        all
    }

    /// What happens to a direction of a link during the run.
    fn course(&self, link: usize, direction: usize) -> Course {
        let (downs, delays) = (self.faults.downs(link), self.faults.delays(link, direction));
        Course { downs, delays, variation: self.variation(link, direction) }
    }

    /// How a direction of a link varies from packet to packet: as `[[vary]]` says, and by what its
    /// host adds.
    fn variation(&self, link: usize, direction: usize) -> Variation {
        let mut varies = self.varying.of(link, direction);
        let ends = [self.topology.links()[link].a, self.topology.links()[link].b];
        if let Some(most) = self.scenario.host_jitter.filter(|_| self.topology.is_host(ends[direction])) {
            varies.jitter.get_or_insert(Jitter { law: Law::Uniform, most, reorder: false });
        }
        varies
    }

    /// Whether `host_jitter` is a delay, and changes anything.
    fn check_host_jitter(&self) -> Result<(), SpecError> {
        let Some(most) = self.scenario.host_jitter else { return Ok(()) };
        if most.is_zero() {
            return Err(SpecError::new("host_jitter", "must be above zero; leave it out for no jitter"));
        }
        check_delay("host_jitter", most)?;
        let own = |n: usize| self.topology.ports(n).iter().map(move |p| (p.link as usize, n));
        let mut links = self.topology.hosts().flat_map(own);
        if links.all(|(link, n)| self.varying.of(link, self.direction(link, n)).jitter.is_some()) {
            return Err(SpecError::new("host_jitter", "changes nothing: [[vary]] gives each host's link its `jitter`"));
        }
        Ok(())
    }

    /// The name of flow `i`'s scheme.
    pub fn scheme_of(&self, i: usize) -> &str {
        self.scheme_of_flow(&self.flows.get(i))
    }

    /// The same of this flow.
    pub(crate) fn scheme_of_flow<'a>(&'a self, info: &FlowInfo<'a>) -> &'a str {
        info.flow.terms.scheme.as_deref().unwrap_or(&self.scenario.scheme)
    }

    /// Which direction of a link begins at the node `from`: 0 from its end `a`, 1 from `b`.
    pub fn direction(&self, link: usize, from: usize) -> usize {
        usize::from(self.topology.links()[link].a != from)
    }

    /// A directed link's number among capacities: twice the link's, and its direction.
    pub fn directed(&self, link: usize, from: usize) -> u32 {
        (2 * link + self.direction(link, from)) as u32
    }

    /// The delays of a direction of a link from these times on.
    pub fn delay_changes(&self, link: usize, direction: usize) -> Vec<(Time, Time)> {
        self.faults.delays(link, direction)
    }

    /// What faults and schedules do to a link's capacity: time, and the rates of its two directions
    /// from then on; zero while it is down.
    pub fn capacity_changes(&self, link: usize) -> Vec<(Time, [f64; 2])> {
        self.faults.capacity_changes(link, &self.topology)
    }

    /// The links whose capacity changes.
    pub fn changing_links(&self) -> impl Iterator<Item = usize> + '_ {
        self.faults.changing()
    }
}
