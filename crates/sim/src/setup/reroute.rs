//! Rerouting: routes after a link goes down or comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::Routes;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_topo::Topology;

use super::TableRoutes;
use crate::scenario::RoutingSpec;

/// Most bytes that the tables of all states may take, with all ways worked out. Ours: as much as
/// the table of the largest network that is routed over.
const MAX_MEMORY: usize = 2 << 30;
/// Most changes of routes, nodes times states: each is an event of the run.
const MAX_CHANGES: usize = 10_000_000;

/// The routes of each state of the network, and when nodes go over to which.
pub(super) struct Rerouting {
    /// State 0 is the network at the beginning.
    states: Arc<[Arc<TableRoutes>]>,
    switches: Vec<(Time, u32)>,
    /// Each node's own, which say what it has learned; none if routes stay.
    nodes: Vec<Arc<NodeRoutes>>,
}

impl Rerouting {
    /// `changes` are links that go down (`false`) or come back, in order of time: nodes know of
    /// each `reconverge` later, and of those at the run's beginning as it begins ([`down_at_beginning`]).
    pub fn new(
        topology: &Topology,
        routing: &RoutingSpec,
        first: &Arc<TableRoutes>,
        changes: &[(Time, usize, bool)],
    ) -> Result<Rerouting, SpecError> {
        let wrong = |message: String| SpecError::new("routing.reconverge", message);
        let (mut states, mut switches) = (vec![first.clone()], Vec::new());
        let (mut down, mut now) = (down_at_beginning(routing, changes), 0);
        let mut known = BTreeMap::from([(down.clone(), 0)]);
        let Some(delay) = routing.reconverge else {
            return Ok(Rerouting { states: states.into(), switches, nodes: Vec::new() });
        };
        for (i, (at, link, up)) in changes.iter().enumerate().filter(|(_, change)| !change.0.is_zero()) {
            if *up {
                down.remove(link)
            } else {
                down.insert(*link)
            };
            // What happens at one time is learned as one.
            if changes.get(i + 1).is_some_and(|next| next.0 == *at) {
                continue;
            }
            let state = *known.entry(down.clone()).or_insert_with(|| {
                let usable = |link| !down.contains(&link);
                states.push(Arc::new(
                    TableRoutes::over(topology, routing, usable)
                        .with(first.whole().given.over(usable), first.jobs.clone()),
                ));
                states.len() as u32 - 1
            });
            if states.len() * (first.table.most_memory() + first.given.memory()) > MAX_MEMORY {
                return Err(wrong(format!(
                    "the routes of {} states of the network may take more than 2 GiB",
                    states.len()
                )));
            }
            if state != now {
                switches.push((*at + delay, state));
                now = state;
            }
            if switches.len() * topology.nodes().len() > MAX_CHANGES {
                return Err(wrong(format!(
                    "{} changes of routes at {} nodes are too many",
                    switches.len(),
                    topology.nodes().len()
                )));
            }
        }
        let states: Arc<[Arc<TableRoutes>]> = states.into();
        let node = |_| Arc::new(NodeRoutes { states: states.clone(), now: AtomicU32::new(0) });
        let nodes = if switches.is_empty() { Vec::new() } else { (0..topology.nodes().len()).map(node).collect() };
        Ok(Rerouting { states, switches, nodes })
    }

    /// The routes that a node goes by.
    pub fn at(&self, n: usize) -> Arc<dyn Routes> {
        match self.nodes.get(n) {
            Some(own) => own.clone(),
            None => self.states[0].clone(),
        }
    }

    /// The routes of a state.
    pub fn state(&self, state: u32) -> &TableRoutes {
        &self.states[state as usize]
    }

    /// When nodes go over to which state.
    pub fn switches(&self) -> &[(Time, u32)] {
        &self.switches
    }
}

/// The links that are down as a run begins, where nodes follow the network.
pub(super) fn down_at_beginning(routing: &RoutingSpec, changes: &[(Time, usize, bool)]) -> BTreeSet<usize> {
    let mut down = BTreeSet::new();
    for (_, link, up) in changes.iter().filter(|change| change.0.is_zero() && routing.reconverge.is_some()) {
        match up {
            true => down.remove(link),
            false => down.insert(*link),
        };
    }
    down
}

/// The routes of one node: those of the state that it knows of. A node is run by one thread at a
/// time, in order of time; others don't look.
struct NodeRoutes {
    states: Arc<[Arc<TableRoutes>]>,
    now: AtomicU32,
}

impl NodeRoutes {
    #[inline]
    fn known(&self) -> &TableRoutes {
        &self.states[self.now.load(Ordering::Relaxed) as usize]
    }
}

impl Routes for NodeRoutes {
    fn switch(&self, state: u32) {
        self.now.store(state, Ordering::Relaxed);
    }
    #[inline]
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        self.known().next_ports(node, dst)
    }
    #[inline]
    fn ports_for(&self, node: NodeId, dst: NodeId, key: u32) -> &[u16] {
        self.known().ports_for(node, dst, key)
    }
    fn by_conversation(&self) -> bool {
        self.states[0].by_conversation()
    }
    fn job_key(&self, flow: FlowId) -> Option<u32> {
        self.known().job_key(flow)
    }
    fn peer(&self, node: NodeId, port: u16) -> Option<NodeId> {
        self.known().peer(node, port)
    }
    fn cost(&self, node: NodeId, port: u16) -> u64 {
        self.known().cost(node, port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::units::Rate;
    use midpath_topo::{LinkInfo, NodeInfo, NodeKind};

    #[test]
    fn states_that_come_again_share_their_routes() {
        let nodes = (0..3).map(|n| NodeInfo::new(format!("r{n}"), NodeKind::Router)).collect();
        let link = |a, b| LinkInfo::new(a, b, Rate::from_mbps(10), Time::from_ms(1));
        let topology = Topology::new(nodes, vec![link(0, 1), link(1, 2), link(2, 0)]).expect("valid");
        let routing = RoutingSpec { reconverge: Some(Time::from_ms(200)), ..RoutingSpec::default() };
        let first = Arc::new(TableRoutes::new(&topology, &routing));
        let s = Time::from_secs;
        let changes =
            [(s(1), 0, false), (s(2), 0, true), (s(3), 0, false), (s(4), 0, true), (s(4), 1, false), (s(5), 1, true)];
        let all = Rerouting::new(&topology, &routing, &first, &changes).expect("few");
        let states: Vec<u32> = all.switches().iter().map(|s| s.1).collect();
        assert_eq!((states, all.states.len()), (vec![1, 0, 1, 2, 0], 3));
        assert_eq!(all.switches()[0].0, Time::from_ms(1200));
        let (own, other) = (all.at(0), all.at(1));
        own.switch(1);
        assert_eq!(
            (own.next_ports(NodeId(0), NodeId(1)), other.next_ports(NodeId(0), NodeId(1))),
            (&[1][..], &[0][..])
        );
        let still = Rerouting::new(&topology, &RoutingSpec::default(), &first, &changes).expect("few");
        assert!(still.switches().is_empty() && still.nodes.is_empty());
    }
}
