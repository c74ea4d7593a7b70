//! The network's routes, in the form that nodes query.

use std::collections::BTreeSet;
use std::sync::Arc;

use midpath_core::packet::{FlowId, Interfaces, NodeId, flow_key};
use midpath_core::roles::{Ecmp, Routes as _};
use midpath_topo::routing::follow;
use midpath_topo::symmetric::SymmetricTrees;
use midpath_topo::{Hop, Routes, Topology};
use midpath_traffic::{FlowList, JobFlows};

use super::paths::GivenPaths;
use crate::scenario::RoutingSpec;

/// With `ecmp = "job"`: the flows of each job, which stand in a row. Else nothing.
#[derive(Clone, Default)]
pub struct Jobs(Arc<[std::ops::Range<u32>]>);

impl Jobs {
    /// Those of a run.
    pub fn of(routing: &RoutingSpec, flows: &FlowList) -> Jobs {
        let jobs = flows.jobs().iter().filter(|_| routing.ecmp == Ecmp::Job);
        let range = |job: &JobFlows| job.first as u32..(job.first + job.each * job.iterations) as u32;
        Jobs(jobs.map(range).collect())
    }

    /// What ECMP hashes of a flow of a job: that of the job's first flow, between no nodes.
    fn key(&self, flow: FlowId) -> Option<u32> {
        let behind = self.0.partition_point(|job| job.end <= flow.0);
        let job = self.0.get(behind).filter(|job| job.contains(&flow.0))?;
        Some(flow_key(FlowId(job.start), NodeId(0), NodeId(0), Interfaces::ANY))
    }
}

/// The topology's routes as nodes ask for them.
pub struct TableRoutes {
    /// Equal-cost ports between any two nodes.
    pub table: Routes,
    /// The node behind each port, of one node after the other.
    peers: Vec<u32>,
    /// What paths pay for the link there.
    costs: Vec<u64>,
    /// Where a node's ports begin there, and after the last node where all end.
    first: Vec<u32>,
    ecmp: Ecmp,
    /// With `ecmp = "symmetric"`.
    trees: Option<SymmetricTrees>,
    /// Paths that the scenario gives, which go before the others.
    pub given: GivenPaths,
    /// Flows that are hashed by job.
    pub jobs: Jobs,
    /// Routes over all links, where some are down at the beginning: what flows without a way then are measured by.
    whole: Option<Box<TableRoutes>>,
}

impl TableRoutes {
    /// Routes as the scenario's `[routing]` says.
    pub fn new(topology: &Topology, routing: &RoutingSpec) -> TableRoutes {
        TableRoutes::over(topology, routing, |_| true)
    }

    /// The same at the beginning of a run, with these links down that nodes know of.
    pub fn at_beginning(
        topology: &Topology,
        routing: &RoutingSpec,
        (given, jobs): (GivenPaths, Jobs),
        down: &BTreeSet<usize>,
    ) -> TableRoutes {
        let whole = TableRoutes::new(topology, routing).with(given, jobs);
        if down.is_empty() {
            return whole;
        }
        let usable = |link| !down.contains(&link);
        let now = TableRoutes::over(topology, routing, usable).with(whole.given.over(usable), whole.jobs.clone());
        TableRoutes { whole: Some(Box::new(whole)), ..now }
    }

    /// The same over all links.
    pub fn whole(&self) -> &TableRoutes {
        self.whole.as_deref().unwrap_or(self)
    }

    /// Whether there is a way, with all links.
    pub fn reaches(&self, src: usize, dst: usize) -> bool {
        src == dst || !self.whole().table.next_ports(src, dst).is_empty()
    }

