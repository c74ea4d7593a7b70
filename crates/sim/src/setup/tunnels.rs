//! Tunnels between the nodes of an instance, where plain routers lie between two of them: `tunnels`
//! of `[[deploy]]`.
//!
//! A tunnel is a link unknown to routing: each end is a port with the scheme's own queues and rules, and a TCP
//! connection carries its packets over the plain routers.

use std::collections::BTreeSet;
use std::sync::Arc;

use midpath_core::node::Flows;
use midpath_core::packet::{FlowId, NodeId, Packet, PortId};
use midpath_core::queue::Discipline;
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Transport};
use midpath_core::spec::SpecError;
use midpath_schemes::tunnel::{Entrance, Exit, SharedPipe, TunnelPort};
use midpath_topo::Topology;
use midpath_topo::graph::LinkInfo;
use midpath_topo::path::Unloaded;
use serde_json::{Value, json};

use super::TableRoutes;
use super::deploy::Deployment;
use super::flows::{FlowTable, Schemes};
use crate::scenario::Scenario;

/// Most tunnels of a run. Ours: a full mesh of 128 nodes is no overlay any more.
const MOST: usize = 8192;

/// Largest window that a connection of a tunnel may offer, as a question only: which TCPs could.
const ANY_WINDOW: u64 = 1 << 20;

/// All tunnels of a run.
pub struct Tunnels {
    all: Vec<Tunnel>,
    /// The topology's links before they were added.
    links: usize,
    /// The run's flows: the tunnels' are numbered from there.
    flows: u32,
}

/// One tunnel: two connections, one each way.
struct Tunnel {
    ends: [usize; 2],
    ports: [PortId; 2],
    mtu: [u32; 2],
    scheme: String,
    transport: Arc<dyn Transport>,
}

/// One direction of a tunnel.
#[derive(Clone, Copy)]
pub struct Direction {
    tunnel: usize,
    back: bool,
}

impl Tunnels {
    /// Finds the tunnels, and adds them to the topology.
    pub fn build(
        scenario: &Scenario,
        deployment: &Deployment,
        schemes: &Schemes,
        routes: &TableRoutes,
        (topology, flows): (Topology, usize),
    ) -> Result<(Tunnels, Topology), SpecError> {
        let mut tunnels = Tunnels { all: Vec::new(), links: topology.links().len(), flows: flows as u32 };
        let mut links = Vec::new();
        for (instance, key, name) in deployment.tunnels(scenario) {
            let transport = carrier(schemes, name).map_err(|e| e.under(&key))?;
            let takes = deployment.get(instance).network.as_deref().is_some_and(|n| n.takes_tunnels());
            if !takes {
                let scheme = &deployment.get(instance).scheme;
                let message = format!("`{scheme}` has no tunnels; `inrpp` has");
                return Err(SpecError::new(key, message));
            }
            for (a, b) in pairs(deployment, instance, routes, &topology) {
                let plain = |n: usize| !deployment.at(n).contains(&instance) && !topology.is_host(n);
                let first = (flows + 2 * tunnels.all.len()) as u32;
                let way = |(from, to), flow| plain_way(routes, &topology, (from, to), flow, plain);
                let (Some(there), Some(back)) = (way((a, b), first), way((b, a), first + 1)) else { continue };
                let mut link = LinkInfo::new(a, b, there.bottleneck, there.delay);
                link.rate_back = (back.bottleneck != there.bottleneck).then_some(back.bottleneck);
                link.mtu = there.mtu.min(back.mtu);
                links.push(link);
                let (mtu, scheme) = ([there.mtu, back.mtu], name.to_owned());
                // Known once they are part of the topology.
                let ports = [PortId(0); 2];
                tunnels.all.push(Tunnel { ends: [a, b], ports, mtu, scheme, transport: transport.clone() });
            }
            if links.len() > MOST {
                let message = format!("{} tunnels; at most {MOST} are possible", links.len());
                return Err(SpecError::new(key, message));
            }
        }
        let topology = topology.with_links(links)?;
        for (i, tunnel) in tunnels.all.iter_mut().enumerate() {
            let port = |n: usize| PortId(topology.port_of_link(n, tunnels.links + i).expect("a link is at its ends"));
            tunnel.ports = [port(tunnel.ends[0]), port(tunnel.ends[1])];
        }
        Ok((tunnels, topology))
    }

    /// Whether a link of the topology is a tunnel.
    pub fn is_tunnel(&self, link: usize) -> bool {
        !self.all.is_empty() && link >= self.links
    }

    /// New pipes for one run: two for each tunnel, by the number of the connection.
    pub fn pipes(&self) -> Vec<SharedPipe> {
        (0..2 * self.all.len()).map(|_| SharedPipe::default()).collect()
    }

    /// The direction of a tunnel that leaves a node through a link.
    pub fn from(&self, link: usize, node: usize) -> Option<Direction> {
        let tunnel = link.checked_sub(self.links).filter(|_| self.is_tunnel(link))?;
        Some(Direction { tunnel, back: self.all[tunnel].ends[0] != node })
    }

    fn flow(&self, direction: Direction) -> FlowId {
        FlowId(self.flows + (2 * direction.tunnel + usize::from(direction.back)) as u32)
    }

    fn direction(&self, flow: FlowId) -> Option<Direction> {
        let place = flow.0.checked_sub(self.flows)? as usize;
        (place < 2 * self.all.len()).then_some(Direction { tunnel: place / 2, back: place % 2 == 1 })
    }

    /// A scheme's port with the tunnel behind it.
    pub fn before(
        &self,
        direction: Direction,
        port: Discipline,
        pipes: &[SharedPipe],
    ) -> Result<Discipline, SpecError> {
        let flow = self.flow(direction);
        let pipe = pipes[(flow.0 - self.flows) as usize].clone();
        let message = "a tunnel needs a port that stores its own packets";
        TunnelPort::before(port, pipe, flow).ok_or_else(|| SpecError::new("deploy", message))
    }