    /// The same over the links for which `usable` holds.
    pub fn over(topology: &Topology, routing: &RoutingSpec, usable: impl Fn(usize) -> bool) -> TableRoutes {
        let (mut peers, mut costs, mut first) = (Vec::new(), Vec::new(), vec![0]);
        for n in 0..topology.nodes().len() {
            peers.extend(topology.ports(n).iter().map(|p| p.peer));
            costs.extend(topology.ports(n).iter().map(|p| routing.metric.cost(&topology.links()[p.link as usize])));
            first.push(peers.len() as u32);
        }
        let (table, ecmp) = (Routes::compute_over(topology, routing.metric, usable), routing.ecmp);
        let trees = (ecmp == Ecmp::Symmetric).then(|| SymmetricTrees::new(topology, &table));
        TableRoutes {
            table,
            peers,
            costs,
            first,
            ecmp,
            trees,
            given: GivenPaths::default(),
            jobs: Jobs::default(),
            whole: None,
        }
    }

    /// The same with paths that the scenario gives, and flows that are hashed by job.
    #[must_use]
    pub fn with(self, given: GivenPaths, jobs: Jobs) -> TableRoutes {
        TableRoutes { given, jobs, ..self }
    }

    /// Where a port stands in `peers` and `costs`.
    fn place(&self, node: NodeId, port: u16) -> Option<usize> {
        let n = node.0 as usize;
        let (from, to) = (*self.first.get(n)? as usize, *self.first.get(n + 1)? as usize);
        Some(from + usize::from(port)).filter(|place| *place < to)
    }

    /// The hops of flow `i`, by the choices that nodes make; where each packet draws a path, the
    /// first of them. Where there is no way at the beginning, that over all links.
    pub fn path(&self, topology: &Topology, src: usize, dst: usize, i: u32) -> Option<Vec<Hop>> {
        let (from, to) = (NodeId(src as u32), NodeId(dst as u32));
        let key = flow_key(FlowId(i), from, to, Interfaces::ANY);
        let hashed = self.jobs.key(FlowId(i)).unwrap_or(key);
        let pick = |node| self.ecmp.expected(self.ports_for(node, to, key), hashed, to, node);
        let now = follow(topology, (src, dst), pick);
        now.or_else(|| self.whole.as_ref()?.path(topology, src, dst, i))
    }

    /// Whether packets of flow `i` may leave these hops: some node has several ports for them, and each packet or
    /// flowlet draws one, or, where `drawn`, is hashed by more than its flow.
    pub fn may_leave(&self, hops: &[Hop], (src, dst): (usize, usize), i: u32, drawn: bool) -> bool {
        let (from, to) = (NodeId(src as u32), NodeId(dst as u32));
        let key = flow_key(FlowId(i), from, to, Interfaces::ANY);
        let several = |hop: &Hop| self.ports_for(NodeId(hop.node as u32), to, key).len() > 1;
        (drawn || matches!(self.ecmp, Ecmp::Packet | Ecmp::LetFlow | Ecmp::Drill)) && hops.iter().any(several)
    }
}

impl midpath_core::roles::Routes for TableRoutes {
    #[inline]
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        self.table.next_ports(node.0 as usize, dst.0 as usize)
    }
    #[inline]
    fn ports_for(&self, node: NodeId, dst: NodeId, key: u32) -> &[u16] {
        if !self.given.is_empty()
            && let Some(port) = self.given.port(node, dst, key)
        {
            return port;
        }
        let (n, to) = (node.0 as usize, dst.0 as usize);
        match &self.trees {
            None => self.table.next_ports(n, to),
            Some(trees) => trees.next_port(&self.table, (n, to), key),
        }
    }
    fn by_conversation(&self) -> bool {
        self.trees.is_some() || !self.given.is_empty()
    }
    fn job_key(&self, flow: FlowId) -> Option<u32> {
        self.jobs.key(flow)
    }
    fn peer(&self, node: NodeId, port: u16) -> Option<NodeId> {
        self.place(node, port).map(|place| NodeId(self.peers[place]))
    }
    fn cost(&self, node: NodeId, port: u16) -> u64 {
        self.place(node, port).map_or(1, |place| self.costs[place])
    }
}