    /// The connections, each with the node that opens it.
    pub fn openers(&self) -> impl Iterator<Item = (usize, FlowId)> + '_ {
        self.directions().map(|d| (self.ends(d).0, self.flow(d)))
    }

    fn directions(&self) -> impl Iterator<Item = Direction> + '_ {
        (0..self.all.len()).flat_map(|tunnel| [false, true].map(|back| Direction { tunnel, back }))
    }

    /// The ports of tunnels whose two ends a path passes, in the path's direction.
    pub fn along(&self, nodes: &[usize]) -> impl Iterator<Item = (usize, PortId)> {
        let place = |n: usize| nodes.iter().position(|at| *at == n);
        self.directions().filter_map(move |direction| {
            let (from, to) = self.ends(direction);
            (place(from)? < place(to)?).then_some((from, self.ports(direction).0))
        })
    }

    /// From where, to where.
    fn ends(&self, direction: Direction) -> (usize, usize) {
        let [a, b] = self.all[direction.tunnel].ends;
        if direction.back { (b, a) } else { (a, b) }
    }

    fn ports(&self, direction: Direction) -> (PortId, PortId) {
        let [a, b] = self.all[direction.tunnel].ports;
        if direction.back { (b, a) } else { (a, b) }
    }

    /// What each direction has carried, for the result.
    pub fn json(&self, topology: &Topology, pipes: &[SharedPipe]) -> Value {
        let name = |n: usize| topology.nodes()[n].name.as_str();
        let row = |(direction, pipe): (Direction, &SharedPipe)| {
            let ((from, to), report) = (self.ends(direction), pipe.get().report());
            let link = &topology.links()[self.links + direction.tunnel];
            json!({
                "from": name(from), "to": name(to), "scheme": self.all[direction.tunnel].scheme,
                "rate_bps": link.rate_from(from).0, "delay_s": link.delay.as_secs_f64(),
                "packets_in": report.entered, "packets_out": report.left, "bytes": report.bytes,
                "kept_bytes_max": report.most_kept, "segments": report.flow.sent,
                "retransmitted": report.flow.retransmitted, "timeouts": report.flow.timeouts,
                "rtt_mean_s": report.flow.rtt_sum.checked_div(u128::from(report.flow.rtt_count)).map_or(0.0, seconds),
            })
        };
        self.directions().zip(pipes).map(row).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn seconds(mean: u128) -> f64 {
    mean as f64 * 1e-12
}

/// What carries a tunnel: a TCP of end-points alone.
fn carrier(schemes: &Schemes, name: &str) -> Result<Arc<dyn Transport>, SpecError> {
    let transport = schemes.transport_of(name)?;
    if transport.needs().is_some() || transport.both_ways(ANY_WINDOW).is_none() {
        let message = format!("`{name}` is not an end-to-end TCP; write \"newreno\" or \"cubic\"");
        return Err(SpecError::new("", message));
    }
    Ok(transport)
}

/// The pairs of an instance's routers of which one reaches the other by a shortest path with plain
/// routers alone on it, one at least.
fn pairs(
    deployment: &Deployment,
    instance: usize,
    routes: &TableRoutes,
    topology: &Topology,
) -> BTreeSet<(usize, usize)> {
    let runs = |n: usize| deployment.at(n).contains(&instance);
    let members: Vec<usize> = topology.routers().filter(|n| runs(*n)).collect();
    let mut found = BTreeSet::new();
    for &from in &members {
        for &to in members.iter().filter(|to| **to != from && topology.port_to(from, **to).is_none()) {
            let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
            while let Some(at) = next.pop() {
                for port in routes.table.next_ports(at, to) {
                    let peer = topology.ports(at)[usize::from(*port)].peer as usize;
                    if peer == to {
                        found.insert((from.min(to), from.max(to)));
                    } else if !runs(peer) && !topology.is_host(peer) && seen.insert(peer) {
                        next.push(peer);
                    }
                }
            }
        }
    }
    found
}

/// What the path of a connection is like when nobody else is there. `None` if among equal paths it is
/// one that other routers of the instance are on.
fn plain_way(
    routes: &TableRoutes,
    topology: &Topology,
    (from, to): (usize, usize),
    flow: u32,
    plain: impl Fn(usize) -> bool,
) -> Option<Unloaded> {
    let hops = routes.path(topology, from, to, flow)?;
    hops.iter().all(|hop| hop.node == from || plain(hop.node)).then(|| Unloaded::new(topology, &hops))
}

/// The run's flows, and its tunnels' connections beside them.
pub(super) struct WithTunnels {
    table: Arc<FlowTable>,
    tunnels: Arc<Tunnels>,
    pipes: Vec<SharedPipe>,
}

impl WithTunnels {
    pub fn new(table: Arc<FlowTable>, tunnels: Arc<Tunnels>, pipes: Vec<SharedPipe>) -> WithTunnels {
        WithTunnels { table, tunnels, pipes }
    }

    fn of(&self, flow: FlowId) -> Option<(Direction, &Tunnel, SharedPipe)> {
        let direction = self.tunnels.direction(flow)?;
        let pipe = self.pipes[(flow.0 - self.tunnels.flows) as usize].clone();
        Some((direction, &self.tunnels.all[direction.tunnel], pipe))
    }

    fn spec(&self, flow: FlowId, direction: Direction, tunnel: &Tunnel) -> FlowSpec {
        let (from, to) = self.tunnels.ends(direction);
        let mtu = tunnel.mtu[usize::from(direction.back)];
        FlowSpec { mtu, ..FlowSpec::new(flow, NodeId(from as u32), NodeId(to as u32)) }
    }
}

impl Flows for WithTunnels {
    fn connection(&self, flow: FlowId) -> Option<FlowId> {
        self.table.connection(flow)
    }
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>> {
        let Some((direction, tunnel, pipe)) = self.of(flow) else { return self.table.open(flow) };
        let inner = tunnel.transport.open(&self.spec(flow, direction, tunnel));
        Some(Box::new(Entrance::new(inner, pipe, self.tunnels.ports(direction).0)))
    }
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        let Some((direction, tunnel, pipe)) = self.of(first.flow) else { return self.table.accept(node, first) };
        match tunnel.transport.accept(first, Some(&self.spec(first.flow, direction, tunnel))) {
            Accept::Take(inner) => Accept::Take(Box::new(Exit::new(inner, pipe, self.tunnels.ports(direction).1))),
            other => other,
        }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        match self.of(packet.flow) {
            Some((_, tunnel, _)) => tunnel.transport.refuse(packet),
            None => self.table.refuse(packet),
        }
    }
}
